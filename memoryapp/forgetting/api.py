"""REST: forgetting, in whatever scope, and the receipts of it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from ninja import Field, Router, Schema

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.errors import InvalidInputError
from memoryapp.forgetting import operations
from memoryapp.forgetting.preview import Preview, preview
from memoryapp.forgetting.scopes import ASKED, Asked
from memoryapp.receipts import queries
from memoryapp.receipts.models import Receipt, Scope

router = Router(tags=["forgetting"])
receipts_router = Router(tags=["forgetting"])

SCOPES = ", ".join(scope.value for scope in ASKED if scope != Scope.ACCOUNT)


class NotConfirmedError(InvalidInputError):
    """``confirm`` is not true. ``details["preview"]``: what would go."""

    code = "not_confirmed"


class NotByProgramError(InvalidInputError):
    """An account is not a program's to delete."""

    code = "not_by_program"


class ScopeIn(rest.Body):
    scope: str = Field(description=f"One of: {SCOPES}.")
    id: str = Field(
        "",
        description="The id of the row; of a kind its slug; of `recent` hour or day; of `source` a channel or "
        "`program:NAME`; nothing for `everything`.",
    )
    with_copies: bool = Field(
        default=False,
        description="Of `conversation`: with the other chats in which the same was said, as the preview names them.",
    )


class ForgetIn(ScopeIn):
    confirm: bool = Field(
        default=False, description="True: do it. Else nothing is done, and the preview told."
    )
    at_once: bool = Field(default=False, description="Without a time in which it can be undone.")


class PlaceOut(Schema):
    """A message that still says it."""

    message_id: UUID
    conversation_id: UUID


class ForgettingPreviewOut(Schema):
    """``counts``: how many of each sort go. ``stays``: what was learned there and elsewhere, too. ``copies``: other
    chats in which the same was said and which stay. ``undo_minutes``: for how long it can come back; 0: not at all."""

    scope: str
    id: str
    counts: dict[str, int]
    stays: list[UUID]
    copies: list[UUID]
    still_says: list[PlaceOut]
    undo_minutes: int


class ReceiptOut(Schema):
    """Each moment is null until that is so. ``finished_at``: no row is left. ``derived_at``: nor anything made of it.
    ``stored_at``: nor anything in queues and caches. ``purged_at``: nor any byte in the files of this server."""

    id: UUID
    scope: str
    subject: str
    subject_id: UUID | None
    actor: str
    actor_name: str
    items: dict[str, list[UUID]]
    restored: dict[str, list[UUID]]
    counts: dict[str, int]
    forgotten_at: datetime
    undo_until: datetime | None
    undone_at: datetime | None
    finished_at: datetime | None
    derived_at: datetime | None
    stored_at: datetime | None
    purged_at: datetime | None
    signature: str


class ReceiptPage(Schema):
    items: list[ReceiptOut]
    next_cursor: str | None


@router.post("/preview", response={200: ForgettingPreviewOut, 409: rest.Problem, **rest.PROBLEMS})
def preview_forgetting(request: HttpRequest, body: ScopeIn) -> ForgettingPreviewOut:
    """What would go. Nothing is changed."""
    return _preview_out(preview(caller_id(request), _asked(body), now=timezone.now()))


@router.post("", response={200: ReceiptOut, 409: rest.Problem, **rest.PROBLEMS})
def forget(request: HttpRequest, body: ForgetIn) -> Receipt:
    """Out of every read from the answer on. What can be undone can until `undo_until`."""
    user_id, asked, now = caller_id(request), _asked(body), timezone.now()
    if asked.scope == Scope.ACCOUNT:
        raise NotByProgramError(gettext("A program cannot delete an account."))
    if not body.confirm:
        shown = _preview_out(preview(user_id, asked, now=now))
        message = gettext("Nothing was forgotten. Send “confirm”: true to forget what the preview tells.")
        raise NotConfirmedError(message, preview=shown.model_dump(mode="json"))
    return operations.forget(user_id, asked, now=now, at_once=body.at_once)


@receipts_router.get("", response={200: ReceiptPage, **rest.PROBLEMS})
def list_receipts(request: HttpRequest, cursor: str = "", limit: int = 50) -> dict[str, Any]:
    """Newest first."""
    items, next_cursor = rest.page(
        queries.receipts(caller_id(request)), order=queries.ORDER, cursor=cursor, limit=limit
    )
    return {"items": items, "next_cursor": next_cursor}


@receipts_router.get("/{uuid:receipt_id}", response={200: ReceiptOut, **rest.PROBLEMS})
def get_receipt(request: HttpRequest, receipt_id: UUID) -> Receipt:
    return queries.get_receipt(caller_id(request), receipt_id)


@receipts_router.post(
    "/{uuid:receipt_id}/undo", response={200: ReceiptOut, 409: rest.Problem, **rest.PROBLEMS}
)
def undo_forgetting(request: HttpRequest, receipt_id: UUID) -> Receipt:
    """Bring back what can still come back; `restored` of the answer says what did."""
    return operations.undo(caller_id(request), receipt_id, now=timezone.now())


@receipts_router.post(
    "/{uuid:receipt_id}/finish", response={200: ReceiptOut, 409: rest.Problem, **rest.PROBLEMS}
)
def finish_forgetting(request: HttpRequest, receipt_id: UUID) -> Receipt:
    """Delete it for good now. Once more changes nothing."""
    return operations.finish(caller_id(request), receipt_id)


def _asked(body: ScopeIn) -> Asked:
    if body.scope not in ASKED:
        raise InvalidInputError(
            gettext("There is no such scope. It is one of: {scopes}.").format(scopes=SCOPES)
        )
    return Asked(Scope(body.scope), body.id, with_copies=body.with_copies)


def _preview_out(found: Preview) -> ForgettingPreviewOut:
    return ForgettingPreviewOut(
        scope=found.asked.scope,
        id=found.asked.subject,
        counts=found.counts,
        stays=sorted(found.stays),
        copies=sorted(found.copies),
        still_says=[
            PlaceOut(message_id=place.message_id, conversation_id=place.conversation_id)
            for place in found.still_says
        ],
        undo_minutes=found.undo_minutes,
    )
