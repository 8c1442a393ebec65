"""What the page of one run shows."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from memoryapp.conf import get_conf
from memoryapp.context.models import ContextSnapshot
from memoryapp.inspector.amounts import count_text, duration_text, money_text
from memoryapp.inspector.runs import timeline_presentation
from memoryapp.inspector.runs.run_heads import RunHead, durations, model_of, run_head
from memoryapp.inspector.runs.step_presentation import (
    ApprovalRow,
    CheckpointRow,
    StepRow,
    approval_row,
    checkpoint_row,
    step_row,
)
from memoryapp.inspector.runs.timeline_presentation import Timeline
from memoryapp.inspector.stored_texts import failure_text, wait_text
from memoryapp.scratchpad.models import Approval, Run, Step
from memoryapp.scratchpad.timeline import Call, Recorded
from memoryapp.transcript.models import Turn


@dataclass(frozen=True, slots=True)
class LimitRow:
    """How much of a limit is used; ``percent`` is at most 100."""

    label: str
    used: str
    limit: str
    percent: int


@dataclass(frozen=True, slots=True)
class RunPage:
    """A ``RunHead`` with everything its own page adds. ``seen``: tells this state of it from any other.

    ``message``: what it waits for, or why it failed. ``wait_reason``: what decides what happens at ``resume_at``.
    """

    head: RunHead
    seen: str
    is_live: bool
    can_be_deleted: bool
    message: str
    wait_reason: str
    resume_at: datetime | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    limits: Sequence[LimitRow]
    timeline: Timeline | None
    steps: Sequence[StepRow]
    approvals: Sequence[ApprovalRow]
    checkpoints: Sequence[CheckpointRow]


def run_page(
    run: Run,
    *,
    calls: Sequence[ContextSnapshot],
    steps: Sequence[Step],
    approvals: Sequence[Approval],
    kept_days: int | None,
    now: datetime,
    full: Step | None = None,
) -> RunPage:
    """``run`` comes from ``timeline.recorded_run``, ``steps`` from ``timeline.steps``.

    ``full``: the one whose texts are wanted whole.
    """
    kept: list[dict[str, object]] = getattr(run, "kept", [])
    recorded = Recorded(
        run=run,
        calls=[Call(call.created_at, call.attempt, call.reported_input_tokens is not None) for call in calls],
        steps=steps,
        approvals=approvals,
        kept_at=[datetime.fromisoformat(str(each["at"])) for each in kept],
        is_waiting=run.turn.status == Turn.Status.WAITING,
    )
    numbers = {step.tool_use_id: step.number for step in steps}
    is_live = run.turn.status in Turn.LIVE
    return RunPage(
        head=run_head(run, kept_days=kept_days),
        seen=fingerprint(run, calls),
        is_live=is_live,
        can_be_deleted=run.status != Run.Status.RUNNING,
        message=wait_text(run.turn) if is_live else failure_text(run.turn),
        wait_reason=run.turn.wait_reason if is_live else "",
        resume_at=run.turn.resume_at if is_live else None,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cached_tokens=run.cache_read_tokens,
        limits=_limit_rows(run),
        timeline=timeline_presentation.drawn(recorded, now=now) if steps or calls else None,
        steps=[step_row(step, full=full) for step in steps],
        approvals=[approval_row(approval, numbers=numbers) for approval in approvals],
        checkpoints=[checkpoint_row(each, steps=steps) for each in kept],
    )


def fingerprint(run: Run, calls: Sequence[ContextSnapshot]) -> str:
    """Differs whenever the page of the run would. ``run`` comes from ``timeline.recorded_run``."""
    turn = run.turn
    state = (
        run.status,
        turn.status,
        turn.wait_reason,
        turn.resume_at,
        turn.attempt,
        run.model_calls,
        run.output_tokens,
        run.active_ms,
        run.limits,
        run.pad,
        getattr(run, "step_count", 0),
        getattr(run, "open_step_count", 0),
        getattr(run, "edit_count", 0),
        run.kept_until,
        run.is_kept,
        getattr(run, "is_asking", False),
        len(getattr(run, "kept", ())),
        [(call.id, call.reported_input_tokens) for call in calls[-1:]],
    )
    return hashlib.sha256(repr(state).encode()).hexdigest()[:16]


def _limit_rows(run: Run) -> list[LimitRow]:
    """A run of before there were limits has none; a limit of 0 is none."""
    usd = (
        get_conf()
        .for_model(model_of(run))
        .usd(input_tokens=run.input_tokens, output_tokens=run.output_tokens)
    )
    spent: tuple[tuple[str, str, float, Callable[[float], str]], ...] = (
        ("model_calls", gettext("Model calls"), run.model_calls, count_text),
        ("tokens", gettext("Tokens"), run.input_tokens + run.output_tokens, count_text),
        ("seconds", gettext("Time at work"), durations(run)[0], duration_text),
        ("usd", gettext("Cost"), usd or 0.0, money_text),
    )
    limits: Mapping[str, float] = run.limits
    return [
        LimitRow(label, shown(used), shown(limits[name]), min(round(100 * used / limits[name]), 100))
        for name, label, used, shown in spent
        if limits.get(name)
    ]
