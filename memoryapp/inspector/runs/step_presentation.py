"""What the page of a run shows of what was done in it: the steps, the calls that were asked about, the checkpoints."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext, gettext_lazy

from memoryapp.inspector.amounts import duration_text
from memoryapp.inspector.stored_texts import touches_text
from memoryapp.longterm.presentation import ORIGIN_LABELS
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad.models import Approval, Step

TEXT_CHARS: Final = 2_000  # of an observation or of arguments, until all of it is asked for
SHORT_CHARS: Final = 160  # of what a step brought, beside its name

STEP_LABELS: Final = {
    Step.Status.RUNNING: gettext_lazy("Running"),
    Step.Status.OK: gettext_lazy("Done"),
    Step.Status.ERROR: gettext_lazy("Failed"),
    Step.Status.REFUSED: gettext_lazy("Not run"),
    Step.Status.REPEATED: gettext_lazy("Answered before"),
}
DECISIONS: Final = {
    Approval.Status.PENDING: gettext_lazy("Waits for your word"),
    Approval.Status.APPROVED: gettext_lazy("You allowed it"),
    Approval.Status.DENIED: gettext_lazy("You refused it"),
    Approval.Status.EXPIRED: gettext_lazy("Nobody answered in time"),
}


@dataclass(frozen=True, slots=True)
class StepText:
    """``hidden_chars``: how much of it a page of its own adds."""

    text: str
    hidden_chars: int


@dataclass(frozen=True, slots=True)
class StepRow:
    """``summary``: what it brought, or why it failed, in one line. ``is_full``: its texts are whole, however long.

    ``brief`` and ``error`` are "" where the summary says all of it.
    """

    number: int
    action: str
    status: str
    status_label: str
    summary: str
    arguments: StepText
    brief: str
    observation: StepText
    error: str
    origin_label: str
    taint_label: str
    is_untrusted: bool
    tokens: int
    took: str
    is_full: bool


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """``added``: what it brought, in words."""

    number: int
    added: str
    chars: int
    taint_label: str


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A call that a person was asked about. ``step_number``: the step it became, 0 for none."""

    action: str
    arguments: str
    why: str
    touches: str
    status: str
    decision: str
    reason: str
    asked_at: datetime
    decided_at: datetime | None
    step_number: int


def step_row(step: Step, *, full: Step | None) -> StepRow:
    """``step`` comes from ``timeline.steps``; ``full``: the one whose texts are wanted whole."""
    whole = full if full is not None and full.id == step.id else None
    taint = _origin_label(step.taint)
    arguments = json.dumps(step.arguments, indent=2, ensure_ascii=False)
    start = getattr(step, "observation_start", "")
    said = step.error or step.brief or start[:SHORT_CHARS]
    is_said = len(said) <= SHORT_CHARS  # then nothing is left for the body to add
    return StepRow(
        number=step.number,
        action=step.action,
        status=step.status,
        status_label=str(STEP_LABELS[Step.Status(step.status)]),
        summary=" ".join(said.split()),
        arguments=StepText(arguments, 0) if whole else _start(arguments, len(arguments)),
        brief="" if is_said and said == step.brief else step.brief,
        observation=observation_text(whole)
        if whole
        else _start(start, getattr(step, "observation_chars", 0)),
        error="" if is_said else step.error,
        origin_label=_origin_label(step.origin),
        taint_label=taint if step.taint != step.origin else "",
        is_untrusted=Origin.UNTRUSTED in {step.origin, step.taint},
        tokens=step.tokens,
        took=duration_text(step.duration_ms / 1000),
        is_full=whole is not None,
    )


def observation_text(step: Step) -> StepText:
    """All of it."""
    return StepText(step.observation, hidden_chars=0)


def approval_row(approval: Approval, *, numbers: Mapping[str, int]) -> ApprovalRow:
    """``numbers``: of the steps, by the call that each came of."""
    decision = str(DECISIONS[Approval.Status(approval.status)])
    if approval.status == Approval.Status.APPROVED and approval.is_always:
        decision = gettext("You always allow it in this chat")
    return ApprovalRow(
        action=approval.action,
        arguments=_start(json.dumps(approval.arguments, indent=2, ensure_ascii=False), 0).text,
        why=approval.why,
        touches=touches_text(approval.touches),
        status=approval.status,
        decision=decision,
        reason=approval.reason,
        asked_at=approval.created_at,
        decided_at=approval.decided_at,
        step_number=numbers.get(approval.tool_use_id, 0),
    )


def checkpoint_row(kept: Mapping[str, object], *, steps: Sequence[Step]) -> CheckpointRow:
    """``kept``: one of those that ``timeline.recorded_run`` comes with."""
    number = int(str(kept["number"]))
    return CheckpointRow(
        number=number,
        added=_added(number, steps),
        chars=int(str(kept["chars"])),
        taint_label=_origin_label(str(kept["taint"])),
    )


def _start(text: str, chars: int) -> StepText:
    shown = text[:TEXT_CHARS]
    return StepText(shown, hidden_chars=max(chars - len(shown), 0))


def _origin_label(origin: str) -> str:
    return str(ORIGIN_LABELS[Origin(origin)]) if origin in set(Origin) else ""


def _added(number: int, steps: Sequence[Step]) -> str:
    """By the rounds of the steps: a round's calls are asked for in the checkpoint before that of its results."""
    if number == 0:
        return gettext("Your message and what was recalled for it")
    answered = [step.action for step in steps if step.round == number]
    if answered:
        return gettext("Results of {tools}").format(tools=", ".join(answered))
    asked = [step.action for step in steps if step.round == number + 1]
    if asked:
        return gettext("The model asked for {tools}").format(tools=", ".join(asked))
    return gettext("The scratchpad, or words of the model")
