"""Actions on one turn: other words or another answer in its place, another branch, a copy, a line to keep.

With htmx the chat changes in place; without scripts each is a form that leads back to the turn's place in the chat.
"""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from chat import sending
from chat.pages import (
    announcement,
    form_key,
    form_text,
    part,
    place_url,
    see,
    shown_text,
    thread_response,
)
from chat.presentation import kept_lines
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.errors import InvalidInputError
from memoryapp.lifecycle.daily_budget import DailyBudgetSpentError
from memoryapp.transcript import branches, conversations, queries, summaries
from memoryapp.transcript.conversations import ReplyInProgressError
from memoryapp.transcript.models import Message, Turn


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """The form with the message's words, in its place or on a page; what is refused stays in it."""
    user = caller(request)
    found = queries.get_turn(user.id, turn_id)
    if request.method == "GET":
        return _edit_form(request, found, text=queries.text_of(found, Message.Role.USER))
    try:
        asked, _ = sending.edit(
            user, turn_id, text=form_text(request), idempotency_key=form_key(request), now=timezone.now()
        )
    except (InvalidInputError, ReplyInProgressError, DailyBudgetSpentError) as error:
        if request.htmx:
            return render(request, "_error.html", {"message": str(error)}, status=error.http_status)
        return _edit_form(
            request, found, text=shown_text(request), problem=str(error), status=error.http_status
        )
    return thread_response(request, asked, said="")


@login_required
@require_POST
def again(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """Another answer beside the one that there is."""
    asked, _ = sending.answer_again(
        caller(request), turn_id, idempotency_key=form_key(request), now=timezone.now()
    )
    return thread_response(request, asked, said="")


@login_required
@require_POST
def show(request: PageRequest, turn_id: UUID) -> HttpResponse:
    shown = branches.show_branch(caller(request).id, turn_id)
    return thread_response(request, shown, said=gettext("Another version is shown"))


@login_required
@require_POST
def remove(request: PageRequest, turn_id: UUID) -> HttpResponse:
    taken = branches.take_off(caller(request).id, turn_id)
    return thread_response(request, taken, said=gettext("Removed. Bring back is at the end of the chat"))


@login_required
@require_POST
def fork(request: PageRequest, turn_id: UUID) -> HttpResponse:
    copy = conversations.fork_conversation(
        caller(request), turn_id, idempotency_key=form_key(request), now=timezone.now()
    )
    messages.success(
        request, gettext("This is a copy up to the message you chose. The other chat is as it was.")
    )
    last = queries.turns(copy.user_id, copy.id).last()
    assert last  # a copy holds at least the turn that was chosen
    return see(place_url(last))


@login_required
@require_http_methods(["GET", "POST"])
def keep(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """The form in which a message is cut down to the words to keep, in a dialog or on a page."""
    user_id = caller(request).id
    found = queries.get_turn(user_id, turn_id)
    if request.method == "GET":
        return _keep_form(request, found)
    try:
        summaries.pin_line(user_id, turn_id, text=form_text(request))
    except InvalidInputError as error:
        if request.htmx:
            return render(request, "_error.html", {"message": str(error)}, status=error.http_status)
        return _keep_form(request, found, problem=str(error), status=error.http_status)
    if not request.htmx:
        messages.success(request, gettext("Kept. It stands word for word in every prompt of this chat."))
        return see(place_url(found))
    shown = queries.get_conversation(user_id, found.conversation_id)
    kept = part(request, "kept", {"conversation": shown, "kept": kept_lines(shown)})
    return HttpResponse(kept + announcement(gettext("Kept word for word")))


@login_required
@require_POST
def let_go(request: PageRequest, line_id: UUID) -> HttpResponse:
    line = summaries.unpin_line(caller(request).id, line_id)
    if not request.htmx:
        messages.success(
            request, gettext("Taken off. It is still in the chat, and no longer in every prompt.")
        )
        return see(place_url(line.turn))
    shown = queries.get_conversation(line.user_id, line.conversation_id)
    context = {"conversation": shown, "kept": kept_lines(shown), "is_open": True}
    return HttpResponse(
        part(request, "kept", context) + announcement(gettext("No longer kept word for word"))
    )


def _edit_form(
    request: PageRequest, found: Turn, *, text: str, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "turn": found,
        "text": text,
        "form_error": problem,
        "idempotency_key": form_key(request),
        "back_url": place_url(found),
    }
    name = "chat/edit.html#form" if request.htmx else "chat/edit.html"
    return render(request, name, context, status=status)


def _keep_form(request: PageRequest, found: Turn, *, problem: str = "", status: int = 200) -> HttpResponse:
    """``said``: each side's words, as they would be sent again after a refusal."""
    tried, side = shown_text(request), request.POST.get("side", "")
    said = [
        ("user", gettext("What you said"), queries.text_of(found, Message.Role.USER)),
        ("assistant", gettext("What Strata replied"), queries.text_of(found, Message.Role.ASSISTANT)),
    ]
    context = {
        "turn": found,
        "said": [(name, label, tried if name == side else text) for name, label, text in said if text],
        "limit_chars": summaries.PINNED_MAX_CHARS,
        "form_error": problem,
        "failed_side": side,
        "back_url": place_url(found),
    }
    name = "chat/keep.html#dialog" if request.htmx else "chat/keep.html"
    return render(request, name, context, status=status)
