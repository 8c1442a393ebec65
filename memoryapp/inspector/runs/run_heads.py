"""What a list says of a run, and its own page begins with: how it went, what it used, how long its record is kept."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext

from memoryapp.inspector.amounts import cost_text, count_text, duration_text
from memoryapp.inspector.runs.step_presentation import STEP_LABELS
from memoryapp.scratchpad import records
from memoryapp.scratchpad.models import Run, Step
from memoryapp.transcript.models import Turn
from memoryapp.tuning import queries as tuning

BARS: Final = 60  # of a sparkline: the newest steps

STATUSES: Final = {
    "running": gettext_lazy("Running"),
    "waiting": gettext_lazy("Waiting"),
    "completed": gettext_lazy("Completed"),
    "failed": gettext_lazy("Failed"),
    "cancelled": gettext_lazy("Stopped"),
}
WAITS: Final = {
    Turn.WaitReason.MODEL: gettext_lazy("Waiting for the model"),
    Turn.WaitReason.APPROVAL: gettext_lazy("Waiting for your word"),
    Turn.WaitReason.STUCK: gettext_lazy("Waiting for your word, as it got nowhere"),
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
    """``status``: a key of ``STATUSES``. ``waited`` is "" when it never waited.

    ``has_own_title``: the conversation is not just called like the goal.
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

    @property
    def used(self) -> list[str]:
        """In a few words each; what it did not use is left out."""
        steps = ngettext("{n} step", "{n} steps", self.step_count)
        calls = ngettext("{n} model call", "{n} model calls", self.model_calls)
        tokens = ngettext("{n} token", "{n} tokens", self.tokens)
        counted = ((self.step_count, steps), (self.model_calls, calls), (self.tokens, tokens))
        return [text.format(n=count_text(count)) for count, text in counted if count]

    @property
    def took(self) -> str:
        if not self.worked or not self.waited:
            return self.worked
        both = gettext("{worked} at work, {waited} waiting")
        return both.format(worked=self.worked, waited=self.waited)


@dataclass(frozen=True, slots=True)
class RunRow:
    """``seen``: tells this state of it from any other, while it goes on; then ``is_live``."""

    head: RunHead
    sparkline: Sparkline | None
    is_live: bool
    seen: str


def run_row(run: Run, outline: Sequence[tuple[str, int]], *, kept_days: int | None) -> RunRow:
    """``run`` comes with ``step_count``, its turn and its conversation; ``outline``: see ``timeline.step_outlines``."""
    head = run_head(run, kept_days=kept_days)
    state = (head.status, head.status_label, head.step_count, head.tokens, list(outline))
    return RunRow(
        head=head,
        sparkline=_sparkline(outline) if outline else None,
        is_live=run.turn.status in Turn.LIVE,
        seen=hashlib.sha256(repr(state).encode()).hexdigest()[:16],
    )


def run_head(run: Run, *, kept_days: int | None) -> RunHead:
    worked_s, waited_s = durations(run)
    status = _status(run)
    title = run.turn.conversation.title
    return RunHead(
        id=run.id,
        status=status,
        status_label=status_label(run, status),
        goal=run.goal,
        step_count=getattr(run, "step_count", 0),
        model_calls=run.model_calls,
        tokens=run.input_tokens + run.output_tokens,
        cost=cost_text(model_of(run), input_tokens=run.input_tokens, output_tokens=run.output_tokens),
        worked=duration_text(worked_s) if worked_s else "",
        waited=duration_text(waited_s) if waited_s >= 1 else "",
        created_at=run.started_at,
        record=_record_text(run, kept_days=kept_days),
        url=reverse("inspector:run", args=[run.id]),
        conversation_id=run.turn.conversation_id,
        conversation_title=title or gettext("New chat"),
        has_own_title=not run.goal.startswith(title.rstrip("….") or run.goal),
        conversation_url=reverse("inspector:conversation", args=[run.turn.conversation_id]),
    )


def status_label(run: Run, status: str) -> str:
    """``status``: a key of ``STATUSES``."""
    if status == "waiting" and run.turn.wait_reason:
        return str(WAITS[Turn.WaitReason(run.turn.wait_reason)])
    if status == "running" and run.turn.status == Turn.Status.QUEUED:
        return gettext("Queued")
    return str(STATUSES[status])


def model_of(run: Run) -> str:
    return run.turn.model or tuning.conf().chat_model


def durations(run: Run) -> tuple[float, float]:
    """Seconds of work, and of waiting. 0 for what is not known yet: work is noted when it ends or is let go of."""
    worked_s = run.active_ms / 1000
    if run.finished_at is None and _status(run) != "waiting":
        return worked_s, 0
    total_s = ((run.finished_at or timezone.now()) - run.started_at).total_seconds()
    return (worked_s, max(total_s - worked_s, 0)) if worked_s else (total_s, 0)


def _status(run: Run) -> str:
    is_waiting = run.status == Run.Status.RUNNING and run.turn.status == Turn.Status.WAITING
    return "waiting" if is_waiting else run.status


def _record_text(run: Run, *, kept_days: int | None) -> str:
    if run.is_kept:
        return gettext("Record kept for ever, as you said")
    if run.finished_at is None:
        goes_at_once = kept_days == 0 and not _is_kept_now(run)
        return gettext("Record goes when it ends") if goes_at_once else gettext("Record kept while it runs")
    goes_at = records.goes_at(run, rule_days=kept_days)
    return gettext("Record kept") if goes_at is None else _going_text(goes_at)


def _going_text(goes_at: datetime) -> str:
    left_s = (goes_at - timezone.now()).total_seconds()
    hours = round(left_s / 3600)
    if left_s <= 60:
        return gettext("Record goes within a minute")
    if hours < 1:
        return gettext("Record goes within the hour")
    if hours < 48:
        return gettext("Record goes in {hours} h").format(hours=hours)
    return ngettext("Record goes in {n} day", "Record goes in {n} days", hours // 24).format(n=hours // 24)


def _is_kept_now(run: Run) -> bool:
    return run.kept_until is not None and run.kept_until > timezone.now()


def _sparkline(outline: Sequence[tuple[str, int]]) -> Sparkline:
    newest = outline[-BARS:]
    longest_ms = max(1, *(duration_ms for _, duration_ms in newest))
    bars = []
    for index, (status, duration_ms) in enumerate(newest):
        height = 4 + round(16 * duration_ms / longest_ms)
        bars.append(Bar(x=6 * index, y=20 - height, height=height, status=status))
    counts = Counter(str(STEP_LABELS[Step.Status(status)]).lower() for status, _ in outline)
    ended = ", ".join(f"{count_text(count)} {label}" for label, count in counts.items())
    return Sparkline(width=6 * len(bars), bars=bars, words=gettext("Steps: {ended}.").format(ended=ended))
