"""The page of a chat as a whole and in its parts: what the views of the chat answer with."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from chat.list_presentation import sidebar_groups
from chat.presentation import TurnView, kept_lines, marker, removed, turn_views
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.llm.registry import get_chat_model
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.tooling import queries as tooling
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Turn
from memoryapp.tuning import queries as tuning

SHOWN = 100  # turns on a page; earlier ones are one click away

# In English for the built-in responder, which understands little else.
STARTERS = (
    gettext_noop("I only drink green tea, never coffee."),
    gettext_noop("What do you know about me?"),
    gettext_noop("From now on, answer me in short sentences."),
)
OFFLINE_NOTICE = {
    "title": gettext_lazy("The built-in responder is answering"),
    "body": gettext_lazy(
        "It is not a language model: it remembers, recalls, tells the time and calculates. To connect Claude, set "
        "ANTHROPIC_API_KEY and restart; for Ollama, llama.cpp or vLLM, set ANTHROPIC_BASE_URL to its address."
    ),
}


def conversation_page(
    request: PageRequest,
    shown: Conversation | None,
    *,
    form_error: str = "",
    moved_on: transcript.ConversationMovedOnError | None = None,
    draft: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        **_listed(request, shown.id if shown else None),
        **composer_context(shown),
        "form_error": form_error,
        "moved_on": moved_on,
        "draft": draft,
        "is_temporary": shown.is_temporary if shown else is_temporary_asked(request),
        "temporary_hours": tuning.conf().temporary_hours,
    }
    if shown:
        context |= thread_context(shown, before=_before(request))
        context["has_tool_servers"] = tooling.has_servers()
        context["refresh_url"] = _refresh_url(request, shown, context["turns"])
    else:
        is_offline = get_chat_model().name == "offline"
        context |= {
            "model_notice": OFFLINE_NOTICE if is_offline else None,
            "starters": STARTERS if is_offline else [gettext(starter) for starter in STARTERS],
            "deleted_id": _deleted(request),
        }
    return render(request, "chat/conversation.html", context, status=status)


def thread_context(shown: Conversation, *, before: int | None = None) -> dict[str, Any]:
    """The newest page of turns, or the one that ends before the number ``before``, and what stands around them."""
    rows = queries.turns(shown.user_id, shown.id)
    if before is not None:
        rows = rows.filter(seq__lt=before)
    newest_first = list(rows.reverse()[: SHOWN + 1])
    page = newest_first[:SHOWN][::-1]
    has_older = len(newest_first) > SHOWN
    has_newer = bool(page) and page[-1].seq < shown.last_seq
    views = turn_views(shown, page)
    return {
        "conversation": shown,
        "turns": views,
        "allowed": scratchpad.grants(shown.user_id, shown.id),
        "waits_for_a_person": any(view.wait and view.wait.is_for_a_person for view in views),
        "marker": marker(queries.current_summary(shown.user_id, shown.id), page),
        "kept": kept_lines(shown),
        "older_url": f"?before={page[0].seq}" if has_older else "",
        "has_newer": has_newer,
        "removed": None if has_newer else removed(shown),
    }


def thread_response(request: PageRequest, place: Turn, *, said: str) -> HttpResponse:
    """The chat around a turn, after its branches changed: for htmx its parts, else the way to the page.

    ``said`` announces what was done; a new turn announces itself.
    """
    shown = queries.get_conversation(place.user_id, place.conversation_id)
    url = place_url(place)
    if not request.htmx:
        return see(url)
    context = thread_context(shown, before=_page_end(shown, place.seq))
    context |= composer_context(shown)
    parts = ("earlier", "removed", "newest", "kept", "composer-after")
    response = HttpResponse(
        render_to_string("chat/conversation.html#turns", context, request)
        + "".join(part(request, name, context) for name in parts)
        + (announcement(said) if said else "")
        + fresh_list(request, shown.id)
    )
    response["HX-Replace-Url"] = url.partition("#")[0]
    return response


def place_url(place: Turn) -> str:
    """The page of the chat on which a turn stands, at its place."""
    end = _page_end(place.conversation, place.seq)
    query = f"?before={end}" if end else ""
    anchor = f"turn-{place.id}" if place.is_current else "removed"
    return f"{reverse('chat:conversation', args=[place.conversation_id])}{query}#{anchor}"


def _refresh_url(request: PageRequest, shown: Conversation, turns: Sequence[TurnView]) -> str:
    """The page anew, at its last turn. Its query changes each time, as browsers only scroll to another fragment."""
    query = request.GET.copy()
    if query.pop("anew", None) is None:
        query["anew"] = "yes"
    page = reverse("chat:conversation", args=[shown.id])
    return f"{page}?{query.urlencode()}#turn-{turns[-1].id}" if turns else page


def _page_end(shown: Conversation, seq: int) -> int | None:
    """Before which number a page ends that has a turn in its middle; None when it is on the newest page."""
    return seq + SHOWN // 2 if shown.last_seq - seq >= SHOWN else None


def _before(request: PageRequest) -> int | None:
    before = request.GET.get("before", "")
    return int(before[:9]) if before.isascii() and before.isdigit() else None


def turn_html(request: PageRequest, shown: Turn) -> str:
    views = turn_views(shown.conversation, [shown])
    return render_to_string("chat/_turn.html", {"turn": views[0]}, request)


def waiting_html(request: PageRequest, shown: Turn) -> str:
    """What the turn waits for and what was decided in it, in the place that each live turn has for it."""
    views = turn_views(shown.conversation, [shown])
    return render_to_string("chat/_waiting.html", {"turn": views[0]}, request)


def allowed_html(request: PageRequest, shown: Conversation) -> str:
    """The tools that need not ask in the conversation, in place of those that were listed."""
    context = {"conversation": shown, "allowed": scratchpad.grants(shown.user_id, shown.id)}
    html = render_to_string("chat/_allowed.html", context, request)
    return f'<hx-partial hx-target="#allowed" hx-swap="outerHTML">{html}</hx-partial>'


def composer_context(shown: Conversation | None) -> dict[str, Any]:
    """An empty message box. ``after``: the turn below which its message is written."""
    last_id = queries.turns(shown.user_id, shown.id).values_list("id", flat=True).last() if shown else None
    return {
        "conversation": shown,
        "idempotency_key": str(uuid4()),
        "after": last_id or "",
        "draft": "",
        "form_error": "",
    }


def part(request: PageRequest, name: str, context: dict[str, Any]) -> str:
    """A part of the page that takes the place of the element with its name."""
    html = render_to_string(f"chat/conversation.html#{name}", context, request)
    return f'<hx-partial hx-target="#{name}" hx-swap="outerHTML">{html}</hx-partial>'


def announcement(said: str) -> str:
    """For who cannot see what changed."""
    return f'<hx-partial hx-target="#status" hx-swap="innerHTML">{escape(said)}</hx-partial>'


def fresh_list(request: PageRequest, current_id: UUID) -> str:
    """The list of chats as it stands: their order, their titles, and who is answering."""
    html = render_to_string("chat/_sidebar.html#conversations", _listed(request, current_id), request)
    return f'<hx-partial hx-target="#conversations" hx-swap="outerHTML">{html}</hx-partial>'


def _listed(request: PageRequest, current_id: UUID | None) -> dict[str, Any]:
    searched = _searched(request)
    groups = sidebar_groups(caller(request).id, current_id=current_id, searched=searched)
    here = reverse("chat:conversation", args=[current_id]) if current_id else reverse("chat:home")
    return {
        "conversation_groups": groups,
        "searched": searched,
        "search_url": here,
    }


def _searched(request: PageRequest) -> str:
    """The words in the search box, also when only a part of the page is asked for."""
    page_url = request.htmx.current_url if request.htmx else None
    query = QueryDict(urlsplit(page_url).query) if page_url else request.GET
    return query.get("q", "").replace("\x00", " ").strip()


def _deleted(request: PageRequest) -> UUID | None:
    """The chat whose deletion can be undone on this page."""
    deleted_id = form_uuid(request.GET.get("deleted", ""))
    is_known = deleted_id is not None and queries.is_restorable(caller(request).id, deleted_id)
    return deleted_id if is_known else None


def is_temporary_asked(request: PageRequest) -> bool:
    return "temporary" in request.POST or "temporary" in request.GET


def see(url: str) -> HttpResponse:
    """After a form: see there what became of it (303)."""
    return HttpResponseRedirect(url, status=303)


def form_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def shown_text(request: PageRequest) -> str:
    """What was sent, as far as a page can show it again."""
    return form_text(request).replace("\x00", "").encode(errors="ignore").decode()


def form_text(request: PageRequest) -> str:
    return request.POST.get("text", "")


def form_key(request: PageRequest) -> str:
    return request.POST.get("idempotency_key", "")[:200] or str(uuid4())
