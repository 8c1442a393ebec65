"""REST: everything that is held about the caller as one archive, and files that they bring."""

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from ninja import File, Form, Router, Schema, UploadedFile

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.portability import operations, queries
from memoryapp.portability.delivery import archive_response
from memoryapp.portability.models import ImportBatch

router = Router(tags=["portability"])


class SampleOut(Schema):
    """``sort``: conversation, memory or experience. ``text``: its beginning."""

    sort: str
    text: str


class ImportOut(Schema):
    """``status``: reading, ready (waits for `apply`), importing, done, failed, undone.

    ``counts``: by outcome (new, changed, duplicate, conflicting, forgotten, skipped) and sort. ``skipped``: reason →
    how many. ``samples``: of a preview. ``position`` of ``total`` records are through; ``total`` is 0 until all were
    read once.
    """

    id: UUID
    status: str
    format: str
    is_preview: bool
    is_restore: bool
    size_bytes: int
    position: int
    total: int
    counts: dict[str, dict[str, int]]
    skipped: dict[str, int]
    samples: dict[str, list[SampleOut]]
    error_code: str
    error_message: str
    created_at: datetime
    finished_at: datetime | None
    undone_at: datetime | None


class ImportPage(Schema):
    items: list[ImportOut]
    next_cursor: str | None


@router.get("/export", response={409: rest.Problem, **rest.PROBLEMS})
def export(request: HttpRequest) -> HttpResponseBase:
    """A ZIP: `strata.json` (what an import restores), `account.json`, `index.html` for reading, `README.txt`."""
    return archive_response(caller_id(request))


@router.post("/import", response={202: ImportOut, 409: rest.Problem, 413: rest.Problem, **rest.PROBLEMS})
def bring(
    request: HttpRequest,
    file: File[UploadedFile],
    preview: Form[bool] = False,  # noqa: FBT002  # a field of the form
) -> tuple[int, ImportBatch]:
    """An archive of Strata, or the export of another chat, as multipart/form-data.

    `preview=true`: it is read and waits for `apply`; else what is new in it is brought in at once.
    """
    batch = operations.receive(caller_id(request), file.chunks(), is_preview=preview, now=timezone.now())
    return 202, batch


@router.get("/imports", response={200: ImportPage, **rest.PROBLEMS})
def list_imports(request: HttpRequest, cursor: str = "", limit: int = 50) -> dict[str, object]:
    """Newest first."""
    rows = queries.imports(caller_id(request))
    items, next_cursor = rest.page(rows, order=queries.ORDER, cursor=cursor, limit=limit)
    return {"items": items, "next_cursor": next_cursor}


@router.get("/imports/{uuid:import_id}", response={200: ImportOut, **rest.PROBLEMS})
def get_import(request: HttpRequest, import_id: UUID) -> ImportBatch:
    """How far it is."""
    return queries.get_import(caller_id(request), import_id)


@router.post("/imports/{uuid:import_id}/apply", response={202: ImportOut, 409: rest.Problem, **rest.PROBLEMS})
def apply_import(request: HttpRequest, import_id: UUID) -> tuple[int, ImportBatch]:
    """Bring in what was shown."""
    return 202, operations.apply(caller_id(request), import_id)


@router.post("/imports/{uuid:import_id}/undo", response={200: ImportOut, 409: rest.Problem, **rest.PROBLEMS})
def undo_import(request: HttpRequest, import_id: UUID) -> ImportBatch:
    """Forget everything that came with it, in whatever status it is; one receipt says so."""
    return operations.undo(caller_id(request), import_id, now=timezone.now())
