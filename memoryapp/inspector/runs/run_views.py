"""One run on record: step by step, live while it goes on; its scratchpad changed, its record kept or deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from memoryapp.accounts.auth import PageRequest, caller_id
from memoryapp.context import queries as snapshots
from memoryapp.context.models import ContextSnapshot
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.inspector import context_bar
from memoryapp.inspector import presentation as facts
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import one_of
from memoryapp.inspector.runs import pad_presentation, step_presentation
from memoryapp.inspector.runs import run_presentation as show
from memoryapp.inspector.runs.experience_presentation import experience_row
from memoryapp.inspector.runs.pad_presentation import PadForm
from memoryapp.inspector.runs.step_presentation import StepRow
from memoryapp.inspector.views import render_page
from memoryapp.longterm import experience_queries
from memoryapp.longterm import queries as longterm
from memoryapp.scratchpad import edits, queries, records, timeline
from memoryapp.scratchpad.edits import PadChangedError
from memoryapp.scratchpad.models import Run, Step
from memoryapp.scratchpad.pad import Edit, Op, Pad
from memoryapp.scratchpad.records import Keeping
from memoryapp.transcript.models import Turn

LEARNED: Final = 50
NUMBER_DIGITS: Final = 6  # of a step or a call in an address; more name none
NOTED: Final = gettext_lazy("Noted. The run goes on with it before its next step.")
KEPT: Final = {
    Keeping.LONGER: gettext_lazy("Its record is kept for 7 days more."),
    Keeping.FOR_EVER: gettext_lazy("Its record is kept until you delete it."),
    Keeping.BY_RULE: gettext_lazy("Its record is kept as long as the rule says."),
}
DELETED: Final = gettext_lazy(
    "Deleted for good: the scratchpad, the steps, the checkpoints and your decisions of that run."
)


@dataclass(frozen=True, slots=True)
class _Refused:
    """An edit that was not taken, to be shown with the words of its person. ``now``: what stands there instead."""

    problem: str
    form: PadForm | None
    now: str | None


@login_required
@require_GET
@never_cache
def run(request: PageRequest, run_id: UUID) -> HttpResponse:
    """``?step=``: the step whose texts are shown whole, alone for htmx. ``?call=``: whose prompt is drawn."""
    user_id = subject(request)
    found = timeline.recorded_run(user_id, run_id)
    number = _number(request, "step")
    full = queries.step_numbered(user_id, run_id, number) if number else None
    if request.htmx and full:
        context = {"number": full.number, "observation": step_presentation.observation_text(full)}
        return render(request, "inspector/_run_step.html#observation", context)
    return _page(request, found, full=full)


@login_required
@require_GET
@never_cache
def live(request: PageRequest, run_id: UUID) -> HttpResponse:
    """For the page that watches: the record as it stands, or 204 when that is what the page shows (``?seen=``)."""
    user_id = subject(request)
    try:
        found = timeline.recorded_run(user_id, run_id)
    except NotFoundError:
        if request.htmx:
            return render(request, "inspector/run.html#gone", status=404)
        raise
    if not request.htmx:
        return redirect("inspector:run", run_id)
    calls = snapshots.of_turn(user_id, found.turn_id)
    if request.GET.get("seen") == show.fingerprint(found, calls):
        return HttpResponse(status=204)
    return render(request, "inspector/run.html#record", _context(request, found, calls))


@login_required
@require_POST
def edit_pad(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """A person's word on an entry, or a new one; with ``then=go_on`` a run that is stuck goes on with it."""
    user_id = subject(request)
    found = timeline.recorded_run(user_id, run_id)
    posted = request.POST
    seen = posted.get("seen", "")
    try:
        op = Op(one_of(set(Op), posted.get("op", "")))
        change = Edit(op, posted.get("target", ""), posted.get("text", ""))
        edits.edit(user_id, run_id, change, seen=seen if op == Op.CORRECT_FACT else None)
    except (PadChangedError, edits.RunEndedError, InvalidInputError) as error:
        return _page(request, found, refused=_refused(posted.dict(), error), status=error.http_status)
    is_stuck = found.turn.wait_reason == Turn.WaitReason.STUCK
    if posted.get("then") == "go_on" and is_stuck and user_id == caller_id(request):
        # The browser sends the same form on: what lets a turn go on is the chat's.
        return HttpResponseRedirect(reverse("chat:resume", args=[found.turn_id]), preserve_request=True)
    messages.success(request, NOTED)
    return redirect(reverse("inspector:run", args=[run_id]) + "#pad")


