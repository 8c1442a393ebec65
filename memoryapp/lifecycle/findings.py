"""What a person's messages state that is worth keeping: found by the cheap model, or by rules when there is none.

Nothing is taken on the model's word. Each finding names a message by its number, and its quote has to stand in that
message, in words that are the person's own. Ids and origins are not the model's to give.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from django.utils.translation import gettext
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memoryapp.conf import get_conf
from memoryapp.errors import MemoryAppError
from memoryapp.lifecycle import prompts
from memoryapp.llm.base import ModelReply, ToolDefinition, Usage
from memoryapp.llm.jobs import whole_reply
from memoryapp.llm.offline.sentences import own_words
from memoryapp.llm.offline.statements import find_statements
from memoryapp.longterm.candidates import MAX_KEY_CHARS
from memoryapp.policies import dates
from memoryapp.policies.fencing import as_data
from memoryapp.policies.reconciliation import KEY, normalise
from memoryapp.policies.summaries import prepared
from memoryapp.transcript.sources import UserMessage

TOOL = "note_statements"
TRIES = 2  # of the model, when its answer cannot be read
MAX_TOKENS = 4_096  # forty statements of a hundred tokens; a part of a conversation states far fewer
MAX_STATEMENTS = 60  # in one answer: more is no reading, it is copying
STATEMENT_CHARS = 300  # one fact; what is longer is a summary
LEAST_CONFIDENCE = 0.5  # what the model itself doubts is no fact
MESSAGE_CHARS = 8_000  # of one message: its beginning and its end, when it is longer


class UnreadableAnswerError(MemoryAppError):
    """The model answered in no form that can be used; ``usage`` is what that cost."""

    code = "unreadable_answer"
    http_status = 502

    def __init__(self, message: str, *, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Something known that the messages may be about. ``key``: what its value stands under."""

    key: str
    statement: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement that is worth keeping. ``happened_at``: the midnight that begins the day it tells of."""

    message_id: UUID
    statement: str
    kind: str
    quote: str
    key: str = ""
    happened_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """``rejected``: how many were given and not taken, by reason."""

    taken: tuple[Finding, ...]
    rejected: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)


def by_rules(messages: Sequence[UserMessage], *, time_zone: str) -> Findings:
    """By the forms that the offline responder knows too: few, and those sure."""
    found = (
        Finding(
            message_id=message.id,
            statement=stated.statement,
            kind=stated.kind,
            quote=stated.quote,
            key=stated.key,
            happened_at=dates.happened(stated.quote, said_at=message.said_at, time_zone=time_zone),
        )
        for message in messages
        for stated in find_statements(message.text, at_most=get_conf().memories_per_turn).statements
    )
    return Findings(tuple(found))


def by_model(
    messages: Sequence[UserMessage],
    *,
    kinds: Collection[str],
    meanings: str,
    known: Sequence[Neighbour],
    time_zone: str,
) -> Findings:
    """What the cheap model finds, checked. Raises ``ModelError``, and ``UnreadableAnswerError`` after two tries.

    ``meanings`` tells the model what the ``kinds`` are. An answer that names nothing is an answer; one that cannot be
    read is an error, never an empty list.
    """
    told, tool = _told(messages, known), _tool(kinds, meanings)
    spent = Usage()
    for _ in range(TRIES):
        reply = whole_reply(prompts.EXTRACTION, told, max_tokens=MAX_TOKENS, tools=(tool,))
        spent += reply.usage
        items = _items(reply)
        if items is not None:
            checked = _Checked(messages, kinds=kinds, known=known, time_zone=time_zone)
            return Findings(tuple(checked.taken(items)), checked.rejected, spent)
    raise UnreadableAnswerError(gettext("The model's answer could not be read."), usage=spent)


def _told(messages: Sequence[UserMessage], known: Sequence[Neighbour]) -> str:
    said = [
        {
            "message": number,
            "said_on": f"{message.said_at:%A %Y-%m-%d}",
            "text": prompts.clipped(message.text, max_chars=MESSAGE_CHARS),
        }
        for number, message in enumerate(messages, 1)
    ]
    facts = [
        {"about": number, "key": neighbour.key, "statement": neighbour.statement}
        for number, neighbour in enumerate(known, 1)
    ]
    fenced = f"<known>\n{as_data(facts)}\n</known>\n\n<messages>\n{as_data(said)}\n</messages>"
    return f"{fenced}\n\n{prompts.EXTRACT_NOW}"


def _tool(kinds: Collection[str], meanings: str) -> ToolDefinition:
    text, number = {"type": "string"}, {"type": "integer", "minimum": 1}
    item = {
        "type": "object",
        "properties": {
            "message": {**number, "description": "The number of the message that says it."},
            "quote": text,
            "statement": {**text, "maxLength": STATEMENT_CHARS},
            "kind": {**text, "enum": list(kinds)},
            "key": {**text, "description": "Lower-case words joined by dots."},
            "about": {**number, "description": "The number of what is known that it repeats or changes."},
            "happened_on": {**text, "description": "YYYY-MM-DD"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["message", "quote", "statement", "kind"],
        "additionalProperties": False,
    }
    return ToolDefinition(
        name=TOOL,
        description=f"Note what the user stated. Kinds: {meanings}.",
        input_schema={
            "type": "object",
            "properties": {"statements": {"type": "array", "items": item}},
            "required": ["statements"],
            "additionalProperties": False,
        },
    )


def _items(reply: ModelReply) -> list[Any] | None:
    """What was noted, not yet looked at; None when the reply is no answer.

    Models that do not use tools write the same JSON as text, some in a code fence.
    """
    if reply.stop_reason == "tool_use":
        given: object = next((dict(use.input) for use in reply.tool_uses if use.name == TOOL), None)
    elif reply.stop_reason == "end_turn":
        given = _parsed(prepared(reply.text))
    else:
        return None
    items = given.get("statements") if isinstance(given, dict) else given
    return items[:MAX_STATEMENTS] if isinstance(items, list) else None


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class _Item(BaseModel):
    """One entry of the answer; what it does not know, such as an id or an origin, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)

    message: Annotated[int, Field(ge=1)]
    quote: Annotated[str, Field(min_length=1)]
    statement: Annotated[str, Field(min_length=1, max_length=STATEMENT_CHARS)]
    kind: str
    key: str | None = None
    about: int | None = None
    happened_on: str | None = None
    confidence: Annotated[float | None, Field(ge=0, le=1)] = None


