"""The Pad: what a run knows about itself.

Kept by code from tool results; the model sets only todo and open questions. Its person may change every part of it but
the goal and what is done, and their word stands: no tool and no plan takes it back.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.fencing import as_data

VALUE_MAX_CHARS = 300  # a line of the pad points at a result, it does not repeat it
KEY_MAX_CHARS = 200
# What is kept of a run that goes on and on: the newest. The failures all stay, as they are what is refused.
FACTS_MAX = 200
DONE_MAX = 500
STRUCK_MAX = 40  # lines that its person struck, so that the model does not plan them again
MAY_RETRY_MAX = 40
# Sources of facts that their person gave; no tool has a name with a space in it.
CORRECTED, ANSWERED, ADDED = "the user, who corrected it", "the user, asked", "the user"
BY_USER = frozenset({CORRECTED, ANSWERED, ADDED})
TAG = "scratchpad"
_MARKS = re.compile(r"[\\`*_\[\]<>#|~!]")
SHORTER_CHARS = (120, 60, 30)  # what is left of each line of a pad that has outgrown its share of the window


class Op(StrEnum):
    """What a person may do to a pad."""

    CORRECT_FACT = "correct_fact"
    ADD_FACT = "add_fact"
    ADD_TODO = "add_todo"
    STRIKE_TODO = "strike_todo"
    CLEAR_FAILURE = "clear_failure"  # the call may be made again
    ANSWER_QUESTION = "answer_question"


@dataclass(frozen=True, slots=True)
class Edit:
    """``target``: the entry as the pad has it: a fact's key, a line, a call; "" for a new to-do."""

    op: Op
    target: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a tool established, or its person said. ``source`` is the tool's name, or one of ``BY_USER``."""

    key: str
    value: str
    source: str

    @property
    def is_by_user(self) -> bool:
        return self.source in BY_USER


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
    # Its person's word on lines and calls, for the model: it has the former ones before it still.
    struck: tuple[str, ...] = ()
    may_retry: tuple[str, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Nothing happened yet: the goal alone is not worth rendering."""
        return not (
            self.facts or self.done or self.todo or self.failed or self.open_questions or self.is_edited
        )

    @property
    def is_edited(self) -> bool:
        """Whether its person changed what a model may have read already."""
        return bool(self.struck or self.may_retry or any(fact.is_by_user for fact in self.facts))

    def with_fact(self, fact: Fact) -> "Pad":
        """The newest value of a key wins, unless its person gave one; beyond ``FACTS_MAX`` the oldest fact goes.

        What its person said stands last, so that it is the last to go.
        """
        fact = replace(fact, key=_short(fact.key, KEY_MAX_CHARS), value=_short(fact.value))
        if not fact.is_by_user and any(known.key == fact.key and known.is_by_user for known in self.facts):
            return self
        others = tuple(known for known in self.facts if known.key != fact.key)
        in_order = sorted((*others, fact), key=lambda known: known.is_by_user)
        return replace(self, facts=tuple(in_order[-FACTS_MAX:]))

    def with_done(self, what: str) -> "Pad":
        """Beyond ``DONE_MAX`` the oldest goes."""
        return replace(self, done=(*self.done, _short(what))[-DONE_MAX:])

    def with_failure(self, failure: Failure) -> "Pad":
        """The call is kept whole: the same one is recognised by it. It failed again where it might be tried again."""
        return replace(
            self,
            failed=(*self.failed, replace(failure, why=_short(failure.why))),
            may_retry=_without_line(self.may_retry, failure.call),
        )

    def with_plan(self, *, todo: tuple[str, ...], open_questions: tuple[str, ...]) -> "Pad":
        """Without what its person struck or answered."""
        answered = {fact.key for fact in self.facts if fact.source == ANSWERED}
        return replace(
            self,
            todo=tuple(line for line in map(_short, todo) if line not in self.struck),
            open_questions=tuple(
                line for line in map(_short, open_questions) if _short(line, KEY_MAX_CHARS) not in answered
            ),
        )

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
        struck=tuple(data.get("struck", ())),
        may_retry=tuple(data.get("may_retry", ())),
    )


def apply(pad: Pad, edits: Iterable[Edit]) -> Pad:
    """The pad after what its person did to it, in that order; their word wins over what stands there by now.

    Applying the same edits again changes nothing, unless the pad went on in between.
    """
    for edit in edits:
        pad = _after(pad, edit)
    return pad


def entry(pad: Pad, edit: Edit) -> str | None:
    """What the edit is about as it stands: a fact's value, else the line itself; None when it is not there."""
    match edit.op:
        case Op.CORRECT_FACT:
            return next((fact.value for fact in pad.facts if fact.key == edit.target), None)
        case Op.CLEAR_FAILURE:
            return next((one.call for one in pad.failed if one.call == edit.target), None)
        case Op.STRIKE_TODO:
            return edit.target if edit.target in pad.todo else None
        case Op.ANSWER_QUESTION:
            return edit.target if edit.target in pad.open_questions else None
        case Op.ADD_FACT | Op.ADD_TODO:
            return ""


def read(text: str) -> Pad | None:
    """The pad that a prompt was given, from what ``render`` made; None for any other text."""
    opening, closing = f"<{TAG}>\n", f"\n</{TAG}>"
    if not (text.startswith(opening) and text.endswith(closing)):
        return None
    bare: dict[str, Any] = Pad(goal="").to_json()
    try:
        return from_json(bare | json.loads(text[len(opening) : -len(closing)]))
    except (ValueError, TypeError, KeyError):  # a person's words that begin and end alike
        return None


def render(pad: Pad, *, max_tokens: int) -> str:
    """The pad as the model reads it, or "" when bare.

    At most ``max_tokens`` (estimated): over it the oldest done items go first, then the oldest facts, then every line
    gets shorter, then the plan goes from its end, at last what was struck and what may be tried again. The goal and the
    failures stay, in few words, whatever that takes.
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
    pad = _without(pad, "struck", fits)
    pad = _without(pad, "may_retry", fits)
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
    return f"<{TAG}>\n{as_data({name: part for name, part in pad.to_json().items() if part})}\n</{TAG}>"


def _after(pad: Pad, edit: Edit) -> Pad:
    line = _short(edit.text)
    match edit.op:
        case Op.CORRECT_FACT:
            return pad.with_fact(Fact(edit.target, line, CORRECTED))
        case Op.ADD_FACT:
            return pad.with_fact(Fact(edit.target, line, ADDED))
        case Op.ADD_TODO:
            return replace(
                pad,
                todo=(*_without_line(pad.todo, line), line),
                struck=_without_line(pad.struck, line),
            )
        case Op.STRIKE_TODO:
            return replace(
                pad,
                todo=_without_line(pad.todo, edit.target),
                struck=(*_without_line(pad.struck, edit.target), edit.target)[-STRUCK_MAX:],
            )
        case Op.CLEAR_FAILURE:
            return replace(
                pad,
                failed=tuple(one for one in pad.failed if one.call != edit.target),
                may_retry=(*_without_line(pad.may_retry, edit.target), edit.target)[-MAY_RETRY_MAX:],
            )
        case Op.ANSWER_QUESTION:
            answered = pad.with_fact(Fact(edit.target, line, ANSWERED))
            return replace(answered, open_questions=_without_line(pad.open_questions, edit.target))


def _without_line(lines: tuple[str, ...], line: str) -> tuple[str, ...]:
    return tuple(other for other in lines if other != line)


def _without(
    pad: Pad,
    part: Literal["facts", "done", "todo", "open_questions", "struck", "may_retry"],
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
        struck=tuple(map(short, pad.struck)),
        may_retry=tuple(map(short, pad.may_retry)),
    )


def _short(text: str, max_chars: int = VALUE_MAX_CHARS) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
