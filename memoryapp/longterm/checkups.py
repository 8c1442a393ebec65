"""What of a person's memory deserves their eye: counted in one pass, and listed. ``policies.health`` has the limits."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, Value
from django.db.models.functions import Coalesce

from memoryapp.longterm.models import Memory, MemoryQuerySet
from memoryapp.longterm.queries import of_another_model
from memoryapp.policies.health import STALE_DAYS, UNUSED_DAYS


@dataclass(frozen=True, slots=True)
class Findings:
    """How many facts in use each check finds. ``embedded``: with a vector of the current model, to be compared."""

    stale: int
    unused: int
    unembedded: int
    other_model: int
    flagged: int
    embedded: int


def findings(user_id: UUID, *, now: datetime, model_id: str) -> Findings:
    counts = {
        "stale": _stale(now),
        "unused": _unused(now),
        "unembedded": Q(embedding_model=""),
        "other_model": _of_other_model(model_id),
        "flagged": Q(is_flagged=True),
        "embedded": Q(embedding_model=model_id),
    }
    rows = _in_use(user_id, now=now)
    return Findings(**rows.aggregate(**{name: Count("id", filter=found) for name, found in counts.items()}))


def stale(user_id: UUID, *, now: datetime) -> MemoryQuerySet:
    """Not affirmed for more than the half-life of their kind, or for a year, and in no reply ever; the oldest first."""
    return _listed(user_id, now=now).filter(_stale(now)).order_by("affirmed_at", "id")


def unused(user_id: UUID, *, now: datetime) -> MemoryQuerySet:
    """Known for months, and in no reply of the last ones; the oldest first. Stale ones aside."""
    return _listed(user_id, now=now).filter(_unused(now)).order_by("recorded_at", "id")


def flagged(user_id: UUID, *, now: datetime) -> MemoryQuerySet:
    """Shaped like an instruction to the assistant, and in use."""
    return _listed(user_id, now=now).filter(is_flagged=True).order_by("-recorded_at", "-id")


def not_embedded(user_id: UUID, *, now: datetime, model_id: str) -> MemoryQuerySet:
    """Found by words only: without a vector of this model."""
    return _listed(user_id, now=now).filter(of_another_model(model_id)).order_by("id")


def named(user_id: UUID, ids: list[UUID], *, now: datetime) -> MemoryQuerySet:
    """Those of them that are in use and not in every prompt by the rule of their kind."""
    return _listed(user_id, now=now).filter(id__in=ids, kind__is_always_used=False).order_by("id")


def _in_use(user_id: UUID, *, now: datetime) -> MemoryQuerySet:
    """With what the checks look at."""
    row = Memory.objects.filter(pk=OuterRef("pk"))
    lately = now - timedelta(days=UNUSED_DAYS)
    return (
        Memory.objects.for_user(user_id)
        .live()
        .annotate(
            was_used=Exists(row.filter(uses__isnull=False)),
            was_used_lately=Exists(row.filter(uses__used_at__gt=lately)),
            fresh_until=ExpressionWrapper(
                F("affirmed_at") + Coalesce(F("kind__half_life_days"), STALE_DAYS) * Value(timedelta(days=1)),
                output_field=DateTimeField(),
            ),
        )
    )


def _listed(user_id: UUID, *, now: datetime) -> MemoryQuerySet:
    return _in_use(user_id, now=now).select_related("kind").defer("embedding", "terms")


def _stale(now: datetime) -> Q:
    return Q(was_used=False, fresh_until__lt=now)


def _unused(now: datetime) -> Q:
    long_ago = now - timedelta(days=UNUSED_DAYS)
    return Q(was_used_lately=False, recorded_at__lt=long_ago, kind__is_always_used=False) & ~_stale(now)


def _of_other_model(model_id: str) -> Q:
    return of_another_model(model_id) & ~Q(embedding_model="")
