"""How a run of many steps stays in the window: old results shorter, then the oldest steps gone. Pure.

A run is ``[opening user message, assistant, results, assistant, results, …]``; a round is an assistant's message and
what answers it. While it fits, a run is only appended to, so that the provider's cache holds and thinking stays valid;
once it does not, everything is settled in one go. All functions leave their input alone, and applying one twice is
applying it once.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memoryapp.llm.base import Block, ModelMessage, Text, ToolResult, ToolUse
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

NOTE_CHARS = 1_000
WHY_CHARS = 120
# What is left of each result of a single round that is too large for the window by itself.
HARD_CHARS = tuple(2**power for power in range(20, 7, -1))

Round = tuple[ModelMessage, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool call came to; ``why`` is empty when it went well."""

    tool: str
    why: str = ""

    @property
    def line(self) -> str:
        return f"{self.tool} (failed: {self.why})" if self.why else f"{self.tool} (ok)"


class OmittedSteps(str):
    """The note in place of steps that left the prompt.

    It knows their outcomes, so that it can grow, and users' words that read the same are never taken for it. For
    everyone else it is the text of a ``Text`` block like any other.
    """

    __slots__ = ("outcomes",)
    outcomes: tuple[Outcome, ...]

    def __new__(cls, text: str, outcomes: tuple[Outcome, ...] = ()) -> "OmittedSteps":
        note = super().__new__(cls, text)
        note.outcomes = outcomes
        return note


def compress_results(run: Sequence[ModelMessage], *, keep_rounds: int = 2) -> tuple[ModelMessage, ...]:
    """The run with the results of all but its newest ``keep_rounds`` rounds in their short form, never longer.

    JSON stays JSON, an error keeps its code and message; everything else of the messages stays as it is.
    """
    opening, rounds = _rounds(run)
    old, new = _parted(rounds, keep_rounds=keep_rounds)
    shortened = [_with_results(message, _short_form) for one in old for message in one]
    return (*opening, *shortened, *_joined(new))


def drop_rounds(run: Sequence[ModelMessage], *, keep_rounds: int) -> tuple[ModelMessage, ...]:
    """The run without its oldest rounds; a note at the end of the opening message says what they came to."""
    opening, rounds = _rounds(run)
    old, new = _parted(rounds, keep_rounds=keep_rounds)
    if not old or not opening:
        return tuple(run)
    *before, last = opening
    blocks, known = _without_steps(last.blocks)
    outcomes = (*known, *(outcome for one in old for outcome in _outcomes(one)))
    added = (Text(_noted(outcomes)),) if outcomes else ()
    return (*before, replace(last, blocks=(*blocks, *added)), *_joined(new))


def fitted(
    run: Sequence[ModelMessage],
    *,
    allowance_tokens: int,
    measure: Callable[[ModelMessage], int],
    min_freed_share: float = 0.2,
) -> tuple[ModelMessage, ...]:
    """The run as it can be sent: at most ``allowance_tokens`` by ``measure``, which never shrinks with its content.

    As it is while it fits. Then with short results, if that is enough; else without as many of the oldest rounds as
    need be, results short if that frees ``min_freed_share`` of the run. The newest round stays, its results cut hard
    if need be, and so does the opening message, whatever its size: only if these two alone are too large does the
    result not fit.
    """

    def size(messages: Sequence[ModelMessage]) -> int:
        return sum(map(measure, messages))

    if size(run) <= allowance_tokens:
        return tuple(run)
    short = compress_results(run)
    if size(short) <= allowance_tokens:
        return short
    is_worth_it = size(run) - size(short) >= min_freed_share * size(run)
    kept = short if is_worth_it else tuple(run)
    for keep_rounds in range(len(_rounds(run)[1]) - 1, 0, -1):
        kept = drop_rounds(kept, keep_rounds=keep_rounds)
        if size(kept) <= allowance_tokens:
            return kept
    for cut in _ever_shorter(kept):
        kept = cut
        if size(kept) <= allowance_tokens:
            break
    return kept


