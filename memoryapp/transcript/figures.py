"""Figures over everybody's turns, for those who run an installation: counts and tokens, never what anybody said.

Turns that are being deleted count: they were work, and they cost what they cost.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max, Min, Sum
from django.db.models.functions import Coalesce

from memoryapp.transcript.models import Summary, Turn


@dataclass(frozen=True, slots=True)
class Spent:
    """``input_tokens`` as a whole; ``cache_read_tokens`` is what of it the provider's cache gave."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int


@dataclass(frozen=True, slots=True)
class Failed:
    error_code: str
    count: int
    last_at: datetime


def live_turns() -> dict[str, int]:
    """Status → how many turns are queued, running or waiting."""
    rows = Turn.everything.filter(status__in=Turn.LIVE).values("status").annotate(count=Count("id"))
    return dict.fromkeys(map(str, Turn.LIVE), 0) | {row["status"]: row["count"] for row in rows.order_by()}


def oldest_queued_at() -> datetime | None:
    """Since when the turn waits that has waited longest for a worker."""
    oldest: datetime | None = Turn.everything.filter(status=Turn.Status.QUEUED).aggregate(
        at=Min("created_at")
    )["at"]
    return oldest


def spent_on_replies(*, since: datetime) -> list[Spent]:
    """By model, the most expensive first."""
    rows = (
        Turn.everything.filter(finished_at__gte=since)
        .values("model")
        .annotate(
            calls=Count("id"),
            read=Coalesce(Sum("input_tokens"), 0),
            written=Coalesce(Sum("output_tokens"), 0),
            cached=Coalesce(Sum("cache_read_tokens"), 0),
        )
        .order_by("-read", "model")
    )
    return [Spent(row["model"], row["calls"], row["read"], row["written"], row["cached"]) for row in rows]


def failed_turns(*, since: datetime) -> list[Failed]:
    """By error code, the most frequent first."""
    rows = (
        Turn.everything.filter(finished_at__gte=since)
        .exclude(error_code="")
        .values("error_code")
        .annotate(count=Count("id"), last_at=Max("finished_at"))
        .order_by("-count", "error_code")
    )
    return [Failed(row["error_code"], row["count"], row["last_at"]) for row in rows]


def newest_tries(*, since: datetime, most: int) -> dict[UUID, list[tuple[str, datetime]]]:
    """Conversation → of its newest summaries made by code, at most ``most``, why no model's was used, and when."""
    rows = (
        Summary.objects.filter(created_at__gte=since)
        .exclude(method=Summary.Method.EDITED)
        .order_by("conversation_id", "-version")
        .values_list("conversation_id", "fallback_reason", "created_at")
    )
    found: dict[UUID, list[tuple[str, datetime]]] = {}
    for conversation_id, reason, at in rows:
        tries = found.setdefault(conversation_id, [])
        if len(tries) < most:
            tries.append((reason, at))
    return found
