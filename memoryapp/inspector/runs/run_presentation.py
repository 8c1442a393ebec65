"""What the pages of the runs show: how each went, what it used, and what its record holds."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from memoryapp.conf import get_conf
from memoryapp.context.models import ContextSnapshot
from memoryapp.inspector.conversations.summary_presentation import cost_text
from memoryapp.longterm.presentation import ORIGIN_LABELS
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import records, timeline
from memoryapp.scratchpad.models import Approval, Run, Step
from memoryapp.scratchpad.timeline import Call, Recorded, Span, Work
from memoryapp.transcript.models import Turn
from memoryapp.tuning import queries as tuning

TEXT_CHARS = 2_000  # of an observation or of arguments, until all of it is asked for
BARS = 60  # of a sparkline: the newest steps
SHORT_CHARS = 160  # of what a step brought, beside its name

STATUSES = {
    "running": "Running",
    "waiting": "Waiting",
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Stopped",
}
STEP_LABELS = {
    Step.Status.RUNNING: "Running",
    Step.Status.OK: "Done",
    Step.Status.ERROR: "Failed",
    Step.Status.REFUSED: "Not run",
    Step.Status.REPEATED: "Answered before",
}
DECISIONS = {
    Approval.Status.PENDING: "Waits for your word",
    Approval.Status.APPROVED: "You allowed it",
    Approval.Status.DENIED: "You refused it",
    Approval.Status.EXPIRED: "Nobody answered in time",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One step of a sparkline, in units of its drawing. ``status``: of the step."""

    x: int
    y: int
    height: int
    status: str


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The steps of a run in order, each as high as it took long. ``words`` say the same."""

    width: int
    bars: Sequence[Bar]
    words: str


@dataclass(frozen=True, slots=True)
class RunHead:
    """What a list says of a run, and its own page begins with. ``status``: a key of ``STATUSES``.

    ``waited`` is "" when it never waited. ``has_own_title``: the conversation is not just called like the goal.
    """

    id: UUID
    status: str
    status_label: str
    goal: str
    step_count: int
    model_calls: int
    tokens: int
    cost: str
    worked: str
    waited: str
    created_at: datetime
    record: str
    url: str
    conversation_id: UUID
    conversation_title: str
    has_own_title: bool
    conversation_url: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """``seen``: tells this state of it from any other, while it goes on; then ``is_live``."""

    head: RunHead
    sparkline: Sparkline | None
    is_live: bool
    seen: str


@dataclass(frozen=True, slots=True)
class LimitRow:
    """How much of a limit is used; ``percent`` is at most 100."""

    label: str
    used: str
    limit: str
    percent: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of the timeline: ``x`` and ``width`` are attributes of its rectangle, in percent.

    ``look``: model, ok, running, error, refused, repeated or wait.
    """

    look: str
    x: str
    width: str
    label: str
    began: str
    took: str
    note: str
    url: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """``total``: from the beginning to the end, with the waits, which are drawn shorter when they are long."""

    marks: Sequence[Mark]
    total: str
    is_shortened: bool
    words: str


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


def run_row(run: Run, outline: Sequence[tuple[str, int]], *, kept_days: int | None) -> RunRow:
    """``run`` comes with ``step_count``, its turn and its conversation; ``outline``: see ``timeline.step_outlines``."""
    head = _head(run, kept_days=kept_days)
    state = (head.status, head.status_label, head.step_count, head.tokens, list(outline))
    return RunRow(
        head=head,
        sparkline=_sparkline(outline) if outline else None,
        is_live=run.turn.status in Turn.LIVE,
        seen=hashlib.sha256(repr(state).encode()).hexdigest()[:16],
    )


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
        head=_head(run, kept_days=kept_days),
        seen=fingerprint(run, calls),
        is_live=is_live,
        can_be_deleted=run.status != Run.Status.RUNNING,
        message=run.turn.wait_message if is_live else run.turn.error_message,
        wait_reason=run.turn.wait_reason if is_live else "",
        resume_at=run.turn.resume_at if is_live else None,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cached_tokens=run.cache_read_tokens,
        limits=_limit_rows(run),
        timeline=_timeline(recorded, now=now) if steps or calls else None,
        steps=[_step_row(step, full=full) for step in steps],
        approvals=[_approval_row(approval, numbers=numbers) for approval in approvals],
        checkpoints=[_checkpoint_row(each, steps=steps) for each in kept],
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


