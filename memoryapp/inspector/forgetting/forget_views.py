"""Forgetting in whatever scope: what there is to choose, what would go, and doing it."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memoryapp.accounts.auth import caller
from memoryapp.errors import MemoryAppError
from memoryapp.forgetting import operations
from memoryapp.forgetting.preview import Preview, preview
from memoryapp.forgetting.scopes import ASKED, PROGRAM, Asked
from memoryapp.forgetting.stages import outlook
from memoryapp.inspector import break_glass, typed_word
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.forgetting import receipt_presentation
from memoryapp.inspector.forgetting import scope_presentation as show
from memoryapp.inspector.posted import one_of
from memoryapp.inspector.typed_word import is_typed, mark
from memoryapp.inspector.views import render_page
from memoryapp.longterm import experience_queries, tallies
from memoryapp.longterm import queries as longterm
from memoryapp.receipts.models import Receipt, Scope
from memoryapp.transcript import queries as transcript

WORD: Final = pgettext_lazy("a word to type", "forget")
SAMPLES: Final = 5  # of each sort
PLACES: Final = 20  # messages that say it still, and facts that stay
# From where each is asked for, to go back to.
_BACK: Final = {
    Scope.MEMORY: "inspector:fact",
    Scope.MEMORY_AND_SOURCE: "inspector:fact",
    Scope.EXPERIENCE: "inspector:experience",
    Scope.CONVERSATION: "inspector:conversation",
    Scope.RUN: "inspector:run",
}


@login_required
@require_http_methods(["GET", "POST"])
@never_cache
def forget(request: HttpRequest) -> HttpResponse:
    """Without ``scope``: what there is to choose. With it: what would go; by POST it goes, if it was what was shown."""
    user_id = subject(request)
    if request.method == "GET" and "scope" not in request.GET:
        return _choices(request, user_id)
    asked = _asked(request)
    found = preview(user_id, asked, now=timezone.now())
    if request.method == "GET":
        return _preview_page(request, user_id, found)
    problem = _problem(request, found)
    if problem:
        return _preview_page(request, user_id, found, problem=problem, status=422)
    try:
        receipt = operations.forget(user_id, asked, now=timezone.now(), at_once="at_once" in request.POST)
    except MemoryAppError as error:
        return _preview_page(request, user_id, found, problem=str(error), status=error.http_status)
    if asked.scope == Scope.ACCOUNT:
        return _gone(request, receipt)
    return redirect("inspector:receipt", receipt.id)


def _asked(request: HttpRequest) -> Asked:
    """Raises InvalidInputError; PermissionDenied for the account of somebody else, which only they delete."""
    values = request.POST if request.method == "POST" else request.GET
    scope = Scope(one_of(set(ASKED), values.get("scope", "")))
    if scope == Scope.ACCOUNT and break_glass.opened(request):
        raise PermissionDenied
    return Asked(scope, values.get("id", ""), with_copies="with_copies" in values)


def _problem(request: HttpRequest, found: Preview) -> str:
    """Why nothing is forgotten yet; empty when all that is needed was sent, for just what was shown."""
    values, ids = request.POST, _ids(found)
    if _asks_password(request, found):
        is_right = caller(request).check_password(values.get("password", ""))
        return "" if is_right else gettext("This is not your password. Nothing was deleted.")
    if values.get("shown") != mark(ids):
        return gettext("It changed meanwhile. This is what would go now.")
    if found.needs_word and not is_typed(values, ids, word=str(WORD)):
        return typed_word.problem(values, ids, word=str(WORD)) or gettext("Type the word to go on.")
    return ""


def _asks_password(request: HttpRequest, found: Preview) -> bool:
    return found.asked.scope == Scope.ACCOUNT and caller(request).has_usable_password()


def _ids(found: Preview) -> list[UUID]:
    """Of all rows that would go."""
    goes = found.taken
    turns = [turn_id for of_conversation in goes.turns.values() for turn_id in of_conversation]
    words = [message_id for message_id, _ in goes.words]
    return [*goes.memories, *goes.experiences, *goes.conversations, *goes.runs, *turns, *words]


def _choices(request: HttpRequest, user_id: UUID) -> HttpResponse:
    rows = longterm.memories(user_id, status="any")
    context = {
        "recent": list(show.RECENT.items()),
        "kinds": longterm.counts_by_kind(user_id, rows),
        "sources": [
            (
                f"{PROGRAM}{program}" if program else channel,
                show.source_text(channel, program),
                count,
            )
            for channel, program, count in tallies.by_source(user_id)
        ],
        "is_opened": break_glass.opened(request) is not None,
    }
    return render_page(request, "forget_choices", context)


def _preview_page(
    request: HttpRequest, user_id: UUID, found: Preview, *, problem: str = "", status: int = 200
) -> HttpResponse:
    asked = found.asked
    context: dict[str, Any] = {
        "asked": asked,
        "title": show.title(asked),
        "counts": show.by_tier(found.counts),
        "is_nothing": found.taken.is_nothing and not found.taken.is_everything,
        "is_everything": found.taken.is_everything,
        "undo_minutes": found.undo_minutes,
        "stays": _stays(user_id, found),
        "stay_count": len(found.stays),
        "copy_count": len(found.copies),
        "places": found.still_says[:PLACES],
        "place_count": len(found.still_says),
        "chats": transcript.conversations(user_id).filter(
            id__in={place.conversation_id for place in found.still_says}
        )[:SAMPLES],
        "wider_url": _address(Scope.MEMORY_AND_SOURCE, asked.subject),
        "copies_url": _address(asked.scope, asked.subject, with_copies="1"),
        "samples": _samples(user_id, found),
        "needs_word": found.needs_word and not _asks_password(request, found),
        "asks_password": _asks_password(request, found),
        "shown": mark(_ids(found)),
        "word": WORD,
        "back_url": _back_url(asked),
        "problem": problem,
    }
    return render_page(request, "forget", context, status=status)


def _samples(user_id: UUID, found: Preview) -> list[str]:
    """Beginnings of the newest of each sort that would go."""
    goes = found.taken
    memories = longterm.memories(user_id, status="any")
    lessons = experience_queries.unfaded(user_id)
    chats = transcript.conversations(user_id)
    if not goes.is_everything:
        memories = memories.filter(id__in=goes.memories)
        lessons = lessons.filter(id__in=goes.experiences)
        chats = chats.filter(id__in=goes.conversations | goes.turns.keys())
    newest = ("-recorded_at", "-id")
    return [
        *memories.order_by(*newest).values_list("statement", flat=True)[:SAMPLES],
        *lessons.order_by(*newest).values_list("goal", flat=True)[:SAMPLES],
        *(chat.title or gettext("New chat") for chat in chats.order_by("-updated_at", "-id")[:SAMPLES]),
    ]


def _stays(user_id: UUID, found: Preview) -> Sequence[tuple[UUID, str]]:
    """Of what rests on something else, too, the facts: id and statement."""
    rows = longterm.memories(user_id, status="any").filter(id__in=found.stays)
    return list(rows.order_by("-recorded_at", "-id").values_list("id", "statement")[:PLACES])


def _address(scope: Scope, subject_: str, **more: str) -> str:
    values = QueryDict(mutable=True)
    values.update({"scope": scope.value, "id": subject_, **more})
    return f"{reverse('inspector:forget')}?{values.urlencode()}"


def _back_url(asked: Asked) -> str:
    page = _BACK.get(asked.scope)
    return reverse(page, args=[UUID(asked.subject)]) if page else reverse("inspector:forget")


def _gone(request: HttpRequest, receipt: Receipt) -> HttpResponse:
    """Rendered, not redirected: there is nobody any more who could open its page."""
    logout(request)
    now = timezone.now()
    stages = receipt_presentation.stage_rows(outlook(receipt, now=now))
    return render(request, "inspector/account_gone.html", {"receipt": receipt, "stages": stages})
