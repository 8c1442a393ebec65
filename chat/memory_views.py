"""What a reply taught and what it was given, and what a person says to that; each works as a form, too."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import sending
from chat.memory_presentation import asking, learned_from
from chat.pages import announcement, form_key, place_url, see, thread_response
from chat.receipt_presentation import receipt
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import forgettings
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory
from memoryapp.longterm.presentation import BROUGHT_BACK
from memoryapp.longterm.withdrawal import withdraw
from memoryapp.policies.feedback import Verdict
from memoryapp.transcript import queries
from memoryapp.transcript.models import Turn

# What a receipt lets a person say of a memory, and what is answered.
HEARD = {
    Verdict.WRONG: gettext_lazy(
        "Set aside as wrong. It is not used any more, and stays in the history until you forget it."
    ),
    Verdict.NOT_RELEVANT: gettext_lazy("Noted. It counts for less from now on."),
    Verdict.CONFIRMED: BROUGHT_BACK,
}


@login_required
@require_GET
@never_cache
def learned(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """What the turn's message has taught by now; asked for while the background may still be reading it."""
    found = queries.get_turn(caller(request).id, turn_id)
    if not request.htmx:
        return see(place_url(found))
    chips = learned_from(found.conversation, [found]).get(found.id, ())
    seen, tries = _number(request, "seen"), _number(request, "tries")
    ask = asking(found, found.conversation, seen=len(chips), tries=tries)
    context = {"turn": {"id": found.id, "learned": chips, "asking": ask}}
    parts: list[str] = [render_to_string("chat/_learned.html#ask", context, request)]
    if len(chips) != seen:
        html = render_to_string("chat/_learned.html#chips", context, request)
        parts += [
            f'<hx-partial hx-target="#turn-{found.id}-learned" hx-swap="outerHTML">{html}</hx-partial>',
            announcement(gettext("Memory has changed. It is under the reply")),
        ]
    return HttpResponse("".join(parts))


@login_required
@require_POST
def take_back(request: PageRequest, turn_id: UUID, memory_id: UUID) -> HttpResponse:
    """Undo what a message taught; a value that it replaced is in use again."""
    user_id = caller(request).id
    found = queries.get_turn(user_id, turn_id)
    message = queries.user_message(found)
    withdrawn = withdraw(user_id, memory_id, source_message_id=message.id, now=timezone.now())
    said = _taken_back(withdrawn.memory, memory_id)
    if not request.htmx:
        messages.success(request, gettext("Taken back. {now}").format(now=said))
        return see(place_url(found))
    context = {"said": said, "memory": withdrawn.memory}
    chip = render_to_string("chat/_learned.html#taken-back", context, request)
    return HttpResponse(chip + announcement(gettext("Taken back")))


@login_required
@require_GET
@never_cache
def used(request: PageRequest, turn_id: UUID) -> HttpResponse:
    """The receipt of a reply: in its place under it, or as a page."""
    found = queries.get_turn(caller(request).id, turn_id)
    name = "chat/receipt.html#body" if request.htmx else "chat/receipt.html"
    return render(request, name, _receipt_context(found))


@login_required
@require_POST
def judge(request: PageRequest, turn_id: UUID, memory_id: UUID) -> HttpResponse:
    """What a person says of a memory that the reply was given."""
    user_id = caller(request).id
    found = queries.get_turn(user_id, turn_id)
    said = request.POST.get("verdict", "")
    if said not in HEARD:
        raise InvalidInputError(gettext("Say whether it is wrong, not relevant, or right after all."))
    verdict = Verdict(said)
    give_feedback(user_id, memory_id, verdict, turn_id=found.id, now=timezone.now())
    return _after(request, found, said=str(HEARD[verdict]))


@login_required
@require_POST
def forget(request: PageRequest, turn_id: UUID, memory_id: UUID) -> HttpResponse:
    user_id = caller(request).id
    found = queries.get_turn(user_id, turn_id)
    forgettings.forget(user_id, [memory_id], now=timezone.now())
    return _after(request, found, said=gettext("Forgotten."))


@login_required
@require_POST
def undo_forget(request: PageRequest, turn_id: UUID, forgetting_id: UUID) -> HttpResponse:
    user_id = caller(request).id
    found = queries.get_turn(user_id, turn_id)
    undone = forgettings.undo(user_id, forgetting_id, now=timezone.now())
    replaced = gettext("Something you said since has taken its place.")
    return _after(request, found, said=replaced if undone.kept_away else gettext("Back in memory."))


@login_required
@require_POST
def answer_without(request: PageRequest, turn_id: UUID, item_id: UUID) -> HttpResponse:
    """Another answer beside the one that there is, made without a memory, an earlier message or an experience."""
    asked, _ = sending.answer_without(
        caller(request), turn_id, item_id, idempotency_key=form_key(request), now=timezone.now()
    )
    return thread_response(request, asked, said="")


def _after(request: PageRequest, found: Turn, *, said: str) -> HttpResponse:
    """The receipt as it stands now."""
    if not request.htmx:
        messages.success(request, said)
        return see(reverse("chat:used", args=[found.id]))
    body = render_to_string("chat/receipt.html#body", _receipt_context(found), request)
    return HttpResponse(body + announcement(said))


def _receipt_context(found: Turn) -> dict[str, object]:
    return {"turn": found, "receipt": receipt(found), "back_url": place_url(found)}


def _taken_back(current: Memory | None, memory_id: UUID) -> str:
    """What holds now."""
    if current is None:
        return gettext("It is not remembered any more.")
    if current.id == memory_id:
        told = gettext("Another message says it too, so it stays: {statement}")
    else:
        told = gettext("In use again: {statement}")
    return told.format(statement=current.statement)


def _number(request: PageRequest, name: str) -> int:
    value = request.GET.get(name, "")
    return int(value[:4]) if value.isascii() and value.isdigit() else 0