def observation_text(step: Step) -> StepText:
    """All of it."""
    return StepText(step.observation, hidden_chars=0)


def duration_text(seconds: float) -> str:
    """ "230 ms", "14.8 s", "2 min 5 s", "3 h 20 min"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _head(run: Run, *, kept_days: int | None) -> RunHead:
    worked_s, waited_s = _durations(run)
    status = _status(run)
    title = run.turn.conversation.title
    return RunHead(
        id=run.id,
        status=status,
        status_label=_status_label(run, status),
        goal=run.goal,
        step_count=getattr(run, "step_count", 0),
        model_calls=run.model_calls,
        tokens=run.input_tokens + run.output_tokens,
        cost=cost_text(_model(run), input_tokens=run.input_tokens, output_tokens=run.output_tokens),
        worked=duration_text(worked_s) if worked_s else "",
        waited=duration_text(waited_s) if waited_s >= 1 else "",
        created_at=run.started_at,
        record=record_text(run, kept_days=kept_days),
        url=reverse("inspector:run", args=[run.id]),
        conversation_id=run.turn.conversation_id,
        conversation_title=title or "New chat",
        has_own_title=not run.goal.startswith(title.rstrip("….") or run.goal),
        conversation_url=reverse("inspector:conversation", args=[run.turn.conversation_id]),
    )


def _status(run: Run) -> str:
    is_waiting = run.status == Run.Status.RUNNING and run.turn.status == Turn.Status.WAITING
    return "waiting" if is_waiting else run.status


def _status_label(run: Run, status: str) -> str:
    if status == "waiting" and run.turn.wait_reason:
        return f"Waiting for {run.turn.get_wait_reason_display()}"
    if status == "running" and run.turn.status == Turn.Status.QUEUED:
        return "Queued"
    return STATUSES[status]


def _model(run: Run) -> str:
    return run.turn.model or tuning.conf().chat_model


def _durations(run: Run) -> tuple[float, float]:
    """Seconds of work, and of waiting. 0 for what is not known yet: work is noted when it ends or is let go of."""
    worked_s = run.active_ms / 1000
    if run.finished_at is None and _status(run) != "waiting":
        return worked_s, 0
    total_s = ((run.finished_at or timezone.now()) - run.started_at).total_seconds()
    return (worked_s, max(total_s - worked_s, 0)) if worked_s else (total_s, 0)


def record_text(run: Run, *, kept_days: int | None) -> str:
    if run.is_kept:
        return "Record kept for ever, as you said"
    if run.finished_at is None:
        return (
            "Record goes when it ends"
            if kept_days == 0 and not _is_kept_now(run)
            else "Record kept while it runs"
        )
    goes_at = records.goes_at(run, rule_days=kept_days)
    if goes_at is None:
        return "Record kept"
    left_s = (goes_at - timezone.now()).total_seconds()
    hours = round(left_s / 3600)
    if left_s <= 60:
        return "Record goes within a minute"
    if hours < 1:
        return "Record goes within the hour"
    return f"Record goes in {hours} h" if hours < 48 else f"Record goes in {hours // 24} days"


def _is_kept_now(run: Run) -> bool:
    return run.kept_until is not None and run.kept_until > timezone.now()


def _sparkline(outline: Sequence[tuple[str, int]]) -> Sparkline:
    newest = outline[-BARS:]
    longest_ms = max(1, *(duration_ms for _, duration_ms in newest))
    bars = []
    for index, (status, duration_ms) in enumerate(newest):
        height = 4 + round(16 * duration_ms / longest_ms)
        bars.append(Bar(x=6 * index, y=20 - height, height=height, status=status))
    counts = Counter(STEP_LABELS[Step.Status(status)].lower() for status, _ in outline)
    words = ", ".join(f"{count} {label}" for label, count in counts.items())
    return Sparkline(width=6 * len(bars), bars=bars, words=f"Steps: {words}.")


def _limit_rows(run: Run) -> list[LimitRow]:
    """A run of before there were limits has none; a limit of 0 is none."""
    prices = get_conf().for_model(_model(run)).prices or (0.0, 0.0)
    usd = (run.input_tokens * prices[0] + run.output_tokens * prices[1]) / 1_000_000
    spent: tuple[tuple[str, str, float, Callable[[float], str]], ...] = (
        ("model_calls", "Model calls", run.model_calls, "{:,.0f}".format),
        ("tokens", "Tokens", run.input_tokens + run.output_tokens, "{:,.0f}".format),
        ("seconds", "Time at work", _durations(run)[0], duration_text),
        ("usd", "Cost", usd, "${:,.2f}".format),
    )
    limits: Mapping[str, float] = run.limits
    return [
        LimitRow(label, shown(used), shown(limits[name]), min(round(100 * used / limits[name]), 100))
        for name, label, used, shown in spent
        if limits.get(name)
    ]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Time as it is drawn: a wait takes a tenth of the time of work at most."""

    began_at: datetime
    waits: Sequence[tuple[Span, float]]  # with the seconds that are left out of each
    total_s: float

    def percent(self, moment: datetime) -> float:
        drawn_s = (moment - self.began_at).total_seconds()
        for wait, cut_s in self.waits:
            if wait.seconds and moment > wait.began_at:
                passed_s = min((moment - wait.began_at).total_seconds(), wait.seconds)
                drawn_s -= cut_s * passed_s / wait.seconds
        return min(max(100 * drawn_s / self.total_s, 0), 100) if self.total_s else 0


