"""Turns as the queue of record: which of them a worker should take, whoever they are of."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from memoryapp.transcript.models import Turn


def next_queued(conversation_id: UUID) -> UUID | None:
    """The oldest queued turn of a conversation in which nothing runs."""
    if Turn.objects.filter(conversation_id=conversation_id, status__in=["running", "waiting"]).exists():
        return None
    return (
        Turn.objects.filter(conversation_id=conversation_id, status=Turn.Status.QUEUED)
        .order_by("seq")
        .values_list("id", flat=True)
        .first()
    )


def expired_leases() -> list[UUID]:
    """Running turns whose worker has gone silent (the database's clock decides)."""
    return list(
        Turn.objects.filter(status=Turn.Status.RUNNING, lease_until__lte=Now())
        .order_by("lease_until", "id")
        .values_list("id", flat=True)[:100]
    )


def overdue() -> list[UUID]:
    """Turns that no worker took in time, their nudge seems lost: queued at the head of an idle conversation, or those
    that waited long enough."""
    others = Turn.objects.filter(conversation=OuterRef("conversation")).exclude(id=OuterRef("id"))
    busy = others.filter(Q(status__in=["running", "waiting"]) | Q(status="queued", seq__lt=OuterRef("seq")))
    return list(
        Turn.objects.filter(status__in=["queued", "waiting"], lease_until__lte=Now())
        .exclude(Exists(busy))
        .order_by("created_at", "id")
        .values_list("id", flat=True)[:100]
    )
