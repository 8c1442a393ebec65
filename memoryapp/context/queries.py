"""Reads of context snapshots."""

from collections.abc import Iterable
from uuid import UUID

from memoryapp.context.models import ContextSnapshot


def newest_snapshot(user_id: UUID, turn_id: UUID) -> ContextSnapshot | None:
    """The last model call of the turn."""
    return (
        ContextSnapshot.objects.filter(user_id=user_id, turn_id=turn_id).order_by("-attempt", "-call").first()
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
