"""Postgres and Redis, gone: their real clients meet an address where nothing listens."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test import override_settings

from memoryapp.redis_client import redis_client

NOWHERE = "redis://127.0.0.1:1/0"


@contextmanager
def postgres_is_gone() -> Iterator[None]:
    """Needs a test that commits: the connection of a test's transaction cannot be given up."""
    was = connection.settings_dict["HOST"], connection.settings_dict["PORT"]
    connection.close()
    connection.settings_dict["HOST"], connection.settings_dict["PORT"] = "127.0.0.1", "1"
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["HOST"], connection.settings_dict["PORT"] = was


@contextmanager
def redis_is_gone() -> Iterator[None]:
    caches = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": NOWHERE}}
    with override_settings(REDIS_URL=NOWHERE, CACHES=caches):
        redis_client.cache_clear()
        try:
            yield
        finally:
            redis_client.cache_clear()
