"""The purge: what was deleted leaves the files of the servers, not only their answers.

A deleted row stays in its page until something is written over it, VACUUM or not; an index page keeps it longer, the
write-ahead log and Redis' append-only file until they are ended or rewritten (measured: docs/adr/0023). So each table
that was written to since its last rewrite is written anew, with its indexes. Tables wait for each other's users: a
rewrite asks for its lock for two seconds at a time, so that nobody queues behind it for longer, and holds it for as
long as the table takes (about a second for 10,000 facts).
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection
from django.db.models import QuerySet
from django.utils import timezone
from psycopg import errors
from redis.exceptions import RedisError, ResponseError

from memoryapp.conf import get_conf
from memoryapp.embedded import logs
from memoryapp.errors import MemoryAppError
from memoryapp.forgetting.models import Purge
from memoryapp.receipts.models import Receipt
from memoryapp.redis_client import redis_client

logger = logging.getLogger(__name__)

LOCK: Final = 7_237_115_902  # of this job, in the database: any number that nothing else asks for
LOCK_TIMEOUT_MS: Final = 2_000
LOCK_TRIES: Final = 30
PAUSE_S: Final = 1.0  # between two tries: whoever waited behind us goes on
HORIZON_TIMEOUT_S: Final = 120.0  # eight times as long as a transaction may idle
REDIS_TIMEOUT_S: Final = 120.0
POLL_S: Final = 0.2
# What a purge itself may take of the hours that were promised.
MARGIN: Final = 0.05
RETRY_AFTER: Final = timedelta(hours=1)
# The planner's samples of values: of the columns that are sampled at all.
SAMPLES: Final = "pg_catalog.pg_statistic"

# Every write, for a row whose insertion was rolled back lies in its page, too.
WRITTEN: Final = """
SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables
WHERE schemaname = current_schema() AND relname = ANY (%s)
"""
# Changes when the server begins to count anew: after a crash (the first) or when it was told to (the second).
EPOCH: Final = """
SELECT concat_ws(' ', (SELECT stats_reset FROM pg_stat_wal),
    (SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()))
