"""Writes of the transcript. Each is one transaction; races are settled by conditional updates and constraints."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from uuid6 import uuid7

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.llm.tokens import estimate_text
from memoryapp.nudges import RUN_TURN, nudge
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Message, Turn

TITLE_MAX_CHARS = 60
_LEADING_MARKS = re.compile(r"^(?:[ \t]*(?:#{1,6}[ \t]|>|[*+-][ \t]))+", re.MULTILINE)
_STRONG = re.compile(r"\*\*(?=\S)(.+?)\*\*")
# A worker keeps a delayed nudge in memory: what waits longer is woken by whoever looks for what is overdue.
LONGEST_NUDGE_S = 60.0
WAKE_MARGIN_S = 1.0  # for the nudge, before the turn counts as overdue
# Of a turn that does not wait, or no longer.
NOT_WAITING: dict[str, Any] = {"wait_reason": "", "wait_message": "", "resume_at": None}


class EmptyMessageError(InvalidInputError):
    code = "empty_message"


class MessageTooLongError(InvalidInputError):
    """``details``: ``chars`` and ``limit_chars``."""

    code = "message_too_long"


class MalformedTextError(InvalidInputError):
    """NUL or lone surrogates: text that no database or model can hold."""

    code = "malformed_text"


class IdempotencyConflictError(InvalidInputError):
    """The same key came with another body."""

    code = "idempotency_conflict"


class ConversationMovedOnError(MemoryAppError):
    """The message was written below a turn that is no longer the last. ``details``: ``newer``, how many follow it."""

    code = "conversation_moved_on"
    http_status = 409


class TurnNotRetryableError(MemoryAppError):
    code = "turn_not_retryable"
    http_status = 409


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


def post_turn(
    user: User,
    conversation_id: UUID,
    *,
    text: str,
    idempotency_key: str,
    now: datetime,
    after: UUID | None = None,
) -> tuple[Turn, bool]:
    """Queue a message for an answer: (turn, whether it is new).

    The same key with the same text returns the turn it made the first time; with another text it raises
    ``IdempotencyConflictError``. ``after``: the turn its writer saw last; when another is the last by now, raises
    ``ConversationMovedOnError`` instead of answering what was not read. Raises ``EmptyMessageError``,
    ``MessageTooLongError``, ``MalformedTextError``.
    """
    text = clean_message(text)
    digest = request_digest(conversation_id, text)
    known = known_turn(user.id, idempotency_key, digest)
    if known:
        return known, False
    try:
        with transaction.atomic(durable=True):
            turn = queue_turn(
                user,
                conversation_id,
                text=text,
                idempotency_key=idempotency_key,
                digest=digest,
                now=now,
                after=after,
            )
    except (IntegrityError, ConversationMovedOnError):
        # The same request was being committed at the same moment (a double click, a client's retry).
        known = known_turn(user.id, idempotency_key, digest)
        if known is None:
            raise
        return known, False
    return queries.get_turn(user.id, turn.id), True


def open_conversation(
    user: User, *, text: str, idempotency_key: str, now: datetime, is_temporary: bool = False
) -> Turn:
    """A conversation that begins with this message, in one transaction; the same key again lands in the same one.

    Raises what ``post_turn`` raises.
    """
    text = clean_message(text)
    try:
        with transaction.atomic(durable=True):
            new = Conversation.objects.create(
                user=user,
                updated_at=now,
                is_temporary=is_temporary,
                use_memory=not is_temporary,
                save_memory=not is_temporary,
            )
            turn = queue_turn(
                user,
                new.id,
                text=text,
                idempotency_key=idempotency_key,
                digest=request_digest(new.id, text),
                now=now,
            )
    except IntegrityError:  # the same form, committed before or at the same moment
        known = queries.turn_of_key(user.id, idempotency_key)
        if known is None:
            raise
        return known
    return queries.get_turn(user.id, turn.id)


def record_turn(
    user: User, conversation_id: UUID, *, text: str, reply: str, idempotency_key: str, said_at: datetime
) -> Turn:
    """A turn that was said and answered before, such as an imported one: complete from the start, never queued.

    It becomes the conversation's last; ``said_at`` must not be earlier than what is there. The same key twice
    raises IntegrityError.
    """
    text = clean_message(text)
    with transaction.atomic(durable=True):
        seq = _next_seq(user, conversation_id, now=said_at)
        turn = Turn.objects.create(
            user=user,
            conversation_id=conversation_id,
            seq=seq,
            parent=_turn_before(conversation_id, seq),
            status=Turn.Status.COMPLETED,
            idempotency_key=idempotency_key,
            request_digest=request_digest(conversation_id, text),
            attempt=1,
            started_at=said_at,
            finished_at=said_at,
        )
        for role, said in ((Message.Role.USER, text), (Message.Role.ASSISTANT, reply)):
            Message.objects.create(user=user, turn=turn, role=role, text=said, tokens=estimate_text(said))
        # The columns fill themselves with the moment of the insertion, which is not when it was said.
        Turn.objects.filter(id=turn.id).update(created_at=said_at)
        Message.objects.filter(turn=turn).update(created_at=said_at)
    return queries.get_turn(user.id, turn.id)


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
                lease_until=_lease_end(),
                started_at=Now(),
                epoch_at_start=User.objects.filter(turns=turn_id).values("memory_epoch")[:1],
                **NOT_WAITING,
            )
            return Claim(turn_id, attempt + 1, waited_for)
    except IntegrityError:  # turn_one_running: another turn of this conversation was claimed just now
        return None


def renew_lease(claim: Claim, *, partial_text: str) -> bool:
    """Prolong the lease and keep what was streamed; False when the turn is no longer this worker's."""
    return _held(claim).update(lease_until=_lease_end(), partial_text=partial_text) == 1


