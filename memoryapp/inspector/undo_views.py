"""Taking a forgetting back, or ending the time in which that can be done."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from memoryapp.inspector import undoing
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import next_page
from memoryapp.longterm import forgettings
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
    return redirect(next_page(request.POST) or "inspector:facts")


@login_required
@require_POST
def forgetting_finish(request: HttpRequest, forgetting_id: UUID) -> HttpResponse:
    try:
        forgettings.finish(subject(request), forgetting_id)
    except (TooLateError, UndoneAlreadyError) as error:
        messages.error(request, str(error))
    else:
        undoing.tell(request, "Deleted for good.")
    return redirect(next_page(request.POST) or "inspector:facts")


def _said(undone: Undone) -> str:
    count = undone.memories + undone.experiences
    back = "It is back." if count == 1 else f"{count:,} are back."
    if not undone.kept_away:
        return back if count else "Nothing was left to bring back."
    away = "One stayed away" if undone.kept_away == 1 else f"{undone.kept_away:,} stayed away"
    return f"{back} {away}: what was said since has taken the place."
