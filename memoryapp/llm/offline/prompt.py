"""Reads a ``ModelRequest`` the way the context assembly wrote it: which run is this, and what happened in it
so far.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from memoryapp.llm.base import ModelMessage, ModelRequest, Text, ToolResult, ToolUse
from memoryapp.llm.offline.foreign import Language, language_of

_FENCE = re.compile(
    r"\s*<recalled-memories\b[^>\n]*>(?P<items>.*)</recalled-memories\b[^>]*>\s*", re.DOTALL | re.IGNORECASE
)
# What stands before the turns: lines kept word for word, then the summary, in one block.
_FRONT = ("<kept-word-for-word", "<conversation-summary")
_SCRATCHPAD = "<scratchpad"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SAID = re.compile(rf"(?P<who>.+), (?P<day>[0-9]{{1,2}}) (?P<month>{'|'.join(_MONTHS)}) (?P<year>[0-9]{{4}})")
_FOUND = 0.4  # what a past message is sure of at least, or recall would not have given it


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory or past message as the prompt shows it; ``confidence``: recall's probability that it is an answer.

    ``said_by``: of a message "user", "assistant" or a name. ``id``: of a memory; a message has none.
    """

    statement: str
    kind: str = ""
    origin: str = "user_typed"
    said_on: date | None = None
    confidence: float | None = None
    said_by: str = "user"
    id: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of this run; ``result`` is None while it is unanswered."""

    use: ToolUse
    result: ToolResult | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """``words`` are the user's own alone; ``replies`` are the earlier assistant texts, oldest first."""

    words: str
    recalled: tuple[Recalled, ...]
    calls: tuple[Call, ...]
    offered: frozenset[str]
    replies: tuple[str, ...]

    @property
    def language(self) -> Language:
        """Of the words, and so of the reply."""
        return language_of(self.words)


def read_prompt(request: ModelRequest) -> Prompt:
    """Never raises: what cannot be read is treated as absent."""
    messages = request.messages
    start = max((n for n, message in enumerate(messages) if _opens_a_run(message)), default=len(messages))
    words, recalled = _opening(messages[start]) if start < len(messages) else ("", ())
    return Prompt(
        words=words,
        recalled=recalled,
        calls=_calls(messages[start + 1 :]),
        offered=frozenset(tool.name for tool in request.tools),
        replies=_replies(messages[:start]),
    )


def recalled_items(value: object) -> tuple[Recalled, ...]:
    """Memories in decoded JSON: a list of items, or an object holding one under any name."""
    if isinstance(value, dict):
        value = next((inner for inner in value.values() if isinstance(inner, list)), [])
    if not isinstance(value, list):
        return ()
    items = [_as_memory(item) for item in value if isinstance(item, dict)]
    return tuple(_recalled(item) for item in items if _statement(item))


def decoded(content: str) -> object:
    """The JSON in ``content``, or the text itself when it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content


def _opens_a_run(message: ModelMessage) -> bool:
    # A message with tool results continues a run even when a scratchpad follows them.
    if message.role != "user" or any(isinstance(block, ToolResult) for block in message.blocks):
        return False
    return any(not text.startswith((_SCRATCHPAD, *_FRONT)) for text in _texts(message))


def _opening(message: ModelMessage) -> tuple[str, tuple[Recalled, ...]]:
    """The words are found by position, so that a fence typed by a user stays their words."""
    texts = _texts(message)
    if len(texts) > 1 and texts[0].startswith(_FRONT):
        texts = texts[1:]
    fence = _FENCE.fullmatch(texts[0])
    if fence is None or len(texts) == 1 or texts[1].startswith(_SCRATCHPAD):
        return texts[0], ()
    return texts[1], recalled_items(decoded(fence["items"]))


def _texts(message: ModelMessage) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, Text)]


def _calls(messages: Sequence[ModelMessage]) -> tuple[Call, ...]:
    blocks = [block for message in messages for block in message.blocks]
    results = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
    return tuple(Call(block, results.get(block.id)) for block in blocks if isinstance(block, ToolUse))


def _replies(messages: Sequence[ModelMessage]) -> tuple[str, ...]:
    return tuple("".join(_texts(message)) for message in messages if message.role == "assistant")


def _as_memory(item: dict[str, object]) -> dict[str, object]:
    """A past message, ``{"user, 8 May 2023": "…"}``, under the names of a memory; anything else as it is."""
    for name, text in item.items():
        said = _SAID.fullmatch(name)
        if said and isinstance(text, str):
            day = f"{int(said['year'])}-{_MONTHS.index(said['month']) + 1:02}-{int(said['day']):02}"
            named = {"text": text, "said_by": said["who"], "said_on": day, "confidence": _FOUND}
            return {**item, **named}
    return item


def _recalled(item: dict[str, object]) -> Recalled:
    confidence = item.get("confidence", item.get("score"))
    return Recalled(
        statement=_statement(item),
        kind=str(item.get("kind") or ""),
        origin=str(item.get("origin") or "user_typed"),
        said_on=_day(item.get("said_on")),
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        said_by=str(item.get("said_by") or "user"),
        id=str(item.get("id") or ""),
    )


def _statement(item: dict[str, object]) -> str:
    for name in ("statement", "text", "content"):
        value = item.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
    return ""


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
