"""The timeline of a run as it is drawn: model calls above, tools below, long waits shorter than they were."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from memoryapp.inspector.amounts import count_text, duration_text
from memoryapp.inspector.runs.run_heads import status_label
from memoryapp.inspector.runs.step_presentation import STEP_LABELS
from memoryapp.scratchpad import timeline
from memoryapp.scratchpad.models import Step
from memoryapp.scratchpad.timeline import Recorded, Span, Work


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


def drawn(recorded: Recorded, *, now: datetime) -> Timeline:
    """Of a run with at least one step or call."""
    run = recorded.run
    spans = timeline.spans(recorded, now=now)
    axis = _axis(spans, began_at=run.started_at)
    total = duration_text((max(span.ended_at for span in spans) - run.started_at).total_seconds())
    counts = Counter(span.work for span in spans)
    words = gettext(
        "Model calls: {calls}. Steps: {steps}. Waits: {waits}. In all {total}. The table below has each of them."
    )
    return Timeline(
        marks=[_mark(span, recorded=recorded, axis=axis) for span in spans],
        total=total,
        is_shortened=any(cut_s for _, cut_s in axis.waits),
        words=words.format(
            calls=count_text(counts[Work.MODEL]),
            steps=count_text(counts[Work.STEP]),
            waits=count_text(counts[Work.WAIT]),
            total=total,
        ),
    )


def _axis(spans: Sequence[Span], *, began_at: datetime) -> _Axis:
    ended_at = max(span.ended_at for span in spans)
    waits = [span for span in spans if span.work == Work.WAIT]
    worked_s = (ended_at - began_at).total_seconds() - sum(wait.seconds for wait in waits)
    longest_s = max(worked_s / 10, 0.1)
    cut = [(wait, max(wait.seconds - longest_s, 0)) for wait in waits]
    total_s = (ended_at - began_at).total_seconds() - sum(cut_s for _, cut_s in cut)
    return _Axis(began_at, cut, total_s)


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
        took=gettext("{took} so far").format(took=took) if span.is_open else took,
        note=note,
        url=url,
    )


def _told(span: Span, recorded: Recorded) -> tuple[str, str, str, str]:
    """Its look, what it was, how it ended, and the address of more about it."""
    if span.work == Work.WAIT:
        note = status_label(recorded.run, "waiting") if span.is_open else gettext("Nothing ran")
        return "wait", gettext("Waiting"), note, ""
    if span.work == Work.MODEL:
        return (
            "model",
            gettext("Model call {number}").format(number=span.number),
            _answer(span, recorded),
            "#calls",
        )
    step = next(step for step in recorded.steps if step.number == span.number)
    label = f"{step.number} · {step.action}"
    return step.status, label, str(STEP_LABELS[Step.Status(step.status)]), f"#step-{step.number}"


def _answer(span: Span, recorded: Recorded) -> str:
    if recorded.calls[span.number - 1].is_answered:
        return gettext("Answered")
    return gettext("Not answered yet") if span.is_open else gettext("Not answered")
