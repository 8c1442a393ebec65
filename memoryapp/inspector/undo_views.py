"""Taking a forgetting back, or ending the time in which that can be done."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.inspector import undoing
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import INCOMPLETE, next_page, uuid_or_none
from memoryapp.longterm import forgettings, lifetimes
from memoryapp.longterm.forgettings import TooLateError, Undone, UndoneAlreadyError


@login_required
@require_POST
def forgetting_undo(request: HttpRequest, forgetting_id: UUID) -> HttpResponse:
    try:
        undone = forgettings.undo(subject(request), forgetting_id, now=timezone.now())
    except (TooLateError, UndoneAlreadyError) as error:
        messages.error(request, str(error))
    else:
        undoing.tell(request, _said(undone))
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:facts"))


@login_required
@require_POST
def forgetting_finish(request: HttpRequest, forgetting_id: UUID) -> HttpResponse:
    try:
        forgettings.finish(subject(request), forgetting_id)
    except (TooLateError, UndoneAlreadyError) as error:
        messages.error(request, str(error))
    else:
        undoing.tell(request, "Deleted for good.")
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:facts"))


@login_required
@require_POST
def lifetimes_undo(request: HttpRequest) -> HttpResponse:
    """Every lifetime of a change as it was, to the moment."""
    user_id, change_id = subject(request), uuid_or_none(request.POST.get("change", ""))
    if change_id is None:
        raise InvalidInputError(INCOMPLETE)
    try:
        count = lifetimes.undo(user_id, change_id, now=timezone.now())
    except MemoryAppError as error:
        messages.error(request, str(error))
    else:
        undoing.tell(
            request,
            "Its lifetime is as it was." if count == 1 else f"As before: the lifetimes of {count:,} facts.",
        )
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:facts"))


def _said(undone: Undone) -> str:
    count = undone.memories + undone.experiences
    back = "It is back." if count == 1 else f"{count:,} are back."
    if not undone.kept_away:
        return back if count else "Nothing was left to bring back."
    away = "One stayed away" if undone.kept_away == 1 else f"{undone.kept_away:,} stayed away"
    return f"{back} {away}: what was said since has taken the place."
