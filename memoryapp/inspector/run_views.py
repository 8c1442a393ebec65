"""The runs on record: listed, one step by step, live while it goes on, and deleted on request."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.accounts.auth import PageRequest, caller_id
from memoryapp.context import queries as snapshots
from memoryapp.context.models import ContextSnapshot
from memoryapp.errors import NotFoundError
from memoryapp.inspector import context_bar
from memoryapp.inspector import presentation as facts
from memoryapp.inspector import run_presentation as show
from memoryapp.inspector.experience_presentation import experience_row
from memoryapp.inspector.views import PAGE, next_url, render_page
from memoryapp.longterm import experience_queries
from memoryapp.longterm import queries as longterm
from memoryapp.scratchpad import operations, queries, timeline
from memoryapp.scratchpad.models import Run, Step
from memoryapp.transcript.models import Turn

LEARNED = 50
NUMBER_DIGITS = 6  # of a step or a call in an address; more name none


@login_required
@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    user_id = caller_id(request)
    filters = {name: request.GET.get(name, "").strip() for name in ("q", "status")}
    page, next_cursor = rest.page(
        _filtered(queries.runs(user_id), filters),
        order=("-started_at", "-id"),
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    kept_days = longterm.run_record_days()
    outlines = timeline.step_outlines(user_id, [run.id for run in page])
    context = {
        "runs": [show.run_row(run, outlines.get(run.id, ()), kept_days=kept_days) for run in page],
        "statuses": show.STATUSES,
        "filters": filters,
        "kept_days": kept_days,
        "next_url": next_url(filters, next_cursor),
    }
    return render_page(request, "runs", context)


@login_required
@require_GET
@never_cache
def run(request: PageRequest, run_id: UUID) -> HttpResponse:
    """``?step=``: the step whose texts are shown whole, alone for htmx. ``?call=``: whose prompt is drawn."""
    user_id = caller_id(request)
    found = timeline.recorded_run(user_id, run_id)
    number = _number(request, "step")
    full = queries.step_numbered(user_id, run_id, number) if number else None
    if request.htmx and full:
        context = {"number": full.number, "observation": show.observation_text(full)}
        return render(request, "inspector/run.html#observation", context)
    return _page(request, found, full=full)


@login_required
@require_GET
@never_cache
def live(request: PageRequest, run_id: UUID) -> HttpResponse:
    """For the page that watches: the record as it stands, or 204 when that is what the page shows (``?seen=``)."""
    user_id = caller_id(request)
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
def delete(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The record with all that is in it. Not while it is in use."""
    user_id = caller_id(request)
    found = timeline.recorded_run(user_id, run_id)
    if found.status == Run.Status.RUNNING:
        problem = "It is still running. Stop it in the chat first, then delete its record."
        return _page(request, found, problem=problem, status=409)
    operations.delete_run(user_id, run_id)
    messages.success(request, "Deleted: the pad, the steps, the checkpoints and your decisions of that run.")
    return redirect("inspector:runs")


def _page(
    request: HttpRequest, found: Run, *, full: Step | None = None, problem: str = "", status: int = 200
) -> HttpResponse:
    calls = snapshots.of_turn(found.user_id, found.turn_id)
    context = {**_context(request, found, calls, full=full), "problem": problem}
    return render_page(request, "run", context, status=status)


def _context(
    request: HttpRequest, found: Run, calls: list[ContextSnapshot], *, full: Step | None = None
) -> dict[str, Any]:
    """What was learned is looked for once the run is over: it is polled until then."""
    user_id = found.user_id
    is_live = found.turn.status in Turn.LIVE
    chosen_call = _number(request, "call")
    shown_call = min(chosen_call or len(calls), len(calls))
    page = show.run_page(
        found,
        calls=calls,
        steps=list(timeline.steps(found, first_chars=show.TEXT_CHARS)),
        approvals=list(queries.approvals(user_id, [found.turn_id])),
        kept_days=None if is_live else longterm.run_record_days(),
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
    }
    if not is_live:
        memories = longterm.from_run(user_id, found.id).order_by("-recorded_at", "-id")[:LEARNED]
        context["memories"] = [facts.memory_row(memory) for memory in memories]
        context["experiences"] = [
            experience_row(experience)
            for experience in experience_queries.from_run(user_id, found.id)[:LEARNED]
        ]
    return context


def _filtered(rows: QuerySet[Run], filters: dict[str, str]) -> QuerySet[Run]:
    """A run whose turn waits is running on its own record."""
    is_waiting = Q(status=Run.Status.RUNNING, turn__status=Turn.Status.WAITING)
    if filters["status"] == "waiting":
        rows = rows.filter(is_waiting)
    elif filters["status"] == Run.Status.RUNNING:
        rows = rows.filter(~is_waiting, status=Run.Status.RUNNING)
    elif filters["status"]:
        rows = rows.filter(status=filters["status"])
    return rows.filter(goal__icontains=filters["q"]) if filters["q"] else rows


def _number(request: HttpRequest, name: str) -> int:
    """0 when the address says none."""
    value = request.GET.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) <= NUMBER_DIGITS else 0
