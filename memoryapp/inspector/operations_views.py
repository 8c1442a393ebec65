"""Operations: what the installation is doing, for staff, without anything that anybody said."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from memoryapp.accounts.auth import caller
from memoryapp.errors import InvalidInputError
from memoryapp.inspector.operating import operations as figures
from memoryapp.lifecycle.figures import AGAIN
from memoryapp.nudges import nudge


@login_required
@require_GET
def operations(request: HttpRequest) -> HttpResponse:
    _require_staff(request)
    return render(request, "policies/operations.html", {"operations": figures(now=timezone.now())})


@login_required
@require_POST
def retry(request: HttpRequest) -> HttpResponse:
    """Wake a job about one row again; one that would find nothing to do does nothing."""
    _require_staff(request)
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


def _require_staff(request: HttpRequest) -> None:
    if not caller(request).is_staff:
        raise PermissionDenied
