"""Who works on a turn: taking it up by a lease, ending it, waiting, handing it on, stopping it.

Each write is one transaction, fenced by the attempt of the claim that it is made for.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import Usage
from memoryapp.llm.tokens import estimate_text
from memoryapp.nudges import RUN_TURN, nudge
from memoryapp.policies.trust import Origin
from memoryapp.transcript import queries, queue
from memoryapp.transcript.keys import keep_key
from memoryapp.transcript.models import Message, Turn

# A worker keeps a delayed nudge in memory: what waits longer is woken by whoever looks for what is overdue.
LONGEST_NUDGE_S = 60.0
WAKE_MARGIN_S = 1.0  # for the nudge, before the turn counts as overdue
# Of a turn that does not wait, or no longer.
NOT_WAITING: dict[str, Any] = {"wait_reason": "", "wait_message": "", "resume_at": None}


class TurnNotWaitingError(MemoryAppError):
    code = "turn_not_waiting"
    http_status = 409


def do_nothing(*_: object) -> None:
    """Nothing else ends with it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's right to run a turn until the lease ends; every write carries the attempt.

    ``waited_for``: what it waited for until the time for that was over; empty when a person or nothing ended it.
    """

    turn_id: UUID
    attempt: int
    waited_for: str = ""


def claim_turn(turn_id: UUID) -> Claim | None:
    """Take the turn, or None when it is not this worker's to run.

    It must be queued, or have waited long enough, and be first in line in its conversation. Two workers may try: the
    row's lock and the constraint of one running turn per conversation let one through.
    """
    earlier = Turn.objects.filter(
        conversation=OuterRef("conversation"), seq__lt=OuterRef("seq"), status__in=Turn.LIVE
    )
    due = Q(status=Turn.Status.QUEUED) | Q(status=Turn.Status.WAITING, resume_at__lte=Now())
    mine = Turn.objects.filter(due, ~Exists(earlier), id=turn_id, attempts_left__gt=0)
    try:
        with transaction.atomic(durable=True):
            found = mine.select_for_update().values_list("attempt", "wait_reason").first()
            if found is None:
                return None
            attempt, waited_for = found
            Turn.objects.filter(id=turn_id).update(
                status=Turn.Status.RUNNING,
                attempt=attempt + 1,
                attempts_left=F("attempts_left") - 1,
                lease_until=lease_end(),
                started_at=Now(),
                epoch_at_start=User.objects.filter(turns=turn_id).values("memory_epoch")[:1],
                **NOT_WAITING,
            )
            return Claim(turn_id, attempt + 1, waited_for)
    except IntegrityError:  # turn_one_running: another turn of this conversation was claimed just now
        return None


def renew_lease(claim: Claim, *, partial_text: str) -> bool:
    """Prolong the lease and keep what was streamed; False when the turn is no longer this worker's."""
    return _held(claim).update(lease_until=lease_end(), partial_text=partial_text) == 1


def finish_turn(
    claim: Claim,
    *,
    reply: str,
    model: str,
    usage: Usage,
    next_prompt_tokens: int = 0,
    taint: Origin | None = None,
    also: Callable[[], None] = do_nothing,
) -> bool:
    """The reply and the end of the turn, in one transaction; False when the worker was fenced off.

    ``next_prompt_tokens``: what the conversation's next prompt will take, before its new message. ``taint``: the
    weakest origin in what the model read for it (None, here as below: what was noted before stands). ``also``: what
    else ends with it, in the same transaction.
    """
    with transaction.atomic(durable=True):
        return _end(
            claim,
            also,
            status=Turn.Status.COMPLETED,
            text=reply,
            model=model,
            usage=usage,
            next_prompt_tokens=next_prompt_tokens,
            taint=taint,
        )


