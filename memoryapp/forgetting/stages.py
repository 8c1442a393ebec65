"""How far a forgetting is gone: rows, what was made of them, queues and caches, the files of the server.

``advance`` looks and notes, once a minute; a receipt never says more than was seen. ``outlook`` says of one receipt
what is gone from where, and what goes when.
"""

import base64
import json
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet
from redis.exceptions import RedisError

from memoryapp.conf import get_conf
from memoryapp.forgetting.models import Purge
from memoryapp.receipts.models import Receipt, Scope, Sort
from memoryapp.redis_client import redis_client

logger = logging.getLogger(__name__)

AT_ONCE: Final = 500  # receipts of each stage in one pass; the next one is a minute away
QUEUES: Final = ("celery:turns", "celery:memory")  # as the broker names its lists
LOOKED_AT: Final = 1_000  # messages of a queue
SWEEP: Final = timedelta(minutes=1)  # what has to wait for a sweep waits so long
REBUILT: Final = timedelta(minutes=1)  # what is derived is made anew, or gone
STORES: Final = timedelta(minutes=15)

# Where the rows of each sort lie. Messages are not deleted by a receipt that names them: their words are.
TABLES: Final = {
    Sort.MEMORY: "longterm_memory",
    Sort.EXPERIENCE: "longterm_experience",
    Sort.CONVERSATION: "transcript_conversation",
    Sort.TURN: "transcript_turn",
    Sort.RUN: "scratchpad_run",
}
# What is made of forgotten memories and is no row of theirs. All else hangs on them by foreign keys.
LESSONS: Final = """
SELECT forgotten FROM unnest(%(ids)s::uuid[]) AS forgotten
WHERE EXISTS (SELECT FROM longterm_experience WHERE user_id = %(user_id)s AND memory_ids @> ARRAY[forgotten])
"""
# Summaries of what is gone that still say it; those of a deletion that can be undone are that one's.
SUMMARIES: Final = """
SELECT EXISTS (
    SELECT FROM transcript_summary WHERE user_id = %(user_id)s AND is_stale AND text <> '' AND deletion_ids = '{}'
)
"""


class Place(StrEnum):
    """Where something forgotten can be."""

    READS = "reads"  # pages, searches, prompts, exports, answers to programs
    ROWS = "rows"
    DERIVED = "derived"  # summaries, lessons, what else was made of it
    STORES = "stores"  # queues and caches
    FILES = "files"  # of the database, its log, the queues; what the programs said of themselves
    BACKUPS = "backups"
    EXPORTS = "exports"  # copies that the person took
    PROVIDER = "provider"  # of the model


class Progress(StrEnum):
    GONE = "gone"
    PENDING = "pending"
    OUT_OF_REACH = "out_of_reach"
    BACK = "back"  # it was undone


@dataclass(frozen=True, slots=True)
class Outlook:
    """``at``: since when it is gone, or by when; None: nobody said."""

    where: Place
    progress: Progress
    at: datetime | None


def outlook(receipt: Receipt, *, now: datetime) -> list[Outlook]:
    """Nearest first. Pure but for the configuration."""
    if receipt.undone_at:
        return [Outlook(Place.READS, Progress.BACK, receipt.undone_at)]
    conf = get_conf()
    rows_due = (receipt.undo_until or receipt.forgotten_at) + SWEEP
    ended_at = receipt.finished_at or rows_due
    files_due = ended_at + timedelta(hours=conf.purge_hours) if conf.purge_hours else None
    backups_due = ended_at + timedelta(days=conf.backup_days)
    kept = conf.provider_retention_days
    provider_due = None if kept is None else receipt.forgotten_at + timedelta(days=kept)
    return [
        Outlook(Place.READS, Progress.GONE, receipt.forgotten_at),
        _stage(Place.ROWS, receipt.finished_at, rows_due),
        _stage(Place.DERIVED, receipt.derived_at, ended_at + REBUILT),
        _stage(Place.STORES, receipt.stored_at, ended_at + STORES),
        _stage(Place.FILES, receipt.purged_at, files_due),
        _stage(
            Place.BACKUPS, backups_due if receipt.finished_at and backups_due <= now else None, backups_due
        ),
        Outlook(Place.EXPORTS, Progress.OUT_OF_REACH, None),
        Outlook(Place.PROVIDER, Progress.OUT_OF_REACH, provider_due),
    ]


def advance(now: datetime) -> int:
    """Note of the open receipts what has gone since; how many notes. Harmless to repeat, and to run twice at once."""
    return _finish(now) + _derive(now) + _store(now) + _purge()


def left(items: dict[str, list[str]]) -> dict[str, list[str]]:
    """Of these ids by sort those that are still rows, hidden ones too."""
    found: dict[str, list[str]] = {}
    for sort, table in TABLES.items():
        if ids := items.get(sort.value):
            # By primary key.
            sql = f"SELECT id::text FROM {table} WHERE id = ANY(%s::uuid[])"  # noqa: S608  # ours
            if rows := [row[0] for row in _rows(sql, [ids])]:
                found[sort.value] = rows
    return found


def gone_for_good(receipt: Receipt) -> dict[str, list[str]]:
    """Its items without those that came back."""
    return {sort: sorted({*ids} - {*receipt.restored.get(sort, ())}) for sort, ids in receipt.items.items()}


def _stage(where: Place, at: datetime | None, due: datetime | None) -> Outlook:
    return Outlook(where, Progress.GONE if at else Progress.PENDING, at or due)


