"""A run as it went: what the model and the tools did when, and when nothing ran because something was waited for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, JSONObject, Left, Length
from django.utils.translation import gettext

from memoryapp.errors import NotFoundError
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries
from memoryapp.scratchpad.models import Approval, Checkpoint, PadEdit, Run, Step
from memoryapp.scratchpad.pad import TAG, Pad


class Work(StrEnum):
    MODEL = "model"
    STEP = "step"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Call:
    """A model call as the records of the prompts have it. ``is_answered``: the provider said what it used."""

    began_at: datetime
    attempt: int
    is_answered: bool


@dataclass(frozen=True, slots=True)
class Span:
    """``number``: of the call or the step, from 1; 0 for a wait. ``is_open``: it goes on."""

    work: Work
    number: int
    began_at: datetime
    ended_at: datetime
    is_open: bool = False

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.began_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of a run. ``kept_at``: when its checkpoints were made; ``is_waiting``: its turn is."""

    run: Run
    calls: Sequence[Call]
    steps: Sequence[Step]
    approvals: Sequence[Approval]
    kept_at: Sequence[datetime]
    is_waiting: bool


def recorded_run(user_id: UUID, run_id: UUID) -> Run:
    """The run in one statement: its turn and conversation, counts of steps, of open ones and of edits, ``is_asking``.

    ``kept``: its checkpoints as {"number", "taint", "chars", "at"}, without what is in them.
    """
    of_run = {"user_id": user_id, "run": OuterRef("pk")}
    kept = (
        Checkpoint.objects.filter(**of_run)
        .order_by("number", "id")
        .values_list(
            JSONObject(
                number="number", taint="taint", chars=Length(Cast("delta", TextField())), at="created_at"
            )
        )
    )
    run = (
        queries.runs(user_id)
        .annotate(
            open_step_count=Count("steps", filter=Q(steps__status=Step.Status.RUNNING)),
            edit_count=Subquery(
                PadEdit.objects.filter(**of_run).order_by().values("run").annotate(n=Count("id")).values("n")
            ),
            is_asking=Exists(Approval.objects.filter(**of_run, status=Approval.Status.PENDING)),
            kept=ArraySubquery(kept),
        )
        .filter(id=run_id)
        .first()
    )
    if run is None:
        raise NotFoundError(gettext("There is no such run, or its record has been dropped."))
    return run


def steps(run: Run, *, first_chars: int) -> QuerySet[Step]:
    """In order, each with the ``observation_start`` of so many characters and its ``observation_chars`` in all."""
    return (
        queries.steps(run)
        .annotate(observation_start=Left("observation", first_chars), observation_chars=Length("observation"))
        .defer("observation")
    )


def pad_after(run: Run, step: Step) -> Pad | None:
    """The scratchpad as the model read it after the round of this step; None when it had read none by then."""
    until = Checkpoint.objects.filter(user_id=run.user_id, run=run, number__lte=step.round)
    written = until.annotate(written=Cast("delta", TextField())).filter(written__contains=f"<{TAG}>")
    for checkpoint in written.order_by("-number", "-id"):
        texts = [block.get("text", "") for message in checkpoint.delta for block in message.get("blocks", [])]
        found = next(filter(None, map(pads.read, reversed(texts))), None)
        if found:
            return found
    return None


def step_outlines(user_id: UUID, run_ids: Sequence[UUID]) -> dict[UUID, list[tuple[str, int]]]:
    """Run id → the status and the milliseconds of each of its steps, in order."""
    rows = Step.objects.filter(user_id=user_id, run_id__in=run_ids).order_by("run_id", "number", "id")
    found: dict[UUID, list[tuple[str, int]]] = {}
    for run_id, status, duration_ms in rows.values_list("run_id", "status", "duration_ms"):
        found.setdefault(run_id, []).append((status, duration_ms))
    return found