def fail_turn(
    claim: Claim,
    *,
    status: Turn.Status,
    partial_text: str,
    code: str = "",
    message: str = "",
    model: str = "",
    usage: Usage | None = None,
    taint: Origin | None = None,
    also: Callable[[], None] = do_nothing,
) -> bool:
    """End as failed, interrupted or cancelled, keeping what was said so far; False when fenced off.

    ``also``: what else ends with it, in the same transaction.
    """
    with transaction.atomic(durable=True):
        return _end(
            claim,
            also,
            status=status,
            text=partial_text,
            model=model,
            usage=usage or Usage(),
            error_code=code,
            error_message=message[:500],
            taint=taint,
        )


def hand_back(claim: Claim, *, partial_text: str, counts: bool = True, taint: Origin | None = None) -> bool:
    """Give an attempt up of which nothing is lost: the turn is queued again.

    ``partial_text``: what was said so far, which the next attempt will say again. ``counts``: against what a turn may
    crash; not so when its worker leaves in good order. False when it was fenced off or someone asked to stop.
    """
    with transaction.atomic(durable=True):
        returned = (
            _held(claim)
            .filter(stop_requested_at=None)
            .update(
                status=Turn.Status.QUEUED,
                lease_until=lease_end(),
                partial_text=partial_text,
                attempts_left=F("attempts_left") + (0 if counts else 1),
                **_noted(taint),
            )
        )
        if returned:
            nudge(RUN_TURN, claim.turn_id)
    return returned == 1


def wait_turn(
    claim: Claim,
    *,
    reason: Turn.WaitReason,
    message: str,
    partial_text: str,
    wait_s: float = 0,
    until: datetime | None = None,
    taint: Origin | None = None,
) -> datetime | None:
    """Let go of a turn until there is an answer, for ``wait_s`` or ``until`` at most; no worker is bound meanwhile.

    Returns until when (the database's clock); None when the worker was fenced off or someone asked to stop.
    """
    resume_at = until or _from_now(wait_s)
    with transaction.atomic(durable=True):
        waiting = _held(claim).filter(stop_requested_at=None)
        if not waiting.update(
            status=Turn.Status.WAITING,
            wait_reason=reason,
            wait_message=message[:500],
            resume_at=resume_at,
            lease_until=until or _from_now(wait_s + WAKE_MARGIN_S),
            partial_text=partial_text,
            attempts_left=F("attempts_left") + 1,  # nothing crashed
            **_noted(taint),
        ):
            return None
        if until is None and wait_s <= LONGEST_NUDGE_S:
            nudge(RUN_TURN, claim.turn_id, delay_s=wait_s)
        return Turn.objects.values_list("resume_at", flat=True).get(id=claim.turn_id)


def end_wait(user_id: UUID, turn_id: UUID, *, reasons: Collection[Turn.WaitReason]) -> Turn:
    """What it waited for is there, or a person will not wait: the turn is queued again.

    Raises ``TurnNotWaitingError`` when it does not wait for one of ``reasons``.
    """
    turn = queries.get_turn(user_id, turn_id)
    with transaction.atomic(durable=True):
        waiting = Turn.objects.filter(id=turn.id, status=Turn.Status.WAITING, wait_reason__in=reasons)
        woken = waiting.filter(stop_requested_at=None).update(
            status=Turn.Status.QUEUED, lease_until=lease_end(), **NOT_WAITING
        )
        if not woken:
            raise TurnNotWaitingError(gettext("This message does not wait for that."))
        nudge(RUN_TURN, turn_id)
    return queries.get_turn(user_id, turn_id)


def wake_overdue() -> int:
    """Nudge again what should have been claimed by now; returns how many turns."""
    overdue = queue.overdue()
    idle = Turn.objects.filter(id__in=overdue, status__in=Turn.IDLE)
    with transaction.atomic(durable=True):
        # What somebody else holds at this moment is being seen to, or its turn to come: nothing waits for it.
        free = list(idle.select_for_update(skip_locked=True).values_list("id", flat=True))
        Turn.objects.filter(id__in=free).update(lease_until=lease_end())
        for turn_id in free:
            nudge(RUN_TURN, turn_id)
    return len(free)


