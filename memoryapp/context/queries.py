"""Reads of context snapshots."""

from collections.abc import Iterable
from uuid import UUID

from memoryapp.context.models import ContextSnapshot
from memoryapp.llm.calibration import NEWEST
from memoryapp.llm.calibration import learned_ratio as learned


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
