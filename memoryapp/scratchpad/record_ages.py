"""How many records of runs there are, and how many another lifetime of theirs would end: numbers, for the rules."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, DateTimeField, F, Q, Value
from django.db.models.functions import Now

from memoryapp.scratchpad.models import Run


@dataclass(frozen=True, slots=True)
class Ending:
    """In ``days`` days: records of ``users`` people that go and would be there under the present rule; the reverse;
    and those there whose end is later."""

    days: int
    goes: int
    users: int
    stays: int
    later: int = 0


def count(user_id: UUID | None = None) -> int:
    """Of this person, or of everybody."""
    rows = Run.objects.all() if user_id is None else Run.objects.filter(user_id=user_id)
    return rows.count()


def endings(
    *, before: int | None, after: int | None, days: Iterable[int], since: datetime | None = None
) -> list[Ending]:
    """What keeping them for ``after`` days instead of ``before`` does, by the database's clock or from ``since`` on.

    What its person keeps for longer is not counted.
    """
    return [_ending(before, after, ahead, since) for ahead in days]


def _ending(before: int | None, after: int | None, days: int, since: datetime | None) -> Ending:
    start = Value(since, output_field=DateTimeField()) if since else Now()
    moment = start + timedelta(days=days)
    goes = _is_over(after, moment) & ~_is_over(before, moment)
    stays = _is_over(before, moment) & ~_is_over(after, moment)
    counted = Run.objects.filter(finished_at__isnull=False, is_kept=False).aggregate(
        goes=Count("id", filter=goes),
        users=Count("user_id", filter=goes, distinct=True),
        stays=Count("id", filter=stays),
        later=Count("id", filter=~_is_over(after, moment) & _is_put_off(before, after)),
    )
    return Ending(days=days, **counted)


def _is_put_off(before: int | None, after: int | None) -> Q:
    """``kept_until`` holds where it is the later end."""
    if before is None or (after is not None and after <= before):
        return Q(pk__in=[])
    if after is None:
        return Q()
    return Q(kept_until__isnull=True) | Q(kept_until__lt=F("finished_at") + timedelta(days=after))


def _is_over(kept_days: int | None, moment: Any) -> Q:
    """``moment``: an expression of the database."""
    if kept_days is None:
        return Q(pk__in=[])
    is_old = Q(finished_at__lte=moment - timedelta(days=kept_days))
    return is_old & (Q(kept_until__isnull=True) | Q(kept_until__lte=moment))
