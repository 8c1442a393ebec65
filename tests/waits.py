"""Turns that wait, as a worker leaves them."""

from collections.abc import Mapping
from typing import Any

from memoryapp.accounts.models import User
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Approval
from memoryapp.transcript import claims
from memoryapp.transcript.models import Conversation, Turn
from tests.turns import claim, fresh, post

NOTE = {"text": "Bring the blue folder"}
SAID = "I will send Anna a note about it."


def waiting(
    user: User,
    reason: str,
    *,
    message: str = "The model is overloaded.",
    wait_s: float = 12,
    said: str = SAID,
    asks: Mapping[str, Mapping[str, Any]] | None = None,
    conversation: Conversation | None = None,
) -> Turn:
    """A turn let go by its worker. ``asks``: arguments of calls of ``send_note``, by ``tool_use_id``."""
    turn = post(user, "Tell Anna what to bring", conversation)
    held = claim(turn)
    run = scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal="Tell Anna", attempt=held.attempt)
    for tool_use_id, arguments in (asks or {}).items():
        approvals.ask(
            run,
            approvals.Question(
                tool_use_id=tool_use_id,
                action="send_note",
                arguments=arguments,
                why=said,
                touches="The shared notebook.",
                source="strata-example-tool",
                fingerprint="",
            ),
            attempt=held.attempt,
        )
    claims.wait_turn(held, reason=Turn.WaitReason(reason), message=message, wait_s=wait_s, partial_text=said)
    return fresh(turn)


def asking(
    user: User, *, conversation: Conversation | None = None, **calls: Mapping[str, Any]
) -> tuple[Turn, list[Approval]]:
    """A turn that waits for a person's word on these calls, one of a note unless told otherwise."""
    turn = waiting(
        user,
        "approval",
        message="May send_note run?",
        wait_s=24 * 3600,
        asks=calls or {"call-1": NOTE},
        conversation=conversation,
    )
    return turn, list(Approval.objects.filter(run__turn=turn).order_by("created_at", "id"))
