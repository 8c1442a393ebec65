"""The Pad: what a run knows about itself.

Kept by code from tool results; the model sets only todo and open questions.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from memoryapp.llm.tokens import estimate_text

VALUE_MAX_CHARS = 300  # a line of the pad points at a result, it does not repeat it


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
        return replace(self, failed=(*self.failed, Failure(_short(failure.call), _short(failure.why))))

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
    """The pad as the model reads it, at most ``max_tokens`` (estimated), or "" when bare.

    Over the limit the oldest done items go first, then the oldest facts; never the goal or a failure.
    """
    if pad.is_bare:
        return ""
    while estimate_text(text := _rendered(pad)) > max_tokens and (pad.done or pad.facts):
        pad = replace(pad, done=pad.done[1:]) if pad.done else replace(pad, facts=pad.facts[1:])
    return text


def _rendered(pad: Pad) -> str:
    body = {name: value for name, value in pad.to_json().items() if value}
    return f"<scratchpad>\n{json.dumps(body, ensure_ascii=False)}\n</scratchpad>"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= VALUE_MAX_CHARS else text[: VALUE_MAX_CHARS - 1] + "…"
