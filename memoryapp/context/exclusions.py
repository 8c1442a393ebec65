"""What a person wants a reply to be made without: kept with its turn, so that every attempt at it does without."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Count

from memoryapp.context.models import Exclusion
from memoryapp.longterm import queries as longterm
from memoryapp.transcript.models import Turn


def exclude(turn: Turn, item_ids: Iterable[UUID]) -> None:
    """Within the caller's transaction: the turn is answered without these memories, past messages or experiences."""
    rows = [
        Exclusion(user_id=turn.user_id, turn=turn, item_id=item_id) for item_id in dict.fromkeys(item_ids)
    ]
    Exclusion.objects.bulk_create(rows, ignore_conflicts=True)


def asked_for(user_id: UUID, turn_id: UUID) -> list[UUID]:
    """What its person named, in that order."""
    rows = Exclusion.objects.filter(user_id=user_id, turn_id=turn_id)
    return list(rows.order_by("id").values_list("item_id", flat=True))


def left_out(user_id: UUID, turn_id: UUID) -> frozenset[UUID]:
    """With the messages that a memory was taken from, which would tell the model the same."""
    named = asked_for(user_id, turn_id)
    return frozenset(named) | longterm.source_messages(user_id, named) if named else frozenset()


def counts(user_id: UUID, turn_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Turn id → how much it was answered without; other turns are absent."""
    rows = Exclusion.objects.filter(user_id=user_id, turn_id__in=list(turn_ids)).order_by()
    return dict(rows.values_list("turn_id").annotate(n=Count("id")))
