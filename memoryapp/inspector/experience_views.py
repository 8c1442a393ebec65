"""What the assistant learned from earlier tasks: to read, to judge and to forget."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.errors import InvalidInputError
from memoryapp.inspector import experience_presentation as show
from memoryapp.inspector.views import PAGE, render_page
from memoryapp.longterm import experience_queries, experiences
from memoryapp.longterm.presentation import FORGOTTEN


@login_required
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    rows = experience_queries.unfaded(caller_id(request))
    page, next_cursor = rest.page(
        rows, order=("-recorded_at", "-id"), cursor=request.GET.get("after", ""), limit=PAGE
    )
    context = {
        "experiences": [show.experience_row(experience) for experience in page],
        "next_url": "?" + urlencode({"after": next_cursor}) if next_cursor else "",
    }
    return render_page(request, "experiences", context)


@login_required
@require_GET
def experience(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    found = experience_queries.get(caller_id(request), experience_id)
    return render_page(request, "experience", {"experience": show.experience_page(found)})


@login_required
@require_POST
def feedback(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    """A person's word on this page, where they read it, also confirms what waits for it."""
    user_id, said = caller_id(request), request.POST.get("helped", "")
    experience_queries.get(
        user_id, experience_id
    )  # what is not theirs does not exist, whatever the form says
    if said not in {"yes", "no"}:
        raise InvalidInputError("The form is incomplete. Reload the page and try again.")
    judged = experiences.give_feedback(
        user_id, experience_id, helped=said == "yes", now=timezone.now(), may_confirm=True
    )
    percent = round(judged.confidence * 100)
    is_resting = show.experience_row(judged).state == "unsure"
    messages.success(
        request,
        f"Noted: {percent} % sure now." + (" It is not given to tasks any more." if is_resting else ""),
    )
    return redirect("inspector:experience", experience_id)


@login_required
@require_POST
def forget(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    experiences.forget(caller_id(request), experience_id)
    messages.success(request, FORGOTTEN)
    return redirect("inspector:experiences")
