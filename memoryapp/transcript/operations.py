"""Writes of the transcript. Each is one transaction; races are settled by conditional updates and constraints."""

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.nudges import RUN_TURN, nudge
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Message, Summary, Turn

TITLE_MAX_CHARS = 60
_LEADING_MARKS = re.compile(r"^(?:[ \t]*(?:#{1,6}[ \t]|>|[*+-][ \t]))+", re.MULTILINE)
_STRONG = re.compile(r"\*\*(?=\S)(.+?)\*\*")


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


class TurnNotRetryableError(MemoryAppError):
    code = "turn_not_retryable"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's right to run a turn until the lease ends; every write carries the attempt."""

    turn_id: UUID
    attempt: int


def start_conversation(
    user: User,
    *,
    now: datetime,
    title: str = "",
    is_temporary: bool = False,
    use_memory: bool = True,
    save_memory: bool = True,
) -> Conversation:
    return Conversation.objects.create(
        user=user,
        title=clean_title(title),
        updated_at=now,
        is_temporary=is_temporary,
        use_memory=use_memory,
        save_memory=save_memory,
    )


def change_conversation(
    user_id: UUID,
    conversation_id: UUID,
    *,
    title: str | None = None,
    use_memory: bool | None = None,
    save_memory: bool | None = None,
) -> Conversation:
    changes: dict[str, object] = {
        name: value
        for name, value in (("use_memory", use_memory), ("save_memory", save_memory))
        if value is not None
    }
    if title is not None:
        changes["title"] = clean_title(title)
        if not changes["title"]:
            raise InvalidInputError("Give the conversation a name, or cancel.")
    if changes and not Conversation.objects.filter(user_id=user_id, id=conversation_id).update(**changes):
        raise NotFoundError("There is no such conversation.")
    return queries.get_conversation(user_id, conversation_id)


def delete_conversation(user_id: UUID, conversation_id: UUID) -> None:
    """The conversation with its turns, summaries and runs; what was remembered from it stays until forgotten."""
    with transaction.atomic(durable=True):
        deleted, _ = Conversation.objects.filter(user_id=user_id, id=conversation_id).delete()
    if not deleted:
        raise NotFoundError("There is no such conversation.")


def post_turn(
    user: User, conversation_id: UUID, *, text: str, idempotency_key: str, now: datetime
) -> tuple[Turn, bool]:
    """Queue a message for an answer: (turn, whether it is new).

    The same key with the same text returns the turn it made the first time; with another text it raises
    ``IdempotencyConflictError``. Raises ``EmptyMessageError``, ``MessageTooLongError``, ``MalformedTextError``.
    """
    text = clean_message(text)
    digest = _request_digest(conversation_id, text)
    known = _known_turn(user.id, idempotency_key, digest)
    if known:
        return known, False
    try:
        with transaction.atomic(durable=True):
            turn = _queue_turn(
                user, conversation_id, text=text, idempotency_key=idempotency_key, digest=digest, now=now
            )
    except IntegrityError:
        # The same request was being committed at the same moment (a double click, a client's retry).
        known = _known_turn(user.id, idempotency_key, digest)
        if known is None:
            raise
        return known, False
    return queries.get_turn(user.id, turn.id), True


