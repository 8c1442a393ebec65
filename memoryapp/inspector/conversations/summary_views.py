"""A version of a conversation's summary: to read, to compare, to correct, and to have made anew."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from memoryapp.accounts.auth import PageRequest
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.conversations import summary_presentation as show
from memoryapp.inspector.conversations import version_presentation as versions
from memoryapp.inspector.conversations.version_presentation import Waiting
from memoryapp.inspector.posted import uuid_of, whole_number
from memoryapp.inspector.views import render_page
from memoryapp.nudges import SUMMARISE_AGAIN, SUMMARISE_NOW, nudge
from memoryapp.transcript import queries, summaries
from memoryapp.transcript.models import Summary
from memoryapp.transcript.summaries import SummaryMovedOnError
from memoryapp.tuning import queries as tuning

VERSION_MAX = 2**31 - 1  # of its column


@login_required
@require_GET
def summary(request: HttpRequest, conversation_id: UUID, version: int) -> HttpResponse:
    shown = _get(subject(request), conversation_id, version)
    waiting = versions.waiting(shown.conversation, request.GET.get("newer_than", ""))
    if waiting and waiting.made_url:
        return redirect(waiting.made_url)
    return _page(request, shown, waiting=waiting)


@login_required
@require_POST
def edit(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The person's words in place of the version in use. When it is another by now, both are shown."""
    user_id, text = subject(request), request.POST.get("text", "")
    version = whole_number(request.POST.get("version", ""))
    try:
        edited = summaries.edit_summary(user_id, conversation_id, version=version, text=text)
    except SummaryMovedOnError as error:
        newest = queries.current_summary(user_id, conversation_id)
        shown = _get(user_id, conversation_id, newest.version if newest else version)
        return _page(request, shown, draft=text, problem=str(error), has_moved_on=True, status=409)
    except InvalidInputError as error:
        shown = _get(user_id, conversation_id, version)
        return _page(request, shown, draft=text, problem=str(error), status=error.http_status)
    messages.success(request, gettext("Saved. The model reads your text from the next message on."))
    return redirect(versions.summary_url(edited))


@login_required
@require_POST
def make(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Ask the background for a version: of more messages, or (``again``) of the same ones anew."""
    user_id = subject(request)
    conversation = queries.get_conversation(user_id, conversation_id)
    newest = queries.summaries(user_id, conversation_id).first()
    nudge(SUMMARISE_AGAIN if "again" in request.POST else SUMMARISE_NOW, conversation.id)
    shown = queries.current_summary(user_id, conversation_id) if "again" in request.POST else None
    page = versions.summary_url(shown) if shown else reverse("inspector:conversation", args=[conversation_id])
    return redirect(f"{page}?{urlencode({'newer_than': newest.version if newest else 0})}")


@login_required
@require_GET
@never_cache
def progress(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """For the page that waits: the version when it is there, else the same notice, which looks again."""
    conversation = queries.get_conversation(subject(request), conversation_id)
    looks = whole_number(request.GET.get("looks", "0"))
    waiting = versions.waiting(conversation, request.GET.get("newer_than", ""), looks=looks)
    if not request.htmx or waiting is None:
        return redirect("inspector:conversation", conversation_id)
    if waiting.made_url:
        return HttpResponseClientRedirect(waiting.made_url)
    return render(request, "inspector/_summary_waiting.html", {"waiting": waiting})


@login_required
@require_POST
def pin(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Keep a sentence word for word in every prompt of the conversation from now on."""
    user_id = subject(request)
    queries.get_conversation(user_id, conversation_id)
    line = summaries.pin_line(
        user_id, uuid_of(request.POST.get("turn", "")), text=request.POST.get("text", "")
    )
    if request.htmx:
        return HttpResponse(_kept_html(request, user_id, line.conversation_id))
    messages.success(request, gettext("Kept. It stands word for word in every prompt of this chat."))
    return redirect(f"{_back(request, line.conversation_id)}#left-out")


@login_required
@require_POST
def unpin(request: HttpRequest, line_id: UUID) -> HttpResponse:
    line = summaries.unpin_line(subject(request), line_id)
    messages.success(request, gettext("Taken off. It is still in the chat, and no longer in every prompt."))
    return redirect(_back(request, line.conversation_id))


def _get(user_id: UUID, conversation_id: UUID, version: int) -> Summary:
    queries.get_conversation(user_id, conversation_id)
    rows = queries.summaries(user_id, conversation_id).select_related(
        "conversation", "last_turn", "replaces__last_turn"
    )
    found = rows.filter(version=min(version, VERSION_MAX)).first()
    if found is None:
        raise NotFoundError(gettext("There is no such summary."))
    return found


def _page(
    request: HttpRequest,
    shown: Summary,
    *,
    waiting: Waiting | None = None,
    draft: str = "",
    problem: str = "",
    has_moved_on: bool = False,
    status: int = 200,
) -> HttpResponse:
    page = show.summary_page(shown, is_long=request.GET.get("left_out") == "all")
    most = tuning.conf().summary_max_tokens
    context = {
        "conversation": shown.conversation,
        "summary": page,
        "waiting": waiting,
        "draft": draft or page.text,
        "form_error": problem,
        "has_moved_on": has_moved_on,
        "max_tokens": most,
        "max_words": most * 3 // 4,  # in English; others need more tokens for a word
    }
    return render_page(request, "summary", context, status=status)


def _kept_html(request: PageRequest, user_id: UUID, conversation_id: UUID) -> str:
    """What takes the button's place, and the pinned lines as they stand now."""
    lines = queries.pinned_lines(user_id, conversation_id).prefetch_related("turn__messages")
    pinned = {"pinned": [show.pinned_row(line) for line in lines], "version": request.POST.get("version", "")}
    kept = render_to_string("inspector/_summary_pinned.html#kept", {}, request)
    listed = render_to_string("inspector/_summary_pinned.html#list", pinned, request)
    return f'{kept}<hx-partial hx-target="#pinned" hx-swap="outerHTML">{listed}</hx-partial>'


def _back(request: HttpRequest, conversation_id: UUID) -> str:
    """The page of the version that was looked at, when the form names one."""
    version = request.POST.get("version", "")
    if version.isascii() and version.isdigit():
        return versions.version_url(conversation_id, int(version[:9]))
    return reverse("inspector:conversation", args=[conversation_id])
