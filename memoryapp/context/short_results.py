"""Results of tools in short, for prompts that have no room for all of them. Pure."""

import json
import math
from typing import Any

from memoryapp.llm.base import ToolResult
from memoryapp.llm.tokens import estimate_text

SHORT_ENOUGH_CHARS = 400  # a result that is not worth shortening
STRING_CHARS = 200  # of a string in the short form of a JSON result
LONG_STRING_CHARS = 300  # one that is worth cutting to that
LIST_HEAD = 3
TEXT_CHARS = 800
ERROR_CHARS = 2_000  # of an error that is plain text; why it failed stands at its beginning or its end
GAP_CHARS = 60  # for the note between head and tail
OMITTED = "omitted"
ERROR_KEYS = frozenset({"error", "code", "message"})


def short_form(result: ToolResult) -> str:
    """JSON stays JSON, an error keeps its code and message; never longer than it was."""
    content = result.content
    if len(content) <= SHORT_ENOUGH_CHARS:
        return content
    try:
        short = _written(_compressed(_parsed(content), is_error=result.is_error))
    except (ValueError, RecursionError):  # not JSON, or nothing that could be written again as it was
        short = head_and_tail(content, chars=ERROR_CHARS if result.is_error else TEXT_CHARS)
    return _shorter(content, short)


def brief(content: str, *, is_error: bool = False) -> str:
    """The short form of a result by itself."""
    return short_form(ToolResult("", content, is_error=is_error))


def head_and_tail(text: str, *, chars: int) -> str:
    """At most ``chars`` of it: the beginning, how much is missing, and the end."""
    if len(text) <= chars:
        return text
    tail = (chars - GAP_CHARS) // 3
    head = chars - GAP_CHARS - tail
    return f"{text[:head]}\n[… {len(text) - head - tail} characters omitted …]\n{text[len(text) - tail :]}"


def _shorter(content: str, short: str) -> str:
    """``short``, unless it is not: blanks take few tokens, and so do many small values."""
    is_shorter = len(short) < len(content) and estimate_text(short) < estimate_text(content)
    return short if is_shorter else content


def _parsed(content: str) -> Any:  # any JSON value
    return json.loads(content, parse_float=_finite, parse_constant=_finite)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def _written(value: Any) -> str:  # any JSON value
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only its escape can carry
        return json.dumps(value, separators=(",", ":"))
    return text


def _compressed(value: Any, *, is_error: bool) -> Any:  # any JSON value
    match value:
        case str() if len(value) > LONG_STRING_CHARS:
            return f"{value[:STRING_CHARS]}…"
        case list():
            items, omitted = _without_note(value)
            head = [_compressed(item, is_error=False) for item in items[:LIST_HEAD]]
            omitted += len(items) - len(head)
            return [*head, {OMITTED: omitted}] if omitted else head
        case dict():
            whole = ERROR_KEYS if is_error or "error" in value else frozenset[str]()
            return {
                key: item if key in whole else _compressed(item, is_error=False)
                for key, item in value.items()
            }
        case _:
            return value


def _without_note(items: list[Any]) -> tuple[list[Any], int]:  # any JSON values
    """The items of a list, and how many of them were left out before."""
    match items:
        case [*head, {"omitted": int(omitted), **rest}] if not rest and len(head) <= LIST_HEAD:
            return head, omitted
        case _:
            return items, 0