def _axis(spans: Sequence[Span], *, began_at: datetime) -> _Axis:
    ended_at = max(span.ended_at for span in spans)
    waits = [span for span in spans if span.work == Work.WAIT]
    worked_s = (ended_at - began_at).total_seconds() - sum(wait.seconds for wait in waits)
    longest_s = max(worked_s / 10, 0.1)
    cut = [(wait, max(wait.seconds - longest_s, 0)) for wait in waits]
    total_s = (ended_at - began_at).total_seconds() - sum(cut_s for _, cut_s in cut)
    return _Axis(began_at, cut, total_s)


def _timeline(recorded: Recorded, *, now: datetime) -> Timeline:
    run = recorded.run
    spans = timeline.spans(recorded, now=now)
    axis = _axis(spans, began_at=run.started_at)
    total_s = (max(span.ended_at for span in spans) - run.started_at).total_seconds()
    counts = Counter(span.work for span in spans)
    return Timeline(
        marks=[_mark(span, recorded=recorded, axis=axis) for span in spans],
        total=duration_text(total_s),
        is_shortened=any(cut_s for _, cut_s in axis.waits),
        words=f"{counts[Work.MODEL]} model calls, {counts[Work.STEP]} steps and {counts[Work.WAIT]} waits "
        f"in {duration_text(total_s)}. The table below has each of them.",
    )


def _mark(span: Span, *, recorded: Recorded, axis: _Axis) -> Mark:
    start = axis.percent(span.began_at)
    look, label, note, url = _told(span, recorded)
    is_unknown = span.work == Work.MODEL and not span.seconds
    took = "—" if is_unknown else duration_text(span.seconds)
    return Mark(
        look=look,
        x=f"{start:.2f}%",
        width=f"{max(axis.percent(span.ended_at) - start, 0.4):.2f}%",
        label=label,
        began=f"+{duration_text((span.began_at - recorded.run.started_at).total_seconds())}",
        took=f"{took} so far" if span.is_open else took,
        note=note,
        url=url,
    )


