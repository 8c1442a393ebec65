"""The Pad: what a run knows about itself.

Kept by code from tool results; the model sets only todo and open questions.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.fencing import as_data

VALUE_MAX_CHARS = 300  # a line of the pad points at a result, it does not repeat it
KEY_MAX_CHARS = 200
# What is kept of a run that goes on and on: the newest. The failures all stay, as they are what is refused.
FACTS_MAX = 200
DONE_MAX = 500
_MARKS = re.compile(r"[\\`*_\[\]<>#|~!]")
SHORTER_CHARS = (120, 60, 30)  # what is left of each line of a pad that has outgrown its share of the window


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a tool established. ``source`` is the tool's name."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed and must not be repeated."""

    call: str
    why: str


@dataclass(frozen=True, slots=True)
class Pad:
    goal: str
    facts: tuple[Fact, ...] = ()
    done: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    open_questions: tuple[str, ...] = field(default=())

    @property
    def is_bare(self) -> bool:
        """Nothing happened yet: the goal alone is not worth rendering."""
        return not (self.facts or self.done or self.todo or self.failed or self.open_questions)

    def with_fact(self, fact: Fact) -> "Pad":
        """The newest value of a key wins; beyond ``FACTS_MAX`` the oldest fact goes."""
        fact = replace(fact, key=_short(fact.key, KEY_MAX_CHARS), value=_short(fact.value))
        others = tuple(known for known in self.facts if known.key != fact.key)
        return replace(self, facts=(*others, fact)[-FACTS_MAX:])

    def with_done(self, what: str) -> "Pad":
        """Beyond ``DONE_MAX`` the oldest goes."""
        return replace(self, done=(*self.done, _short(what))[-DONE_MAX:])

    def with_failure(self, failure: Failure) -> "Pad":
        """The call is kept whole: the same one is recognised by it."""
        return replace(self, failed=(*self.failed, replace(failure, why=_short(failure.why))))

    def with_plan(self, *, todo: tuple[str, ...], open_questions: tuple[str, ...]) -> "Pad":
        return replace(self, todo=tuple(map(_short, todo)), open_questions=tuple(map(_short, open_questions)))

    def to_json(self) -> dict[str, Any]:
        """JSON object with the field names of this class."""
        return asdict(self)


def from_json(data: dict[str, Any]) -> Pad:
    return Pad(
        goal=data["goal"],
        facts=tuple(Fact(**fact) for fact in data["facts"]),
        done=tuple(data["done"]),
        todo=tuple(data["todo"]),
        failed=tuple(Failure(**failure) for failure in data["failed"]),
        open_questions=tuple(data["open_questions"]),
    )


def render(pad: Pad, *, max_tokens: int) -> str:
    """The pad as the model reads it, or "" when bare.

    At most ``max_tokens`` (estimated): over it the oldest done items go first, then the oldest facts, then every line
    gets shorter, then the plan goes from its end. The goal and the failures stay, in few words, whatever that takes.
    """
    if pad.is_bare:
        return ""

    def fits(smaller: Pad) -> bool:
        return estimate_text(_encoded(smaller)) <= max_tokens

    pad = _with_lines_of(pad, VALUE_MAX_CHARS)
    pad = _without(pad, "done", fits)
    pad = _without(pad, "facts", fits)
    for max_chars in SHORTER_CHARS:
        pad = pad if fits(pad) else _with_lines_of(pad, max_chars)
    pad = _without(pad, "open_questions", fits, from_end=True)
    pad = _without(pad, "todo", fits, from_end=True)
    return _encoded(pad)


def told(pad: Pad) -> str:
    """The pad for its person, in Markdown: what was found and what is left; "" when there is neither."""
    found = [*(f"{fact.key}: {fact.value}" for fact in pad.facts), *pad.done]
    parts = [("Found so far", found), ("Left to do", pad.todo), ("Still open", pad.open_questions)]
    return "\n\n".join(
        f"**{title}**\n\n" + "\n".join(f"- {_plain(line)}" for line in lines)
        for title, lines in parts
        if lines
    )


def _plain(line: str) -> str:
    """Markdown that shows the line as it stands."""
    return _MARKS.sub(r"\\\g<0>", line)


def _encoded(pad: Pad) -> str:
    return f"<scratchpad>\n{as_data({name: part for name, part in pad.to_json().items() if part})}\n</scratchpad>"


def _without(
    pad: Pad,
    part: Literal["facts", "done", "todo", "open_questions"],
    fits: Callable[[Pad], bool],
    *,
    from_end: bool = False,
) -> Pad:
    """The pad without as few lines of this part as it takes to fit; without all of them when it does not fit then.

    The more lines go, the smaller it is: so how many is found in a few steps, however many there are.
    """

    lines: tuple[Any, ...] = getattr(pad, part)

    def shorter(gone: int) -> Pad:
        changes: dict[str, Any] = {part: lines[: len(lines) - gone] if from_end else lines[gone:]}
        return replace(pad, **changes)

    if fits(pad):
        return pad
    counts = range(len(lines))
    return shorter(bisect_left(counts, True, key=lambda gone: fits(shorter(gone))))  # noqa: FBT003 - sought


def _with_lines_of(pad: Pad, max_chars: int) -> Pad:
    def short(text: str) -> str:
        return _short(text, max_chars)

    return Pad(
        goal=short(pad.goal),
        facts=tuple(Fact(short(fact.key), short(fact.value), fact.source) for fact in pad.facts),
        done=tuple(map(short, pad.done)),
        todo=tuple(map(short, pad.todo)),
        failed=tuple(Failure(short(failure.call), short(failure.why)) for failure in pad.failed),
        open_questions=tuple(map(short, pad.open_questions)),
    )


def _short(text: str, max_chars: int = VALUE_MAX_CHARS) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
