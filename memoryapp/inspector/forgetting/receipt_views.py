"""Receipts of what was forgotten: all of them, one, and what can still be done about it."""

from collections.abc import Callable
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.forgetting import operations
from memoryapp.forgetting.stages import outlook
from memoryapp.inspector import break_glass
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.forgetting import receipt_presentation as show
from memoryapp.inspector.views import PAGE, do_and_say, next_url, render_page
from memoryapp.longterm import queries as longterm
from memoryapp.receipts import queries


@login_required
@require_GET
@never_cache
def receipts(request: HttpRequest) -> HttpResponse:
    rows, cursor = rest.page(
        queries.receipts(subject(request)),
        order=queries.ORDER,
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    labels, is_own = _kind_labels(), break_glass.opened(request) is None
    now = timezone.now()
    context = {
        "receipts": [show.receipt_row(row, labels, is_own=is_own, now=now) for row in rows],
        "next_url": next_url({}, cursor),
    }
    return render_page(request, "receipts", context)


@login_required
@require_GET
@never_cache
def receipt(request: HttpRequest, receipt_id: UUID) -> HttpResponse:
    found, now = queries.get_receipt(subject(request), receipt_id), timezone.now()
    is_own = break_glass.opened(request) is None
    context = {
        "receipt": show.receipt_row(found, _kind_labels(), is_own=is_own, now=now),
        "stages": show.stage_rows(outlook(found, now=now)),
    }
    return render_page(request, "receipt", context)


@login_required
@require_POST
def undo(request: HttpRequest, receipt_id: UUID) -> HttpResponse:
    def bring_back(user_id: UUID) -> str:
        found = operations.undo(user_id, receipt_id, now=timezone.now())
        return gettext("It is back.") if found.undone_at else gettext("What could come back is back.")

    return _done(request, receipt_id, bring_back)


@login_required
@require_POST
def finish(request: HttpRequest, receipt_id: UUID) -> HttpResponse:
    def end(user_id: UUID) -> str:
        operations.finish(user_id, receipt_id)
        return gettext("Deleted for good.")

    return _done(request, receipt_id, end)


def _done(request: HttpRequest, receipt_id: UUID, act: Callable[[UUID], str]) -> HttpResponse:
    """``act`` gets the person and returns what is said afterwards."""
    user_id = subject(request)
    do_and_say(request, lambda: act(user_id))
    return redirect("inspector:receipt", receipt_id)


def _kind_labels() -> dict[str, str]:
    return {kind.slug: gettext(kind.label) for kind in longterm.kinds()}