def _told(span: Span, recorded: Recorded) -> tuple[str, str, str, str]:
    """Its look, what it was, how it ended, and the address of more about it."""
    if span.work == Work.WAIT:
        return (
            "wait",
            "Waiting",
            _status_label(recorded.run, "waiting") if span.is_open else "Nothing ran",
            "",
        )
    if span.work == Work.MODEL:
        is_answered = recorded.calls[span.number - 1].is_answered
        note = "Answered" if is_answered else "Not answered yet" if span.is_open else "Not answered"
        return "model", f"Model call {span.number}", note, "#calls"
    step = next(step for step in recorded.steps if step.number == span.number)
    label = f"{step.number} · {step.action}"
    return step.status, label, STEP_LABELS[Step.Status(step.status)], f"#step-{step.number}"


def _step_row(step: Step, *, full: Step | None) -> StepRow:
    """``step`` comes from ``timeline.steps``."""
    is_full = full is not None and full.id == step.id
    taint = _origin_label(step.taint)
    arguments = json.dumps(step.arguments, indent=2, ensure_ascii=False)
    start = getattr(step, "observation_start", "")
    said = step.error or step.brief or start[:SHORT_CHARS]
    is_said = len(said) <= SHORT_CHARS  # then nothing is left for the body to add
    return StepRow(
        number=step.number,
        action=step.action,
        status=step.status,
        status_label=STEP_LABELS[Step.Status(step.status)],
        summary=" ".join(said.split()),
        arguments=StepText(arguments, 0) if is_full else _start(arguments, len(arguments)),
        brief="" if is_said and said == step.brief else step.brief,
        observation=observation_text(full)
        if is_full and full
        else _start(start, getattr(step, "observation_chars", 0)),
        error="" if is_said else step.error,
        origin_label=_origin_label(step.origin),
        taint_label=taint if step.taint != step.origin else "",
        is_untrusted=Origin.UNTRUSTED in {step.origin, step.taint},
        tokens=step.tokens,
        took=duration_text(step.duration_ms / 1000),
        is_full=is_full,
    )


def _start(text: str, chars: int) -> StepText:
    shown = text[:TEXT_CHARS]
    return StepText(shown, hidden_chars=max(chars - len(shown), 0))


def _origin_label(origin: str) -> str:
    return ORIGIN_LABELS[Origin(origin)] if origin in set(Origin) else ""


def _checkpoint_row(kept: Mapping[str, object], *, steps: Sequence[Step]) -> CheckpointRow:
    number = int(str(kept["number"]))
    return CheckpointRow(
        number=number,
        added=_added(number, steps),
        chars=int(str(kept["chars"])),
        taint_label=_origin_label(str(kept["taint"])),
    )


def _added(number: int, steps: Sequence[Step]) -> str:
    """By the rounds of the steps: a round's calls are asked for in the checkpoint before that of its results."""
    if number == 0:
        return "Your message and what was recalled for it"
    answered = [step for step in steps if step.round == number]
    if answered:
        return f"Results of {', '.join(step.action for step in answered)}"
    asked = [step.action for step in steps if step.round == number + 1]
    return f"The model asked for {', '.join(asked)}" if asked else "The scratchpad, or words of the model"


def _approval_row(approval: Approval, *, numbers: Mapping[str, int]) -> ApprovalRow:
    decision = DECISIONS[Approval.Status(approval.status)]
    if approval.status == Approval.Status.APPROVED and approval.is_always:
        decision = "You always allow it in this chat"
    return ApprovalRow(
        action=approval.action,
        arguments=_start(json.dumps(approval.arguments, indent=2, ensure_ascii=False), 0).text,
        why=approval.why,
        touches=approval.touches,
        status=approval.status,
        decision=decision,
        reason=approval.reason,
        asked_at=approval.created_at,
        decided_at=approval.decided_at,
        step_number=numbers.get(approval.tool_use_id, 0),
    )
