"""Writes of the activity log. Each is a part of the caller's transaction: what did not happen is not logged."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import connection

from memoryapp.acting import current
from memoryapp.activity.models import Entry, Tier, Verb

NOTE_READINGS = """
INSERT INTO activity_reading (id, user_id, memory_id, reader, reader_name, day, times, last_at)
SELECT gen_random_uuid(), %(user_id)s, read.id, %(reader)s, %(reader_name)s, %(day)s, 1, %(at)s
FROM unnest(%(memory_ids)s::uuid[]) AS read(id)
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


def note_readings(user_id: UUID, memory_ids: Iterable[UUID], *, now: datetime) -> None:
    """Whoever acts was given these memories. Their person's own looking at pages is not noted."""
    acting = current()
    ids = sorted(set(memory_ids))  # always in this order, so that two readers never wait for each other
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
