"""What the chat shows of a turn that waits: for what, and the calls that need a person's word."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from memoryapp.inspector.stored_texts import touches_text, wait_text
from memoryapp.inspector.unseen import with_unseen_named
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.scratchpad.models import Approval
from memoryapp.transcript.models import Turn

WAIT_PREFIX = "wait-"
FOR_A_PERSON = (Turn.WaitReason.APPROVAL, Turn.WaitReason.STUCK)
LINE_CHARS = 60
LONG_CHARS, LONG_LINES = 600, 10  # of an argument, which then scrolls in a box of its own


@dataclass(frozen=True, slots=True)
class Argument:
    """``is_text``: the value is a string, shown as it is; any other is shown as JSON."""

    name_html: SafeString
    value_html: SafeString
    is_text: bool
    is_long: bool
    chars: int


@dataclass(frozen=True, slots=True)
class Question:
    """A call that needs a person's word. ``verdict``: what came of it in a few words; "" while it is open.

    ``source``: who offers the tool; "" when nobody does any more, or when that is what it touches.
    """

    tool_use_id: str
    tool_html: SafeString
    source: str
    touches_html: SafeString
    why_html: SafeString
    arguments: Sequence[Argument]
    nonce: str
    expires_at: datetime
    status: str
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a live turn waits for, and what was decided in its run. ``reason`` is "" when it goes on already.

    ``seconds``: until it goes on by itself.
    """

    reason: str
    message: str
    resume_at: datetime | None
    seconds: int
    open: Sequence[Question] = ()
    decided: Sequence[Question] = ()

    @property
    def is_for_a_person(self) -> bool:
        return self.reason in FOR_A_PERSON

    @property
    def announced(self) -> str:
        """For who cannot see the card appear."""
        match self.reason:
            case Turn.WaitReason.APPROVAL:
                return ngettext(
                    "Strata asks for your approval of one call",
                    "Strata asks for your approval of {n} calls",
                    len(self.open),
                ).format(n=len(self.open))
            case Turn.WaitReason.STUCK:
                return gettext("Strata paused and asks whether to go on")
        return gettext("Waiting for the model")


def wait_id(turn: Turn) -> str:
    """Names the wait that the turn is in, also where it waits several times; "" when it does not wait."""
    return f"{WAIT_PREFIX}{turn.attempt}" if turn.status == Turn.Status.WAITING else ""


def waits(user_id: UUID, turns: Iterable[Turn]) -> Mapping[UUID, Wait]:
    """By turn id, of those of the live turns that wait, or in whose runs a person has decided something."""
    live = {turn.id: turn for turn in turns if turn.status in Turn.LIVE}
    asked: dict[UUID, list[Approval]] = {}
    for approval in scratchpad.approvals(user_id, live) if live else ():
        if not _is_granted_before(approval):
            asked.setdefault(approval.run.turn_id, []).append(approval)
    now = timezone.now()
    return {
        turn.id: _wait(turn, asked.get(turn.id, []), now=now)
        for turn in live.values()
        if turn.status == Turn.Status.WAITING or turn.id in asked
    }


def _wait(turn: Turn, asked: Sequence[Approval], *, now: datetime) -> Wait:
    is_waiting = turn.status == Turn.Status.WAITING
    questions = [_question(approval, now=now) for approval in asked]
    left_s = (turn.resume_at - now).total_seconds() if is_waiting and turn.resume_at else 0
    return Wait(
        reason=turn.wait_reason if is_waiting else "",
        message=wait_text(turn) if is_waiting else "",
        resume_at=turn.resume_at if is_waiting else None,
        seconds=max(0, ceil(left_s)),
        open=[question for question in questions if is_waiting and not question.verdict],
        decided=[question for question in questions if question.verdict],
    )


def _is_granted_before(approval: Approval) -> bool:
    """Nobody was asked: the tool was allowed in the conversation when the call came."""
    return approval.status == Approval.Status.APPROVED and approval.decided_at is None


def _question(approval: Approval, *, now: datetime) -> Question:
    return Question(
        tool_use_id=approval.tool_use_id,
        tool_html=with_unseen_named(approval.action),
        source=approval.source if approval.source != approval.touches else "",
        touches_html=with_unseen_named(touches_text(approval.touches)),
        why_html=with_unseen_named(approval.why),
        arguments=[_argument(name, value) for name, value in approval.arguments.items()],
        nonce=approval.nonce,
        expires_at=approval.expires_at,
        status=approval.status,
        verdict=_verdict(approval, now=now),
        reason=approval.reason,
    )


def _verdict(approval: Approval, *, now: datetime) -> str:
    match approval.status:
        case Approval.Status.APPROVED:
            is_always = approval.is_always
            return (
                gettext("You allowed this tool in this chat")
                if is_always
                else gettext("You approved this call")
            )
        case Approval.Status.DENIED:
            return gettext("You denied this call")
        case Approval.Status.PENDING if approval.expires_at > now:
            return ""
    return gettext("Nobody answered in time, so it was not run")


def _argument(name: str, value: Any) -> Argument:
    is_text = isinstance(value, str)
    shown = value if is_text else _json(value)
    return Argument(
        name_html=with_unseen_named(name),
        value_html=with_unseen_named(shown),
        is_text=is_text,
        is_long=len(shown) > LONG_CHARS or shown.count("\n") >= LONG_LINES,
        chars=len(shown),
    )


def _json(value: Any) -> str:
    """On one line where it is a short one."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= LINE_CHARS else json.dumps(value, indent=2, ensure_ascii=False)
