"""Asking a person before a tool runs. The word is good for the call as it was shown, once, and for a time."""

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from memoryapp.conf import get_conf
from memoryapp.errors import MemoryAppError, NotFoundError
from memoryapp.scratchpad import queries
from memoryapp.scratchpad.models import Approval, Grant, Run
from memoryapp.scratchpad.operations import fence

REASON_MAX_CHARS = 500
TOUCHES_MAX_CHARS = 300
SOURCE_MAX_CHARS = 200


class ApprovalClosedError(MemoryAppError):
    """It was decided already, or its time is over."""

    code = "approval_closed"
    http_status = 409


class ApprovalChangedError(MemoryAppError):
    """The page showed another call than the one that waits."""

    code = "approval_changed"
    http_status = 409


def ask(
    run: Run,
    *,
    tool_use_id: str,
    action: str,
    arguments: Mapping[str, Any],
    why: str,
    touches: str,
    source: str,
    attempt: int,
) -> Approval:
    """The question for a call, asked now or before; expired when nobody answered in time.

    Approved from the start where its person said "always" in this conversation. ``source``: who offers the tool.
    """
    with transaction.atomic(durable=True):
        fence(run, attempt)
        asked = {"user_id": run.user_id, "run": run, "tool_use_id": tool_use_id}
        Approval.objects.filter(**asked, status=Approval.Status.PENDING, expires_at__lte=Now()).update(
            status=Approval.Status.EXPIRED, decided_at=Now()
        )
        known = Approval.objects.filter(**asked).first()
        if known:
            return known
        is_granted = queries.is_granted(run, action, source[:SOURCE_MAX_CHARS])
        Approval.objects.create(
            **asked,
            action=action,
            arguments=dict(arguments),
            why=why,
            touches=touches[:TOUCHES_MAX_CHARS],
            source=source[:SOURCE_MAX_CHARS],
            nonce=secrets.token_urlsafe(),
            status=Approval.Status.APPROVED if is_granted else Approval.Status.PENDING,
            is_always=is_granted,
            expires_at=_end_of_patience(),
        )
    return Approval.objects.get(**asked)


def decide(
    user_id: UUID,
    turn_id: UUID,
    tool_use_id: str,
    *,
    approve: bool,
    nonce: str | None = None,
    always: bool = False,
    reason: str = "",
) -> Approval:
    """A person's word on a call. ``nonce``: of the question as it was shown. ``reason``: of a denial, for the model.

    ``always``: later calls of the tool in the conversation run without asking. Raises ``NotFoundError``,
    ``ApprovalClosedError``, ``ApprovalChangedError``.
    """
    approval = queries.approvals(user_id, [turn_id]).filter(tool_use_id=tool_use_id).first()
    if approval is None:
        raise NotFoundError("There is no such question.")
    if nonce is not None and not secrets.compare_digest(nonce.encode(), approval.nonce.encode()):
        raise ApprovalChangedError("This is not the call that waits for your word. Look at it again.")
    with transaction.atomic(durable=True):
        decided = Approval.objects.filter(
            id=approval.id, status=Approval.Status.PENDING, expires_at__gt=Now()
        ).update(
            status=Approval.Status.APPROVED if approve else Approval.Status.DENIED,
            is_always=approve and always,
            reason="" if approve else " ".join(reason.split())[:REASON_MAX_CHARS],
            decided_at=Now(),
        )
        if not decided:
            raise ApprovalClosedError("This was decided already, or it waited for too long.")
        if approve and always:
            Grant.objects.get_or_create(
                user_id=user_id,
                conversation_id=approval.run.turn.conversation_id,
                action=approval.action,
                source=approval.source,
            )
    approval.refresh_from_db()
    return approval


def withdraw(user_id: UUID, conversation_id: UUID, action: str) -> None:
    """Take an "always" back: the tool asks again."""
    Grant.objects.filter(user_id=user_id, conversation_id=conversation_id, action=action).delete()


def _end_of_patience() -> "ExpressionWrapper[CombinedExpression]":
    return ExpressionWrapper(Now() + timedelta(hours=get_conf().approval_hours), output_field=DateTimeField())
