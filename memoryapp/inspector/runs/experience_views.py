"""What the assistant learned from earlier tasks: to read, to judge, to extend and to forget."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.context import queries as contexts
from memoryapp.errors import InvalidInputError, StaleVersionError
from memoryapp.inspector import undoing
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import one_of, words
from memoryapp.inspector.runs import experience_presentation as show
from memoryapp.inspector.views import PAGE, next_url, render_page
from memoryapp.longterm import experience_queries, experiences, forgettings
from memoryapp.longterm.models import Experience
from memoryapp.longterm.presentation import last_day

USES: Final = 20  # of the newest replies that were given it
FORGOTTEN: Final = gettext_lazy(
    "Forgotten, with the records of the runs that taught it or were given it, and what those taught."
)


@login_required
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    filters = _filters(request.GET)
    rows = experience_queries.narrowed(
        subject(request), text=filters["q"], outcome=filters["outcome"], state=filters["state"]
    )
    page, next_cursor = rest.page(
        rows, order=("-recorded_at", "-id"), cursor=request.GET.get("after", ""), limit=PAGE
    )
    context = {
        "experiences": [show.experience_row(experience) for experience in page],
        "filters": filters,
        "choices": show,
        "is_narrowed": any(filters.values()),
        "next_url": next_url(filters, next_cursor),
    }
    return render_page(request, "experiences", context)


@login_required
@require_GET
def experience(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    """``?edit=lesson``: with the form for its words."""
    found = experience_queries.get(subject(request), experience_id)
    is_editing = request.GET.get("edit") == "lesson"
    return _page(request, found, form=show.lesson_form(found) if is_editing else None)


@login_required
@require_POST
def edit(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    """A person's own words for what it taught."""
    user_id, posted = subject(request), request.POST
    found = experience_queries.get(user_id, experience_id)
    try:
        experiences.correct(
            user_id,
            experience_id,
            worked=posted.get("worked", ""),
            avoid=posted.get("avoid", ""),
            seen=posted.get("seen", ""),
            now=timezone.now(),
        )
    except (StaleVersionError, InvalidInputError) as error:
        form = show.lesson_form(found, posted=posted.dict(), problem=str(error))
        is_stale = isinstance(error, StaleVersionError)
        return _page(request, found, form=form, status=409 if is_stale else error.http_status)
    messages.success(request, gettext("Corrected. Later tasks are given your words."))
    return redirect("inspector:experience", experience_id)


@login_required
@require_POST
def feedback(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    """A person's word on this page, where they read it, also confirms what waits for it."""
    user_id = subject(request)
    experience_queries.get(
        user_id, experience_id
    )  # what is not theirs does not exist, whatever the form says
    said = one_of({"yes", "no"}, request.POST.get("helped", ""))
    judged = experiences.give_feedback(
        user_id, experience_id, helped=said == "yes", now=timezone.now(), may_confirm=True
    )
    row = show.experience_row(judged)
    text = gettext("Noted: {percent} % sure now.")
    if row.state == "unsure":
        text = gettext("Noted: {percent} % sure now. It is not given to tasks any more.")
    messages.success(request, text.format(percent=row.confidence_percent))
    return redirect("inspector:experience", experience_id)


@login_required
@require_POST
def extend(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    user_id, now = subject(request), timezone.now()
    is_extended = experiences.extend(user_id, experience_id, now=now)
    ends = show.experience_row(experience_queries.get(user_id, experience_id)).expires_text
    text = gettext("Extended: {expires} now.") if is_extended else gettext("Nothing was extended: {expires}.")
    messages.success(request, text.format(expires=ends))
    return redirect("inspector:experience", experience_id)


@login_required
@require_POST
def forget(request: HttpRequest, experience_id: UUID) -> HttpResponse:
    act = forgettings.forget_experiences(subject(request), [experience_id], now=timezone.now())
    undoing.offer_forgetting(request, act, text=str(FORGOTTEN))
    return redirect("inspector:experiences")


def _filters(values: Mapping[str, str]) -> dict[str, str]:
    """What cannot be asked for is left out."""
    outcome, state = values.get("outcome", ""), values.get("state", "")
    return {
        "q": words(values, "q"),
        "outcome": outcome if outcome in show.OUTCOME_LABELS else "",
        "state": state if state in show.STATES else "",
    }


def _page(
    request: HttpRequest, found: Experience, *, form: show.LessonForm | None = None, status: int = 200
) -> HttpResponse:
    uses = contexts.uses_of_experience(found.user_id, found.id)[:USES]
    extended_at = experience_queries.extended_end(found.user_id, found.id, now=timezone.now())
    context = {
        "experience": show.experience_page(found),
        "form": form,
        "extends_to": last_day(extended_at) if extended_at else None,
        "uses": [show.use_row(use) for use in uses],
    }
    return render_page(request, "experience", context, status=status)
