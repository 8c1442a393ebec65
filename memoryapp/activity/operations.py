"""Writes of the activity log. Each is a part of the caller's transaction: what did not happen is not logged."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.acting import Actor, current
from memoryapp.activity.models import Entry, Opening, Reading, Tier, Verb

NOTE_READINGS = """
INSERT INTO activity_reading (id, user_id, memory_id, reader, reader_name, day, times, last_at)
SELECT gen_random_uuid(), %(user_id)s, read.id, %(reader)s, %(reader_name)s, %(day)s, 1, %(at)s
FROM (
    SELECT id FROM longterm_memory WHERE user_id = %(user_id)s AND id = ANY(%(memory_ids)s)
    ORDER BY id FOR KEY SHARE
) AS read  -- without what was deleted since; in one order, so that no two readers wait for each other
ON CONFLICT (user_id, memory_id, reader, reader_name, day)
DO UPDATE SET times = activity_reading.times + 1, last_at = excluded.last_at
"""


def note(
    user_id: UUID,
    verb: Verb,
    *,
    tier: Tier,
    subject_id: UUID | None = None,
    rows: int = 1,
    detail: str = "",
) -> None:
    """Whoever acts (``acting.current``) did this to a row of this person, or to ``rows`` of them."""
    acting = current()
    Entry.objects.create(
        user_id=user_id,
        actor=acting.actor,
        actor_name=acting.name,
        verb=verb,
        tier=tier,
        subject_id=subject_id,
        rows=rows,
        detail=detail[:300],
    )


def backdate(user_id: UUID, subject_id: UUID, *, to: datetime, since: datetime) -> None:
    """What was noted about a row from ``since`` on counts as noted at ``to``."""
    Entry.objects.filter(user_id=user_id, subject_id=subject_id, recorded_at__gte=since).update(
        recorded_at=to
    )


def add_person(admin_id: UUID, *, username: str, email: str = "") -> User:
    """An account without a password, noted in the log of the admin who makes it. Raises InvalidInputError."""
    with transaction.atomic(durable=True):
        person = accounts.add_person(username=username, email=email)
        note(admin_id, Verb.ADDED, tier=Tier.ACCOUNT, subject_id=person.id)
    return person


def open_memory(user_id: UUID, *, admin_id: UUID, reason: str, now: datetime, until: datetime) -> Opening:
    """To this admin; noted with it as done by whoever acts, so that none is ever open without its person being told."""
    with transaction.atomic(durable=True):
        note(user_id, Verb.OPENED, tier=Tier.ACCOUNT, detail=reason)
        return Opening.objects.create(
            user_id=user_id, admin_id=admin_id, reason=reason, opened_at=now, until=until
        )


def close_memory(opening_id: UUID, *, admin_id: UUID, now: datetime) -> None:
    """For good. Once more changes nothing."""
    Opening.objects.filter(id=opening_id, admin_id=admin_id, closed_at=None).update(closed_at=now)


def note_readings(user_id: UUID, memory_ids: Iterable[UUID], *, now: datetime) -> None:
    """Whoever acts was given these memories. Their person's own looking at pages is not noted."""
    acting = current()
    ids = list(set(memory_ids))
    if not ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            NOTE_READINGS,
            {
                "user_id": user_id,
                "memory_ids": ids,
                "reader": acting.actor,
                "reader_name": acting.name,
                "day": now.date(),
                "at": now,
            },
        )


def note_program_reads(user_id: UUID, memory_ids: Iterable[UUID], *, now: datetime) -> None:
    """When a program acts: that it was given these memories, one by one, and in the log once a minute in all."""
    acting = current()
    ids = set(memory_ids)
    if acting.actor != Actor.PROGRAM or not ids:
        return
    with transaction.atomic(durable=True):
        note_readings(user_id, ids, now=now)
        _note_read(user_id, ids, name=acting.name, since=now.replace(second=0, microsecond=0))


def _note_read(user_id: UUID, ids: set[UUID], *, name: str, since: datetime) -> None:
    with connection.cursor() as cursor:
        # Two requests at once must not both find that this minute has no entry yet.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"read:{user_id}:{name}"])
    newest = (
        Entry.objects.filter(
            user_id=user_id,
            verb=Verb.READ,
            tier=Tier.LONGTERM,
            actor=Actor.PROGRAM,
            actor_name=name,
            recorded_at__gte=since,
        )
        .order_by("-recorded_at", "-id")
        .values_list("id", flat=True)[:1]
    )
    if Entry.objects.filter(id__in=newest).update(rows=F("rows") + len(ids), subject_id=None):
        return
    note(
        user_id,
        Verb.READ,
        tier=Tier.LONGTERM,
        subject_id=next(iter(ids)) if len(ids) == 1 else None,
        rows=len(ids),
    )


def delete_readings_within(user_id: UUID) -> None:
    """Within the caller's transaction: who read which of this person's memories, for these are gone."""
    Reading.objects.filter(user_id=user_id).delete()


def drop_old(*, older_than_days: int) -> int:
    """Delete entries, and the readings of days, that are older; how many entries. Within the caller's sweep."""
    with transaction.atomic(durable=True):
        before = timezone.now() - timedelta(days=older_than_days)
        Reading.objects.filter(day__lt=before.date()).delete()
        Opening.objects.filter(until__lt=before).delete()
        deleted, _ = Entry.objects.filter(recorded_at__lt=before).delete()
    return deleted
