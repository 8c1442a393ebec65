"""The pages and actions of the chat. Each is typed input, one domain call, a response."""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import sending, streaming
from chat.context_processors import LISTED
from chat.presentation import conversation_groups, turn_views
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.errors import InvalidInputError
from memoryapp.llm.registry import get_chat_model
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries, search
from memoryapp.transcript.models import Conversation, Turn

SHOWN = 100  # turns on a page; earlier ones are one click away

STARTERS = (
    "I only drink green tea, never coffee.",
    "What do you know about me?",
    "From now on, answer me in short sentences.",
)
OFFLINE_NOTICE = {
    "title": "The built-in responder is answering",
    "body": (
        "It is not a language model: it remembers, recalls, tells the time and calculates. To connect Claude, set "
        "ANTHROPIC_API_KEY and restart; for Ollama, llama.cpp or vLLM, set ANTHROPIC_BASE_URL to its address."
    ),
}


@login_required
@require_GET
def home(request: PageRequest) -> HttpResponse:
    return _page(request, None)


@login_required
@require_GET
def conversation(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    return _page(request, queries.get_conversation(caller(request).id, conversation_id))


@login_required
@require_POST
def start(request: PageRequest) -> HttpResponse:
    """A new conversation with its first message; the form's key makes a repeated click land in the same one."""
    try:
        first = transcript.open_conversation(
            caller(request), text=_text(request), idempotency_key=_key(request), now=timezone.now()
        )
    except InvalidInputError as error:
        return _refused(request, None, error)
    return redirect("chat:conversation", first.conversation_id)


@login_required
@require_POST
def send(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    user = caller(request)
    in_conversation = queries.get_conversation(user.id, conversation_id)
    try:
        posted, is_new = transcript.post_turn(
            user, conversation_id, text=_text(request), idempotency_key=_key(request), now=timezone.now()
        )
    except InvalidInputError as error:
        return _refused(request, in_conversation, error)
    if not request.htmx:
        return redirect("chat:conversation", conversation_id)
    # A repeated click adds nothing to the page; the composer is fresh either way.
    shown = _turn_html(request, posted) if is_new else ""
    return HttpResponse(
        shown + _fresh_composer(request, in_conversation) + _fresh_list(request, in_conversation.id)
    )


@login_required
@require_GET
@never_cache
def turn(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """One turn as it stands: fetched when its stream has ended."""
    found = queries.get_turn(caller(request).id, turn_id)
    if not request.htmx:
        return redirect(f"{reverse('chat:conversation', args=[found.conversation_id])}#turn-{found.id}")
    return HttpResponse(_turn_html(request, found) + _fresh_list(request, found.conversation_id))


@login_required
@require_GET
def stream(request: PageRequest, turn_id: UUID) -> HttpResponseBase:
    found = queries.get_turn(caller(request).id, turn_id)
    is_over = found.status not in Turn.LIVE
    return streaming.sse_response(streaming.ended(found.status) if is_over else streaming.html_frames(found))


@login_required
@require_POST
def stop(request: PageRequest, turn_id: UUID) -> HttpResponse:
    stopped = sending.stop(caller(request), turn_id)
    if request.htmx:
        return HttpResponse(status=204)
    return redirect("chat:conversation", stopped.conversation_id)


@login_required
@require_POST
def retry(request: PageRequest, turn_id: UUID) -> HttpResponse:
    try:
        retried = sending.retry(caller(request), turn_id)
    except transcript.TurnNotRetryableError as error:
        if not request.htmx:
            raise
        return _not_retried(request, turn_id, error)
    if request.htmx:
        return HttpResponse(_turn_html(request, retried))
    return redirect("chat:conversation", retried.conversation_id)


@login_required
@require_POST
def rename(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    transcript.change_conversation(caller(request).id, conversation_id, title=request.POST.get("title", ""))
    messages.success(request, "Renamed.")
    return redirect("chat:conversation", conversation_id)


@login_required
@require_POST
def switch_memory(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Both switches at once: an unchecked box is absent from the form."""
    transcript.change_conversation(
        caller(request).id,
        conversation_id,
        use_memory="use_memory" in request.POST,
        save_memory="save_memory" in request.POST,
    )
    return redirect("chat:conversation", conversation_id)


@login_required
@require_POST
def delete(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    transcript.delete_conversation(caller(request).id, conversation_id)
    messages.success(request, "The chat is deleted.")
    return redirect("chat:home")


def _page(
    request: PageRequest,
    shown: Conversation | None,
    *,
    form_error: str = "",
    draft: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        **_listed(request, shown.id if shown else None),
        "conversation": shown,
        "form_error": form_error,
        "draft": draft,
        "idempotency_key": str(uuid4()),
        "model_notice": OFFLINE_NOTICE if get_chat_model().name == "offline" else None,
        "starters": STARTERS,
    }
    if shown:
        context |= _turns(request, shown)
    return render(request, "chat/conversation.html", context, status=status)


def _turns(request: PageRequest, shown: Conversation) -> dict[str, Any]:
    """The newest page of turns, or the one asked for by ``?before=<seq>``."""
    user_id = caller(request).id
    before = request.GET.get("before", "")
    rows = queries.turns(user_id, shown.id)
    if before.isascii() and before.isdigit():
        rows = rows.filter(seq__lt=int(before[:9]))
    newest_first = list(rows.reverse()[: SHOWN + 1])
    page = newest_first[:SHOWN][::-1]
    has_older = len(newest_first) > SHOWN
    return {
        "turns": turn_views(user_id, page, summary=queries.current_summary(user_id, shown.id)),
        "older_url": f"?before={page[0].seq}" if has_older else "",
    }


def _turn_html(request: PageRequest, shown: Turn) -> str:
    views = turn_views(caller(request).id, [shown])
    return render_to_string("chat/conversation.html#turn", {"turn": views[0]}, request)


def _fresh_composer(request: PageRequest, in_conversation: Conversation) -> str:
    context = {
        "conversation": in_conversation,
        "idempotency_key": str(uuid4()),
        "draft": "",
        "form_error": "",
    }
    html = render_to_string("chat/conversation.html#composer", context, request)
    return f'<hx-partial hx-target="#composer" hx-swap="outerHTML">{html}</hx-partial>'


def _fresh_list(request: PageRequest, current_id: UUID) -> str:
    """The list of chats as it stands: their order, their titles, and who is answering."""
    html = render_to_string("chat/conversation.html#conversations", _listed(request, current_id), request)
    return f'<hx-partial hx-target="#conversations" hx-swap="outerHTML">{html}</hx-partial>'


def _listed(request: PageRequest, current_id: UUID | None) -> dict[str, Any]:
    user_id = caller(request).id
    searched = _searched(request)
    said: dict[UUID, str] = {}
    if searched:
        rows, said = search.search_conversations(user_id, searched)
    else:
        rows = queries.conversation_list(user_id)
    here = reverse("chat:conversation", args=[current_id]) if current_id else reverse("chat:home")
    return {
        "conversation_groups": conversation_groups(rows[:LISTED], current_id=current_id, said=said),
        "searched": searched,
        "search_url": here,
    }


def _searched(request: PageRequest) -> str:
    """The words in the search box, also when only a part of the page is asked for."""
    page_url = request.htmx.current_url if request.htmx else None
    query = QueryDict(urlsplit(page_url).query) if page_url else request.GET
    return query.get("q", "").replace("\x00", " ").strip()


def _refused(
    request: PageRequest, in_conversation: Conversation | None, error: InvalidInputError
) -> HttpResponse:
    """The reason, with the text still in the box."""
    if request.htmx:
        return render(request, "_error.html", {"message": str(error)}, status=error.http_status)
    text = _text(request).replace("\x00", "").encode(errors="ignore").decode()
    return _page(request, in_conversation, form_error=str(error), draft=text, status=error.http_status)


def _not_retried(
    request: PageRequest, turn_id: UUID, error: transcript.TurnNotRetryableError
) -> HttpResponse:
    """The turn as it stands, which another tab has moved on, and why nothing was done."""
    why = render_to_string("_error.html", {"message": str(error)}, request)
    html = _turn_html(request, queries.get_turn(caller(request).id, turn_id))
    alert = f'<hx-partial hx-target="#alert" hx-swap="innerHTML">{why}</hx-partial>'
    return HttpResponse(html + alert, status=error.http_status)


def _text(request: PageRequest) -> str:
    return request.POST.get("text", "")


def _key(request: PageRequest) -> str:
    return request.POST.get("idempotency_key", "")[:200] or str(uuid4())
