"""Servers that someone else runs: they must answer before anything is started against them."""

from urllib.parse import SplitResult, unquote, urlsplit

import psycopg
import redis

from memoryapp.embedded.errors import EmbeddedError

_TIMEOUT_S = 5


class UnreachableError(EmbeddedError):
    """A server named by the environment does not answer; the message names it without its password."""

    code = "server_unreachable"


def require_postgres(url: str) -> None:
    try:
        psycopg.connect(url, connect_timeout=_TIMEOUT_S).close()
    except psycopg.Error as error:
        raise _unreachable("PostgreSQL", "DATABASE_URL", url, error) from error


def require_redis(url: str) -> None:
    try:
        with redis.from_url(url, socket_connect_timeout=_TIMEOUT_S, socket_timeout=_TIMEOUT_S) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        raise _unreachable("Redis", "REDIS_URL", url, error) from error


def _unreachable(what: str, variable: str, url: str, error: Exception) -> UnreachableError:
    parts = urlsplit(url)
    reason = " ".join(str(error).split()) or type(error).__name__
    return UnreachableError(
        f"Cannot reach {what} at {_place(parts)}, which {variable} names: {_masked(reason, parts)}\n"
        f"Start it or correct {variable}; without {variable}, a bundled server is used."
    )


def _place(parts: SplitResult) -> str:
    """Host, port and path; never the user or the password."""
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}" or "an empty address"


def _masked(text: str, parts: SplitResult) -> str:
    for secret in {parts.password or "", unquote(parts.password or "")} - {""}:
        text = text.replace(secret, "***")
    return text
