"""The kinds of facts and their lifetimes: for everyone to read, for staff to change with a look at what that does."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from memoryapp.accounts.auth import caller
from memoryapp.errors import InvalidInputError
from memoryapp.inspector.views import render_page
from memoryapp.longterm import kinds, queries
from memoryapp.longterm.models import MAX_DAYS, Kind

OLD_REASON = "This is the reason for the lifetime before. Say why it is kept so long from now on."


@login_required
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    return render_page(request, "kinds", {"all_kinds": queries.kinds()})


@login_required
@require_http_methods(["GET", "POST"])
def kind(request: HttpRequest, slug: str) -> HttpResponse:
    """Another lifetime and its reason. What it does is shown first, and done by the second button alone."""
    if not caller(request).is_staff:
        raise PermissionDenied
    found = kinds.get_kind(slug)
    if request.method == "GET":
        return _kind(request, found)
    values = request.POST
    try:
        ttl_days = _days(values, found)
    except InvalidInputError as error:
        return _kind(request, found, draft=values, ttl_problem=str(error), status=error.http_status)
    rationale = values.get("rationale", "").strip()
    is_reason_old = ttl_days != found.ttl_days and rationale == found.rationale
    problem = OLD_REASON if is_reason_old else ""
    if values.get("apply") != values.get("ttl_days"):  # what was shown is what is done
        preview = _preview(found, ttl_days)
        return _kind(request, found, draft=values, preview=preview, is_asked=True, rationale_problem=problem)
    if is_reason_old:
        return _kind(request, found, draft=values, rationale_problem=problem, status=422)
    try:
        kinds.change(slug, ttl_days=ttl_days, rationale=rationale)
    except InvalidInputError as error:
        return _kind(request, found, draft=values, problem=str(error), status=error.http_status)
    messages.success(request, f"Changed: {found.label}. It holds from now on, for old memories too.")
    return redirect("inspector:kinds")


def _kind(
    request: HttpRequest,
    found: Kind,
    *,
    draft: QueryDict | None = None,
    preview: list[kinds.Fading] | None = None,
    is_asked: bool = False,
    problem: str = "",
    ttl_problem: str = "",
    rationale_problem: str = "",
    status: int = 200,
) -> HttpResponse:
    present = "" if found.ttl_days is None else str(found.ttl_days)
    context = {
        "kind": found,
        "ttl_days": draft.get("ttl_days", "") if draft else present,
        "rationale": draft.get("rationale", "") if draft else found.rationale,
        "preview": preview,
        "is_asked": is_asked,
        "form_error": problem,
        "ttl_problem": ttl_problem,
        "rationale_problem": rationale_problem,
    }
    return render_page(request, "kind", context, status=status)


def _preview(found: Kind, ttl_days: int | None) -> list[kinds.Fading] | None:
    """None for records of runs, which hold no memories."""
    if found.subject == Kind.Subject.RUN:
        return None
    return kinds.preview(found.slug, ttl_days=ttl_days)


def _days(values: QueryDict, found: Kind) -> int | None:
    """A number of days, or nothing for ever. Raises InvalidInputError."""
    written = values.get("ttl_days", "").strip()
    if not written:
        return None
    least = 0 if found.subject == Kind.Subject.RUN else 1
    is_number = written.isascii() and written.isdigit() and len(written) <= 6
    if not is_number or not least <= int(written) <= MAX_DAYS:
        raise InvalidInputError(f"Lifetime in days: {least} to {MAX_DAYS:,}, or empty for ever.")
    return int(written)
