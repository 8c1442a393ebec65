"""Writes of the kinds, by staff: what they change acts at once, for expiry is decided in the query."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, ProtectedError, Q, QuerySet
from django.db.models.functions import Now

from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.longterm.models import Experience, Kind, Memory, fading_at

HORIZONS_DAYS = (0, 7, 30)


class KindInUseError(MemoryAppError):
    """``details["memories"]``: how many memories are of it."""

    code = "kind_in_use"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Fading:
    """What a changed lifetime has done in ``days`` days.

    ``rows`` of ``users`` people are gone that would still be there under the present one; ``kept_rows`` are still there
    that would be gone.
    """

    days: int
    rows: int
    users: int
    kept_rows: int


def get_kind(slug: str) -> Kind:
    """Of any subject. Raises NotFoundError."""
    kind = Kind.objects.filter(slug=slug).first()
    if kind is None:
        raise NotFoundError("There is no such kind.")
    return kind


def add(**values: Any) -> Kind:
    """A new kind of statement, with these fields. Raises InvalidInputError, which names the wrong ones."""
    with transaction.atomic(durable=True):
        return _saved(Kind(subject=Kind.Subject.STATEMENT, **values))


def change(slug: str, **values: Any) -> Kind:
    """Set these fields; its slug and subject, by which it is known, stay. Raises NotFoundError, InvalidInputError."""
    with transaction.atomic(durable=True):
        kind = Kind.objects.select_for_update().filter(slug=slug).first()
        if kind is None:
            raise NotFoundError("There is no such kind.")
        for field, value in values.items():
            setattr(kind, field, value)
        return _saved(kind)


def delete(slug: str) -> None:
    """Raises NotFoundError, InvalidInputError for a kind that the program needs, KindInUseError."""
    kind = get_kind(slug)
    if kind.subject != Kind.Subject.STATEMENT:
        raise InvalidInputError("Runs and experiences need their rule. Change its lifetime instead.")
    try:
        kind.delete()
    except ProtectedError as error:
        held = Memory.objects.filter(kind=kind).count()
        raise KindInUseError(
            f"{held:,} memories are of this kind. Give it a short lifetime and delete it when they have faded, or let "
            "their owners move them to another kind.",
            memories=held,
        ) from error


def preview(slug: str, *, ttl_days: int | None) -> list[Fading]:
    """What another lifetime would do now, in 7 and in 30 days, if nothing were said meanwhile.

    Raises NotFoundError, InvalidInputError for a lifetime that the kind cannot have.
    """
    kind = get_kind(slug)
    if kind.subject == Kind.Subject.RUN:
        raise InvalidInputError("Records of runs hold no memories: there is nothing to preview.")
    kind.ttl_days = ttl_days
    _validate(kind)
    rows = _rows_of(kind).annotate(fades_then=fading_at(ttl_days, subject=kind.subject))
    return [_fading(rows, days) for days in HORIZONS_DAYS]


def _rows_of(kind: Kind) -> QuerySet[Any]:
    if kind.subject == Kind.Subject.EXPERIENCE:
        return Experience.objects.filter(kind=kind).unfaded()
    return Memory.objects.filter(kind=kind, status=Memory.Status.ACTIVE).unfaded()


def _fading(rows: QuerySet[Any], days: int) -> Fading:
    moment = Now() + timedelta(days=days)
    gone_now = Q(fades_at__lte=moment)
    gone_then = Q(fades_then__lte=moment)
    stays_now = Q(fades_at=None) | Q(fades_at__gt=moment)
    stays_then = Q(fades_then=None) | Q(fades_then__gt=moment)
    counted = rows.aggregate(
        rows=Count("id", filter=gone_then & stays_now),
        users=Count("user_id", filter=gone_then & stays_now, distinct=True),
        kept_rows=Count("id", filter=gone_now & stays_then),
    )
    return Fading(days=days, **counted)


def _saved(kind: Kind) -> Kind:
    _validate(kind)
    kind.save()
    return kind


def _validate(kind: Kind) -> None:
    try:
        kind.full_clean()
    except ValidationError as error:
        problems = [f"{field}: {' '.join(said)}" for field, said in error.message_dict.items()]
        raise InvalidInputError(" ".join(problems).replace("__all__: ", "")) from error
