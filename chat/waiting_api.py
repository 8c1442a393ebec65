"""REST: what turns wait for, and the word of their person, by a program that acts for them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from ninja import Router, Schema, Status
from pydantic import Field

from chat import sending
from memoryapp import rest
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.approvals import REASON_MAX_CHARS
from memoryapp.scratchpad.models import Approval
from memoryapp.transcript.models import Turn

router = Router(tags=["turns"])
approvals_router = Router(tags=["turns"])


class DecisionIn(rest.Body):
    """``always``: later calls of the tool in the conversation run without asking. ``reason``: of a no, for the model.

    ``nonce``: as it was shown; a decision with that of another call is refused.
    """

    approve: bool
    always: bool = False
    reason: Annotated[str, Field(max_length=REASON_MAX_CHARS)] = ""
    nonce: str | None = None


class AcceptedOut(Schema):
    id: UUID
    status: str
    events_url: str


class ApprovalOut(Schema):
    """A call that waits for a person's word: it runs with exactly these arguments, or not at all."""

    tool_use_id: str
    tool: str
    arguments: dict[str, Any]
    why: str
    touches: str
    source: str
    nonce: str
    expires_at: datetime


class WaitingOut(Schema):
    """``reason``: model, approval or stuck. ``resume_at``: when it goes on by itself at the latest."""

    reason: str
    message: str
    resume_at: datetime | None
    approvals: list[ApprovalOut]


class PendingApprovalOut(ApprovalOut):
    turn_id: UUID
    conversation_id: UUID


class PendingApprovalList(Schema):
    items: list[PendingApprovalOut]


@router.post(
    "/{uuid:turn_id}/approvals/{path:tool_use_id}",
    response={202: AcceptedOut, 409: rest.Problem, **rest.PROBLEMS},
)
def decide_approval(
    request: HttpRequest, turn_id: UUID, tool_use_id: str, body: DecisionIn
) -> Status[dict[str, object]]:
    """Approve or deny one call. The turn goes on when the last of its calls is decided."""
    turn = sending.decide(
        caller(request),
        turn_id,
        tool_use_id,
        approve=body.approve,
        nonce=body.nonce,
        always=body.always,
        reason=body.reason,
    )
    return Status(202, accepted(turn))


@router.post("/{uuid:turn_id}/resume", response={202: AcceptedOut, 409: rest.Problem, **rest.PROBLEMS})
def resume_turn(request: HttpRequest, turn_id: UUID) -> Status[dict[str, object]]:
    """Try the model now, or go on with a run that got nowhere."""
    return Status(202, accepted(sending.go_on(caller(request), turn_id)))


@approvals_router.get("", response={200: PendingApprovalList, **rest.PROBLEMS})
def list_approvals(request: HttpRequest) -> dict[str, object]:
    """Every call that waits for your word, in any conversation, the oldest first."""
    pending = runs.pending_approvals(caller_id(request))
    return {"items": [_pending(approval) for approval in pending]}


def accepted(turn: Turn) -> dict[str, object]:
    return {
        "id": turn.id,
        "status": turn.status,
        "events_url": reverse("api-1.0.0:stream_events", kwargs={"turn_id": turn.id}),
    }


def waiting_of(user_id: UUID, turns: Iterable[Turn]) -> dict[UUID, dict[str, object]]:
    """By turn id, of those of the turns that wait."""
    waiting = {turn.id: turn for turn in turns if turn.status == Turn.Status.WAITING}
    asked: dict[UUID, list[Approval]] = {}
    if waiting:
        open_now = runs.approvals(user_id, waiting).filter(
            status=Approval.Status.PENDING, expires_at__gt=timezone.now()
        )
        for approval in open_now:
            asked.setdefault(approval.run.turn_id, []).append(approval)
    return {turn.id: _waiting(turn, asked.get(turn.id, [])) for turn in waiting.values()}


def _waiting(turn: Turn, asked: Sequence[Approval]) -> dict[str, object]:
    return {
        "reason": turn.wait_reason,
        "message": turn.wait_message,
        "resume_at": turn.resume_at,
        "approvals": [_approval(approval) for approval in asked],
    }


def _approval(approval: Approval) -> dict[str, object]:
    return {
        "tool_use_id": approval.tool_use_id,
        "tool": approval.action,
        "arguments": approval.arguments,
        "why": approval.why,
        "touches": approval.touches,
        "source": approval.source,
        "nonce": approval.nonce,
        "expires_at": approval.expires_at,
    }


def _pending(approval: Approval) -> dict[str, object]:
    turn = approval.run.turn
    return {**_approval(approval), "turn_id": turn.id, "conversation_id": turn.conversation_id}
