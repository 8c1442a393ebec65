"""What expires soon, to keep or to let go, and what has expired lately, to bring back."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.inspector import break_glass
from memoryapp.inspector import overview_presentation as show
from memoryapp.inspector.facts import bulk
from memoryapp.inspector.facts.bulk import Action, Picked
from memoryapp.inspector.posted import incomplete, next_page, uuid_or_none
from memoryapp.inspector.typed_word import TYPED_ABOVE
from memoryapp.inspector.views import SOON_DAYS, next_url, render_page
from memoryapp.longterm import lifetimes, queries, tallies
from memoryapp.longterm.presentation import last_day

PAGE: Final = TYPED_ABOVE  # so that whatever is picked of a page needs no typed word
PERIODS: Final = (SOON_DAYS, 30, 90)
OVER_SHOWN: Final = 10
ACTIONS: Final = frozenset({Action.EXTEND, Action.KEEP, Action.FORGET, Action.BRING_BACK})


@dataclass(frozen=True, slots=True)
class NextEnd:
    """The next last day of any fact, how many have it, and how many days away it is."""

    day: date
    count: int
    away: int


@login_required
@require_GET
def expiring(request: HttpRequest) -> HttpResponse:
    user_id, now = break_glass.subject(request), timezone.now()
    days = _days(request.GET.get("days", ""))
    rows = queries.expiring_soon(user_id, now=now, days=days)
    page, cursor = rest.page(rows, order=("fades_at", "id"), cursor=request.GET.get("after", ""), limit=PAGE)
    over = tallies.expired(user_id)
    count = tallies.expiring_count(user_id, now=now, days=days)
    extended = lifetimes.extended_ends(user_id, [memory.id for memory in page], now=now)
    context: dict[str, Any] = {
        "days": days,
        "periods": PERIODS,
        "groups": show.by_day(page, extended=extended, now=now),
        "count": count,
        "over": [show.expired_row(memory) for memory in over[:OVER_SHOWN]],
        "over_count": over.count(),
        "here": request.get_full_path(),
        "next_url": next_url({"days": str(days)}, cursor),
        "next_end": None if count else _next_end(user_id, now=now),
    }
    if days == SOON_DAYS:
        context["expiring_count"] = count
    return render_page(request, "expiring", context)


@login_required
@require_POST
def expiring_picked(request: HttpRequest) -> HttpResponse:
    """One thing done to those that were picked on the page."""
    try:
        _do(request)
    except MemoryAppError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:expiring"), status=303)


def _do(request: HttpRequest) -> None:
    action = request.POST.get("action", "")
    if action not in ACTIONS:
        raise incomplete()
    ids = [memory_id for memory_id in map(uuid_or_none, request.POST.getlist("fact")) if memory_id]
    if not ids:
        raise InvalidInputError(gettext("Pick the facts first."))
    if len(ids) > PAGE:
        raise InvalidInputError(gettext("Pick at most {n} at once.").format(n=PAGE))
    user_id = break_glass.subject(request)
    bulk.do(request, user_id, Action(action), Picked(ids, {}), kind="", now=timezone.now())


def _next_end(user_id: UUID, *, now: datetime) -> NextEnd | None:
    """Of what is in use; None where nothing of it ever ends."""
    first = queries.ending(user_id).first()
    if first is None:
        return None
    day = last_day(first.fades_at)  # type: ignore[attr-defined]  # annotated by the query
    away = (day - timezone.localdate(now)).days
    return NextEnd(day, tallies.expiring_count(user_id, now=now, days=away), away)


def _days(value: str) -> int:
    return int(value) if value in map(str, PERIODS) else SOON_DAYS