class _Checked:
    """Goes through the answer; what it may not take it counts."""

    def __init__(
        self,
        messages: Sequence[UserMessage],
        *,
        kinds: Collection[str],
        known: Sequence[Neighbour],
        time_zone: str,
    ) -> None:
        self.rejected: Counter[str] = Counter()
        self._messages = messages
        self._own_words = [own_words(message.text) for message in messages]
        self._kinds = kinds
        self._known = known
        self._time_zone = time_zone

    def taken(self, items: Sequence[Any]) -> Iterator[Finding]:
        per_message: Counter[int] = Counter()
        seen: set[str] = set()
        for given in items:
            try:
                item = _Item.model_validate(given)
            except ValidationError:
                self.rejected["malformed"] += 1
                continue
            reason = self._fault(item)
            if not reason and per_message[item.message] >= get_conf().memories_per_turn:
                reason = "too_many"
            if not reason and normalise(item.statement) in seen:
                reason = "repeated"
            if reason:
                self.rejected[reason] += 1
                continue
            per_message[item.message] += 1
            seen.add(normalise(item.statement))
            yield self._finding(item)

    def _fault(self, item: _Item) -> str:
        """Why it may not be taken, or nothing."""
        if item.message > len(self._messages):
            return "no_such_message"
        text = self._messages[item.message - 1].text
        if item.quote not in text:
            return "quote_not_found"
        if item.quote not in self._own_words[item.message - 1]:
            return "not_own_words"
        if item.kind not in self._kinds:
            return "unknown_kind"
        if item.confidence is not None and item.confidence < LEAST_CONFIDENCE:
            return "unsure"
        return ""

    def _finding(self, item: _Item) -> Finding:
        message = self._messages[item.message - 1]
        return Finding(
            message_id=message.id,
            statement=item.statement,
            kind=item.kind,
            quote=item.quote,
            key=self._key(item),
            happened_at=self._happened_at(item, message),
        )

    def _key(self, item: _Item) -> str:
        """That of what is known, where the model says that it is about the same; else its own, if it is one."""
        if item.about is not None and 1 <= item.about <= len(self._known):
            return self._known[item.about - 1].key
        key = (item.key or "").lower()
        return key if len(key) <= MAX_KEY_CHARS and KEY.fullmatch(key) else ""

    def _happened_at(self, item: _Item, message: UserMessage) -> datetime | None:
        """As code reads it from the quote; where it cannot, as the model says, within a life of when it was said."""
        found = dates.happened(item.quote, said_at=message.said_at, time_zone=self._time_zone)
        if found or not item.happened_on:
            return found
        try:
            day = date.fromisoformat(item.happened_on)
        except ValueError:
            return None
        is_near = abs(day.year - message.said_at.year) <= dates.FARTHEST_YEARS
        return dates.midnight(day, time_zone=self._time_zone) if is_near else None
