"""The list of facts: searched, filtered, sorted, by kind, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from memoryapp import rest
from memoryapp.inspector import presentation as show
from memoryapp.inspector import undoing
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.facts import fact_filters
from memoryapp.inspector.facts.bulk import Action
from memoryapp.inspector.facts.fact_filters import FactFilters
from memoryapp.inspector.presentation import MemoryRow
from memoryapp.inspector.views import PAGE, render_page
from memoryapp.longterm import queries
from memoryapp.longterm.models import Kind, Memory, MemoryQuerySet

FIRST_OF_KIND = 5  # rows of a section, grouped by kind


@dataclass(frozen=True, slots=True)
class Section:
    """The first facts of a kind, and how many there are."""

    label: str
    slug: str
    rationale: str
    count: int
    rows: Sequence[MemoryRow]
    url: str


@login_required
@require_GET
def facts(request: HttpRequest) -> HttpResponse:
    if request.GET.get("as_of"):
        return redirect(f"{reverse('inspector:as_of')}?day={request.GET['as_of'][:10]}")
    if not all(request.GET.values()):
        return redirect(_without_empty(request.GET))
    user_id = subject(request)
    kinds = list(queries.statement_kinds())
    filters, notes = _known(FactFilters.of(request.GET.dict()), request.GET, kinds)
    found = fact_filters.found(user_id, filters, now=timezone.now())
    context: dict[str, object] = {
        "notes": notes,
        "filters": filters,
        "choices": fact_filters,
        "chips": fact_filters.chips(user_id, filters, kinds=kinds),
        "kinds": kinds,
        "here": request.get_full_path(),
        "clear_url": FactFilters(sort=filters.sort, group=filters.group).url,
        "search_all_url": FactFilters(q=filters.q).url,
        "list_url": filters.without("group").url,
        "group_url": filters.query(group="kind"),
        "forgotten": undoing.forgotten_facts(request, user_id),
    }
    context |= (
        _by_kind(user_id, found.rows, filters) if filters.group else _page(request, found.rows, filters)
    )
    if not context.get("next_url"):
        may_fit = queries.with_uses(found.may_fit).defer("embedding", "terms")
        context["may_fit"] = [show.memory_row(memory) for memory in may_fit[: fact_filters.MAY_FIT_SHOWN]]
    return render_page(request, "facts", context)


def _without_empty(values: QueryDict) -> str:
    """The one address of a list: a form sends every filter, also those that are not on."""
    given = [(name, value) for name, several in values.lists() for value in several if value]
    address = reverse("inspector:facts")
    return f"{address}?{urlencode(given)}" if given else address


def _known(filters: FactFilters, values: QueryDict, kinds: Sequence[Kind]) -> tuple[FactFilters, list[str]]:
    """Without a kind or state that there is not, and what is said of each."""
    notes = []
    if filters.kind and filters.kind not in {kind.slug for kind in kinds}:
        note = gettext("There is no kind “{kind}”: facts of any kind are listed.")
        notes.append(note.format(kind=filters.kind[:60]))
        filters = filters.without("kind")
    if not filters.status and (status := values.get("status", "").strip()):
        note = gettext("There is no state “{state}”: what is in use is listed.")
        notes.append(note.format(state=status[:60]))
    return filters, notes


def _page(request: HttpRequest, rows: MemoryQuerySet, filters: FactFilters) -> dict[str, object]:
    shown = queries.with_uses(rows).defer("embedding", "terms")
    page, next_cursor = rest.page(shown, order=filters.order, cursor=request.GET.get("after", ""), limit=PAGE)
    total = rows.count()
    asks = filters.status in fact_filters.WAITING_STATES
    return {
        "memories": [show.memory_row(memory) for memory in page],
        "cards": show.waiting_cards(page) if asks else [],
        "actions": [Action.CONFIRM, Action.FORGET]
        if asks
        else [action for action in Action if _fits(action, filters)],
        "total": total,
        "next_url": filters.query(after=next_cursor) if next_cursor else "",
    }


def _by_kind(user_id: UUID, rows: MemoryQuerySet, filters: FactFilters) -> dict[str, object]:
    counts = queries.counts_by_kind(user_id, rows)
    order = [
        F(name.removeprefix("-")).desc() if name.startswith("-") else F(name).asc() for name in filters.order
    ]
    number = Window(RowNumber(), partition_by=[F("kind_id")], order_by=order)
    first = queries.with_uses(rows).defer("embedding", "terms").annotate(number=number)
    by_kind: dict[int, list[Memory]] = {}
    for memory in first.filter(number__lte=FIRST_OF_KIND).order_by("kind_id", "number"):
        by_kind.setdefault(memory.kind_id, []).append(memory)
    sections = [
        Section(
            label=gettext(kind.label),
            slug=kind.slug,
            rationale=gettext(kind.rationale),
            count=count,
            rows=[show.memory_row(memory) for memory in by_kind.get(kind.pk, [])],
            url=filters.query(kind=kind.slug, group=""),
        )
        for kind, count in counts
        if count
    ]
    return {"sections": sections, "total": sum(section.count for section in sections)}


def _fits(action: Action, filters: FactFilters) -> bool:
    """Of former values and what is wrong nothing but forgetting makes sense; what has expired can be brought back."""
    if filters.status in {"superseded", "set_aside"}:
        return action == Action.FORGET
    if filters.status == "expired":
        return action in {Action.BRING_BACK, Action.FORGET}
    if filters.lifetime == "kept":
        return action in {Action.FOLLOW, Action.CHANGE_KIND, Action.FORGET}
    return action not in {Action.CONFIRM, Action.BRING_BACK}
