"""What a person does about a turn that waits: approve or deny a call, let it go on.

With htmx the card changes in place, and the stream of the turn goes on; without scripts each is a form that leads back
to the turn's place in the chat.
"""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import sending
from chat.pages import allowed_html, conversation_page, fresh_list, place_url, see, waiting_html
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.errors import MemoryAppError
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad.approvals import REASON_MAX_CHARS, ApprovalChangedError, ApprovalClosedError
from memoryapp.transcript import queries
from memoryapp.transcript.claims import TurnNotWaitingError
from memoryapp.transcript.models import Turn


@login_required
@require_GET
@never_cache
def waiting(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """The card of a turn as it stands: empty when it waits for nothing."""
    found = queries.get_turn(caller(request).id, turn_id)
    if not request.htmx:
        return redirect(place_url(found))
    return _card(request, found)


@login_required
@require_POST
def decide(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """A person's word on one call: "once", "always" in this chat, or anything else for no."""
    decision = request.POST.get("decision", "")
    try:
        decided = sending.decide(
            caller(request),
            turn_id,
            request.POST.get("tool_use_id", ""),
            approve=decision in {"once", "always"},
            nonce=request.POST.get("nonce", ""),
            always=decision == "always",
            reason=request.POST.get("reason", "").strip()[:REASON_MAX_CHARS],
        )
    except (ApprovalClosedError, ApprovalChangedError) as error:
        return _not_done(request, turn_id, error, title=gettext("Your answer was not taken"))
    return _done(request, decided)


@login_required
@require_POST
def resume(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """Try the model now; go on with what got nowhere."""
    try:
        resumed = sending.go_on(caller(request), turn_id)
    except TurnNotWaitingError as error:
        return _not_done(request, turn_id, error, title=gettext("There is nothing to wait for"))
    return _done(request, resumed)


@login_required
@require_POST
def ask_again(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Take an "always" back: from now on the tool asks in this conversation."""
    shown = queries.get_conversation(caller(request).id, conversation_id)
    approvals.withdraw(shown.user_id, shown.id, request.POST.get("action", ""))
    messages.success(request, gettext("The tool asks again before it runs in this chat."))
    return see(reverse("chat:conversation", args=[shown.id]))


def _done(request: PageRequest, turn: Turn) -> HttpResponse:
    return _card(request, turn) if request.htmx else see(place_url(turn))


def _card(request: PageRequest, turn: Turn) -> HttpResponse:
    return HttpResponse(
        waiting_html(request, turn)
        + allowed_html(request, turn.conversation)
        + fresh_list(request, turn.conversation_id)
    )


def _not_done(request: PageRequest, turn_id: UUID, error: MemoryAppError, *, title: str) -> HttpResponse:
    """The card as it stands, which another tab or the time has moved on, and why nothing was done."""
    turn = queries.get_turn(caller(request).id, turn_id)
    message = gettext("{why} The chat shows what stands now.").format(why=error)
    if not request.htmx:
        messages.error(request, f"{title}. {message}")
        return conversation_page(request, turn.conversation, status=error.http_status)
    why = render_to_string("_error.html", {"title": title, "message": message}, request)
    alert = f'<hx-partial hx-target="#alert" hx-swap="innerHTML">{why}</hx-partial>'
    return HttpResponse(waiting_html(request, turn) + alert, status=error.http_status)
