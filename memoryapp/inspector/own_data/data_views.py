"""Your data: all of it as one archive, and what you bring from elsewhere, looked at before it is taken in."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.accounts.auth import PageRequest, caller_id
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.inspector import break_glass
from memoryapp.inspector.own_data import import_presentation as show
from memoryapp.inspector.views import PAGE, do_and_say, next_url, render_page
from memoryapp.portability import operations, queries
from memoryapp.portability.delivery import archive_response
from memoryapp.portability.models import ImportBatch
from memoryapp.receipts import queries as receipts
from memoryapp.receipts.models import Scope


@login_required
@require_GET
@never_cache
def data(request: HttpRequest) -> HttpResponse:
    return _page(request)


@login_required
@require_POST
@never_cache
def export(request: HttpRequest) -> HttpResponseBase:
    """The archive itself; the page again, with the reason, where it could not be made."""
    try:
        return archive_response(_own(request))
    except MemoryAppError as error:
        return _page(request, problem=str(error), status=error.http_status)


@login_required
@require_POST
def bring(request: HttpRequest) -> HttpResponse:
    """A file is read, and nothing of it is taken in before its person says so on the page that follows."""
    user_id, file = _own(request), request.FILES.get("file")
    try:
        if file is None:
            raise InvalidInputError(gettext("Choose a file first."))
        batch = operations.receive(user_id, file.chunks(), is_preview=True, now=timezone.now())
    except MemoryAppError as error:
        return _page(request, file_problem=str(error), status=error.http_status)
    return redirect("inspector:import", batch.id)


@login_required
@require_GET
@never_cache
def imported(request: PageRequest, import_id: UUID) -> HttpResponse:
    """How far it is, what it holds, what became of it; for htmx, which looks again, that part alone."""
    batch = queries.get_import(_own(request), import_id)
    context = _import_context(batch)
    if request.htmx:
        return render(request, "inspector/import.html#import", context)
    return render_page(request, "import", context)


@login_required
@require_POST
def apply(request: HttpRequest, import_id: UUID) -> HttpResponse:
    def take_in(user_id: UUID) -> str:
        operations.apply(user_id, import_id)
        return gettext("It is being brought in. You can leave this page.")

    return _done(request, import_id, take_in)


@login_required
@require_POST
def undo(request: HttpRequest, import_id: UUID) -> HttpResponse:
    def take_back(user_id: UUID) -> str:
        operations.undo(user_id, import_id, now=timezone.now())
        return gettext("Taken back: what came with this import is forgotten.")

    return _done(request, import_id, take_back)


def _own(request: HttpRequest) -> UUID:
    """Raises PermissionDenied while somebody else's memory is open: what they have is theirs alone to carry."""
    if break_glass.opened(request):
        raise PermissionDenied
    return caller_id(request)


def _done(request: HttpRequest, import_id: UUID, act: Callable[[UUID], str]) -> HttpResponse:
    """``act`` gets the person and returns what is said afterwards."""
    user_id = _own(request)
    do_and_say(request, lambda: act(user_id))
    return redirect("inspector:import", import_id)


def _page(
    request: HttpRequest, *, problem: str = "", file_problem: str = "", status: int = 200
) -> HttpResponse:
    rows, cursor = rest.page(
        queries.imports(_own(request)),
        order=queries.ORDER,
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    context = {
        "imports": list(map(show.import_row, rows)),
        "next_url": next_url({}, cursor),
        "import_max_mb": get_conf().import_max_mb,
        "problem": problem,
        "file_problem": file_problem,
    }
    return render_page(request, "data", context, status=status)


def _import_context(batch: ImportBatch) -> dict[str, Any]:
    is_undone = batch.status == ImportBatch.Status.UNDONE
    receipt = (
        receipts.receipt_of(batch.user_id, scope=Scope.BATCH, subject_id=batch.id) if is_undone else None
    )
    return {"import": show.import_row(batch), "sorts": show.sort_labels(), "receipt": receipt}