def finish_turn(
    claim: Claim,
    *,
    reply: str,
    model: str,
    usage: Usage,
    next_prompt_tokens: int = 0,
    also: Callable[[], None] = do_nothing,
) -> bool:
    """The reply and the end of the turn, in one transaction; False when the worker was fenced off.

    ``next_prompt_tokens``: what the conversation's next prompt will take, before its new message. ``also``: what else
    ends with it, in the same transaction.
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
        )


def hand_back(claim: Claim, *, partial_text: str, counts: bool = True) -> bool:
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
                lease_until=_lease_end(),
                partial_text=partial_text,
                attempts_left=F("attempts_left") + (0 if counts else 1),
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
            status=Turn.Status.QUEUED, lease_until=_lease_end(), **NOT_WAITING
        )
        if not woken:
            raise TurnNotWaitingError("This message does not wait for that.")
        nudge(RUN_TURN, turn_id)
    return queries.get_turn(user_id, turn_id)


def wake_overdue() -> int:
    """Nudge again what should have been claimed by now; returns how many turns."""
    overdue = queries.overdue_in_queue()
    idle = Turn.objects.filter(id__in=overdue, status__in=Turn.IDLE)
    with transaction.atomic(durable=True):
        # What somebody else holds at this moment is being seen to, or its turn to come: nothing waits for it.
        free = list(idle.select_for_update(skip_locked=True).values_list("id", flat=True))
        Turn.objects.filter(id__in=free).update(lease_until=_lease_end())
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
        Turn.objects.filter(id=turn_id).update(attempt=attempt + 1, lease_until=_lease_end())
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


def require_retryable(turn: Turn) -> None:
    """Raises ``TurnNotRetryableError`` for a turn that ``retry_turn`` would refuse as things stand."""
    if turn.status in Turn.LIVE:
        raise TurnNotRetryableError("This message is being answered already.")
    if turn.status not in Turn.RETRYABLE:
        raise TurnNotRetryableError("This message has been answered already.")
    if not turn.is_current or turn.seq != turn.conversation.last_seq:
        raise TurnNotRetryableError("Only the last message can be answered again.")


def retry_turn(user_id: UUID, turn_id: UUID) -> Turn:
    """Answer a failed, interrupted or cancelled turn once more.

    What its reader saw of the first try stays beside it as a sibling, and in its place until new words come. Only the
    newest turn of a conversation can be retried: an earlier one has been talked past.
    """
    conversation_id = queries.get_turn(user_id, turn_id).conversation_id
    with transaction.atomic(durable=True):
        # Everything else that could change an ended turn waits for this row: another retry, an edit, a message.
        held = Conversation.objects.select_for_update().filter(id=conversation_id, deleted_at=None)
        if not held:
            raise NotFoundError("There is no such turn.")
        turn = queries.get_turn(user_id, turn_id)
        require_retryable(turn)
        Turn.objects.filter(id=turn_id).update(
            status=Turn.Status.QUEUED,
            attempts_left=get_conf().turn_max_attempts,
            error_code="",
            error_message="",
            partial_text="",
            stop_requested_at=None,
            finished_at=None,
            lease_until=_lease_end(),
        )
        if queries.text_of(turn, Message.Role.ASSISTANT):
            _keep_as_sibling(turn)
        nudge(RUN_TURN, turn_id)
    return queries.get_turn(user_id, turn_id)


def clean_message(text: str) -> str:
    """The text as it is kept: newlines as LF, outer blank lines gone. Refuses what cannot be kept whole."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not is_visible(text):
        raise EmptyMessageError("Write a message first.")
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise MalformedTextError(
            "The message holds characters that are not text (NUL or half of a character pair). "
            "Remove them and send again."
        )
    limit = get_conf().message_max_chars
    if len(text) > limit:
        raise MessageTooLongError(
            f"The message is {len(text):,} characters long; the limit is {limit:,}. Send it in parts.",
            chars=len(text),
            limit_chars=limit,
        )
    return text


def clean_title(title: str) -> str:
    return " ".join("".join(char if _is_visible(char) else " " for char in title).split())[:200]


def _without_marks(text: str) -> str:
    return _STRONG.sub(r"\1", _LEADING_MARKS.sub("", text)).replace("`", "")


