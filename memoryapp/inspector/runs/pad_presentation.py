"""The scratchpad of a run as its page shows it: every entry with what its person can do to it, and what they did."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext, gettext_lazy, pgettext, pgettext_lazy

from memoryapp.policies.flags import instruction_shaped
from memoryapp.scratchpad.models import PadEdit
from memoryapp.scratchpad.pad import ADDED, ANSWERED, CORRECTED, KEY_MAX_CHARS, VALUE_MAX_CHARS, Op, Pad

BY_YOU: Final = {
    CORRECTED: gettext_lazy("you corrected"),
    ANSWERED: gettext_lazy("you answered"),
    ADDED: gettext_lazy("you added"),
}
DID: Final = {
    Op.CORRECT_FACT: gettext_lazy("Corrected"),
    Op.ADD_FACT: gettext_lazy("Added the fact"),
    Op.ADD_TODO: gettext_lazy("Added to do"),
    Op.STRIKE_TODO: gettext_lazy("Struck"),
    Op.CLEAR_FAILURE: gettext_lazy("Allowed again"),
    Op.ANSWER_QUESTION: pgettext_lazy("a person a question", "Answered"),
}
QUESTIONS: Final = {
    Op.CORRECT_FACT: gettext_lazy("What is right?"),
    Op.ADD_FACT: gettext_lazy("A fact for the run"),
    Op.ADD_TODO: gettext_lazy("What is to be done as well?"),
    Op.ANSWER_QUESTION: gettext_lazy("Your answer"),
}
ADDING: Final = {Op.ADD_FACT: "facts", Op.ADD_TODO: "todo"}


@dataclass(frozen=True, slots=True)
class PadLine:
    """``id``: names the entry in an address. ``seen``: the value of a fact, sent back with its correction.

    ``flag_reason``: why a person's own words look like an order to the assistant.
    """

    id: str
    text: str
    note: str = ""
    target: str = ""
    seen: str = ""
    is_yours: bool = False
    flag_reason: str = ""


@dataclass(frozen=True, slots=True)
class PadPart:
    """``op``: what can be done to its entries, "" for nothing. ``is_immediate``: that takes no words."""

    title: str
    icon: str
    lines: Sequence[PadLine]
    op: str = ""
    label: str = ""
    is_immediate: bool = False
    add_op: str = ""
    add_label: str = ""


@dataclass(frozen=True, slots=True)
class EditRow:
    """``state``: whether a worker has it, in words; "" once it has."""

    label: str
    target: str
    text: str
    made_at: datetime
    state: str


@dataclass(frozen=True, slots=True)
class PadForm:
    """A form that takes words. ``seen``: see ``PadLine``. ``is_naming``: it asks for a name, too."""

    op: str
    question: str
    target: str
    seen: str
    text: str
    is_naming: bool
    text_max_chars: int = VALUE_MAX_CHARS
    name_max_chars: int = KEY_MAX_CHARS


def parts(pad: Pad, *, can_edit: bool) -> list[PadPart]:
    """In the order in which a person reads them; without buttons where nothing goes on with the pad."""
    shown = [
        PadPart(
            pgettext("of a scratchpad", "Facts"),
            "check",
            [
                PadLine(
                    id=line_id(Op.CORRECT_FACT, fact.key),
                    text=f"{fact.key}: {fact.value}",
                    note=str(BY_YOU.get(fact.source, fact.source)),
                    target=fact.key,
                    seen=fact.value,
                    is_yours=fact.is_by_user,
                    flag_reason=_flag_reason(fact.value) if fact.is_by_user else "",
                )
                for fact in pad.facts
            ],
            Op.CORRECT_FACT,
            pgettext("verb", "Correct"),
            add_op=Op.ADD_FACT,
            add_label=gettext("Add a fact"),
        ),
        PadPart(gettext("Done"), "circle-check", [PadLine("", line) for line in pad.done]),
        PadPart(
            gettext("To do"),
            "list-checks",
            [PadLine(line_id(Op.STRIKE_TODO, line), line, target=line) for line in pad.todo],
            Op.STRIKE_TODO,
            pgettext("verb", "Strike"),
            is_immediate=True,
            add_op=Op.ADD_TODO,
            add_label=gettext("Add a to-do"),
        ),
        PadPart(
            gettext("Failed, do not retry"),
            "circle-x",
            [
                PadLine(line_id(Op.CLEAR_FAILURE, one.call), one.call, one.why, target=one.call)
                for one in pad.failed
            ],
            Op.CLEAR_FAILURE,
            gettext("Allow again"),
            is_immediate=True,
        ),
        PadPart(
            gettext("Open questions"),
            "circle-question-mark",
            [PadLine(line_id(Op.ANSWER_QUESTION, line), line, target=line) for line in pad.open_questions],
            Op.ANSWER_QUESTION,
            pgettext("verb", "Answer"),
        ),
        *_given(pad),
    ]
    return shown if can_edit else [_without_buttons(part) for part in shown]


def form_of(pad: Pad, wanted: str) -> PadForm | None:
    """The form that an address asks for: "add_todo", "add_fact", or the id of an entry; None for anything else."""
    if wanted in ADDING:
        op = Op(wanted)
        return PadForm(op, str(QUESTIONS[op]), "", "", "", is_naming=op == Op.ADD_FACT)
    for part in parts(pad, can_edit=True):
        for line in part.lines:
            if wanted and line.id == wanted and not part.is_immediate:
                op = Op(part.op)
                return PadForm(op, str(QUESTIONS[op]), line.target, line.seen, line.seen, is_naming=False)
    return None


def form_again(posted: Mapping[str, str], *, seen: str) -> PadForm | None:
    """The form as it was sent, with the words of its person; None where there were none."""
    op = posted.get("op", "")
    if op not in set(QUESTIONS):
        return None
    return PadForm(
        op,
        str(QUESTIONS[Op(op)]),
        posted.get("target", ""),
        seen,
        posted.get("text", ""),
        is_naming=op == Op.ADD_FACT,
    )


def edit_rows(edits: Sequence[PadEdit], *, has_ended: bool) -> list[EditRow]:
    late = gettext("Taken up before the next step")
    if has_ended:
        late = gettext("The run ended before it was taken up")
    return [
        EditRow(
            label=str(DID[Op(row.op)]),
            target=row.target,
            text=row.text,
            made_at=row.created_at,
            state="" if row.applied_at else late,
        )
        for row in edits
    ]


def line_id(op: Op, target: str) -> str:
    return hashlib.sha256(f"{op} {target}".encode()).hexdigest()[:12]


def _flag_reason(text: str) -> str:
    reason = instruction_shaped(text)
    return gettext(reason) if reason else ""


def _given(pad: Pad) -> list[PadPart]:
    """What its person said about lines that are not there any more."""
    struck = PadPart(
        gettext("Struck by you"), "list-x", [PadLine("", line, is_yours=True) for line in pad.struck]
    )
    again = PadPart(
        gettext("May be tried again"), "rotate-ccw", [PadLine("", line) for line in pad.may_retry]
    )
    return [part for part in (struck, again) if part.lines]


def _without_buttons(part: PadPart) -> PadPart:
    return PadPart(part.title, part.icon, part.lines)
