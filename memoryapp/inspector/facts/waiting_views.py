"""What waits for its person's word: to decide one by one, or to forget all of a source at once."""

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.errors import InvalidInputError, StaleVersionError
from memoryapp.inspector import break_glass, undoing
from memoryapp.inspector import presentation as show
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.facts.settling import Settled
from memoryapp.inspector.posted import next_page, version_of
from memoryapp.inspector.typed_word import TYPED_ABOVE, is_typed, mark
from memoryapp.inspector.undoing import Offer
from memoryapp.inspector.views import next_url, render_page
from memoryapp.longterm import forgettings, queries, tallies
from memoryapp.longterm.tallies import WaitingSource
from memoryapp.longterm.unsettling import unsettle

PAGE: Final = 20  # cards, each of which is read
TYPED: Final = pgettext_lazy("a word to type", "forget")
AT_ONCE: Final = 10_000
COUNTING: Final = (
    ("inspector/pending.html", "pending-count"),
    ("inspector/pending.html", "pending-sources"),
    ("inspector/pending.html", "pending-rest"),
    ("inspector/base.html", "tab-pending"),
    ("base.html", "nav-pending"),
)


@login_required
@require_GET
def pending(request: HttpRequest) -> HttpResponse:
    return _pending(request, break_glass.subject(request), source=request.GET.get("source", ""))


@login_required
@require_POST
def pending_forget(request: HttpRequest) -> HttpResponse:
    """All that waits, or all of one source; more than a few with a typed word, for as many as there are."""
    user_id, name = break_glass.subject(request), request.POST.get("source", "")
    source = _source(tallies.waiting_sources(user_id), name)
    if name and source is None:
        messages.info(request, gettext("Nothing waits from there any more."))
        return _see(reverse("inspector:pending"))
    ids = queries.ids_of(tallies.waiting(user_id, source=source), limit=AT_ONCE)
    if not ids:
        messages.info(request, gettext("Nothing waits for your word any more."))
        return _see(reverse("inspector:pending"))
    is_as_shown = request.POST.get("shown") == mark(ids)
    if not is_as_shown or (len(ids) > TYPED_ABOVE and not is_typed(request.POST, ids, word=str(TYPED))):
        problem = (
            gettext("Type the word “{word}”.").format(word=TYPED)
            if is_as_shown
            else gettext("What waits changed meanwhile: {n} now. Look again.").format(n=count_text(len(ids)))
        )
        return _pending(request, user_id, source=name, problem=problem, status=422)
    act = forgettings.forget(user_id, ids, now=timezone.now())
    text = ngettext(
        "Forgotten: the memory that waited. What was in use stays.",
        "Forgotten: {n} memories that waited. What was in use stays.",
        len(ids),
    )
    undoing.offer_forgetting(request, act, text=text.format(n=count_text(len(ids))))
    return _see(reverse("inspector:pending"))


@login_required
@require_POST
def fact_unsettle(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Take back a yes to what waited."""
    try:
        unsettle(break_glass.subject(request), memory_id, version=version_of(request), now=timezone.now())
    except (InvalidInputError, StaleVersionError) as error:
        messages.error(request, f"{gettext('It stays decided.')} {error}")
    else:
        messages.success(request, gettext("It waits for your word again. What it had replaced is in use."))
    return _see(next_page(request.POST) or reverse("inspector:pending"))


def decided(request: HttpRequest, memory_id: UUID, settled: Settled, way_back: Offer) -> HttpResponse:
    """What an answer did, in place of its card, and all that counts what waits."""
    user_id = break_glass.subject(request)
    sources = tallies.waiting_sources(user_id)
    name = request.POST.get("source", "")
    context = _counted(user_id, sources, _source(sources, name))
    if name and context["chosen"] is None:
        context["count"] = 0  # of the page's own source; there may be others
    context |= {"id": memory_id, "settled": settled, "offer": way_back}
    context["pending_count"] = sum(each.count for each in sources)
    page = render_to_string("inspector/pending.html#decided", context, request)
    parts = (_part(request, *names, context) for names in COUNTING)
    return HttpResponse(page + "".join(parts))


def _part(request: HttpRequest, template: str, name: str, context: dict[str, Any]) -> str:
    html = render_to_string(f"{template}#{name}", context, request)
    return f'<hx-partial hx-target="#{name}" hx-swap="outerHTML">{html}</hx-partial>'


def _counted(user_id: UUID, sources: list[WaitingSource], chosen: WaitingSource | None) -> dict[str, Any]:
    return {
        "sources": sources,
        "chosen": chosen,
        "count": chosen.count if chosen else sum(each.count for each in sources),
        "shown": mark(queries.ids_of(tallies.waiting(user_id, source=chosen), limit=AT_ONCE)),
        "typed_above": TYPED_ABOVE,
        "typed": TYPED,
    }


def _pending(
    request: HttpRequest, user_id: UUID, *, source: str, problem: str = "", status: int = 200
) -> HttpResponse:
    sources = tallies.waiting_sources(user_id)
    chosen = _source(sources, source)
    page, cursor = rest.page(
        tallies.waiting(user_id, source=chosen),
        order=("-recorded_at", "-id"),
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    query = urlencode({"source": chosen.name}) if chosen else ""
    context = _counted(user_id, sources, chosen) | {
        "cards": show.waiting_cards(page),
        "here": reverse("inspector:pending") + (f"?{query}" if query else ""),
        "problem": problem,
        "next_url": next_url({"source": chosen.name if chosen else ""}, cursor),
    }
    return render_page(request, "pending", context, status=status)


def _source(sources: list[WaitingSource], name: str) -> WaitingSource | None:
    return next((source for source in sources if source.name == name), None)


def _see(url: str) -> HttpResponse:
    return HttpResponseRedirect(url, status=303)
