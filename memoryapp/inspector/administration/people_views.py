"""The people of an installation, for admins: how much is kept of whom, and the logged way into one person's memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memoryapp import rest
from memoryapp.accounts import operations
from memoryapp.accounts import queries as accounts
from memoryapp.accounts.auth import caller_id
from memoryapp.accounts.forms import NewPersonForm
from memoryapp.accounts.models import User
from memoryapp.activity import operations as activity
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError
from memoryapp.inspector import break_glass, storage
from memoryapp.inspector.administration.access import for_staff
from memoryapp.inspector.administration.kind_forms import focus_problem
from memoryapp.inspector.administration.refusals import reason_problem
from memoryapp.inspector.views import next_url
from memoryapp.longterm import queries as longterm
from memoryapp.policies.reasons import ReasonMissingError
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.transcript import queries as transcript

PAGE = 50


@dataclass(frozen=True, slots=True)
class Person:
    """``stored_bytes``: of all tiers, as the database keeps them."""

    id: UUID
    username: str
    is_staff: bool
    is_active: bool
    joined_at: datetime
    url: str
    memories: int
    conversations: int
    runs: int
    stored_bytes: int


@for_staff
@require_GET
def people(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "").strip()
    page, next_cursor = rest.page(
        accounts.people(text=text),
        order=("username", "id"),
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    opened = break_glass.opened(request)
    context = {
        "people": _counted(page),
        "opened": opened,
        "opened_id": UUID(opened.user_id) if opened else None,
        "q": text,
        "next_url": next_url({"q": text}, next_cursor),
    }
    return render(request, "policies/people.html", context)


@for_staff
@require_GET
def person(request: HttpRequest, user_id: UUID) -> HttpResponse:
    return _person(request, user_id)


@for_staff
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """An account without a password; the link by which its person comes in is shown this once."""
    form = NewPersonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = activity.add_person(caller_id(request), **form.cleaned_data)
        except InvalidInputError as error:
            form.add_error(None, str(error))
        else:
            return _invited(request, made.id)
    focus_problem(form)
    status = InvalidInputError.http_status if form.is_bound else 200
    return render(request, "policies/person_add.html", {"form": form}, status=status)


@for_staff
@require_POST
def invite(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Another link for who has not been here yet; it ends the one before."""
    try:
        return _invited(request, user_id)
    except operations.AlreadyHereError as error:
        return _person(request, user_id, link_error=str(error), status=error.http_status)


@for_staff
@require_POST
def open_memory(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """For half an hour the memory pages of this session are about this person; they read by whom and why."""
    if user_id == caller_id(request):
        return redirect("inspector:overview")
    reason = request.POST.get("reason", "")
    try:
        break_glass.open_memory(request, user_id, reason=reason)
    except ReasonMissingError as error:
        said = reason_problem(error)
        return _person(request, user_id, reason=reason, form_error=said, status=error.http_status)
    return redirect("inspector:overview")


@login_required
@require_POST
@never_cache
def close(request: HttpRequest) -> HttpResponse:
    found = break_glass.opened(request)
    break_glass.close(request)
    messages.success(request, gettext("Closed. The memory pages are about you again."))
    return redirect("policies:person", found.user_id) if found else redirect("inspector:overview")


def _invited(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Rendered, not redirected: the link is shown this once and must not be stored anywhere."""
    address = get_conf().base_url or request.build_absolute_uri("/")
    link = address.rstrip("/") + operations.invite(user_id)
    return _person(request, user_id, sign_in_link=link, status=201)


def _person(request: HttpRequest, user_id: UUID, *, status: int = 200, **context: object) -> HttpResponse:
    found = accounts.get_person(user_id)
    context |= {
        "person": _counted([found])[0],
        "is_own": found.id == caller_id(request),
        "is_awaited": accounts.is_awaited(found),
        "link_minutes": get_conf().sign_in_link_minutes,
        "minutes": int(break_glass.OPEN_FOR.total_seconds() // 60),
        "reason_max_chars": break_glass.REASON_MAX_CHARS,
    }
    return render(request, "policies/person.html", context, status=status)


def _counted(found: Sequence[User]) -> list[Person]:
    """In one query a tier, however many people."""
    ids = [person.id for person in found]
    memories, conversations, runs = (
        room.counts_of_people(ids) for room in (longterm, transcript, scratchpad)
    )
    stored = storage.bytes_of_people(ids)
    return [
        Person(
            id=person.id,
            username=person.get_username(),
            is_staff=person.is_staff,
            is_active=person.is_active,
            joined_at=person.date_joined,
            url=reverse("policies:person", args=[person.id]),
            memories=memories.get(person.id, 0),
            conversations=conversations.get(person.id, 0),
            runs=runs.get(person.id, 0),
            stored_bytes=stored.get(person.id, 0),
        )
        for person in found
    ]
