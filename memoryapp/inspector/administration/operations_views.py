"""Operations: what the installation is doing, for staff, without anything that anybody said."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from memoryapp.accounts.models import User
from memoryapp.errors import InvalidInputError
from memoryapp.forgetting import purging
from memoryapp.inspector.administration import operations_presentation as show
from memoryapp.inspector.administration.access import for_staff
from memoryapp.inspector.administration.operating import operations as figures
from memoryapp.inspector.posted import uuid_of
from memoryapp.lifecycle.figures import AGAIN
from memoryapp.nudges import PURGE, nudge


@for_staff
@require_GET
def operations(request: HttpRequest) -> HttpResponse:
    found = figures(now=timezone.now())
    context = {
        "operations": found,
        "work": show.work(found),
        "failures": show.failures(found.failures),
        "jobs": show.jobs(found.jobs),
        "failed_replies": show.failed_replies(found.failed_turns),
        "costs": show.costs(found.costs),
        "unsearchable": show.unsearchable(found),
        "purge": show.purge(purging.state()),
    }
    return render(request, "policies/operations.html", context)


@for_staff
@require_POST
def retry(request: HttpRequest) -> HttpResponse:
    """Wake a job about one row again; one that would find nothing to do does nothing."""
    task = request.POST.get("task", "")
    if task not in AGAIN.values():
        raise InvalidInputError(gettext("There is no such job to try again. Reload the page."))
    nudge(task, uuid_of(request.POST.get("subject", "")))
    said = gettext("It is tried again now. Reload the page in some seconds to see how it went.")
    messages.success(request, said)
    return redirect("policies:operations")


@for_staff
@require_POST
def purge(request: HttpRequest) -> HttpResponse:
    """In the background: it takes seconds, or minutes where there is much."""
    assert isinstance(request.user, User)  # who is not signed in does not come here
    nudge(PURGE, request.user.id)
    said = gettext("What was deleted is being removed from the files. Reload the page to see how far it is.")
    messages.success(request, said)
    return redirect("policies:operations")