def open_conversation(user: User, *, text: str, idempotency_key: str, now: datetime) -> Turn:
    """A conversation that begins with this message, in one transaction; the same key again lands in the same one.

    Raises what ``post_turn`` raises.
    """
    text = clean_message(text)
    try:
        with transaction.atomic(durable=True):
            new = Conversation.objects.create(user=user, updated_at=now)
            turn = _queue_turn(
                user,
                new.id,
                text=text,
                idempotency_key=idempotency_key,
                digest=_request_digest(new.id, text),
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
        turn = Turn.objects.create(
            user=user,
            conversation_id=conversation_id,
            seq=_next_seq(user, conversation_id, now=said_at),
            status=Turn.Status.COMPLETED,
            idempotency_key=idempotency_key,
            request_digest=_request_digest(conversation_id, text),
            attempt=1,
            started_at=said_at,
            finished_at=said_at,
        )
        for role, said in ((Message.Role.USER, text), (Message.Role.ASSISTANT, reply)):
            Message.objects.create(user=user, turn=turn, role=role, text=said)
        # The columns fill themselves with the moment of the insertion, which is not when it was said.
        Turn.objects.filter(id=turn.id).update(created_at=said_at)
        Message.objects.filter(turn=turn).update(created_at=said_at)
    return queries.get_turn(user.id, turn.id)


def claim_turn(turn_id: UUID) -> Claim | None:
    """Take the turn, or None when it is not this worker's to run.

    It must be queued and first in line in its conversation. Two workers may try: the row's lock and the constraint
    of one running turn per conversation let one through.
    """
    earlier = Turn.objects.filter(
        conversation=OuterRef("conversation"), seq__lt=OuterRef("seq"), status__in=Turn.LIVE
    )
    mine = Turn.objects.filter(~Exists(earlier), id=turn_id, status=Turn.Status.QUEUED, attempts_left__gt=0)
    try:
        with transaction.atomic(durable=True):
            attempt = mine.select_for_update().values_list("attempt", flat=True).first()
            if attempt is None:
                return None
            Turn.objects.filter(id=turn_id).update(
                status=Turn.Status.RUNNING,
                attempt=attempt + 1,
                attempts_left=F("attempts_left") - 1,
                lease_until=_lease_end(),
                started_at=Now(),
                epoch_at_start=User.objects.filter(turns=turn_id).values("memory_epoch")[:1],
            )
            return Claim(turn_id, attempt + 1)
    except IntegrityError:  # turn_one_running: another turn of this conversation was claimed just now
        return None


def renew_lease(claim: Claim, *, partial_text: str) -> bool:
    """Prolong the lease and keep what was streamed; False when the turn is no longer this worker's."""
    return _held(claim).update(lease_until=_lease_end(), partial_text=partial_text) == 1


def finish_turn(claim: Claim, *, reply: str, model: str, usage: Usage) -> bool:
    """The reply and the end of the turn, in one transaction; False when the worker was fenced off."""
    with transaction.atomic(durable=True):
        return _end(claim, status=Turn.Status.COMPLETED, text=reply, model=model, usage=usage)


def fail_turn(
    claim: Claim,
    *,
    status: Turn.Status,
    partial_text: str,
    code: str = "",
    message: str = "",
    model: str = "",
    usage: Usage | None = None,
) -> bool:
    """End as failed, interrupted or cancelled, keeping what was said so far; False when fenced off."""
    with transaction.atomic(durable=True):
        return _end(
            claim,
            status=status,
            text=partial_text,
            model=model,
            usage=usage or Usage(),
            error_code=code,
            error_message=message[:500],
        )


def hand_back(claim: Claim) -> bool:
    """Give an attempt up before anyone saw anything of it: the turn is queued again."""
    with transaction.atomic(durable=True):
        returned = _held(claim).update(status=Turn.Status.QUEUED, lease_until=_lease_end(), partial_text="")
        if returned:
            nudge(RUN_TURN, claim.turn_id)
    return returned == 1


def wake_overdue() -> int:
    """Nudge again what should have been claimed by now; returns how many turns."""
    overdue = queries.overdue_in_queue()
    with transaction.atomic(durable=True):
        Turn.objects.filter(id__in=overdue, status=Turn.Status.QUEUED).update(lease_until=_lease_end())
        for turn_id in overdue:
            nudge(RUN_TURN, turn_id)
    return len(overdue)


def take_over(turn_id: UUID) -> Claim | None:
    """The reaper's claim on a turn whose lease ran out; it fences the silent worker off."""
    with transaction.atomic(durable=True):
        taken = Turn.objects.filter(id=turn_id, status=Turn.Status.RUNNING, lease_until__lte=Now()).update(
            attempt=F("attempt") + 1, lease_until=_lease_end()
        )
        if taken != 1:
            return None
        return Claim(turn_id, Turn.objects.values_list("attempt", flat=True).get(id=turn_id))


def request_stop(user_id: UUID, turn_id: UUID) -> Turn:
    """Stop a turn: a queued one at once, a running one as soon as its worker notices; a finished one stays."""
    with transaction.atomic(durable=True):
        # Ending it counts as an attempt: each has one end, and the readers of its events tell them apart.
        stopped = Turn.objects.filter(user_id=user_id, id=turn_id, status=Turn.Status.QUEUED).update(
            status=Turn.Status.CANCELLED,
            attempt=F("attempt") + 1,
            stop_requested_at=Now(),
            finished_at=Now(),
        )
        if not stopped:
            Turn.objects.filter(
                user_id=user_id, id=turn_id, status__in=Turn.LIVE, stop_requested_at=None
            ).update(stop_requested_at=Now())
    turn = queries.get_turn(user_id, turn_id)
    if stopped:
        _nudge_next(turn.conversation_id)
    return turn


def require_retryable(turn: Turn) -> None:
    """Raises ``TurnNotRetryableError`` for a turn that ``retry_turn`` would refuse as things stand."""
    if turn.status in Turn.LIVE:
        raise TurnNotRetryableError("This message is being answered already.")
    if turn.status not in Turn.RETRYABLE:
        raise TurnNotRetryableError("This message has been answered already.")
    if turn.seq != turn.conversation.last_seq:
        raise TurnNotRetryableError("Only the last message can be answered again.")


def retry_turn(user_id: UUID, turn_id: UUID) -> Turn:
    """Answer a failed, interrupted or cancelled turn once more; its partial text stays until a new one replaces it.

    Only the newest turn of a conversation can be retried: an earlier one has been talked past.
    """
    turn = queries.get_turn(user_id, turn_id)
    require_retryable(turn)
    with transaction.atomic(durable=True):
        retried = Turn.objects.filter(
            user_id=user_id,
            id=turn_id,
            status__in=Turn.RETRYABLE,
            seq=Conversation.objects.filter(id=turn.conversation_id).values("last_seq")[:1],
        ).update(
            status=Turn.Status.QUEUED,
            attempts_left=get_conf().turn_max_attempts,
            error_code="",
            error_message="",
            partial_text="",
            stop_requested_at=None,
            finished_at=None,
            lease_until=_lease_end(),
        )
        if retried != 1:  # it was as asked for when it was read, so someone else was faster
            raise TurnNotRetryableError("This message is being answered already.")
        nudge(RUN_TURN, turn_id)
    return queries.get_turn(user_id, turn_id)


def add_summary(
    conversation: Conversation,
    *,
    replaces: Summary | None,
    last_seq: int,
    text: str,
    method: Summary.Method,
    model: str,
    tokens_before: int,
    tokens_after: int,
) -> Summary | None:
    """Roll the summary forward; None when another compaction got there first (its version stands)."""
    try:
        with transaction.atomic(durable=True):
            return Summary.objects.create(
                user_id=conversation.user_id,
                conversation=conversation,
                version=(replaces.version if replaces else 0) + 1,
                last_seq=last_seq,
                text=text,
                method=method,
                model=model,
                tokens_before=tokens_before,
                tokens_after=tokens_after,
            )
    except IntegrityError:
        return None


def clean_message(text: str) -> str:
    """The text as it is kept: newlines as LF, outer blank lines gone. Refuses what cannot be kept whole."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text or not any(_is_visible(char) for char in text):
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


def _queue_turn(
    user: User, conversation_id: UUID, *, text: str, idempotency_key: str, digest: str, now: datetime
) -> Turn:
    seq = _next_seq(user, conversation_id, now=now)
    conversation = Conversation.objects.get(id=conversation_id)
    if not conversation.title:
        Conversation.objects.filter(id=conversation_id).update(title=title_from(text))
    turn = Turn.objects.create(
        user=user,
        conversation=conversation,
        seq=seq,
        idempotency_key=idempotency_key,
        request_digest=digest,
        lease_until=_lease_end(),
        attempts_left=get_conf().turn_max_attempts,
    )
    Message.objects.create(user=user, turn=turn, role=Message.Role.USER, text=text)
    nudge(RUN_TURN, turn.id)
    return turn


def _next_seq(user: User, conversation_id: UUID, *, now: datetime) -> int:
    """The row counter: concurrent senders queue on this row and get dense numbers."""
    counted = Conversation.objects.filter(user=user, id=conversation_id).update(
        last_seq=F("last_seq") + 1, updated_at=now
    )
    if not counted:
        raise NotFoundError("There is no such conversation.")
    return Conversation.objects.values_list("last_seq", flat=True).get(id=conversation_id)


def _known_turn(user_id: UUID, idempotency_key: str, digest: str) -> Turn | None:
    turn = Turn.objects.filter(user_id=user_id, idempotency_key=idempotency_key).first()
    if turn is None:
        return None
    if turn.request_digest != digest:
        raise IdempotencyConflictError(
            "This Idempotency-Key was already used for another message. Use a new key for a new message."
        )
    return queries.get_turn(user_id, turn.id)


def _lease_end() -> "ExpressionWrapper[CombinedExpression]":
    """By the database's clock, so that workers with wrong clocks cannot steal or keep a turn."""
    return ExpressionWrapper(Now() + timedelta(seconds=get_conf().turn_lease_s), output_field=DateTimeField())


def _request_digest(conversation_id: UUID, text: str) -> str:
    return hashlib.sha256(json.dumps([str(conversation_id), text]).encode()).hexdigest()


def _held(claim: Claim) -> QuerySet[Turn]:
    return Turn.objects.filter(id=claim.turn_id, attempt=claim.attempt, status=Turn.Status.RUNNING)


def _end(
    claim: Claim,
    *,
    status: Turn.Status,
    text: str,
    model: str,
    usage: Usage,
    error_code: str = "",
    error_message: str = "",
) -> bool:
    ended = _held(claim).update(
        status=status,
        lease_until=None,
        partial_text="",
        error_code=error_code,
        error_message=error_message,
        model=model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_creation_tokens=usage.cache_creation_tokens,
        finished_at=Now(),
    )
    if not ended:
        return False
    turn = Turn.objects.get(id=claim.turn_id)
    if text.strip():
        Message.objects.update_or_create(
            user_id=turn.user_id,
            turn=turn,
            role=Message.Role.ASSISTANT,
            defaults={"text": text.replace("\x00", "")},
        )
    _nudge_next(turn.conversation_id)
    return True


def _nudge_next(conversation_id: UUID) -> None:
    following = queries.next_queued(conversation_id)
    if following:
        nudge(RUN_TURN, following)


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Zs", "Zl", "Zp", "Cs"}
