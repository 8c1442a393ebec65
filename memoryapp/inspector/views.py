"""The memory inspector: everything remembered, tier by tier, to read, correct and forget."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.context import recall
from memoryapp.errors import InvalidInputError, NotFoundError, StaleVersionError
from memoryapp.inspector import presentation as show
from memoryapp.inspector import settling, summary_presentation
from memoryapp.longterm import operations, queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory, MemoryQuerySet
from memoryapp.longterm.presentation import BROUGHT_BACK, FORGOTTEN
from memoryapp.policies.feedback import Verdict
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.transcript import queries as transcript

PAGE = 50
RECENT = 5
SOON_DAYS = 14

FACTS_ALONE: tuple[recall.Arm, ...] = ("facts",)
WAITING = {"waiting", *queries.WAITING}  # states of which a list asks its person to decide

ORDERS: dict[str, tuple[str, str]] = {
    "": ("-recorded_at", "-id"),
    "oldest": ("recorded_at", "id"),
    "expires": ("fades_at", "id"),
}


@login_required
@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    user_id = caller_id(request)
    recent = queries.memories(user_id).order_by("-recorded_at", "-id")[:RECENT]
    expiring = queries.expiring_soon(user_id, now=timezone.now(), days=SOON_DAYS)[:RECENT]
    context = {
        "tiers": {
            "scratchpad": {"count": scratchpad.count(user_id), "url": reverse("inspector:runs")},
            "transcript": {"count": transcript.count(user_id), "url": reverse("inspector:conversations")},
            "longterm": {"count": queries.count(user_id), "url": reverse("inspector:facts")},
        },
        "recent": [show.memory_row(memory) for memory in recent],
        "expiring": [show.memory_row(memory) for memory in expiring],
    }
    return render_page(request, "overview", context)


@login_required
@require_GET
def facts(request: HttpRequest) -> HttpResponse:
    user_id = caller_id(request)
    filters = {name: request.GET.get(name, "").strip() for name in ("q", "kind", "status", "origin", "sort")}
    if filters["status"] == "any":  # the API's word for it
        filters["status"] = "all"
    rows = _filtered(user_id, filters)
    order = ORDERS.get(filters["sort"], ORDERS[""])
    if order[0] == "fades_at":
        rows = rows.exclude(Q(fades_at=None))
    cursor = request.GET.get("after", "")
    page, next_cursor = rest.page(rows, order=order, cursor=cursor, limit=PAGE)
    context = {
        "memories": [show.memory_row(memory) for memory in page],
        "cards": show.waiting_cards(page) if filters["status"] in WAITING else [],
        "here": request.get_full_path(),
        "kinds": queries.statement_kinds(),
        "filters": filters,
        "total": rows.count(),
        "next_url": next_url(filters, next_cursor),
    }
    return render_page(request, "facts", context)


@login_required
@require_GET
def fact(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    try:
        memory = queries.get_memory(caller_id(request), memory_id)
    except NotFoundError:
        return _no_fact(request)
    return _fact(request, memory)


@login_required
@require_POST
def fact_edit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    user_id = caller_id(request)
    statement = request.POST.get("statement", "")
    try:
        operations.edit(
            user_id,
            memory_id,
            version=_version(request),
            now=timezone.now(),
            statement=statement,
            kind=request.POST.get("kind") or None,
        )
    except StaleVersionError:
        problem = (
            "It was changed elsewhere meanwhile. Above is what it says now; below is what you wrote. "
            "Save again to keep yours."
        )
        return _fact(
            request, queries.get_memory(user_id, memory_id), problem=problem, draft=statement, status=409
        )
    except InvalidInputError as error:
        memory = queries.get_memory(user_id, memory_id)
        return _fact(request, memory, problem=str(error), draft=statement, status=error.http_status)
    messages.success(request, "Saved. The version before is in the history.")
    return redirect("inspector:fact", memory_id)


@login_required
@require_POST
def fact_settle(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """The person's word on what waits for it, as it stood on the page they looked at."""
    user_id = caller_id(request)
    answer = request.POST.get("answer", "")
    try:
        shown = settling.settle(user_id, memory_id, answer, version=_version(request), now=timezone.now())
    except StaleVersionError:
        problem = "It was changed meanwhile. Read it again before you decide."
        return _fact(request, queries.get_memory(user_id, memory_id), problem=problem, status=409)
    except InvalidInputError as error:
        memory = queries.get_memory(user_id, memory_id)
        return _fact(request, memory, problem=str(error), status=error.http_status)
    messages.success(request, settling.SAID[settling.Answer(answer)])
    return redirect(_next(request.POST) or (show.fact_url(shown) if shown else "inspector:facts"))


