"""The Pad: what a run knows about itself.

Kept by code from tool results; the model sets only todo and open questions.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.fencing import as_data

VALUE_MAX_CHARS = 300  # a line of the pad points at a result, it does not repeat it
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
        """The newest value of a key wins."""
        others = tuple(known for known in self.facts if known.key != fact.key)
        return replace(self, facts=(*others, replace(fact, value=_short(fact.value))))

    def with_done(self, what: str) -> "Pad":
        return replace(self, done=(*self.done, _short(what)))

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
    text = ""
    for smaller in _ever_smaller(pad):
        text = f"<scratchpad>\n{as_data({k: v for k, v in smaller.to_json().items() if v})}\n</scratchpad>"
        if estimate_text(text) <= max_tokens:
            break
    return text


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


def _ever_smaller(pad: Pad) -> Iterator[Pad]:
    yield (pad := _with_lines_of(pad, VALUE_MAX_CHARS))
    while pad.done:
        yield (pad := replace(pad, done=pad.done[1:]))
    while pad.facts:
        yield (pad := replace(pad, facts=pad.facts[1:]))
    for max_chars in SHORTER_CHARS:
        yield (pad := _with_lines_of(pad, max_chars))
    while pad.open_questions:
        yield (pad := replace(pad, open_questions=pad.open_questions[:-1]))
    while pad.todo:
        yield (pad := replace(pad, todo=pad.todo[:-1]))


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
