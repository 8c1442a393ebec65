"""How many records of runs there are, and how many another lifetime of theirs would end: numbers, for the rules."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, DateTimeField, F, Min, Q, QuerySet, Value
from django.db.models.functions import Greatest, Now

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


@dataclass(frozen=True, slots=True)
class Moving:
    """Records of ``users`` people that are there under two lifetimes and end at another moment under each; the first
    end of any of them under the present one and under the other, None: never."""

    rows: int
    users: int
    ended_at: datetime | None
    ends_at: datetime | None


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


def moving(*, before: int | None, after: int | None, since: datetime | None = None) -> Moving:
    """Of those that do not go when another lifetime begins to act, by the database's clock or at ``since``."""
    moment = _start(since)
    shorter, longer = sorted((before, after), key=lambda days: (days is None, days or 0))
    ends = {"ended_at": before, "ends_at": after}
    there = _following().filter(~_is_over(shorter, moment) & _is_put_off(shorter, longer))
    counted = there.aggregate(
        rows=Count("id"),
        users=Count("user_id", distinct=True),
        **{name: Min(_end(days)) for name, days in ends.items() if days is not None},
    )
    return Moving(counted["rows"], counted["users"], counted.get("ended_at"), counted.get("ends_at"))


def _following() -> QuerySet[Run]:
    """Those whose end the lifetime decides."""
    return Run.objects.filter(finished_at__isnull=False, is_kept=False)


def _start(since: datetime | None) -> Any:
    return Value(since, output_field=DateTimeField()) if since else Now()


def _end(kept_days: int) -> Greatest:
    return Greatest(F("finished_at") + timedelta(days=kept_days), F("kept_until"))


def _ending(before: int | None, after: int | None, days: int, since: datetime | None) -> Ending:
    moment = _start(since) + timedelta(days=days)
    goes = _is_over(after, moment) & ~_is_over(before, moment)
    stays = _is_over(before, moment) & ~_is_over(after, moment)
    counted = _following().aggregate(
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
