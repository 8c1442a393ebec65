"""Operations: what the installation is doing, for staff, without anything that anybody said."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from memoryapp.errors import InvalidInputError
from memoryapp.inspector.administration.kind_views import for_staff
from memoryapp.inspector.administration.operating import operations as figures
from memoryapp.lifecycle.figures import AGAIN
from memoryapp.nudges import nudge


@for_staff
@require_GET
def operations(request: HttpRequest) -> HttpResponse:
    return render(request, "policies/operations.html", {"operations": figures(now=timezone.now())})


@for_staff
@require_POST
def retry(request: HttpRequest) -> HttpResponse:
    """Wake a job about one row again; one that would find nothing to do does nothing."""
    task = request.POST.get("task", "")
    if task not in AGAIN.values():
        raise InvalidInputError("There is no such job to try again. Reload the page.")
    try:
        subject_id = UUID(request.POST.get("subject", ""))
    except ValueError as error:
        raise InvalidInputError("The form is incomplete. Reload the page and try again.") from error
    nudge(task, subject_id)
    messages.success(request, "It is tried again now. Reload the page in some seconds to see how it went.")
    return redirect("policies:operations")
