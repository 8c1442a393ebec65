"""The page of all chats: found, put away, deleted and brought back, one by one or many at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.views.decorators.http import require_GET, require_POST

from chat import sending
from chat.list_presentation import chat_rows, kept_for
from chat.pages import see
from memoryapp import rest
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.errors import InvalidInputError
from memoryapp.inspector import undoing
from memoryapp.inspector.posted import next_page
from memoryapp.transcript import conversations, queries, search
from memoryapp.transcript.models import Conversation
from memoryapp.transcript.snippets import Snippet

PAGE = 50
DELETED_WITHOUT_ASKING = 20
NAMED = 10  # of the chats that a confirmation is about
SEARCHED_CHARS = 200

Rows = Callable[[UUID], QuerySet[Conversation]]
# What each filter shows, and in which order.
SHOWN: dict[str, tuple[Rows, tuple[str, str]]] = {
    "all": (queries.conversation_list, ("-updated_at", "-id")),
    "pinned": (queries.pinned_conversations, ("-pinned_at", "-id")),
    "archived": (queries.archived_conversations, ("-updated_at", "-id")),
    "deleted": (queries.deleted_conversations, ("-deleted_at", "-id")),
}
FILTERS = {
    "all": pgettext_lazy("chats", "All"),
    "pinned": pgettext_lazy("chats", "Pinned"),
    "archived": pgettext_lazy("chats", "Archived"),
    "deleted": pgettext_lazy("chats", "Deleted"),
}


@dataclass(frozen=True, slots=True)
class View:
    """Which part of the list: every one has its address."""

    show: str
    q: str
    after: str

    @classmethod
    def of(cls, fields: QueryDict) -> "View":
        show = fields.get("show", "all")
        return cls(
            show=show if show in SHOWN else "all",
            q=fields.get("q", "").replace("\x00", " ").strip()[:SEARCHED_CHARS],
            after=fields.get("after", ""),
        )

    def url(self, **changes: str) -> str:
        fields = {"show": self.show, "q": self.q, "after": self.after} | changes
        kept = {name: value for name, value in fields.items() if value and (name, value) != ("show", "all")}
        address = reverse("chat:list")
        return f"{address}?{urlencode(kept)}" if kept else address


@login_required
@require_GET
def all_chats(request: HttpRequest) -> HttpResponse:
    view, user_id = View.of(request.GET), caller_id(request)
    rows, said = _rows(user_id, view)
    page, cursor = rest.page(rows, order=SHOWN[view.show][1], cursor=view.after, limit=PAGE)
    if view.after and not page:
        return redirect(view.url(after=""))  # all that was on it is gone
    context: dict[str, Any] = {
        "view": view,
        "chats": chat_rows(user_id, page, searched=view.q, said=said),
        "filters": [
            (label, view.url(show=name, after=""), name == view.show) for name, label in FILTERS.items()
        ],
        "clear_url": view.url(q="", after=""),
        "select_all_url": view.url(select="all"),
        "are_all_selected": request.GET.get("select") == "all",
        "first_url": view.url(after="") if view.after else "",
        "next_url": view.url(after=cursor) if cursor else "",
        "kept_for": kept_for(),
    }
    return render(request, "chat/conversations.html", context)


@login_required
@require_POST
def archive_many(request: HttpRequest) -> HttpResponse:
    changed = conversations.archive_conversations(caller_id(request), _chosen(request), is_archived=True)
    done = ngettext("{n} chat archived", "{n} chats archived", len(changed))
    return _back(request, changed, done, undo="chat:unarchive_many")


@login_required
@require_POST
def unarchive_many(request: HttpRequest) -> HttpResponse:
    changed = conversations.archive_conversations(caller_id(request), _chosen(request), is_archived=False)
    return _back(request, changed, _brought_back(changed))


@login_required
@require_POST
def delete_many(request: HttpRequest) -> HttpResponse:
    """At once and with an undo; a large number is asked about first, on a page that says how many."""
    chosen = _chosen(request)
    if len(chosen) > DELETED_WITHOUT_ASKING and request.POST.get("confirmed") != str(len(chosen)):
        return _asked(request, chosen)
    deleted = sending.delete_many(caller(request), chosen)
    done = ngettext("{n} chat deleted", "{n} chats deleted", len(deleted))
    return _back(request, deleted, done, undo="chat:restore_many")


@login_required
@require_POST
def restore_many(request: HttpRequest) -> HttpResponse:
    restored = conversations.restore_conversations(caller_id(request), _chosen(request))
    return _back(request, restored, _brought_back(restored))


@login_required
@require_POST
def pin(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    is_pinned = "pinned" in request.POST
    conversations.change_conversation(caller_id(request), conversation_id, is_pinned=is_pinned)
    pinned = gettext("Pinned: it stays on top of your chats.")
    messages.success(request, pinned if is_pinned else gettext("Unpinned."))
    return see(reverse("chat:conversation", args=[conversation_id]))


@login_required
@require_POST
def archive(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    is_archived = "archived" in request.POST
    conversations.change_conversation(caller_id(request), conversation_id, is_archived=is_archived)
    archived = gettext("Archived: it stays under All chats, and in no other list.")
    messages.success(request, archived if is_archived else gettext("Back in your list of chats."))
    return see(reverse("chat:conversation", args=[conversation_id]))


def _rows(user_id: UUID, view: View) -> tuple[QuerySet[Conversation], dict[UUID, Snippet]]:
    """What the filter shows, and by conversation what a search found in it.

    A search among all finds archived ones, too. What was said in a deleted one is searched no more.
    """
    rows = SHOWN[view.show][0](user_id)
    if not view.q:
        return rows, {}
    if view.show == "deleted":
        return rows.filter(title__icontains=view.q), {}
    found, said = search.search_conversations(user_id, view.q)
    return (found if view.show == "all" else found.filter(id__in=rows.values("id"))), said


def _chosen(request: HttpRequest) -> list[UUID]:
    """The chats that are ticked, those of an undo, or the one whose own button was used."""
    only = request.POST.getlist("only")
    try:
        return [UUID(value) for value in only or dict.fromkeys(" ".join(request.POST.getlist("id")).split())]
    except ValueError as error:
        raise InvalidInputError(gettext("The form is incomplete. Reload the page and try again.")) from error


def _asked(request: HttpRequest, chosen: list[UUID]) -> HttpResponse:
    rows = queries.conversation_list(caller_id(request), archived=None).filter(id__in=chosen)
    context = {
        "view": View.of(request.POST),
        "back_url": View.of(request.POST).url(),
        "ids": [row.id for row in rows],
        "named": rows[:NAMED],
        "others": max(0, len(rows) - NAMED),
        "kept_for": kept_for(),
    }
    return render(request, "chat/conversations_delete.html", context)


def _brought_back(changed: list[UUID]) -> str:
    return ngettext("{n} chat brought back", "{n} chats brought back", len(changed))


def _back(request: HttpRequest, changed: list[UUID], done: str, *, undo: str = "") -> HttpResponse:
    """To the same part of the list, which says what was done (``{n}``: to how many) and offers to undo just that."""
    if not changed:
        is_chosen = "id" in request.POST or "only" in request.POST
        messages.info(
            request, gettext("Nothing was changed.") if is_chosen else gettext("Choose the chats first.")
        )
    else:
        fields = {"id": " ".join(map(str, changed))} if undo else {}
        url = reverse(undo) if undo else ""
        undoing.offer(request, text=done.format(n=len(changed)), url=url, until=None, fields=fields)
    return see(next_page(request.POST) or View.of(request.POST).url())
