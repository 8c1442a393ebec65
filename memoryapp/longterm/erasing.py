"""Forgetting once more, in a restored backup: without an undo, whatever state its rows are in."""

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from memoryapp.errors import NotFoundError
from memoryapp.longterm import forgettings, history
from memoryapp.longterm.models import Experience, Forgetting, Memory


def erase(
    user_id: UUID, *, memory_ids: Collection[UUID], experience_ids: Collection[UUID], now: datetime
) -> None:
    """``forgettings.forget`` for good, and besides what that does not see: rows that were being forgotten when the
    backup was made, and those that have expired. ``now``: when it was asked for. What is not there is gone already."""
    if not memory_ids and not experience_ids:
        return
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        with suppress(NotFoundError):
            forgettings.forget_within(user_id, memory_ids, now=now, is_final=True)
        with suppress(NotFoundError):
            forgettings.forget_experiences_within(user_id, experience_ids, now=now, is_final=True)
        Memory.everything.for_user(user_id).filter(id__in=list(memory_ids)).delete()
        Experience.everything.for_user(user_id).filter(id__in=list(experience_ids)).delete()


def bring_back(user_id: UUID, ids: Collection[UUID]) -> None:
    """Undo the forgettings that hide any of these memories and experiences: they were undone after the backup."""
    if not ids:
        return
    hiding = Q(memories__in=list(ids)) | Q(experiences__in=list(ids))
    acts = Forgetting.objects.filter(hiding, user_id=user_id, finished_at=None, undone_at=None).distinct()
    for act in acts.order_by("created_at", "id"):
        # When it was asked for there was still time.
        forgettings.undo(user_id, act.id, now=act.created_at)