def spans(recorded: Recorded, *, now: datetime) -> list[Span]:
    """What ran and what was waited for, by its beginning. A call whose end nobody recorded has no length."""
    until = recorded.run.finished_at or now
    stepped = _step_spans(recorded, until=until)
    worked = sorted(
        [*_call_spans(recorded, stepped, until=until), *stepped],
        key=lambda span: (span.began_at, span.ended_at),
    )
    return sorted(
        [*worked, *_waits(recorded, worked, until=until)], key=lambda span: (span.began_at, span.ended_at)
    )


def _step_spans(recorded: Recorded, *, until: datetime) -> list[Span]:
    """One after the other, as tools run."""
    asked_at = [*recorded.kept_at, *(call.began_at for call in recorded.calls)]
    stepped: list[Span] = []
    free_at = recorded.run.started_at
    for step in recorded.steps:
        began_at = max(_began_at(step, asked_at=asked_at), free_at)
        is_open = step.status == Step.Status.RUNNING
        took = timedelta(milliseconds=step.duration_ms)
        free_at = max(until, began_at) if is_open else began_at + took
        stepped.append(
            Span(Work.STEP, step.number, began_at, free_at, is_open and recorded.run.finished_at is None)
        )
    return stepped


def _began_at(step: Step, *, asked_at: Sequence[datetime]) -> datetime:
    """A row is written when its call is over; before it when the call's effect was to outlive a crash.

    No call began before the model had asked for it: so the two are told apart.
    """
    before = step.created_at - timedelta(milliseconds=step.duration_ms)
    is_written_first = any(before < moment <= step.created_at for moment in asked_at)
    return step.created_at if is_written_first else before


def _call_spans(recorded: Recorded, stepped: Sequence[Span], *, until: datetime) -> list[Span]:
    """Each until what came next: what it said was kept, a tool began, a person was asked."""
    calls = recorded.calls
    next_at = sorted(
        [
            *recorded.kept_at,
            *(span.began_at for span in stepped),
            *(approval.created_at for approval in recorded.approvals),
            *(call.began_at for call in calls),
        ]
    )
    asked: list[Span] = []
    for number, (call, after) in enumerate(pairwise([*calls, None]), start=1):
        assert call is not None
        ended_at = next((moment for moment in next_at if moment > call.began_at), None)
        is_open = after is None and ended_at is None and recorded.run.finished_at is None
        if _is_lost(call, after, is_waiting=recorded.is_waiting):
            asked.append(Span(Work.MODEL, number, call.began_at, call.began_at))
        else:
            asked.append(
                Span(Work.MODEL, number, call.began_at, max(ended_at or until, call.began_at), is_open)
            )
    return asked


def _is_lost(call: Call, after: Call | None, *, is_waiting: bool) -> bool:
    """It was not answered, and its worker left or let go of the run at a moment that nobody wrote down."""
    return not call.is_answered and (is_waiting if after is None else after.attempt > call.attempt)


def _waits(recorded: Recorded, worked: Sequence[Span], *, until: datetime) -> list[Span]:
    """The gaps in which a person was asked, or after which another worker went on, or that go on now."""
    resumed = {after.began_at for before, after in pairwise(recorded.calls) if after.attempt > before.attempt}
    waits: list[Span] = []
    ended_at = recorded.run.started_at
    for span in [*worked, None]:
        began_at = span.began_at if span else until
        is_open = span is None and recorded.is_waiting
        if began_at > ended_at and (
            is_open or began_at in resumed or _was_asked(recorded.approvals, ended_at, began_at)
        ):
            waits.append(Span(Work.WAIT, 0, ended_at, began_at, is_open))
        ended_at = max(ended_at, span.ended_at) if span else until
    return waits


def _was_asked(approvals: Sequence[Approval], began_at: datetime, ended_at: datetime) -> bool:
    return any(
        approval.created_at < ended_at and (approval.decided_at is None or approval.decided_at > began_at)
        for approval in approvals
        if approval.decided_at or approval.status == Approval.Status.PENDING
    )
