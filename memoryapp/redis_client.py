"""The connection to Redis that synchronous code shares, and the asynchronous one of a stream."""

from functools import lru_cache

import redis
import redis.asyncio
from django.conf import settings

CONNECT_TIMEOUT_S = 2.0
SOCKET_TIMEOUT_S = 5.0


@lru_cache(maxsize=1)
def redis_client() -> redis.Redis:
    """Thread-safe; commands raise ``redis.RedisError`` within seconds when the server is away."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        decode_responses=True,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=SOCKET_TIMEOUT_S,
        health_check_interval=30,
    )


def new_async_client() -> redis.asyncio.Redis:
    """A client of its own for one stream, to be closed with it.

    No socket timeout: a blocked XREAD is silent by design. Never shared between streams, so that a cancelled reader
    cannot leave a half-read answer to the next one (CVE-2023-28858).
    """
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        decode_responses=True,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=None,
        single_connection_client=True,
    )
