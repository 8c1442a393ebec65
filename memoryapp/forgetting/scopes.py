"""What a person can ask to be forgotten, and what of every tier each of these takes."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils.translation import gettext

from memoryapp.context import queries as context
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.longterm import experience_queries, extents
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory
from memoryapp.policies.lookalikes import Sought, bounded
from memoryapp.policies.repeats import repeats
from memoryapp.receipts.models import Scope
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad import timeline
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import browsing
from memoryapp.transcript import queries as transcript

RECENT: Final[Mapping[str, timedelta]] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
PROGRAM: Final = "program:"  # before a program's name: all that it wrote


class RunInProgressError(MemoryAppError):
    """A run that goes on writes its record still: stop it first."""

    code = "run_in_progress"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Asked:
    """``subject``: the id of a row, a kind's slug, "hour" or "day", a channel or ``program:NAME``; empty for all.

    ``with_copies``: of a conversation, with the others in which the same was said.
    """

    scope: Scope
    subject: str = ""
    with_copies: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """What goes. ``words``: by message what is redacted in it; ``turns``: by conversation, where not all of it goes.

    ``temporary``: those of the conversations that no undo brings back. ``copies``: other conversations in which the
    same was said and which stay. ``stays``: memories and lessons that rest on something else, too.
    """

    memories: frozenset[UUID] = frozenset()
    experiences: frozenset[UUID] = frozenset()
    conversations: frozenset[UUID] = frozenset()
    temporary: frozenset[UUID] = frozenset()
    copies: frozenset[UUID] = frozenset()
    turns: Mapping[UUID, frozenset[UUID]] = field(default_factory=dict)
    runs: frozenset[UUID] = frozenset()
    words: Sequence[tuple[UUID, str]] = ()
    stays: frozenset[UUID] = frozenset()
    is_everything: bool = False

    @property
    def is_nothing(self) -> bool:
        return not (
            *self.memories, *self.experiences, *self.conversations, *self.turns, *self.runs, *self.words
        )  # fmt: skip


def taken(user_id: UUID, asked: Asked, *, now: datetime) -> Taken:
    """Raises InvalidInputError for what is no such scope or subject, NotFoundError for a row that is not theirs."""
    if asked.scope == Scope.RECENT:
        return _recent(user_id, asked.subject, now=now)
    if asked.scope == Scope.CONVERSATION:
        return _conversation(user_id, _id(asked.subject), with_copies=asked.with_copies)
    if asked.scope in _BY_SUBJECT:
        return _BY_SUBJECT[asked.scope](user_id, asked.subject)
    if asked.scope in _BY_ID:
        return _BY_ID[asked.scope](user_id, _id(asked.subject))
    raise InvalidInputError(
        gettext("There is no such scope. It is one of: {scopes}.").format(scopes=", ".join(ASKED))
    )


def _memory(user_id: UUID, memory_id: UUID) -> Taken:
    return Taken(memories=frozenset([longterm.get_memory(user_id, memory_id).id]))


def _memory_and_source(user_id: UUID, memory_id: UUID) -> Taken:
    memory = longterm.get_memory(user_id, memory_id)
    words = [
        (message_id, span) for message_id, spans in said_in(user_id, memory.id).items() for span in spans
    ]
    return Taken(memories=frozenset([memory.id]), words=words)


def said_in(user_id: UUID, memory_id: UUID) -> dict[UUID, list[str]]:
    """By message the words in which it, or a former value of it, was said there: to the assistant, also where only a
    copy of that is left, and by it. Of a quote that a message no longer holds, nothing is left."""
    quotes = _quotes(user_id, memory_id)
    texts = transcript.texts_of(user_id, quotes)
    said = {message_id: joined(text, quotes[message_id]) for message_id, text in texts.items()}
    said |= _repeated(user_id, memory_id, texts)
    return {message_id: spans for message_id, spans in said.items() if spans}


def _quotes(user_id: UUID, memory_id: UUID) -> dict[UUID, list[str]]:
    """By message the quotes from it, or from the one that it is a copy of."""
    found: dict[UUID, list[str]] = {}
    for message_id, quote in extents.said_where(user_id, [memory_id]):
        found.setdefault(message_id, []).append(quote)
    gone = extents.said_when(user_id, [memory_id])
    for message_id, moment in transcript.said_at(user_id, {moment for moment, _ in gone}):
        found.setdefault(message_id, []).extend(quote for when, quote in gone if when == moment)
    return found


def _repeated(user_id: UUID, memory_id: UUID, message_ids: Collection[UUID]) -> dict[UUID, list[str]]:
    """By reply the sentences that repeat it: in the conversations of these messages, and where it was recalled."""
    replies = transcript.replies(
        user_id,
        conversation_ids=set(transcript.conversations_of_messages(user_id, message_ids).values()),
        turn_ids=set(context.uses_of(user_id, memory_id).values_list("turn", flat=True)),
    )
    statements = extents.wordings(user_id, [memory_id])
    return {message_id: repeats(text, statements) for message_id, text in replies.items()}


def joined(text: str, quotes: Sequence[str]) -> list[str]:
    """What these quotes cover of a text: of quotes that overlap one span, for the mark in place of the first would part
    the second. A quote that stands there in other characters alone is taken as it is, and one that does not, not."""
    spans: list[tuple[int, int]] = []
    found = [(begin, begin + len(quote)) for quote in quotes for begin in _places(text, quote)]
    for begin, end in sorted(found):
        if spans and begin < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    otherwise = [quote for quote in quotes if quote not in text and Sought(quote).is_in(text)]
    return list(dict.fromkeys([*(text[begin:end] for begin, end in spans), *otherwise]))


def _places(text: str, quote: str) -> list[int]:
    """Where it begins: inside longer words only if it stands nowhere else."""
    pattern = re.escape(quote)
    whole = re.finditer(f"(?={bounded(pattern)})", text)
    return [at.start() for at in whole] or [at.start() for at in re.finditer(f"(?={pattern})", text)]


def _experience(user_id: UUID, experience_id: UUID) -> Taken:
    return Taken(experiences=frozenset([experience_queries.get(user_id, experience_id).id]))


def _conversation(user_id: UUID, conversation_id: UUID, *, with_copies: bool) -> Taken:
    """With what was learned from nothing else."""
    asked = transcript.get_conversation(user_id, conversation_id).id
    copies = transcript.copies_of(user_id, asked)
    goes = frozenset([asked]) | (copies if with_copies else frozenset())
    turn_ids = [turn_id for each in goes for turn_id in transcript.turn_ids(user_id, each)]
    run_ids = set(runs.run_ids_of_turns(user_id, turn_ids).values())
    learned = extents.learned_in(user_id, goes)
    lessons = extents.lessons_of(user_id, run_ids)
    return Taken(
        memories=learned.only,
        experiences=lessons.only,
        conversations=goes,
        temporary=transcript.temporary_among(user_id, goes),
        copies=copies - goes,
        stays=learned.elsewhere | lessons.elsewhere,
    )


def _run(user_id: UUID, run_id: UUID) -> Taken:
    run = timeline.recorded_run(user_id, run_id)
    if run.status == Run.Status.RUNNING:
        raise RunInProgressError(gettext("This run goes on. Stop it first, then forget it."))
    learned = extents.learned_in_run(user_id, run.id, run.turn_id)
    lessons = extents.lessons_of(user_id, [run.id])
    return Taken(
        memories=learned.only,
        experiences=lessons.only,
        runs=frozenset([run.id]),
        stays=learned.elsewhere | lessons.elsewhere,
    )


def _source(user_id: UUID, subject: str) -> Taken:
    if subject.startswith(PROGRAM):
        return Taken(memories=frozenset(extents.of_program(user_id, subject.removeprefix(PROGRAM))))
    if subject not in Memory.Channel:
        known = ", ".join([*Memory.Channel.values, f"{PROGRAM}NAME"])
        raise InvalidInputError(
            gettext("There is no such source. It is one of: {known}.").format(known=known)
        )
    return Taken(memories=frozenset(extents.of_channel(user_id, subject)))


def _kind(user_id: UUID, slug: str) -> Taken:
    memories, lessons = extents.of_kind(user_id, longterm.get_kind(slug).slug)
    return Taken(memories=frozenset(memories), experiences=frozenset(lessons))


def _everything(user_id: UUID, subject: str) -> Taken:  # noqa: ARG001
    return Taken(is_everything=True)


def _recent(user_id: UUID, subject: str, *, now: datetime) -> Taken:
    """All that was said, learned and done since, on every branch: whole conversations where all of them was."""
    if subject not in RECENT:
        known = ", ".join(RECENT)
        raise InvalidInputError(gettext("There is no such time. It is one of: {known}.").format(known=known))
    since = now - RECENT[subject]
    memories, lessons = extents.recorded_since(user_id, since)
    begun, gone_on = browsing.since(user_id, since)
    return Taken(
        memories=frozenset(memories),
        experiences=frozenset(lessons),
        conversations=frozenset(begun),
        temporary=transcript.temporary_among(user_id, begun),
        turns=gone_on,
    )


def _id(subject: str) -> UUID:
    try:
        return UUID(subject)
    except ValueError:
        raise NotFoundError(gettext("Say which one: the id is missing, or is none.")) from None


_BY_ID: Final[Mapping[Scope, Callable[[UUID, UUID], Taken]]] = {
    Scope.MEMORY: _memory,
    Scope.MEMORY_AND_SOURCE: _memory_and_source,
    Scope.EXPERIENCE: _experience,
    Scope.RUN: _run,
}
_BY_SUBJECT: Final[Mapping[Scope, Callable[[UUID, str], Taken]]] = {
    Scope.SOURCE: _source,
    Scope.KIND: _kind,
    Scope.EVERYTHING: _everything,
    Scope.ACCOUNT: _everything,
}
# What can be asked for; the others are what tiers do on their own.
ASKED: Final = (
    *_BY_ID,
    Scope.CONVERSATION,
    Scope.SOURCE,
    Scope.RECENT,
    Scope.KIND,
    Scope.EVERYTHING,
    Scope.ACCOUNT,
)
