"""Writes of the transcript. Each is one transaction; races are settled by conditional updates and constraints."""

import hashlib
import json
import re
import unicodedata
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from uuid6 import uuid7

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.llm.tokens import estimate_text
from memoryapp.nudges import RUN_TURN, nudge
from memoryapp.policies.secrets import SecretRefusedError, find_secret
from memoryapp.transcript import queries
from memoryapp.transcript.claims import lease_end
from memoryapp.transcript.keys import keep_key
from memoryapp.transcript.models import Conversation, Message, Turn

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


class ConversationMovedOnError(MemoryAppError):
    """The message was written below a turn that is no longer the last. ``details``: ``newer``, how many follow it."""

    code = "conversation_moved_on"
    http_status = 409


class TurnNotRetryableError(MemoryAppError):
    code = "turn_not_retryable"
    http_status = 409


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
        _keep_keys(turn)
    return queries.get_turn(user.id, turn.id)


def require_retryable(turn: Turn) -> None:
    """Raises ``TurnNotRetryableError`` for a turn that ``retry_turn`` would refuse as things stand."""
    if turn.status in Turn.LIVE:
        raise TurnNotRetryableError(gettext("This message is being answered already."))
    if turn.status not in Turn.RETRYABLE:
        raise TurnNotRetryableError(gettext("This message has been answered already."))
    if not turn.is_current or turn.seq != turn.conversation.last_seq:
        raise TurnNotRetryableError(gettext("Only the last message can be answered again."))


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
            raise NotFoundError(gettext("There is no such turn."))
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
            lease_until=lease_end(),
        )
        if queries.text_of(turn, Message.Role.ASSISTANT):
            _keep_as_sibling(turn)
        nudge(RUN_TURN, turn_id)
    return queries.get_turn(user_id, turn_id)


def clean_message(text: str) -> str:
    """The text as it is kept: newlines as LF, outer blank lines gone. Refuses what cannot be kept whole."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not is_visible(text):
        raise EmptyMessageError(gettext("Write a message first."))
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise MalformedTextError(
            gettext(
                "The message holds characters that are not text (NUL or half of a character pair). "
                "Remove them and send again."
            )
        )
    limit = get_conf().message_max_chars
    if len(text) > limit:
        message = gettext("The message is {n} characters long; the limit is {limit}. Send it in parts.")
        raise MessageTooLongError(
            message.format(n=grouped(len(text)), limit=grouped(limit)), chars=len(text), limit_chars=limit
        )
    return text


def refuse_secret(text: str) -> None:
    """Raises ``SecretRefusedError`` for words that a person puts where the assistant will read them again."""
    found = find_secret(text)
    if found:
        message = gettext("That looks like {found}. Secrets are not kept in memory.")
        raise SecretRefusedError(message.format(found=gettext(found)), found=found)


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
    said_at: datetime | None = None,
) -> Turn:
    """The turn below the last one, inside the caller's transaction. For this room; others post.

    ``said_at``: when its words were said, if they are not said just now.
    """
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
        lease_until=lease_end(),
        attempts_left=get_conf().turn_max_attempts,
    )
    message = Message.objects.create(
        user=user, turn=turn, role=Message.Role.USER, text=text, tokens=estimate_text(text)
    )
    if said_at:
        message.created_at = said_at
        message.save(update_fields=["created_at"])
    keep_key(message)
    nudge(RUN_TURN, turn.id)
    return turn


def _turn_before(conversation_id: UUID, seq: int) -> Turn | None:
    return Turn.everything.filter(conversation_id=conversation_id, seq=seq - 1, is_current=True).first()


def _refuse_stale(conversation_id: UUID, after: UUID, *, last_seq: int) -> None:
    seen = Turn.objects.filter(conversation_id=conversation_id, id=after, is_current=True).first()
    newer = last_seq - seen.seq if seen else 0
    if newer:
        message = ngettext(
            "This chat moved on ({n} newer message). Read what is new, then send again.",
            "This chat moved on ({n} newer messages). Read what is new, then send again.",
            newer,
        ).format(n=newer)
    else:
        message = gettext(
            "This chat moved on (another version of it is shown). Read what is new, then send again."
        )
    raise ConversationMovedOnError(message, newer=newer)


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
        copy = Message.objects.create(
            user_id=turn.user_id,
            turn=kept,
            role=message.role,
            text=message.text,
            tokens=message.tokens,
            extracted_at=message.extracted_at,
        )
        # The column fills itself with the moment of the copy.
        Message.objects.filter(id=copy.id).update(created_at=message.created_at)
    _keep_keys(kept)


def _keep_keys(turn: Turn) -> None:
    for message in turn.messages.all():
        keep_key(message)


def _next_seq(user: User, conversation_id: UUID, *, now: datetime) -> int:
    """The row counter: concurrent senders queue on this row and get dense numbers."""
    counted = Conversation.objects.filter(user=user, id=conversation_id, deleted_at=None).update(
        last_seq=F("last_seq") + 1, updated_at=now
    )
    if not counted:
        raise NotFoundError(gettext("There is no such conversation."))
    return Conversation.objects.values_list("last_seq", flat=True).get(id=conversation_id)


def known_turn(user_id: UUID, idempotency_key: str, digest: str) -> Turn | None:
    turn = Turn.everything.filter(user_id=user_id, idempotency_key=idempotency_key).first()
    if turn is None:
        return None
    if turn.request_digest != digest:
        raise IdempotencyConflictError(
            gettext(
                "This Idempotency-Key was already used for another message. Use a new key for a new message."
            )
        )
    return queries.get_turn(user_id, turn.id)


def request_digest(place_id: UUID, text: str) -> str:
    """What a key stands for: the words, and the conversation or turn they were meant for."""
    return hashlib.sha256(json.dumps([str(place_id), text]).encode()).hexdigest()


def grouped(count: int) -> str:
    """As the reader of a page writes large numbers."""
    return number_format(count, force_grouping=True)


def is_visible(text: str) -> bool:
    """Whether there is anything to see: not only spaces, marks without width, and controls."""
    return any(map(_is_visible, text))


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Zs", "Zl", "Zp", "Cs"}
