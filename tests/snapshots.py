"""What a model call was given, as it is kept."""

from typing import Any

from memoryapp.context.models import ContextSnapshot
from memoryapp.transcript.models import Turn


def snapshot(turn: Turn, *recalled: dict[str, Any], **fields: Any) -> ContextSnapshot:
    """Of the turn's first call."""
    call = {"attempt": 1, "call": 1, "window_tokens": 1000, "reserve_output_tokens": 100, "sections": []}
    return ContextSnapshot.objects.create(
        user_id=turn.user_id, turn=turn, recalled=list(recalled), **(call | fields)
    )
