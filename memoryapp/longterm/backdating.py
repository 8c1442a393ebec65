"""Giving what was just written the age of what it was taken from: for examples and imports of old talk."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memoryapp.activity import operations as activity
from memoryapp.longterm import history
from memoryapp.longterm.models import Memory, MemorySource, MemoryVersion


def backdate(user_id: UUID, memory_id: UUID, *, to: datetime, since: datetime) -> None:
    """What was recorded of a memory from ``since`` on counts as recorded at ``to``: the row, its versions, its sources,
    what it replaced, and the entries of the activity log about it.

    Its lifetime stays, for that is counted from when it was said.
    """
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        mine = Memory.objects.for_user(user_id)
        mine.filter(id=memory_id, recorded_at__gte=since).update(recorded_at=to)
        mine.filter(superseded_by=memory_id, superseded_at__gte=since).update(superseded_at=to)
        for rows in (MemoryVersion.objects, MemorySource.objects):
            rows.filter(user_id=user_id, memory=memory_id, recorded_at__gte=since).update(recorded_at=to)
        activity.backdate(user_id, memory_id, to=to, since=since)
