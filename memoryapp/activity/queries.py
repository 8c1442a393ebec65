"""Reads of the activity log; every one starts from the user."""

from uuid import UUID

from django.db.models import QuerySet

from memoryapp.activity.models import Entry, Reading


def entries(user_id: UUID) -> QuerySet[Entry]:
    """Newest first by ``("-recorded_at", "-id")``; the caller pages."""
    return Entry.objects.filter(user_id=user_id)


def entries_about(user_id: UUID, subject_id: UUID) -> QuerySet[Entry]:
    return entries(user_id).filter(subject_id=subject_id).order_by("-recorded_at", "-id")


def readings_of(user_id: UUID, memory_id: UUID) -> QuerySet[Reading]:
    return Reading.objects.filter(user_id=user_id, memory_id=memory_id).order_by("-day", "-last_at", "-id")