def _rounds(run: Sequence[ModelMessage]) -> tuple[tuple[ModelMessage, ...], list[Round]]:
    """What opens the run, and its rounds: each begins with the assistant."""
    opening: tuple[ModelMessage, ...] = ()
    rounds: list[Round] = []
    for message in run:
        if message.role == "assistant":
            rounds.append((message,))
        elif rounds:
            rounds[-1] = (*rounds[-1], message)
        else:
            opening = (*opening, message)
    return opening, rounds


def _parted(rounds: Sequence[Round], *, keep_rounds: int) -> tuple[Sequence[Round], Sequence[Round]]:
    cut = max(len(rounds) - max(keep_rounds, 0), 0)
    return rounds[:cut], rounds[cut:]


def _joined(rounds: Sequence[Round]) -> Round:
    return tuple(message for one in rounds for message in one)


def _with_results(message: ModelMessage, shorten: Callable[[ToolResult], str]) -> ModelMessage:
    blocks = tuple(
        replace(block, content=shorten(block)) if isinstance(block, ToolResult) else block
        for block in message.blocks
    )
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _short_form(result: ToolResult) -> str:
    content = result.content
    if len(content) <= SHORT_ENOUGH_CHARS:
        return content
    try:
        short = _written(_compressed(_parsed(content), is_error=result.is_error))
    except (ValueError, RecursionError):  # not JSON, or nothing that could be written again as it was
        short = _head_and_tail(content, chars=ERROR_CHARS if result.is_error else TEXT_CHARS)
    return _shorter(content, short)


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


def _head_and_tail(text: str, *, chars: int) -> str:
    """At most ``chars`` of it: the beginning, how much is missing, and the end."""
    if len(text) <= chars:
        return text
    tail = (chars - GAP_CHARS) // 3
    head = chars - GAP_CHARS - tail
    return f"{text[:head]}\n[… {len(text) - head - tail} characters omitted …]\n{text[len(text) - tail :]}"


def _ever_shorter(run: Sequence[ModelMessage]) -> Iterator[tuple[ModelMessage, ...]]:
    """The run with all its results cut, harder and harder; small ones beside a giant stay whole for long."""
    run = compress_results(run, keep_rounds=0)
    yield run
    for chars in HARD_CHARS:

        def cut(result: ToolResult, chars: int = chars) -> str:
            return _head_and_tail(result.content, chars=chars)

        run = tuple(_with_results(message, cut) for message in run)
        yield run


def _without_steps(blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], tuple[Outcome, ...]]:
    """The blocks of the opening message without the note, and what the note knows."""
    match blocks:
        case (*words, Text(text=OmittedSteps() as note)):
            return tuple(words), note.outcomes
        case _:
            return blocks, ()


def _outcomes(one: Round) -> Iterator[Outcome]:
    blocks = [block for message in one for block in message.blocks]
    results = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
    for call in blocks:
        if isinstance(call, ToolUse):
            result = results.get(call.id)
            yield Outcome(_line(call.name), _why(result) if result and result.is_error else "")


def _why(result: ToolResult) -> str:
    try:
        value = json.loads(result.content)
    except (ValueError, RecursionError):
        value = None
    said = (value.get("message") or value.get("error")) if isinstance(value, dict) else None
    return _line(str(said or result.content)) or "no reason given"


def _line(text: str) -> str:
    line = " ".join(text[: 2 * WHY_CHARS].split())
    return line if len(line) <= WHY_CHARS else f"{line[: WHY_CHARS - 1]}…"


def _noted(outcomes: tuple[Outcome, ...]) -> OmittedSteps:
    """Failures first; what has no room is counted."""
    by_line = Counter(outcome.line for outcome in sorted(outcomes, key=lambda outcome: not outcome.why))
    steps = f"Steps 1–{len(outcomes)} of this run are" if len(outcomes) > 1 else "Step 1 of this run is"
    text, listed = f"[{steps} not shown: ", 0
    for line, count in by_line.items():
        item = line if count == 1 else f"{line} ×{count}"
        if len(text) + len(item) > NOTE_CHARS:
            break
        text, listed = f"{text}{item}, ", listed + count
    rest = len(outcomes) - listed
    return OmittedSteps(
        f"{text}and {rest} more]" if rest else f"{text.removesuffix(', ')}]", outcomes=outcomes
    )
