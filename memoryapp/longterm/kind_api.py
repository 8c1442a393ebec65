"""REST: the kinds of memories, for everyone to read and for staff to change."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.errors import AuthorizationError

from memoryapp import rest
from memoryapp.accounts.auth import caller
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import kind_changes, kinds, queries
from memoryapp.longterm.models import Kind

router = Router(tags=["kinds"])

TTL = Field(None, description="1 to 36,500 days; null: for ever; 0, for run records only: at once.")


class KindIn(rest.Body):
    slug: str
    label: str
    rationale: str
    shape: Literal["keyed", "free"] = "free"
    ttl_days: int | None = TTL
    half_life_days: int | None = None
    is_always_used: bool = False
    min_confidence: float = 0.0
    needs_confirmation: bool = False


class KindPatch(rest.Body):
    """What is left out stays as it is."""

    label: str = ""
    rationale: str = ""
    shape: Literal["keyed", "free"] = "free"
    ttl_days: int | None = TTL
    half_life_days: int | None = None
    is_always_used: bool = False
    min_confidence: float = 0.0
    needs_confirmation: bool = False
    applies_at: datetime | None = Field(
        None, description="When it shall act, within a year, with its offset from UTC; left out: at once."
    )


class LifetimeIn(rest.Body):
    ttl_days: int | None = TTL


class KindOut(Schema):
    slug: str
    label: str
    subject: str
    shape: str
    ttl_days: int | None
    half_life_days: int | None
    is_always_used: bool
    min_confidence: float
    needs_confirmation: bool
    rationale: str


class KindList(Schema):
    items: list[KindOut]


class FadingOut(Schema):
    """In ``days`` days ``rows`` of ``users`` people are gone that would still be there, ``kept_rows`` the reverse.

    Counted is what the sweep deletes: ``waiting`` and ``former`` are those of ``rows`` that were not in use.
    """

    days: int
    rows: int
    users: int
    kept_rows: int
    waiting: int
    former: int


class PreviewOut(Schema):
    slug: str
    ttl_days: int | None
    present_ttl_days: int | None
    items: list[FadingOut]


@router.get("", response={200: KindList, **rest.PROBLEMS})
def list_kinds(request: HttpRequest) -> dict[str, object]:  # noqa: ARG001
    """Every kind of fact with its lifetime and the reason for it."""
    return {"items": list(queries.kinds())}


@router.post("", response={201: KindOut, **rest.PROBLEMS})
def add_kind(request: HttpRequest, body: KindIn) -> Status[Kind]:
    """For staff."""
    _require_staff(request)
    return Status(201, kinds.add(**body.dict()))


@router.patch("/{slug}", response={200: KindOut, 409: rest.Problem, **rest.PROBLEMS})
def change_kind(request: HttpRequest, slug: str, body: KindPatch) -> Kind:
    """For staff. It acts at once, on old memories too, or at ``applies_at``; preview a lifetime first.

    Answers with the rule as it is now. 409 ``kind_change_to_come``: another change waits for its day.
    """
    _require_staff(request)
    values: dict[str, Any] = body.dict(exclude_unset=True)
    applies_at = values.pop("applies_at", None)
    kind_changes.change(
        slug, values, changed_by=caller(request).id, now=timezone.now(), applies_at=_aware(applies_at)
    )
    return kinds.get_kind(slug)


@router.delete("/{slug}", response={204: None, 409: rest.Problem, **rest.PROBLEMS})
def delete_kind(request: HttpRequest, slug: str) -> Status[None]:
    """For staff: a kind that no memory is of; 409 ``kind_in_use`` says how many are."""
    _require_staff(request)
    kinds.delete(slug)
    return Status(204, None)


@router.post("/{slug}/preview", response={200: PreviewOut, **rest.PROBLEMS})
def preview_kind(request: HttpRequest, slug: str, body: LifetimeIn) -> dict[str, object]:
    """For staff: whose memories another lifetime would end now, in 7 and in 30 days. Changes nothing."""
    _require_staff(request)
    items = kinds.preview(slug, ttl_days=body.ttl_days)
    return {
        "slug": slug,
        "ttl_days": body.ttl_days,
        "present_ttl_days": kinds.get_kind(slug).ttl_days,
        "items": [asdict(item) for item in items],
    }


def _require_staff(request: HttpRequest) -> None:
    if not caller(request).is_staff:
        raise AuthorizationError


def _aware(moment: datetime | None) -> datetime | None:
    if moment is not None and moment.tzinfo is None:
        raise InvalidInputError("applies_at needs its offset from UTC, such as 2027-03-01T00:00:00Z.")
    return moment
