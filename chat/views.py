"""The pages and actions of the chat. Each is typed input, one domain call, a response."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import sending, streaming
from chat.pages import (
    composer_context,
    conversation_page,
    form_key,
    form_text,
    form_uuid,
    fresh_list,
    is_temporary_asked,
    part,
    place_url,
    see,
    shown_text,
    turn_html,
)
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.lifecycle.daily_budget import DailyBudgetSpentError
from memoryapp.transcript import conversations, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Conversation, Turn


@login_required
@require_GET
def home(request: PageRequest) -> HttpResponse:
    """A new chat; ``?temporary=yes`` a temporary one, ``?deleted=<id>`` with the offer to undo a deletion."""
    return conversation_page(request, None)


@login_required
@require_GET
def conversation(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    return conversation_page(request, queries.get_conversation(caller(request).id, conversation_id))


@login_required
@require_POST
def start(request: PageRequest) -> HttpResponse:
    """A new conversation with its first message; the form's key makes a repeated click land in the same one."""
    try:
        first = sending.open_chat(
            caller(request),
            text=form_text(request),
            idempotency_key=form_key(request),
            now=timezone.now(),
            is_temporary=is_temporary_asked(request),
        )
    except (InvalidInputError, DailyBudgetSpentError) as error:
        return _refused(request, None, error)
    return see(reverse("chat:conversation", args=[first.conversation_id]))


@login_required
@require_POST
def send(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    user = caller(request)
    in_conversation = queries.get_conversation(user.id, conversation_id)
    try:
        posted, is_new = sending.post(
            user,
            conversation_id,
            text=form_text(request),
            idempotency_key=form_key(request),
            now=timezone.now(),
            after=None if "anyway" in request.POST else form_uuid(request.POST.get("after", "")),
        )
    except transcript.ConversationMovedOnError as error:
        return _moved_on(request, in_conversation, error)
    except (InvalidInputError, DailyBudgetSpentError) as error:
        return _refused(request, in_conversation, error)
    if not request.htmx:
        return see(place_url(posted))
    in_conversation = queries.get_conversation(user.id, conversation_id)
    # A repeated click adds nothing to the page; the composer is fresh either way.
    shown = turn_html(request, posted) if is_new else ""
    return HttpResponse(
        shown
        + part(request, "composer", composer_context(in_conversation))
        + part(request, "removed", {"removed": None})
        + fresh_list(request, in_conversation.id)
    )


@login_required
@require_GET
@never_cache
def turn(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """One turn as it stands: fetched when its stream has ended. As an address, it leads to its place in the chat."""
    found = queries.get_turn(caller(request).id, turn_id)
    if not request.htmx:
        return redirect(place_url(found))
    return HttpResponse(turn_html(request, found) + fresh_list(request, found.conversation_id))


@login_required
@require_GET
def stream(request: PageRequest, turn_id: UUID) -> HttpResponseBase:
    found = queries.get_turn(caller(request).id, turn_id)
    is_over = found.status not in Turn.LIVE
    if is_over:
        return streaming.sse_response(streaming.ended(found.status))
    seen = request.headers.get("Last-Event-ID") or request.GET.get("seen", "")
    return streaming.sse_response(streaming.html_frames(found, seen=seen))


@login_required
@require_POST
def stop(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """What is being written ends when its worker notices, which the stream tells; what waits ends here."""
    stopped = sending.stop(caller(request), turn_id)
    if not request.htmx:
        return see(place_url(stopped))
    if stopped.status in Turn.LIVE:
        return HttpResponse(status=204)
    return HttpResponse(turn_html(request, stopped) + fresh_list(request, stopped.conversation_id))


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
        return HttpResponse(turn_html(request, retried))
    return see(place_url(retried))


@login_required
@require_POST
def rename(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    conversations.change_conversation(
        caller(request).id, conversation_id, title=request.POST.get("title", "")
    )
    messages.success(request, gettext("Renamed."))
    return see(reverse("chat:conversation", args=[conversation_id]))


@login_required
@require_POST
def switch_memory(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Both switches at once: an unchecked box is absent from the form."""
    conversations.change_conversation(
        caller(request).id,
        conversation_id,
        use_memory="use_memory" in request.POST,
        save_memory="save_memory" in request.POST,
    )
    return see(reverse("chat:conversation", args=[conversation_id]))


@login_required
@require_POST
def delete(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """At once. The fresh page offers to undo it, unless the chat was temporary."""
    user = caller(request)
    sending.delete(user, conversation_id)
    if queries.is_restorable(user.id, conversation_id):
        return see(f"{reverse('chat:home')}?{urlencode({'deleted': conversation_id})}")
    closed = gettext("The temporary chat is closed, and everything that was said in it is deleted.")
    messages.success(request, closed)
    return see(reverse("chat:home"))


@login_required
@require_POST
def restore(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Undo a deletion; of a chat that was never deleted, or is back already, it is the way to it."""
    user_id = caller(request).id
    if queries.is_restorable(user_id, conversation_id):
        conversations.restore_conversation(user_id, conversation_id)
        messages.success(request, gettext("The chat is back."))
    queries.get_conversation(user_id, conversation_id)
    return see(reverse("chat:conversation", args=[conversation_id]))


def _refused(
    request: PageRequest, in_conversation: Conversation | None, error: MemoryAppError
) -> HttpResponse:
    """The reason, with the text still in the box."""
    if request.htmx:
        return render(request, "_error.html", {"message": str(error)}, status=error.http_status)
    return conversation_page(
        request, in_conversation, form_error=str(error), draft=shown_text(request), status=error.http_status
    )


def _moved_on(
    request: PageRequest, in_conversation: Conversation, error: transcript.ConversationMovedOnError
) -> HttpResponse:
    """Nothing was sent: what is new comes first, unless the person says that it does not matter."""
    if request.htmx:
        context = {"conversation": in_conversation, "moved_on": error}
        return render(request, "chat/_composer.html#moved-on", context, status=error.http_status)
    return conversation_page(
        request, in_conversation, moved_on=error, draft=shown_text(request), status=error.http_status
    )


def _not_retried(
    request: PageRequest, turn_id: UUID, error: transcript.TurnNotRetryableError
) -> HttpResponse:
    """The turn as it stands, which another tab has moved on, and why nothing was done."""
    why = render_to_string("_error.html", {"message": str(error)}, request)
    html = turn_html(request, queries.get_turn(caller(request).id, turn_id))
    alert = f'<hx-partial hx-target="#alert" hx-swap="innerHTML">{why}</hx-partial>'
    return HttpResponse(html + alert, status=error.http_status)
