"""``manage.py check --deploy``: what a purge needs of servers that somebody else runs, each with what to do.

The bundled servers are started so; these looks cost a connection, so that only ``--deploy`` makes them.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Info, register
from django.db import DatabaseError, connection
from redis.exceptions import RedisError, ResponseError

from memoryapp.redis_client import redis_client

# Setting → what it must be, and why.
POSTGRES: Final = {
    "wal_recycle": (("off",), "an old log segment is kept under a new name, with what is in it"),
    "log_error_verbosity": (("terse",), "the DETAIL of an error quotes the row"),
    "log_parameter_max_length": (("0",), "slow statements are logged with their values"),
    "log_parameter_max_length_on_error": (("0",), "failing statements are logged with their values"),
    "log_statement": (("none", "ddl"), "statements are logged with their values"),
    "autovacuum": (("on",), "deleted rows wait for the purge alone"),
    "track_counts": (("on",), "a purge cannot see which tables were written to"),
}
VECTOR_AT_LEAST: Final = (0, 8, 4)  # before it, vacuuming an index of vectors may damage it


@register(deploy=True)
def servers_forget(**_: Any) -> Sequence[CheckMessage]:
    """What keeps deleted bytes for longer than a purge can help."""
    if not settings.DATABASE_URL:
        return []
    return [*_postgres(), *_redis()]


def _postgres() -> list[CheckMessage]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY (%s)", [list(POSTGRES)])
            found = dict(cursor.fetchall())
            cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            version = cursor.fetchone()
            cursor.execute(
                "SELECT rolsuper, pg_has_role(current_user, 'pg_checkpoint', 'USAGE'), "
                "has_function_privilege('pg_switch_wal()', 'EXECUTE'), "
                "pg_has_role(current_user, 'pg_monitor', 'USAGE'), "
                "pg_catalog.pg_get_userbyid(datdba) = current_user OR rolsuper, rolcreatedb OR rolsuper "
                "FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()"
            )
            is_superuser, may_checkpoint, may_switch, may_monitor, owns, may_create = cursor.fetchone()
    except DatabaseError as error:
        return [_unseen("PostgreSQL", error)]
    wrong = [
        _warning(1, f"PostgreSQL has {name} = {found[name]}: {why}.", f"Set {name} = {wanted[0]}.")
        for name, (wanted, why) in POSTGRES.items()
        if name in found and found[name] not in wanted
    ]
    if version and tuple(int(part) for part in version[0].split(".")[:3]) < VECTOR_AT_LEAST:
        wrong.append(
            _warning(
                2, f"pgvector is {version[0]}: vacuuming may damage an index.", "Update it to 0.8.4 or later."
            )
        )
    may = {
        "run CHECKPOINT": (is_superuser or may_checkpoint, "GRANT pg_checkpoint TO it."),
        "end a segment of the log": (may_switch, "GRANT EXECUTE ON FUNCTION pg_switch_wal() TO it."),
        "see the segments of the log": (may_monitor, "GRANT pg_monitor TO it."),
        "rewrite every table": (owns, "Make it the owner of the database."),
        "make a database, as a restore does": (may_create, "ALTER ROLE … CREATEDB."),
    }
    return wrong + [
        _warning(3, f"The database's role may not {what}.", how)
        for what, (is_allowed, how) in may.items()
        if not is_allowed
    ]


def _redis() -> list[CheckMessage]:
    client: Any = redis_client()
    try:
        has_log = bool(client.info("persistence").get("aof_enabled"))
        if not has_log:
            return []
        # Asks without doing it; a server without ACLs refuses the question, and allows everything.
        said = client.execute_command("ACL", "DRYRUN", client.acl_whoami(), "BGREWRITEAOF")
    except ResponseError:
        return []
    except (RedisError, OSError) as error:
        return [_unseen("Redis", error)]
    if said in {"OK", b"OK", True}:
        return []
    return [
        _warning(
            4,
            "Redis keeps an append-only file and does not let this user rewrite it.",
            "Allow it BGREWRITEAOF, or set appendonly no: nothing in Redis has to outlive it.",
        )
    ]


def _unseen(server: str, error: Exception) -> CheckMessage:
    """No warning: an image is checked where there are no servers."""
    said = f"{server} could not be looked at: {type(error).__name__}."
    return Info(said, hint="Check again where it can be reached.", id="forgetting.I001")


def _warning(number: int, message: str, hint: str) -> CheckMessage:
    return checks.Warning(message, hint=hint, id=f"forgetting.W{number:03}")