"""
# Who may still see rows that were deleted before this: a rewrite would keep them for those.
READERS: Final = """
SELECT (
    SELECT count(*) FROM pg_stat_activity
    WHERE (datname = current_database() OR backend_type = 'walsender')
    AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
    AND backend_xmin::text::bigint < %(horizon)s
) + (
    SELECT count(*) FROM pg_replication_slots WHERE xmin::text::bigint < %(horizon)s
) + (
    SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()
)
"""
DELETED: Final = "SELECT coalesce(sum(n_tup_del), 0)::bigint FROM pg_stat_user_tables"
# Segments from before the last checkpoint, which something keeps.
OLD_SEGMENTS: Final = """
SELECT count(*) FROM pg_ls_waldir()
WHERE name ~ '^[0-9A-F]{24}$' AND name < (SELECT redo_wal_file FROM pg_control_checkpoint())
"""


class PurgeRunningError(MemoryAppError):
    """Another purge is at it."""

    code = "purge_running"
    http_status = 409


class PurgeFailedError(MemoryAppError):
    """Something may be left; the message says what keeps it. ``details["purge_id"]``."""

    code = "purge_failed"


class _KeptError(Exception):
    """A step could not do its part; the text says what keeps bytes and what to do."""


@dataclass(frozen=True, slots=True)
class State:
    """For the operations page. ``is_waiting``: something deleted is still in the files."""

    last: Purge | None
    last_good: Purge | None
    is_running: bool
    is_waiting: bool


class _Log:
    """Steps as they go, kept with every one, so that a page can show how far it is."""

    def __init__(self, purge: Purge) -> None:
        self.purge = purge
        self.problems: list[str] = []

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        entry: dict[str, Any] = {"name": name, "seconds": None, "detail": ""}
        self.purge.steps.append(entry)
        self.purge.save(update_fields=["steps"])
        began_at_s = time.monotonic()
        try:
            yield entry
        except (_KeptError, DatabaseError, RedisError, OSError) as error:
            said = str(error) if isinstance(error, _KeptError) else f"{name}: {_reason(error)}"
            logger.warning("The purge could not finish %s: %s", name, said)
            self.problems.append(said)
            entry |= {"detail": said, "failed": True}
        entry["seconds"] = round(time.monotonic() - began_at_s, 3)
        self.purge.save(update_fields=["steps", "written"])


def purge(*, on_step: Callable[[str], None] = lambda _: None) -> Purge:
    """Do it now, while Strata serves. Raises PurgeRunningError, and PurgeFailedError when something may be left.

    ``on_step``: told the name of each step as it begins. Must not be called within a transaction.
    """
    with _alone():
        last = _newest().first()
        run = Purge.objects.create(started_at=timezone.now(), written=dict(last.written) if last else {})
        log = _Log(run)
        run.bytes_before = _size()
        for name, step in _STEPS:
            on_step(name)
            with log.step(name) as entry:
                step(log, entry)
        run.bytes_after = _size()
        run.error = " ".join(log.problems)[:500]
        run.finished_at = timezone.now()
        run.save()
    if run.error:
        raise PurgeFailedError(run.error, purge_id=str(run.id))
    return run


def is_due(now: datetime) -> bool:
    """Whether something waits and the last purge is long enough ago, by ``purge_hours``; one that got no table's lock
    is repeated after an hour."""
    hours = get_conf().purge_hours
    if not hours:
        return False
    last = _newest().first()
    interval = RETRY_AFTER if last and _was_in_the_way(last) else timedelta(hours=hours) * (1 - MARGIN)
    is_long_ago = last is None or last.started_at <= now - interval
    return is_long_ago and _is_waiting(_good().first())


def _was_in_the_way(last: Purge) -> bool:
    """Whether trying again may help: what the server is not set up for stays so, and tables are locked for nothing."""
    is_broken_off = last.finished_at is None
    return is_broken_off or any(step.get("failed") for step in last.steps if step["name"] == "tables")


def state() -> State:
    good = _good().first()
    return State(
        last=_newest().first(),
        last_good=good,
        is_running=_is_running(),
        is_waiting=_is_waiting(good),
    )


def tables() -> list[str]:
    """Every table of the application, smallest first: an account leaves its traces in all of them."""
    named = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}  # noqa: SLF001
    return [
        table for table, _ in sorted(_sizes(sorted(named)).items(), key=lambda found: (found[1], found[0]))
    ]


def _newest() -> QuerySet[Purge]:
    return Purge.objects.order_by("-started_at", "-id")


def _good() -> QuerySet[Purge]:
    return _newest().filter(finished_at__isnull=False, error="")


def _is_waiting(good: Purge | None) -> bool:
    """A receipt waits for it, or rows went since the last one, by expiry or as a part of something."""
    finished = Receipt.objects.filter(undone_at=None, purged_at=None, finished_at__isnull=False)
    if finished.exists():
        return True
    is_counted_on = good is not None and good.written.get("epoch") == _flushed_epoch()
    before = good.written.get("deleted", 0) if good and is_counted_on else 0
    return bool(_rows(DELETED)[0][0] > before)


@contextmanager
def _alone() -> Iterator[None]:
    if not _rows("SELECT pg_try_advisory_lock(%s)", LOCK)[0][0]:
        raise PurgeRunningError("A purge is running already.")
    try:
        yield
    finally:
        _rows("SELECT pg_advisory_unlock(%s)", LOCK)


def _is_running() -> bool:
    high, low = LOCK >> 32, LOCK & 0xFFFFFFFF
    found = _rows(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted",
        high,
        low,
    )
    return bool(found[0][0])


def _end_sessions(_log: _Log, entry: dict[str, Any]) -> None:
    """What pages keep for an undo may quote; a session that is over keeps nothing."""
    entry["detail"] = str(Session.objects.filter(expire_date__lt=timezone.now()).delete()[0])


def _wait_for_readers() -> None:
    """Until nobody can see any more what was deleted before now."""
    horizon = _rows("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint %% 4294967296")[0][0]
    if not _wait_until(lambda: not _readers(horizon), timeout_s=HORIZON_TIMEOUT_S):
        raise _KeptError(
            "A transaction that began before the purge is still open, so that deleted rows are kept for it. End it "
            "(pg_stat_activity, oldest backend_xmin; pg_prepared_xacts; pg_replication_slots) and purge again."
        )


def _readers(horizon: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(READERS, {"horizon": horizon})
        return int(cursor.fetchone()[0])


def _rewrite_tables(log: _Log, entry: dict[str, Any]) -> None:
    """Those that were written to since they were rewritten last, each with its indexes and its planner's samples."""
    _wait_for_readers()
    run, epoch = log.purge, _flushed_epoch()
    found = tables()
    written, deleted = dict(_rows(WRITTEN, found)), _rows(DELETED)[0][0]
    before = run.written if run.written.get("epoch") == epoch else {}
    waiting = _tables_of_receipts()
    stale = [table for table in found if table in waiting or before.get(table) != written.get(table, 0)]
    run.written = {**before, "epoch": epoch}
    longest_s, in_use = 0.0, []
    for number, table in enumerate([*stale, SAMPLES], start=1):
        entry["detail"] = f"{number} of {len(stale) + 1}: {table}"
        run.save(update_fields=["steps"])
        seconds = _rewrite(table)
        if seconds is None:
            in_use.append(table)
            continue
        longest_s = max(longest_s, seconds)
        if table != SAMPLES:
            run.written[table] = written.get(table, 0)
    run.written["deleted"] = deleted
    entry["detail"] = f"{len(stale)} of {len(found)} tables, each in {longest_s:.2f} seconds or less"
    if in_use:
        raise _KeptError(f"In use each time: {', '.join(in_use)}. Purge again at a quieter hour.")