def take_over(turn_id: UUID) -> Claim | None:
    """The reaper's claim on a turn whose lease ran out; it fences the silent worker off.

    None also while its row is locked: a worker that fell asleep inside a transaction must not hold up the others'.
    """
    silent = Turn.objects.filter(id=turn_id, status=Turn.Status.RUNNING, lease_until__lte=Now())
    with transaction.atomic(durable=True):
        attempt = silent.select_for_update(skip_locked=True).values_list("attempt", flat=True).first()
        if attempt is None:
            return None
        Turn.objects.filter(id=turn_id).update(attempt=attempt + 1, lease_until=lease_end())
    return Claim(turn_id, attempt + 1)


def request_stop(
    user_id: UUID,
    turn_id: UUID,
    *,
    usage: Usage | None = None,
    also: Callable[[Turn], None] = do_nothing,
) -> Turn:
    """Stop a turn: one that no worker holds at once, another as soon as its worker notices; a finished one stays.

    What was said of it stays. Of one that ends at once: ``usage``, what it took, and ``also``, what else ends with it
    in the same transaction.
    """
    asked = Turn.objects.filter(user_id=user_id, id=turn_id)
    with transaction.atomic(durable=True):
        idle = asked.filter(status__in=Turn.IDLE).select_for_update().first()
        if idle:
            # Ending it counts as an attempt: each has one end, and the readers of its events tell them apart.
            asked.update(
                status=Turn.Status.CANCELLED,
                attempt=idle.attempt + 1,
                stop_requested_at=Now(),
                finished_at=Now(),
                partial_text="",
                lease_until=None,
                **_tokens(usage or Usage()),
                **NOT_WAITING,
            )
            _keep_reply(idle, idle.partial_text)
            also(queries.get_turn(user_id, turn_id))
            nudge_next(idle.conversation_id)
        else:
            asked.filter(status__in=Turn.LIVE, stop_requested_at=None).update(stop_requested_at=Now())
    return queries.get_turn(user_id, turn_id)


def nudge_next(conversation_id: UUID) -> None:
    following = queue.next_queued(conversation_id)
    if following:
        nudge(RUN_TURN, following)


def lease_end() -> "ExpressionWrapper[CombinedExpression]":
    return _from_now(get_conf().turn_lease_s)


def _from_now(seconds: float) -> "ExpressionWrapper[CombinedExpression]":
    """By the database's clock, so that workers with wrong clocks cannot steal or keep a turn."""
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())


def _held(claim: Claim) -> QuerySet[Turn]:
    return Turn.objects.filter(id=claim.turn_id, attempt=claim.attempt, status=Turn.Status.RUNNING)


def _end(
    claim: Claim,
    also: Callable[[], None],
    *,
    status: Turn.Status,
    text: str,
    model: str,
    usage: Usage,
    error_code: str = "",
    error_message: str = "",
    next_prompt_tokens: int = 0,
    taint: Origin | None = None,
) -> bool:
    ended = _held(claim).update(
        status=status,
        lease_until=None,
        partial_text="",
        error_code=error_code,
        error_message=error_message,
        model=model,
        next_prompt_tokens=next_prompt_tokens,
        finished_at=Now(),
        **_tokens(usage),
        **_noted(taint),
    )
    if not ended:
        return False
    turn = Turn.objects.get(id=claim.turn_id)
    _keep_reply(turn, text)
    also()
    nudge_next(turn.conversation_id)
    return True


def _tokens(usage: Usage) -> dict[str, int]:
    """Of the turn's columns."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_creation_tokens": usage.cache_creation_tokens,
    }


def _noted(taint: Origin | None) -> dict[str, Origin]:
    """Of the turn's columns."""
    return {} if taint is None else {"taint": taint}


def _keep_reply(turn: Turn, text: str) -> None:
    if text.strip():
        message, _ = Message.objects.update_or_create(
            user_id=turn.user_id,
            turn=turn,
            role=Message.Role.ASSISTANT,
            defaults={"text": text.replace("\x00", ""), "tokens": estimate_text(text)},
        )
        keep_key(message)