def title_from(text: str) -> str:
    """The first words of a message without Markdown's marks, cut at a word."""
    line = clean_title(_without_marks(text[:400])) or clean_title(text[:400])
    if len(line) <= TITLE_MAX_CHARS:
        return line
    cut = line[: TITLE_MAX_CHARS + 1].rpartition(" ")[0]
    return (cut if len(cut) > TITLE_MAX_CHARS // 2 else line[:TITLE_MAX_CHARS]).rstrip(",;:.") + "…"


def queue_turn(
    user: User,
    conversation_id: UUID,
    *,
    text: str,
    idempotency_key: str,
    digest: str,
    now: datetime,
    after: UUID | None = None,
) -> Turn:
    """The turn below the last one, inside the caller's transaction. For this room; others post."""
    seq = _next_seq(user, conversation_id, now=now)
    parent = _turn_before(conversation_id, seq)
    if after and (parent is None or parent.id != after):
        _refuse_stale(conversation_id, after, last_seq=seq - 1)
    conversation = Conversation.objects.get(id=conversation_id)
    if not conversation.title:
        Conversation.objects.filter(id=conversation_id).update(title=title_from(text))
    turn = Turn.objects.create(
        user=user,
        conversation=conversation,
        seq=seq,
        parent=parent,
        idempotency_key=idempotency_key,
        request_digest=digest,
        lease_until=_lease_end(),
        attempts_left=get_conf().turn_max_attempts,
    )
    Message.objects.create(
        user=user, turn=turn, role=Message.Role.USER, text=text, tokens=estimate_text(text)
    )
    nudge(RUN_TURN, turn.id)
    return turn


def _turn_before(conversation_id: UUID, seq: int) -> Turn | None:
    return Turn.objects.filter(conversation_id=conversation_id, seq=seq - 1, is_current=True).first()


def _refuse_stale(conversation_id: UUID, after: UUID, *, last_seq: int) -> None:
    seen = Turn.objects.filter(conversation_id=conversation_id, id=after, is_current=True).first()
    newer = last_seq - seen.seq if seen else 0
    what = f"{newer} newer message{'s' if newer != 1 else ''}" if newer else "another version of it is shown"
    raise ConversationMovedOnError(
        f"This chat moved on ({what}). Read what is new, then send again.", newer=newer
    )


def _keep_as_sibling(turn: Turn) -> None:
    """A copy of an ended turn beside it: what was said in it is not lost when it is answered again."""
    kept = Turn.objects.get(id=turn.id)
    kept.pk = kept.id = uuid7()
    kept.is_current = False
    kept.status, kept.finished_at = turn.status, turn.finished_at
    kept.error_code, kept.error_message = turn.error_code, turn.error_message
    kept.lease_until = None
    kept.idempotency_key = f"kept:{kept.id}"
    kept.save(force_insert=True)
    # A hair before the turn that it was the first try of: siblings stand in the order in which they were made.
    Turn.objects.filter(id=kept.id).update(created_at=turn.created_at - timedelta(microseconds=1))
    for message in turn.messages.all():
        Message.objects.create(
            user_id=turn.user_id, turn=kept, role=message.role, text=message.text, tokens=message.tokens
        )
    Message.objects.filter(turn=kept).update(created_at=turn.created_at)


def _next_seq(user: User, conversation_id: UUID, *, now: datetime) -> int:
    """The row counter: concurrent senders queue on this row and get dense numbers."""
    counted = Conversation.objects.filter(user=user, id=conversation_id, deleted_at=None).update(
        last_seq=F("last_seq") + 1, updated_at=now
    )
    if not counted:
        raise NotFoundError("There is no such conversation.")
    return Conversation.objects.values_list("last_seq", flat=True).get(id=conversation_id)


def known_turn(user_id: UUID, idempotency_key: str, digest: str) -> Turn | None:
    turn = Turn.objects.filter(user_id=user_id, idempotency_key=idempotency_key).first()
    if turn is None:
        return None
    if turn.request_digest != digest:
        raise IdempotencyConflictError(
            "This Idempotency-Key was already used for another message. Use a new key for a new message."
        )
    return queries.get_turn(user_id, turn.id)


def _lease_end() -> "ExpressionWrapper[CombinedExpression]":
    return _from_now(get_conf().turn_lease_s)


def _from_now(seconds: float) -> "ExpressionWrapper[CombinedExpression]":
    """By the database's clock, so that workers with wrong clocks cannot steal or keep a turn."""
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())


def request_digest(place_id: UUID, text: str) -> str:
    """What a key stands for: the words, and the conversation or turn they were meant for."""
    return hashlib.sha256(json.dumps([str(place_id), text]).encode()).hexdigest()


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


def _keep_reply(turn: Turn, text: str) -> None:
    if text.strip():
        Message.objects.update_or_create(
            user_id=turn.user_id,
            turn=turn,
            role=Message.Role.ASSISTANT,
            defaults={"text": text.replace("\x00", ""), "tokens": estimate_text(text)},
        )


def nudge_next(conversation_id: UUID) -> None:
    following = queries.next_queued(conversation_id)
    if following:
        nudge(RUN_TURN, following)


def is_visible(text: str) -> bool:
    """Whether there is anything to see: not only spaces, marks without width, and controls."""
    return any(map(_is_visible, text))


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Zs", "Zl", "Zp", "Cs"}
