"""Changing what was said: other words in place of a message, or a mark in place of some.

From the commit on, the words before are kept nowhere in the transcript: not in the message, its other versions or its
copies in other chats, not in its key, the title, kept lines or summaries. Summaries made from them are stale and are
made anew; other rooms drop what they hold of them (``redacting``). What was remembered from a message stays until that
is forgotten, without the words in its quote.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext

from memoryapp.accounts import operations as accounts
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import InvalidInputError
from memoryapp.llm.tokens import estimate_text
from memoryapp.nudges import EXTRACT_CONVERSATION, REBUILD_SUMMARY, nudge
from memoryapp.policies import repeats
from memoryapp.policies.lookalikes import Sought
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Scope, Sort
from memoryapp.transcript import branches, keys, queries
from memoryapp.transcript.models import Conversation, Message, PinnedLine, Summary, Turn
from memoryapp.transcript.operations import clean_message, clean_title, refuse_secret, title_from

MARK: Final = "[▇ redacted]"
_COPIED: Final = re.compile(r"(?: \(copy\))+$")  # as the title of a copied conversation ends

# Sent with ``gone`` inside the transaction: what other rooms hold of the words goes with them, or neither.
redacting = Signal()


class NotInMessageError(InvalidInputError):
    """The words to redact do not stand in the message."""

    code = "not_in_message"


Rewrite = Callable[[str], str]
Holds = Callable[[str], bool]  # whether a text holds the words


@dataclass(frozen=True, slots=True)
class Gone:
    """By what the words can be found elsewhere: the turns in which they were said, and the words themselves.

    ``said``: what each changed message says now; ``rewrite``: what a copy of a part of one becomes, empty if nothing.
    """

    user_id: UUID
    turn_ids: frozenset[UUID]
    texts: frozenset[str]
    said: Mapping[UUID, str]
    rewrite: Rewrite


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of a request: the messages that read differently now, the one asked for among them.

    ``chats``: in how many they stand, with those that copied them. ``repeated``: words that a correction took away, as
    replies of these chats still say them, and which do.
    """

    conversation_id: UUID
    turn_id: UUID
    message_id: UUID
    message_ids: frozenset[UUID]
    chats: int
    repeated: Mapping[str, Sequence[UUID]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a redaction would change: which messages, in how many chats they stand, and how many summaries lose their
    text. ``gone``: by what the words are found elsewhere, as ``Gone.texts``."""

    turn_ids: frozenset[UUID]
    message_ids: frozenset[UUID]
    chats: int
    summaries: int
    gone: frozenset[str]
    after: str  # what the message itself would say


def correct_message(user_id: UUID, message_id: UUID, *, text: str) -> Changed:
    """Put ``text`` in place of what the message says, in every version and every copy of the turn that says the same.

    A person's message is read again for what to remember. Raises what ``clean_message`` raises, ``SecretRefusedError``,
    ``NotFoundError``, and ``ReplyInProgressError`` while the conversation is being answered.
    """
    text = clean_message(text)
    refuse_secret(text)
    with transaction.atomic(durable=True):
        message = _held(user_id, message_id)
        before = message.text
        if before == text:
            raise InvalidInputError(gettext("It says that already. Change the words, or cancel."))
        said = _said_with(message)
        rows = _with_copies(said, [row for row in said if row.text == before and _is_version(row, message)])
        changed = _change(message, rows, Message.Change.CORRECTED, lambda _: text, gone={before})
        _forget_words(lambda held: before in held, rows, lambda _: "")
        here = Message.objects.filter(turn__conversation=message.turn.conversation_id, role=Message.Role.USER)
        here.filter(id__in=changed.message_ids).update(extracted_at=None)
        activity.note(user_id, Verb.EDITED, tier=Tier.TRANSCRIPT, subject_id=message.turn_id, rows=len(rows))
        nudge(EXTRACT_CONVERSATION, message.turn.conversation_id)
        return replace(changed, repeated=_repeated(rows, before=before, after=text))


def redact_message(
    user_id: UUID, message_id: UUID, *, words: str | None = None, everywhere: bool = True
) -> Changed:
    """Put a mark in place of ``words`` in a message, or of all it says when they are None.

    They are found whatever their case, their spacing and the characters they are written in (``lookalikes``).
    ``everywhere``: also where the conversation says the same elsewhere, on either side and on every branch; other
    versions of the message lose it in any case, and copies in other chats of each message that does. Raises
    ``NotInMessageError``, ``NotFoundError``, and ``ReplyInProgressError`` while one of them is being answered.
    """
    with transaction.atomic(durable=True):
        return redact_within(user_id, message_id, words=words, everywhere=everywhere)


def redact_within(
    user_id: UUID,
    message_id: UUID,
    *,
    words: str | None = None,
    everywhere: bool = True,
    whole_words: bool = False,
) -> Changed:
    """``redact_message``, as a part of the caller's transaction.

    ``whole_words``: not inside longer ones, unless the message has them nowhere else.
    """
    message = _held(user_id, message_id)
    sought = _sought(message, words, whole_words=whole_words)
    rows = _saying(sought, _said_with(message), message, everywhere=everywhere)
    rewrite = partial(sought.replaced, mark=MARK)
    gone = _written(sought, message, words, rows)
    changed = _change(message, rows, Message.Change.REDACTED, rewrite, gone=gone)
    _forget_words(sought.is_in, rows, rewrite)
    activity.note(user_id, Verb.REDACTED, tier=Tier.TRANSCRIPT, subject_id=message.turn_id, rows=len(rows))
    return changed


def foresee_redaction(
    user_id: UUID,
    message_id: UUID,
    *,
    words: str | None = None,
    everywhere: bool = True,
    whole_words: bool = False,
) -> Foreseen:
    """What ``redact_within`` would change now; it changes nothing. Raises ``NotInMessageError``, ``NotFoundError``."""
    message = queries.get_message(user_id, message_id)
    sought = _sought(message, words, whole_words=whole_words)
    rows = _saying(sought, list(_said(message)), message, everywhere=everywhere)
    chats = _by_conversation(rows)
    summaries = [
        made
        for conversation_id, theirs in chats.items()
        for made in _made_of_it(user_id, conversation_id, sought.is_in, theirs)
        if made.text
    ]
    return Foreseen(
        turn_ids=frozenset(row.turn_id for row in rows),
        message_ids=frozenset(row.id for row in rows),
        chats=len(chats),
        summaries=len(summaries),
        gone=frozenset(_written(sought, message, words, rows)),
        after=sought.replaced(message.text, mark=MARK),
    )


def _sought(message: Message, words: str | None, *, whole_words: bool) -> Sought:
    """Raises ``InvalidInputError``, ``NotInMessageError``."""
    asked = message.text if words is None else words.strip()
    is_whole = whole_words and Sought(asked, whole=True).is_in(message.text)
    sought = Sought(asked, whole=is_whole)
    if not sought:
        raise InvalidInputError(gettext("Write the words to redact."))
    if not sought.is_in(message.text):
        raise NotInMessageError(
            gettext("These words are not in the message. Copy them exactly as they stand there.")
        )
    return sought


def _saying(
    sought: Sought, said: Sequence[Message], message: Message, *, everywhere: bool
) -> Sequence[Message]:
    """Those of ``said`` that a redaction of this message changes."""
    here = [row for row in said if row.turn.conversation_id == message.turn.conversation_id]
    wanted = [row for row in here if everywhere or _is_version(row, message)]
    return _with_copies(said, [row for row in wanted if sought.is_in(row.text)])


def _written(sought: Sought, message: Message, words: str | None, rows: Sequence[Message]) -> set[str]:
    """The words as they were asked for, and as each of these writes them."""
    asked = message.text if words is None else words.strip()
    return {asked, *(written for row in rows for written in sought.found_in(row.text))}


def _held(user_id: UUID, message_id: UUID) -> Message:
    """The message, with its conversation and those that hold copies of it locked and quiet; what began before finds
    the epoch moved on."""
    found = queries.get_message(user_id, message_id)
    # The person first, as in a forgetting and an extraction: two of them must not wait for each other.
    accounts.advance_memory_epoch(user_id)
    # All at once and in one order: others that hold several of them must not wait for each other.
    family = _family(found)
    list(Conversation.objects.filter(id__in=family).order_by("id").select_for_update())
    for conversation_id in family:
        branches.require_quiet(conversation_id)
    return queries.get_message(user_id, message_id)


def _family(message: Message) -> list[UUID]:
    """Its conversation and those that copied of it or that it copied of, deleted ones too: they can come back.

    A copy was said when its original was, to the microsecond.
    """
    rows = Message.objects.filter(user_id=message.user_id)
    said_at = rows.filter(turn__conversation=message.turn.conversation_id).values("created_at")
    found = rows.filter(created_at__in=said_at).order_by().values_list("turn__conversation", flat=True)
    return list(found.distinct())


def _said_with(message: Message) -> Sequence[Message]:
    """All that was said in its conversation and those of its copies, on whatever branch, deleted or not."""
    return list(_said(message).select_for_update(of=("self",)))


def _said(message: Message) -> QuerySet[Message]:
    rows = Message.objects.filter(user_id=message.user_id, turn__conversation__in=_family(message))
    return rows.select_related("turn").order_by("id")


def _with_copies(said: Sequence[Message], rows: Sequence[Message]) -> Sequence[Message]:
    """These and those that the same side said at the same moment in the same words."""
    wanted = {(row.role, row.created_at, row.text) for row in rows}
    return [row for row in said if (row.role, row.created_at, row.text) in wanted]


def _is_version(row: Message, message: Message) -> bool:
    """Whether it is the same side's, at the same place in the tree."""
    place = (row.turn.conversation_id, row.turn.parent_id, row.turn.seq)
    beside = place == (message.turn.conversation_id, message.turn.parent_id, message.turn.seq)
    return row.role == message.role and beside


def _change(
    message: Message, rows: Sequence[Message], change: Message.Change, rewrite: Rewrite, *, gone: Set[str]
) -> Changed:
    for row in rows:
        text = rewrite(row.text)
        Message.objects.filter(id=row.id).update(
            text=text, tokens=estimate_text(text), change=change, changed_at=Now()
        )
    message_ids = frozenset(row.id for row in rows)
    turn_ids = frozenset(row.turn_id for row in rows)
    keys.keep_keys(message.user_id, message_ids)
    # A digest of few words gives them away to whoever tries all of them.
    Turn.everything.filter(id__in=turn_ids).update(partial_text="", wait_message="", request_digest="")
    traces = Gone(
        user_id=message.user_id,
        turn_ids=turn_ids,
        texts=frozenset(gone),
        said={row.id: rewrite(row.text) for row in rows},
        # Other words stand in place of all of a corrected message, not in place of a part of it.
        rewrite=rewrite if change == Message.Change.REDACTED else lambda _: "",
    )
    redacting.send(sender=Message, gone=traces)
    receipts.issue(message.user_id, Scope.REDACTION, items={Sort.MESSAGE: message_ids}, now=timezone.now())
    chats = len({row.turn.conversation_id for row in rows})
    return Changed(message.turn.conversation_id, message.turn_id, message.id, message_ids, chats)


def _forget_words(holds: Holds, rows: Sequence[Message], rewrite: Rewrite) -> None:
    """What the conversations of these messages, as they were, hold beside them: kept lines, titles, summaries."""
    changed = _by_conversation(rows)
    conversations = list(Conversation.objects.filter(id__in=changed))
    own = Conversation.TitleSource.USER
    given = {conversation.title for conversation in conversations if conversation.title_source != own}
    given |= {title_from(row.text) for row in rows}
    for conversation in conversations:
        theirs = changed[conversation.id]
        _drop_lines(conversation, holds, theirs)
        _make_summaries_stale(conversation, holds, theirs)
        _retitle(conversation, holds, theirs, rewrite, given=given)


def _repeated(rows: Sequence[Message], *, before: str, after: str) -> dict[str, list[UUID]]:
    """As ``Changed.repeated``; in whatever case, for so they are redacted."""
    chats = {row.turn.conversation_id for row in rows}
    written: dict[str, str] = {}
    found: dict[str, list[UUID]] = {}
    for reply_id, said in queries.replies(rows[0].user_id, conversation_ids=chats, turn_ids=()).items():
        for words in repeats.left(said, before=before, after=after):
            found.setdefault(written.setdefault(words.casefold(), words), []).append(reply_id)
    return found


def _by_conversation(rows: Sequence[Message]) -> dict[UUID, list[Message]]:
    found: dict[UUID, list[Message]] = {}
    for row in rows:
        found.setdefault(row.turn.conversation_id, []).append(row)
    return found


def _retitle(
    conversation: Conversation,
    holds: Holds,
    rows: Sequence[Message],
    rewrite: Rewrite,
    *,
    given: Collection[str],
) -> None:
    """``given``: titles that came from what was said. A copy has the title of its original, as its person's own."""
    title, source = conversation.title, conversation.title_source
    stem, copied = _COPIED.sub("", title), "".join(_COPIED.findall(title))
    first = _first_shown(conversation)
    is_begun = first is None or any(row.turn.seq <= first.seq for row in rows)
    if source != Conversation.TitleSource.USER and is_begun:
        title, source = first_words(conversation), Conversation.TitleSource.FIRST_WORDS
    elif is_begun and copied and stem in given:
        title = clean_title(first_words(conversation) + copied)
    elif holds(title):
        title = clean_title(rewrite(title))
    Conversation.objects.filter(id=conversation.id).update(
        title=title, title_source=source, revision=F("revision") + 1
    )


def first_words(conversation: Conversation) -> str:
    """The title that the shown branch gives by itself: its first message's first words; empty without one."""
    turn = _first_shown(conversation)
    return title_from(queries.text_of(turn, Message.Role.USER)) if turn else ""


def _first_shown(conversation: Conversation) -> Turn | None:
    return queries.turns(conversation.user_id, conversation.id).first()


def _drop_lines(conversation: Conversation, holds: Holds, rows: Sequence[Message]) -> None:
    """Lines that quote the words, and lines of these messages that they no longer say."""
    now_said: dict[UUID, list[str]] = {}
    changed = Message.objects.filter(turn__in=[row.turn_id for row in rows])
    for turn_id, text in changed.values_list("turn_id", "text"):
        now_said.setdefault(turn_id, []).append(text)
    lines = PinnedLine.objects.filter(user_id=conversation.user_id, conversation=conversation)
    gone = [
        line.id
        for line in lines
        if holds(line.text)
        or (line.turn_id in now_said and not any(line.text in text for text in now_said[line.turn_id]))
    ]
    PinnedLine.objects.filter(id__in=gone).delete()


def _make_summaries_stale(conversation: Conversation, holds: Holds, rows: Sequence[Message]) -> None:
    """Without their text."""
    was_used = queries.current_summary(conversation.user_id, conversation.id)
    made_of_it = [made.id for made in _made_of_it(conversation.user_id, conversation.id, holds, rows)]
    Summary.objects.filter(id__in=made_of_it).update(is_stale=True, text="", deletion_ids=[])
    if was_used and was_used.id in made_of_it:
        nudge(REBUILD_SUMMARY, conversation.id)


def _made_of_it(user_id: UUID, conversation_id: UUID, holds: Holds, rows: Sequence[Message]) -> list[Summary]:
    """Summaries that stand for a turn of these, of whatever branch, and those that hold the words."""
    first_seq = min(row.turn.seq for row in rows)
    versions = Summary.objects.filter(user_id=user_id, conversation_id=conversation_id)
    return [made for made in versions if made.last_seq >= first_seq or holds(made.text)]