def _open(**stage: Any) -> QuerySet[Receipt]:
    """By the index of open receipts."""
    rows = Receipt.objects.filter(undone_at=None, purged_at=None, **stage)
    return rows.order_by("forgotten_at")


def _note(receipts: Iterable[Receipt], field: str, now: datetime) -> int:
    ids = [receipt.id for receipt in receipts]
    return Receipt.objects.filter(id__in=ids, undone_at=None, **{field: None}).update(**{field: now})


def _finish(now: datetime) -> int:
    over = Q(undo_until=None) | Q(undo_until__lte=now)
    waiting = list(_open(finished_at=None).filter(over)[:AT_ONCE])
    still = left(_together(gone_for_good(receipt) for receipt in waiting))
    return _note((each for each in waiting if not _names(each, still)), "finished_at", now)


def _derive(now: datetime) -> int:
    waiting = list(_open(finished_at__isnull=False, derived_at=None)[:AT_ONCE])
    return _note((each for each in waiting if not _has_derivatives(each)), "derived_at", now)


def _has_derivatives(receipt: Receipt) -> bool:
    ids = gone_for_good(receipt)
    if memories := ids.get(Sort.MEMORY.value):
        lessons = _rows(LESSONS, {"ids": memories, "user_id": receipt.user_id})
        if lessons:
            return True
    of_talk = {Sort.MESSAGE.value, Sort.TURN.value, Sort.CONVERSATION.value} & ids.keys()
    return bool(of_talk and _rows(SUMMARIES, {"user_id": receipt.user_id})[0][0])


def _store(now: datetime) -> int:
    waiting = list(_open(finished_at__isnull=False, stored_at=None)[:AT_ONCE])
    if not waiting:
        return 0
    try:
        _drop_streams(waiting)
        queued = _queued()
    except (RedisError, OSError) as error:
        logger.warning("Receipts wait for Redis: %s", type(error).__name__)
        return 0
    clear = [each for each in waiting if not _is_queued(each, queued)]
    return _note(clear, "stored_at", now)


def _drop_streams(receipts: Sequence[Receipt]) -> None:
    """What was streamed of turns that are gone, and what told of something that is; what was worked out of people's
    rows and kept for a while."""
    client: Any = redis_client()
    keys = {key: _turn_of(key) for key in client.scan_iter(match="turn:*", count=1_000)}
    live = _turns(filter(None, keys.values()))
    told = {sort_id for receipt in receipts for ids in gone_for_good(receipt).values() for sort_id in ids}
    for key, turn_id in keys.items():
        # One that is being written goes when it has ended: a reader would miss the beginning.
        if turn_id not in live or (live[turn_id] and _tells_of(client.xrange(key), told)):
            client.delete(key)
    for user_id in {receipt.user_id for receipt in receipts}:
        for key in client.scan_iter(match=f"similar:{user_id}:*", count=1_000):
            client.delete(key)


def _turn_of(key: str) -> str | None:
    try:
        return str(UUID(key.partition(":")[2]))
    except ValueError:
        return None


def _turns(turn_ids: Iterable[str]) -> dict[str | None, bool]:
    """Those that exist, and whether each has ended."""
    sql = (
        "SELECT id::text, status NOT IN ('queued', 'running', 'waiting') FROM transcript_turn "
        "WHERE id = ANY(%s::uuid[]) AND deletion_id IS NULL"
    )
    return dict(_rows(sql, [list(turn_ids)]))


def _tells_of(entries: Iterable[tuple[str, dict[str, str]]], ids: Collection[str]) -> bool:
    told = {
        event.get("memory_id") for _, fields in entries if (event := json.loads(fields.get("event", "{}")))
    }
    return not told.isdisjoint(ids)


def _queued() -> str:
    """Everything that waits in the queues, as one text; messages hold ids alone."""
    client: Any = redis_client()
    return "\n".join(_body(message) for queue in QUEUES for message in client.lrange(queue, 0, LOOKED_AT - 1))


def _body(message: str) -> str:
    try:
        return base64.b64decode(json.loads(message)["body"]).decode(errors="replace")
    except (ValueError, KeyError, TypeError):
        return message


def _is_queued(receipt: Receipt, queued: str) -> bool:
    return bool(queued) and any(
        sort_id in queued for ids in gone_for_good(receipt).values() for sort_id in ids
    )


def _purge() -> int:
    """A purge takes what had gone from everywhere else before it began."""
    noted = 0
    for purge in Purge.objects.filter(finished_at__isnull=False, error="").order_by("-started_at")[:1]:
        before = purge.started_at
        clear = _open(finished_at__lte=before, derived_at__lte=before, stored_at__lte=before)
        noted += clear.order_by().update(purged_at=purge.finished_at)
    return noted


def _together(items: Iterable[dict[str, list[str]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in items:
        for sort, ids in each.items():
            found.setdefault(sort, []).extend(ids)
    return found


def _names(receipt: Receipt, rows: dict[str, list[str]]) -> bool:
    """Whether one of its items is among these rows."""
    ids = gone_for_good(receipt)
    return _remains(receipt) or any(
        not {*found}.isdisjoint(ids.get(sort, ())) for sort, found in rows.items()
    )


def _remains(receipt: Receipt) -> bool:
    """Whether the account is still there that this receipt says is gone."""
    if receipt.scope != Scope.ACCOUNT:
        return False
    return bool(_rows("SELECT EXISTS (SELECT FROM accounts_user WHERE id = %s)", [receipt.user_id])[0][0])


def _rows(sql: str, parameters: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())