def _tables_of_receipts() -> set[str]:
    """Of the rooms whose rows waiting receipts name: another connection's writes are counted up to a minute later."""
    rooms = {
        "memory": "longterm",
        "experience": "longterm",
        "conversation": "transcript",
        "turn": "transcript",
        "message": "transcript",
        "run": "scratchpad",
    }
    waiting = Receipt.objects.filter(undone_at=None, purged_at=None, finished_at__isnull=False)
    found = {room for sort, room in rooms.items() if waiting.filter(items__has_key=sort).exists()}
    return {
        model._meta.db_table  # noqa: SLF001
        for room in found
        for model in apps.get_app_config(room).get_models(include_auto_created=True)
    }


def _rewrite(table: str) -> float | None:
    """How many seconds it took once it had the lock, at most: nobody reads or writes the table meanwhile. None: it was
    in use each time."""
    name = ".".join(connection.ops.quote_name(part) for part in table.split("."))
    for tries_left in reversed(range(LOCK_TRIES)):
        began_at_s = time.monotonic()
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = {LOCK_TIMEOUT_MS}")
                cursor.execute(f"VACUUM (FULL, ANALYZE) {name}")
            return time.monotonic() - began_at_s
        except DatabaseError as error:
            if not isinstance(error.__cause__, errors.LockNotAvailable):
                raise
            if tries_left:
                time.sleep(PAUSE_S)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")
    return None


def _end_log_segments(_log: _Log, entry: dict[str, Any]) -> None:
    """A new segment, and none from before: a checkpoint removes what it no longer needs."""
    _rows("SELECT pg_switch_wal()")
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    # A recycled segment is one from before under a later name.
    if _rows("SHOW wal_recycle")[0][0] == "on":
        raise _KeptError(
            "PostgreSQL keeps old log segments for new ones, with what is in them: set wal_recycle = off."
        )
    try:
        old = _rows(OLD_SEGMENTS)[0][0]
    except DatabaseError as error:
        if not isinstance(error.__cause__, errors.InsufficientPrivilege):
            raise
        entry["detail"] = "not seen: the role is not a member of pg_monitor"
        return
    if old:
        raise _KeptError(
            f"PostgreSQL keeps {old} old log segments: see wal_keep_size, replication slots and archive_command."
        )


def _rewrite_redis(_log: _Log, entry: dict[str, Any]) -> None:
    """Its append-only file, or its snapshot, as it is now; what keeps neither has nothing to rewrite."""
    client: Any = redis_client()
    has_log = bool(client.info("persistence").get("aof_enabled"))
    try:
        if has_log:
            client.bgrewriteaof()
        elif client.config_get("save").get("save"):
            client.bgsave(schedule=True)
        else:
            entry["detail"] = "keeps no file"
            return
    except ResponseError as error:
        if has_log and "in progress" not in str(error):
            raise _KeptError(
                "Redis refuses BGREWRITEAOF to this user: allow it, or turn appendonly off."
            ) from error
        if not has_log:
            entry["detail"] = "its files are its host's"
            return
    if not _wait_until(lambda: _redis_is_done(has_log=has_log), timeout_s=REDIS_TIMEOUT_S):
        raise _KeptError("Redis did not finish rewriting its file in time.")
    ended_well = client.info("persistence")[
        "aof_last_bgrewrite_status" if has_log else "rdb_last_bgsave_status"
    ]
    if ended_well != "ok":
        raise _KeptError("Redis could not rewrite its file: see its log.")


def _redis_is_done(*, has_log: bool) -> bool:
    found: Any = redis_client().info("persistence")
    names = (
        ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "aof_pending_rewrite")
        if has_log
        else ("rdb_bgsave_in_progress",)
    )
    return not any(int(found.get(name, 0)) for name in names)


def _end_logs(log: _Log, entry: dict[str, Any]) -> None:
    """They hold ids alone, and those not for longer than is promised: each is begun anew, and what was ended before the
    last promise fell due is deleted."""
    conf = get_conf()
    if not conf.logs_dir:
        entry["detail"] = "kept elsewhere"
        return
    logs.end_all(Path(conf.logs_dir))
    ended_before = log.purge.started_at - timedelta(hours=conf.purge_hours)
    entry["detail"] = f"{logs.drop_ended(Path(conf.logs_dir), before=ended_before)} old files deleted"


_STEPS: Final[Sequence[tuple[str, Callable[[_Log, dict[str, Any]], None]]]] = (
    ("sessions", _end_sessions),
    ("tables", _rewrite_tables),
    ("log", _end_log_segments),
    ("redis", _rewrite_redis),
    ("logs", _end_logs),
)


def _flushed_epoch() -> str:
    _rows("SELECT pg_stat_force_next_flush()")
    _rows("SELECT pg_stat_clear_snapshot()")
    return str(_rows(EPOCH)[0][0])


def _wait_until(is_done: Callable[[], bool], *, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _size() -> int:
    return int(_rows("SELECT pg_database_size(current_database())")[0][0])


def _sizes(names: Sequence[str]) -> dict[str, int]:
    """Of those of these tables that exist."""
    return dict(
        _rows(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = current_schema()::regnamespace AND relname = ANY (%s)",
            list(names),
        )
    )


def _rows(sql: str, *parameters: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def _reason(error: Exception) -> str:
    """Its kind alone: a message may quote."""
    cause = error.__cause__ or error
    return type(cause).__name__