@login_required
@require_POST
def keep(request: HttpRequest, run_id: UUID) -> HttpResponse:
    user_id = subject(request)
    timeline.recorded_run(user_id, run_id)
    keeping = Keeping(one_of(set(Keeping), request.POST.get("keep", "")))
    records.keep(user_id, [run_id], keeping, rule_days=longterm.run_record_days(), now=timezone.now())
    messages.success(request, KEPT[keeping])
    return redirect("inspector:run", run_id)


@login_required
@require_POST
def delete(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The record with all that is in it. Not while it is in use."""
    user_id = subject(request)
    found = timeline.recorded_run(user_id, run_id)
    if not records.delete(user_id, [run_id]):
        problem = gettext("It is still running. Stop it in the chat first, then delete its record.")
        return _page(request, found, problem=problem, status=409)
    messages.success(request, DELETED)
    return redirect("inspector:runs")


def _refused(posted: dict[str, str], error: MemoryAppError) -> _Refused:
    now = error.now if isinstance(error, PadChangedError) else None
    seen = posted.get("seen", "") if now is None else now  # sent once more, it is about what stands there now
    return _Refused(str(error), pad_presentation.form_again(posted, seen=seen), now)


def _page(
    request: HttpRequest,
    found: Run,
    *,
    full: Step | None = None,
    problem: str = "",
    refused: _Refused | None = None,
    status: int = 200,
) -> HttpResponse:
    calls = snapshots.of_turn(found.user_id, found.turn_id)
    context = {**_context(request, found, calls, full=full, refused=refused), "problem": problem}
    return render_page(request, "run", context, status=status)


def _context(
    request: HttpRequest,
    found: Run,
    calls: list[ContextSnapshot],
    *,
    full: Step | None = None,
    refused: _Refused | None = None,
) -> dict[str, Any]:
    """What was learned is looked for once the run is over: it is polled until then."""
    user_id = found.user_id
    is_live = found.turn.status in Turn.LIVE
    chosen_call = _number(request, "call")
    shown_call = min(chosen_call or len(calls), len(calls))
    kept_days = longterm.run_record_days()
    page = show.run_page(
        found,
        calls=calls,
        steps=list(timeline.steps(found, first_chars=step_presentation.TEXT_CHARS)),
        approvals=list(queries.approvals(user_id, [found.turn_id])),
        kept_days=kept_days,
        now=timezone.now(),
        full=full,
    )
    context: dict[str, Any] = {
        "run": page,
        "calls": [context_bar.call_row(call) for call in calls],
        "chosen_call": chosen_call,
        "shown_call": shown_call,
        "bar": context_bar.bar_of_call(calls[shown_call - 1]) if calls else None,
        "chat_url": facts.turn_url(found.turn),
        "keeps_by_rule": kept_days is None,
        "is_kept_longer": found.is_kept or found.kept_until is not None,
        **_pad_context(request, found, steps=page.steps, refused=refused),
    }
    if not is_live:
        memories = longterm.from_run(user_id, found.id).order_by("-recorded_at", "-id")[:LEARNED]
        context["memories"] = [facts.memory_row(memory) for memory in memories]
        context["experiences"] = [
            experience_row(experience)
            for experience in experience_queries.from_run(user_id, found.id)[:LEARNED]
        ]
    return context


def _pad_context(
    request: HttpRequest, found: Run, *, steps: Sequence[StepRow], refused: _Refused | None
) -> dict[str, Any]:
    """``?at=``: the scratchpad after this step. ``?edit=``: the form for an entry, while which nothing moves."""
    made = queries.edits(found.user_id, found.id) if getattr(found, "edit_count", 0) else []
    pad = edits.with_edits(found, [row for row in made if row.applied_at is None])
    at = _number(request, "at")
    at = at if any(step.number == at for step in steps) else 0
    can_edit = found.status == Run.Status.RUNNING and not at
    if at:
        earlier = timeline.pad_after(found, queries.step_numbered(found.user_id, found.id, at))
        shown = earlier or Pad(goal=found.goal)
    else:
        shown = pad
    form = refused.form if refused else None
    if can_edit and not form:
        form = pad_presentation.form_of(pad, request.GET.get("edit", ""))
    return {
        "pad": pad_presentation.parts(shown, can_edit=can_edit),
        "pad_at": at,
        "pad_last": len(steps),
        "pad_form": form,
        "can_edit": can_edit,
        "is_stuck": found.turn.wait_reason == Turn.WaitReason.STUCK,
        "refused": refused,
        "edits": pad_presentation.edit_rows(made, has_ended=found.status != Run.Status.RUNNING),
        "is_watched": found.turn.status in Turn.LIVE and not at and not form,
    }


def _number(request: HttpRequest, name: str) -> int:
    """0 when the address says none."""
    value = request.GET.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) <= NUMBER_DIGITS else 0
