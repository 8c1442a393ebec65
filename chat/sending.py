"""What the browser and the API do alike with turns and whole conversations."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from chat import events
from chat.endings import close_stopped, go_on_when_decided
from chat.progress import allowance, spent_by, usage_of
from chat.tools import toolbox, tools_of
from memoryapp.accounts.models import User
from memoryapp.context import assembly, exclusions
from memoryapp.lifecycle import daily_budget
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import branches, claims, conversations, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Conversation, Turn
from memoryapp.tuning import queries as tuning


def post(
    user: User,
    conversation_id: UUID,
    *,
    text: str,
    idempotency_key: str,
    now: datetime,
    after: UUID | None = None,
) -> tuple[Turn, bool]:
    """Queue a message for an answer: (turn, whether it is new).

    Raises what ``transcript.post_turn`` and ``assembly.require_fitting`` raise, and ``DailyBudgetSpentError``.
    """
    _require_budget(user, idempotency_key, now=now)
    _require_fitting(user, queries.get_conversation(user.id, conversation_id), text)
    return transcript.post_turn(
        user, conversation_id, text=text, idempotency_key=idempotency_key, now=now, after=after
    )


def open_chat(
    user: User, *, text: str, idempotency_key: str, now: datetime, is_temporary: bool = False
) -> Turn:
    """The first message of a new conversation. Raises what ``post`` raises."""
    _require_budget(user, idempotency_key, now=now)
    tools = toolbox(
        use_memory=user.use_memory and not is_temporary, save_memory=user.save_memory and not is_temporary
    ).definitions
    assembly.require_fitting(user.id, None, text, tools=tools)
    return transcript.open_conversation(
        user, text=text, idempotency_key=idempotency_key, now=now, is_temporary=is_temporary
    )


def edit(user: User, turn_id: UUID, *, text: str, idempotency_key: str, now: datetime) -> tuple[Turn, bool]:
    """Ask with other words in the same place. Raises what ``post`` and ``branches.ask_anew`` raise."""
    _require_budget(user, idempotency_key, now=now)
    turn = queries.get_turn(user.id, turn_id)
    _require_fitting(user, queries.get_conversation(user.id, turn.conversation_id), text)
    return branches.ask_anew(user, turn_id, text=text, idempotency_key=idempotency_key, now=now)


def answer_again(user: User, turn_id: UUID, *, idempotency_key: str, now: datetime) -> tuple[Turn, bool]:
    """Another answer to the same words. Raises what ``branches.ask_anew`` raises, and ``DailyBudgetSpentError``."""
    _require_budget(user, idempotency_key, now=now)
    return branches.ask_anew(user, turn_id, idempotency_key=idempotency_key, now=now)


def answer_without(
    user: User, turn_id: UUID, item_id: UUID, *, idempotency_key: str, now: datetime
) -> tuple[Turn, bool]:
    """Another answer, made without a memory, a past message or an experience, and what this one is without already.

    Raises what ``answer_again`` raises.
    """
    _require_budget(user, idempotency_key, now=now)
    without = [*exclusions.asked_for(user.id, turn_id), item_id]
    return branches.ask_anew(
        user,
        turn_id,
        idempotency_key=idempotency_key,
        now=now,
        also=lambda sibling: exclusions.exclude(sibling, without),
    )


def retry(user: User, turn_id: UUID) -> Turn:
    """Answer an ended turn after all: its run goes on from its last step, with a fresh allowance.

    Readers skip the events of earlier attempts. Raises ``DailyBudgetSpentError``.
    """
    turn = queries.get_turn(user.id, turn_id)
    transcript.require_retryable(turn)
    daily_budget.require_left(user.id, now=timezone.now())
    _allow_more(turn)
    return transcript.retry_turn(user.id, turn_id)


def decide(
    user: User,
    turn_id: UUID,
    tool_use_id: str,
    *,
    approve: bool,
    nonce: str | None,
    always: bool = False,
    reason: str = "",
) -> Turn:
    """The person's word on a call that waits for it; the turn goes on once all of its calls have one.

    Raises what ``approvals.decide`` raises.
    """
    approvals.decide(
        user.id, turn_id, tool_use_id, approve=approve, nonce=nonce, always=always, reason=reason
    )
    go_on_when_decided(user.id, turn_id)
    return queries.get_turn(user.id, turn_id)


def go_on(user: User, turn_id: UUID) -> Turn:
    """Try a turn that waits for the model now, or let a stuck one try on. Raises ``TurnNotWaitingError``."""
    turn = queries.get_turn(user.id, turn_id)
    reasons = [Turn.WaitReason.MODEL, Turn.WaitReason.STUCK]
    if turn.wait_reason in reasons:
        _allow_more(turn)  # also as many tries of the model as before
    return claims.end_wait(user.id, turn_id, reasons=reasons)


def stop(user: User, turn_id: UUID) -> Turn:
    """Ask for a stop; a turn that no worker holds ends at once."""
    run = runs.run_of_turn(user.id, turn_id)
    usage = usage_of(run) if run else None
    turn = claims.request_stop(user.id, turn_id, usage=usage, also=close_stopped)
    if turn.status == Turn.Status.CANCELLED:
        events.publish(turn_id, {"type": "end", "status": turn.status}, attempt=turn.attempt)
    return turn


def _allow_more(turn: Turn) -> None:
    run = runs.run_of_turn(turn.user_id, turn.id)
    if run:
        spent = spent_by(run)
        scratchpad.go_on(run, attempt=turn.attempt, limits=allowance(tuning.conf()).above(spent))


def delete(user: User, conversation_id: UUID) -> None:
    """Delete a conversation: its replies stop first. Of a temporary one nothing stays, also not in Redis."""
    _stop_all(user, conversation_id)
    streamed = queries.turn_ids(user.id, conversation_id)
    conversations.delete_conversation(user.id, conversation_id)
    if not queries.is_restorable(user.id, conversation_id):
        events.forget(streamed)


def delete_many(user: User, conversation_ids: Collection[UUID]) -> list[UUID]:
    """Delete these, as ``delete`` does one that is not temporary; which of them were still there."""
    for conversation_id in conversation_ids:
        _stop_all(user, conversation_id)
    return conversations.delete_conversations(user.id, conversation_ids)


def _stop_all(user: User, conversation_id: UUID) -> None:
    """Their readers learn of the end at once."""
    for turn_id in queries.turn_ids(user.id, conversation_id, live=True):
        stop(user, turn_id)


def _require_budget(user: User, idempotency_key: str, *, now: datetime) -> None:
    """A repeated request is answered like its first, which may have spent the rest."""
    try:
        daily_budget.require_left(user.id, now=now)
    except daily_budget.DailyBudgetSpentError:
        if queries.turn_of_key(user.id, idempotency_key) is None:
            raise


def _require_fitting(user: User, conversation: Conversation, text: str) -> None:
    tools = tools_of(conversation)
    assembly.require_fitting(user.id, conversation.id, text, tools=tools)
