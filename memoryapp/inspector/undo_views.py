"""Taking a forgetting back, or ending the time in which that can be done."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from memoryapp.errors import MemoryAppError
from memoryapp.inspector import undoing
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import next_page, uuid_of
from memoryapp.longterm import forgettings, lifetimes, undoable
from memoryapp.longterm.forgettings import TooLateError, Undone, UndoneAlreadyError
from memoryapp.longterm.lifetimes import GivenBack


@login_required
@require_POST
def forgetting_undo(request: HttpRequest, forgetting_id: UUID) -> HttpResponse:
    user_id = subject(request)
    about = undoable.ids_of(forgettings.open_forgettings(user_id).filter(id=forgetting_id))
    try:
        undone = forgettings.undo(user_id, forgetting_id, now=timezone.now())
    except (TooLateError, UndoneAlreadyError) as error:
        messages.error(request, str(error))
    else:
        undoing.tell(request, _said(undone), ids=about.get(forgetting_id, ()))
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:facts"))


@login_required
@require_POST
def forgetting_finish(request: HttpRequest, forgetting_id: UUID) -> HttpResponse:
    try:
        forgettings.finish(subject(request), forgetting_id)
    except (TooLateError, UndoneAlreadyError) as error:
        messages.error(request, str(error))
    else:
        undoing.tell(request, gettext("Deleted for good."))
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:facts"))


@login_required
@require_POST
def lifetimes_undo(request: HttpRequest) -> HttpResponse:
    """Every lifetime of a change, or every kind, as it was, to the moment."""
    user_id, change_id = subject(request), uuid_of(request.POST.get("change", ""))
    made = lifetimes.find_change(user_id, change_id)
    try:
        given_back = lifetimes.undo(user_id, change_id, now=timezone.now())
    except MemoryAppError as error:
        messages.error(request, str(error))
    else:
        undoing.tell(request, _lives_again(given_back), ids=undoing.ids_of(made) if made else ())
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:facts"))


def _lives_again(given_back: GivenBack) -> str:
    count, left_alone = given_back.count, given_back.left_alone
    back = ngettext("It is as it was.", "As before: {n} facts.", count).format(n=count_text(count))
    if not left_alone:
        return back
    rest = ngettext(
        "One was left alone: it was changed since, is not there any more,"
        " or was of a kind that is never to be remembered now.",
        "{n} were left alone: they were changed since, are not there any more,"
        " or were of a kind that is never to be remembered now.",
        left_alone,
    )
    return f"{back} {rest.format(n=count_text(left_alone))}"


def _said(undone: Undone) -> str:
    # An experience also comes back beside the fact that it was made of.
    count = undone.memories or undone.experiences
    back = ngettext("It is back.", "{n} are back.", count).format(n=count_text(count))
    if not undone.kept_away:
        return back if count else gettext("Nothing was left to bring back.")
    away = ngettext(
        "One stayed away: what was said since has taken the place.",
        "{n} stayed away: what was said since has taken the place.",
        undone.kept_away,
    )
    return f"{back} {away.format(n=count_text(undone.kept_away))}"
