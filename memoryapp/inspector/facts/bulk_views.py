"""One thing done to many facts: at once for a few, after a look and a typed word for many."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST

from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.inspector import typed_word
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.facts import bulk, fact_filters
from memoryapp.inspector.facts.bulk import Action, Picked
from memoryapp.inspector.facts.fact_filters import FactFilters
from memoryapp.inspector.posted import one_of, uuid_or_none, whole_number
from memoryapp.inspector.typed_word import AT_MOST, TYPED_ABOVE, is_typed, mark
from memoryapp.inspector.views import render_page
from memoryapp.longterm import queries

NOTHING_PICKED = gettext_lazy("Pick the facts first, or choose all that match.")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a form asks for. ``is_all``: every fact that the filters find, not only those that were picked."""

    action: Action
    picked: Picked
    filters: FactFilters
    is_all: bool
    kind: str


@login_required
@require_POST
def facts_bulk(request: HttpRequest) -> HttpResponse:
    """A form that asks for more than a few facts is answered by the page that says what happens to them."""
    user_id = subject(request)
    filters = FactFilters.of(QueryDict(request.POST.get("query", "").removeprefix("?")).dict())
    back = reverse("inspector:facts") + filters.query()
    try:
        asked = _asked(user_id, request.POST, filters)
        if len(asked.picked.ids) > TYPED_ABOVE and not is_typed(
            request.POST, asked.picked.ids, word=asked.action.typed
        ):
            return _confirmation(request, user_id, asked)
        bulk.do(request, user_id, asked.action, asked.picked, kind=asked.kind, now=timezone.now())
    except MemoryAppError as error:
        messages.error(request, str(error))
    return redirect(back)


def _asked(user_id: UUID, values: QueryDict, filters: FactFilters) -> _Asked:
    """Raises InvalidInputError."""
    action = Action(one_of(set(Action), values.get("do", "")))
    is_all = bool(values.get("all"))
    picked = _all_matching(user_id, filters) if is_all else _picked(values.getlist("fact"))
    if not picked.ids:
        raise InvalidInputError(gettext("Nothing matches any more.") if is_all else str(NOTHING_PICKED))
    kind = queries.get_kind(slug).slug if (slug := values.get("kind", "")) else ""
    if action == Action.CHANGE_KIND and not kind:
        raise InvalidInputError(gettext("Choose the kind that they become."))
    return _Asked(action, picked, filters, is_all, kind)


def _all_matching(user_id: UUID, filters: FactFilters) -> Picked:
    rows = fact_filters.rows(user_id, filters, now=timezone.now())
    return Picked(queries.ids_of(rows, limit=AT_MOST), {})


def _picked(values: Sequence[str]) -> Picked:
    """Of "id.version" each."""
    versions = {}
    for value in values[:AT_MOST]:
        name, _, version = value.partition(".")
        memory_id = uuid_or_none(name)
        if memory_id:
            versions[memory_id] = whole_number(version)
    return Picked(list(versions), versions)


def _confirmation(request: HttpRequest, user_id: UUID, asked: _Asked) -> HttpResponse:
    count = len(asked.picked.ids)
    rows = queries.memories(user_id, status="any").filter(id__in=asked.picked.ids)
    kinds = list(queries.statement_kinds())
    was_typed = "typed" in request.POST
    context = {
        "action": asked.action,
        "title": asked.action.question(count),
        "count": count,
        "shown": mark(asked.picked.ids),
        "counts": queries.counts_by_kind(user_id, rows),
        "is_capped": asked.is_all and count == AT_MOST,
        "kind": next((kind for kind in kinds if kind.slug == asked.kind), None),
        "query": asked.filters.query(),
        "facts": [] if asked.is_all else request.POST.getlist("fact"),
        "chips": fact_filters.chips(user_id, asked.filters, kinds=kinds),
        "back_url": reverse("inspector:facts") + asked.filters.query(),
        "problem": typed_word.problem(request.POST, asked.picked.ids, word=asked.action.typed),
        "samples": list(rows.order_by("-recorded_at", "-id").values_list("statement", flat=True)[:5]),
    }
    return render_page(request, "facts_bulk", context, status=422 if was_typed else 200)