@login_required
@require_POST
def fact_bring_back(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """What its person set aside as wrong, or what was replaced, is right after all."""
    user_id = caller_id(request)
    try:
        give_feedback(user_id, memory_id, Verdict.CONFIRMED, version=_version(request), now=timezone.now())
    except StaleVersionError:
        problem = "It was changed meanwhile. Read it again before you bring it back."
        return _fact(request, queries.get_memory(user_id, memory_id), problem=problem, status=409)
    except InvalidInputError as error:
        memory = queries.get_memory(user_id, memory_id)
        return _fact(request, memory, problem=str(error), status=error.http_status)
    messages.success(request, BROUGHT_BACK)
    return redirect("inspector:fact", memory_id)


@login_required
@require_POST
def fact_delete(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    operations.forget(caller_id(request), memory_id, now=timezone.now())
    messages.success(request, FORGOTTEN)
    return redirect(_next(request.GET) or "inspector:facts")


@login_required
@require_GET
def conversations(request: HttpRequest) -> HttpResponse:
    user_id = caller_id(request)
    rows, next_cursor = rest.page(
        transcript.conversations_with_counts(user_id),
        order=("-updated_at", "-id"),
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    learned = queries.learned_per_conversation(user_id, [row.id for row in rows])
    context = {
        "conversations": [show.conversation_row(row, memory_count=learned.get(row.id, 0)) for row in rows],
        "next_url": next_url({}, next_cursor),
    }
    return render_page(request, "conversations", context)


@login_required
@require_GET
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    user_id = caller_id(request)
    found = transcript.get_conversation(user_id, conversation_id)
    waiting = summary_presentation.waiting(found, request.GET.get("newer_than", ""))
    if waiting and waiting.made_url:
        return redirect(waiting.made_url)
    turns, next_cursor = rest.page(
        transcript.turns(user_id, conversation_id),
        order=("seq", "id"),
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    learned = queries.from_conversation(user_id, conversation_id).order_by("-recorded_at", "-id")[:PAGE]
    context = {
        "conversation": found,
        "turns": [show.turn_row(turn) for turn in turns],
        "summaries": summary_presentation.version_rows(found),
        "waiting": waiting,
        "memories": [show.memory_row(memory) for memory in learned],
        "next_url": next_url({}, next_cursor),
    }
    return render_page(request, "conversation", context)


def _fact(
    request: HttpRequest, memory: Memory, *, problem: str = "", draft: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "memory": show.memory_page(memory),
        "kinds": queries.statement_kinds(),
        "form_error": problem,
        "draft": draft,
    }
    return render_page(request, "fact", context, status=status)


def _no_fact(request: HttpRequest) -> HttpResponse:
    context = {
        "message": "There is no such memory. It may have been forgotten, or have expired.",
        "action_url": reverse("inspector:facts"),
        "action_label": "All facts",
    }
    return render(request, "errors/404.html", context, status=404)


def _filtered(user_id: UUID, filters: dict[str, str]) -> MemoryQuerySet:
    """By words or by meaning: what holds the text, and what answers it."""
    status = {"": "active", "all": "any"}.get(filters["status"], filters["status"])
    rows = queries.memories(user_id, kind=filters["kind"], origin=filters["origin"], status=status)
    if not filters["q"]:
        return rows
    answers = recall.search(
        user_id, filters["q"], now=timezone.now(), limit=recall.CANDIDATES, include=FACTS_ALONE
    )
    ids = [item.memory.id for item in answers if item.included]
    return rows.filter(Q(statement__icontains=filters["q"]) | Q(id__in=ids))


def render_page(
    request: HttpRequest, page: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    context["quota"] = quota = queries.quota(caller_id(request))
    context["pending_count"] = quota.waiting
    return render(request, f"inspector/{page}.html", context, status=status)


def next_url(filters: dict[str, str], cursor: str | None) -> str:
    if cursor is None:
        return ""
    return "?" + urlencode({name: value for name, value in filters.items() if value} | {"after": cursor})


def _next(values: QueryDict) -> str:
    """Where the person came from, if that is a page of ours; else empty."""
    back = values.get("next", "")
    return back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else ""


def _version(request: HttpRequest) -> int:
    value = request.POST.get("version", "")
    if not value.isascii() or not value.isdigit():
        raise InvalidInputError("The form is incomplete. Reload the page and try again.")
    return int(value[:9])
