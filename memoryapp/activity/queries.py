"""Reads of the activity log; every one starts from the user."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet, Sum

from memoryapp.activity.models import Entry, Opening, Reading, Verb

ORDER = ("-recorded_at", "-id")


@dataclass(frozen=True, slots=True)
class ReaderDay:
    """``times``: memories given to the reader on that day, each as often as it was."""

    reader: str
    name: str
    day: date
    times: int


def entries(
    user_id: UUID,
    *,
    actor: str = "",
    verb: str = "",
    tier: str = "",
    since: datetime | None = None,
    before: datetime | None = None,
) -> QuerySet[Entry]:
    """Newest first by ``ORDER``; the caller pages. What is empty does not filter."""
    rows = Entry.objects.filter(user_id=user_id)
    wanted = {
        "actor": actor,
        "verb": verb,
        "tier": tier,
        "recorded_at__gte": since,
        "recorded_at__lt": before,
    }
    return rows.filter(**{name: value for name, value in wanted.items() if value})


def entries_about(user_id: UUID, subject_id: UUID) -> QuerySet[Entry]:
    return entries(user_id).filter(subject_id=subject_id).order_by(*ORDER)


def open_to(admin_id: UUID, opening_id: UUID, *, now: datetime) -> Opening | None:
    """The opening, with its person, while it holds; None for that of another admin."""
    rows = Opening.objects.select_related("user").filter(closed_at=None, until__gt=now)
    return rows.filter(id=opening_id, admin_id=admin_id).first()


def openings_of(user_id: UUID, *, since: datetime) -> QuerySet[Entry]:
    """That somebody opened this person's memory, newest first."""
    return entries(user_id, verb=Verb.OPENED, since=since).order_by(*ORDER)


def readings_of(user_id: UUID, memory_id: UUID) -> QuerySet[Reading]:
    return Reading.objects.filter(user_id=user_id, memory_id=memory_id).order_by("-day", "-last_at", "-id")


def readers_by_day(user_id: UUID, *, days: int = 28, today: date) -> list[ReaderDay]:
    """Of the last ``days`` days in UTC, today among them; by reader, oldest day first."""
    rows = Reading.objects.filter(
        user_id=user_id, day__gt=today - timedelta(days=days), day__lte=today
    ).order_by("reader", "reader_name", "day")
    counted = rows.values_list("reader", "reader_name", "day").annotate(times=Sum("times"))
    return [ReaderDay(*row) for row in counted]
