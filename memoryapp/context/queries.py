"""Reads of context snapshots, and of what replies were given."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDate, TruncWeek

from memoryapp.accounts.queries import time_zone_of
from memoryapp.context.models import ContextSnapshot, Use
from memoryapp.llm.calibration import NEWEST
from memoryapp.llm.calibration import learned_ratio as learned
from memoryapp.transcript import queries as transcript


def newest_snapshot(user_id: UUID, turn_id: UUID) -> ContextSnapshot | None:
    """The last model call of the turn."""
    return (
        ContextSnapshot.objects.filter(user_id=user_id, turn_id=turn_id).order_by("-attempt", "-call").first()
    )


def of_turn(user_id: UUID, turn_id: UUID) -> list[ContextSnapshot]:
    """Every model call of the turn, in order."""
    return list(
        ContextSnapshot.objects.filter(user_id=user_id, turn_id=turn_id).order_by("attempt", "call", "id")
    )


def first_snapshots(user_id: UUID, turn_ids: Iterable[UUID]) -> dict[UUID, ContextSnapshot]:
    """Turn id → the first model call of the attempt that recalled something last: what the reply was given."""
    # A resumed attempt recalls nothing anew: what the first one recalled still stands in its prompt.
    rows = ContextSnapshot.objects.filter(user_id=user_id, turn_id__in=list(turn_ids), call=1).order_by(
        "attempt"
    )
    found: dict[UUID, ContextSnapshot] = {}
    for row in rows:
        if row.recalled or row.turn_id not in found:
            found[row.turn_id] = row
    return found


def learned_ratio(model: str) -> float:
    """What a local estimate is multiplied by to get this model's tokens, from its newest reported calls."""
    reported = ContextSnapshot.objects.filter(model=model, reported_input_tokens__gt=0).order_by(
        "-created_at"
    )
    newest = reported.values_list("estimated_input_tokens", "reported_input_tokens")[:NEWEST]
    return learned([(estimated, tokens or 0) for estimated, tokens in newest])


def previous_chain(user_id: UUID, turn_ids: Iterable[UUID]) -> list[tuple[str, int]]:
    """The chain of the newest model call for any of these turns; empty when there was none."""
    snapshots = ContextSnapshot.objects.filter(user_id=user_id, turn_id__in=list(turn_ids))
    chain = snapshots.order_by("-created_at", "-call").values_list("chain", flat=True).first()
    return [(digest, tokens) for digest, tokens in chain or []]


def uses(user_id: UUID) -> QuerySet[Use]:
    """What the replies that are shown were given: those of other branches are not, nor those that were deleted."""
    shown = Use.objects.filter(
        user_id=user_id,
        turn__is_current=True,
        turn__deleted_at=None,
        turn__conversation__deleted_at=None,
    )
    return shown.order_by("-used_at", "-id")


def uses_of(user_id: UUID, memory_id: UUID) -> QuerySet[Use]:
    """Newest first, with turn and conversation."""
    return uses(user_id).filter(memory_id=memory_id).select_related("turn__conversation")


def called_for_in(user_id: UUID, memory_id: UUID) -> QuerySet[Use]:
    """Of ``uses_of``, the replies whose message or tool asked for it."""
    return uses_of(user_id, memory_id).exclude(score=Use.AT_HAND)


def at_hand_in(user_id: UUID, memory_id: UUID) -> QuerySet[Use]:
    """Of ``uses_of``, the replies that were given it only because every reply is."""
    return uses_of(user_id, memory_id).filter(score=Use.AT_HAND)


def uses_of_experience(user_id: UUID, experience_id: UUID) -> QuerySet[Use]:
    """Newest first, with turn and conversation."""
    return uses(user_id).filter(experience_id=experience_id).select_related("turn__conversation")


def looked_up_in(user_id: UUID, turn_id: UUID) -> QuerySet[Use]:
    """What a tool of the turn answered with and its prompt did not hold, in the order it came."""
    rows = Use.objects.filter(user_id=user_id, turn_id=turn_id, score=Use.LOOKED_UP)
    return rows.order_by("used_at", "rank", "id")


def looked_up_counts(user_id: UUID, turn_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Turn id → how much a tool of it answered with that its prompt did not hold; turns without are absent."""
    rows = Use.objects.filter(user_id=user_id, turn_id__in=list(turn_ids), score=Use.LOOKED_UP).order_by()
    return dict(rows.values_list("turn_id").annotate(n=Count("id")))


def recalls_per_week(user_id: UUID, *, weeks: int = 12, now: datetime) -> list[tuple[date, int]]:
    """``(Monday, how many memories replies were given)`` of the newest weeks, oldest first; weeks of the person."""
    zone = time_zone_of(user_id)
    today = now.astimezone(zone).date()
    monday = today - timedelta(days=today.weekday())
    mondays = [monday - timedelta(weeks=back) for back in reversed(range(weeks))]
    begin = datetime.combine(mondays[0], time(0), tzinfo=zone)
    found = uses(user_id).filter(used_at__gte=begin).exclude(memory=None).order_by()
    weekly = found.annotate(week=TruncWeek("used_at", tzinfo=zone)).values_list("week")
    counts = {week.date(): count for week, count in weekly.annotate(count=Count("id"))}
    return [(day, counts.get(day, 0)) for day in mondays]


def uses_per_day(user_id: UUID, *, days: int, today: date) -> dict[date, int]:
    """How many memories replies were given on each of the last ``days`` days in UTC; days without are absent."""
    rows = uses(user_id).exclude(memory=None).order_by()
    begin = datetime.combine(today - timedelta(days=days - 1), time(0), tzinfo=UTC)
    rows = rows.filter(used_at__gte=begin, used_at__lt=begin + timedelta(days=days))
    return dict(
        rows.annotate(day=TruncDate("used_at", tzinfo=UTC)).values_list("day").annotate(n=Count("id"))
    )


def recalled_in_share(user_id: UUID, *, turns: int = 50) -> Mapping[UUID, float]:
    """Memory id → in which share of the newest ``turns`` replies it was given; what was in none is absent."""
    newest = transcript.newest_replied(user_id, limit=turns)
    if not newest:
        return {}
    counts = (
        Use.objects.filter(user_id=user_id, turn_id__in=newest)
        .exclude(memory=None)
        .order_by()
        .values_list("memory_id")
        .annotate(times=Count("id"))
    )
    return {memory_id: times / len(newest) for memory_id, times in counts if memory_id}
