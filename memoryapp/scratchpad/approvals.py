"""Asking a person before a tool runs. The word is good for the call as it was shown, once, and for a time."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils.translation import gettext

from memoryapp.conf import get_conf
from memoryapp.errors import MemoryAppError, NotFoundError
from memoryapp.scratchpad import queries
from memoryapp.scratchpad.models import Approval, Grant, Run
from memoryapp.scratchpad.operations import fence

REASON_MAX_CHARS = 500
_OPEN = (Approval.Status.PENDING, Approval.Status.APPROVED)
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


@dataclass(frozen=True, slots=True)
class Question:
    """A call as a person is shown it: what is approved is this, and nothing else.

    ``why``: what the assistant said before it asked. ``source``: who offers the tool; ``fingerprint``: of the tool.
    """

    tool_use_id: str
    action: str
    arguments: Mapping[str, Any]
    why: str
    touches: str
    source: str
    fingerprint: str

    def columns(self) -> dict[str, Any]:
        return {
            "action": self.action,
            "arguments": dict(self.arguments),
            "why": self.why,
            "touches": self.touches[:TOUCHES_MAX_CHARS],
            "source": self.source[:SOURCE_MAX_CHARS],
            "fingerprint": self.fingerprint,
        }


def ask(run: Run, question: Question, *, attempt: int) -> Approval:
    """The question for a call, asked now or before; expired when nobody answered in time.

    Approved from the start where its person said "always" in this conversation. It is put anew when the call is no
    longer what was shown, or when the yes is older than the question was to wait.
    """
    with transaction.atomic(durable=True):
        fence(run, attempt)
        asked = Approval.objects.filter(user_id=run.user_id, run=run, tool_use_id=question.tool_use_id)
        late = asked.filter(expires_at__lte=Now())
        late.filter(status=Approval.Status.PENDING).update(status=Approval.Status.EXPIRED, decided_at=Now())
        late.filter(status=Approval.Status.APPROVED).delete()
        known = asked.first()
        if known and known.status in _OPEN and not _is_same(known, question):
            known.delete()
            known = None
        if known is None:
            _put(run, question)
    return asked.get()


def _put(run: Run, question: Question) -> None:
    is_granted = queries.is_granted(run, question.action, question.fingerprint)
    Approval.objects.create(
        user_id=run.user_id,
        run=run,
        tool_use_id=question.tool_use_id,
        nonce=secrets.token_urlsafe(),
        status=Approval.Status.APPROVED if is_granted else Approval.Status.PENDING,
        is_always=is_granted,
        expires_at=_end_of_patience(),
        **question.columns(),
    )


def _is_same(known: Approval, question: Question) -> bool:
    """Whether the call is what its person was shown; the words around it do not count."""
    now = question.columns()
    return all(
        getattr(known, name) == now[name]
        for name in ("action", "arguments", "touches", "source", "fingerprint")
    )


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
        raise NotFoundError(gettext("There is no such question."))
    if nonce is not None and not secrets.compare_digest(nonce.encode(), approval.nonce.encode()):
        raise ApprovalChangedError(
            gettext("This is not the call that waits for your word. Look at it again.")
        )
    with transaction.atomic(durable=True):
        at_work = Run.objects.filter(
            id=approval.run_id, status=Run.Status.RUNNING, turn__status__in=("running", "waiting")
        )
        # On the row's own columns alone: of two words at once, the second sees what the first has written.
        pending = Approval.objects.filter(
            id=approval.id, status=Approval.Status.PENDING, expires_at__gt=Now()
        )
        decided = at_work.exists() and pending.update(
            status=Approval.Status.APPROVED if approve else Approval.Status.DENIED,
            is_always=approve and always,
            reason="" if approve else " ".join(reason.split())[:REASON_MAX_CHARS],
            decided_at=Now(),
        )
        if not decided:
            raise ApprovalClosedError(
                gettext("This was decided already, it waited for too long, or it was stopped.")
            )
        if approve and always:
            Grant.objects.get_or_create(
                user_id=user_id,
                conversation_id=approval.run.turn.conversation_id,
                action=approval.action,
                fingerprint=approval.fingerprint,
            )
    approval.refresh_from_db()
    return approval


def withdraw(user_id: UUID, conversation_id: UUID, action: str) -> None:
    """Take an "always" back: the tool asks again."""
    Grant.objects.filter(user_id=user_id, conversation_id=conversation_id, action=action).delete()


def _end_of_patience() -> "ExpressionWrapper[CombinedExpression]":
    return ExpressionWrapper(Now() + timedelta(hours=get_conf().approval_hours), output_field=DateTimeField())
