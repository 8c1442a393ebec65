"""Production: the same stack, refusing to start with anything unsafe.

A refusal ends the process with one message on stderr and status 1, whichever program loads the settings
(``manage.py``, ``celery``, ``uvicorn``): an exception would bury the message under each one's traceback.
"""

import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

from memoryapp.settings.base import *

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# What examples, generators and our own tests put where a secret belongs.
_KNOWN_KEY_PARTS = ("django-insecure", "tests-only", "change-me", "changeme", "example", "password")


def _key_problems() -> Iterator[str]:
    if len(SECRET_KEY) < 50 or len(set(SECRET_KEY)) < 10:
        yield "SECRET_KEY must be set to at least 50 random characters."
    elif any(part in SECRET_KEY.lower() for part in _KNOWN_KEY_PARTS):
        yield "SECRET_KEY must be random; this one is from an example or a test."


def _state_problems() -> Iterator[str]:
    if not CONF.database_url:
        yield "DATABASE_URL must name the Postgres server."
    if not CONF.redis_url:
        yield "REDIS_URL must name the Redis server."


def _address_problems() -> Iterator[str]:
    address = urlsplit(BASE_URL)
    host = address.hostname
    if not host or address.scheme not in {"http", "https"}:
        yield "STRATA_BASE_URL must be the public address, e.g. https://strata.example."
        return
    if address.scheme != "https" and host not in _LOOPBACK:
        yield "STRATA_BASE_URL must be https, except on localhost."
    if address.path not in {"", "/"} or address.query or address.fragment or address.username:
        yield "STRATA_BASE_URL must be the scheme and the host alone: the pages live at its root."
    if "*" in CONF.allowed_hosts:
        yield "STRATA_ALLOWED_HOSTS must not be '*'."
    elif CONF.allowed_hosts and host not in CONF.allowed_hosts:
        yield f"STRATA_ALLOWED_HOSTS must include {host}, the host of STRATA_BASE_URL, or be left unset."


if _problems := [*_key_problems(), *_state_problems(), *_address_problems()]:
    sys.exit("Refusing to start in production:\n- " + "\n- ".join(_problems))

_host = urlsplit(BASE_URL).hostname or ""
ALLOWED_HOSTS = CONF.allowed_hosts or [f"[{_host}]" if ":" in _host else _host]
SECURE_SSL_REDIRECT = IS_HTTPS
# Health checks come from inside, over plain http.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if IS_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = IS_HTTPS
# Preloading is for the owner of the whole domain to decide: leaving the browsers' list takes months.
SECURE_HSTS_PRELOAD = False
SILENCED_SYSTEM_CHECKS = ["security.W021"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
