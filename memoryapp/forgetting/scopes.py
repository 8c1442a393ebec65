"""What a person can ask to be forgotten, and what of every tier each of these takes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils.translation import gettext

from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.longterm import experience_queries, extents
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory
from memoryapp.policies.lookalikes import Sought
from memoryapp.receipts.models import Scope
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad import timeline
from memoryapp.transcript import browsing
from memoryapp.transcript import queries as transcript

RECENT: Final[Mapping[str, timedelta]] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
PROGRAM: Final = "program:"  # before a program's name: all that it wrote


@dataclass(frozen=True, slots=True)
class Asked:
    """``subject``: the id of a row, a kind's slug, "hour" or "day", a channel or ``program:NAME``; empty for all."""

    scope: Scope
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What goes. ``words``: by message what is redacted in it; ``turns``: the first to go, by conversation.

    ``stays``: memories and lessons that rest on something else, too.
    """

    memories: frozenset[UUID] = frozenset()
    experiences: frozenset[UUID] = frozenset()
    conversations: frozenset[UUID] = frozenset()
    turns: Mapping[UUID, UUID] = field(default_factory=dict)
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
    """With former values; of a quote that a message no longer holds, nothing is left to redact."""
    memory = longterm.get_memory(user_id, memory_id)
    quotes = extents.said_where(user_id, [memory.id])
    texts = transcript.texts_of(user_id, {message_id for message_id, _ in quotes})
    by_message: dict[UUID, list[str]] = {}
    for message_id, quote in quotes:
        by_message.setdefault(message_id, []).append(quote)
    words = [
        (message_id, span)
        for message_id, text in texts.items()
        for span in joined(text, by_message[message_id])
    ]
    return Taken(memories=frozenset([memory.id]), words=words)


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


def _places(text: str, quote: str) -> Iterator[int]:
    begin = text.find(quote)
    while begin >= 0:
        yield begin
        begin = text.find(quote, begin + 1)


def _experience(user_id: UUID, experience_id: UUID) -> Taken:
    return Taken(experiences=frozenset([experience_queries.get(user_id, experience_id).id]))


def _conversation(user_id: UUID, conversation_id: UUID) -> Taken:
    """With what was learned from nothing else."""
    conversation = transcript.get_conversation(user_id, conversation_id)
    turn_ids = transcript.turn_ids(user_id, conversation.id)
    run_ids = set(runs.run_ids_of_turns(user_id, turn_ids).values())
    learned = extents.learned_in(user_id, [conversation.id])
    lessons = extents.lessons_of(user_id, run_ids)
    return Taken(
        memories=learned.only,
        experiences=lessons.only,
        conversations=frozenset([conversation.id]),
        stays=learned.elsewhere | lessons.elsewhere,
    )


def _run(user_id: UUID, run_id: UUID) -> Taken:
    run = timeline.recorded_run(user_id, run_id)
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
    """All that was said, learned and done since: whole conversations where they began since."""
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
    Scope.CONVERSATION: _conversation,
    Scope.RUN: _run,
}
_BY_SUBJECT: Final[Mapping[Scope, Callable[[UUID, str], Taken]]] = {
    Scope.SOURCE: _source,
    Scope.KIND: _kind,
    Scope.EVERYTHING: _everything,
    Scope.ACCOUNT: _everything,
}
# What can be asked for; the others are what tiers do on their own.
ASKED: Final = (*_BY_ID, Scope.SOURCE, Scope.RECENT, Scope.KIND, Scope.EVERYTHING, Scope.ACCOUNT)
