"""Changes of the rules of kinds, each a row: made at once or on a day to come, and undone.

A change hides and never deletes: expiry is decided in the query. ``operations.delete_faded`` deletes nothing of a kind
until its lifetime has stood for ``expired_hours``, so that undoing a change within that time brings back what it
hid, to the row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Field, QuerySet
from django.utils.translation import gettext

from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.longterm import changed_kinds, kind_effects, kinds
from memoryapp.longterm.kind_effects import Fading, Moved
from memoryapp.longterm.models import Kind, KindChange
from memoryapp.tuning import queries as tuning

FIELDS = (
    "label",
    "rationale",
    "shape",
    "ttl_days",
    "half_life_days",
    "min_confidence",
    "is_always_used",
    "needs_confirmation",
)
LONGEST_AHEAD = timedelta(days=366)  # nobody remembers a change longer than that
_LAST_FIRST = (F("applied_at").desc(nulls_first=True), "-id")  # of those that are not undone

Rule = Mapping[str, Any]


class KindChangedError(MemoryAppError):
    """Somebody else changed it meanwhile. ``details``: ``seen`` and ``present``, field → value, where they differ."""

    code = "kind_changed"
    http_status = 409


class ChangeToComeError(MemoryAppError):
    """One is to come, and says what it will do to the rule as it is. ``details["applies_at"]``."""

    code = "kind_change_to_come"
    http_status = 409


class ChangeFollowedError(MemoryAppError):
    """A newer one was made. ``details["newest"]``: the one to undo first."""

    code = "kind_change_followed"
    http_status = 409


class ChangeUndoneError(MemoryAppError):
    """It was undone, or withdrawn, already."""

    code = "kind_change_undone"
    http_status = 409


def rule(kind: Kind) -> dict[str, Any]:
    """Its fields that can change, by name."""
    return {field: getattr(kind, field) for field in FIELDS}


def is_possible(field: str, value: object) -> bool:
    """Whether a kind could have had this value, as JSON gives it, in one of ``FIELDS``."""
    column = Kind._meta.get_field(field)  # noqa: SLF001
    assert isinstance(column, Field)
    try:
        return bool(column.clean(value, None) == value)
    except (ValidationError, TypeError):
        return False


def changed(slug: str, values: Rule) -> Kind:
    """The kind with these values, not saved. Raises NotFoundError, InvalidInputError, which names the wrong fields."""
    return _with(kinds.get_kind(slug), values)


def history(kind: Kind | None = None) -> QuerySet[KindChange]:
    """Of one kind or of all, newest first by when it was decided."""
    rows = KindChange.objects.select_related("kind", "changed_by", "undone_by")
    return (rows.filter(kind=kind) if kind else rows).order_by("-created_at", "-id")


def get_change(change_id: UUID) -> KindChange:
    found = history().filter(id=change_id).first()
    if found is None:
        raise NotFoundError(gettext("There is no such change."))
    return found


def to_come(kind: Kind | None = None) -> QuerySet[KindChange]:
    """The next ones first; a kind has one at most."""
    return history(kind).filter(applied_at=None, undone_at=None).order_by("applies_at", "id")


def undo_until(change: KindChange) -> datetime | None:
    """While everything that an applied change hid is still there; None: it is not applied, or undone."""
    if change.applied_at is None or change.undone_at is not None:
        return None
    return kept_until(change.applied_at)


def kept_until(changed_at: datetime) -> datetime:
    """Until when nothing is deleted of what a change of a lifetime hides that is made, or undone, at that moment."""
    return changed_at + timedelta(hours=tuning.conf().expired_hours)


def preview(kind: Kind, *, after: int | None, applies_at: datetime | None = None) -> list[Fading]:
    """What another lifetime does from now on, or from a day to come on, if nothing were said meanwhile."""
    if kind.subject == Kind.Subject.RUN:
        return []
    swept_until = _swept_until(kind, applies_at) if applies_at else None
    return kind_effects.fading(
        kind,
        before=kind.ttl_days,
        after=after,
        days=kind_effects.horizons(after),
        since=applies_at,
        swept_until=swept_until,
    )


def moved(kind: Kind, *, after: int | None, applies_at: datetime | None = None) -> Moved:
    """Of the rows that are there when another lifetime begins to act, and stay: how many get another end, and which."""
    if kind.subject == Kind.Subject.RUN:
        return Moved()
    return kind_effects.moved(kind, before=kind.ttl_days, after=after, since=applies_at)


def first_gone(kind: Kind, moved: Moved, *, after: int | None, applies_at: datetime | None = None) -> Fading:
    """What ``preview`` counts, at the first end under a shorter lifetime of what ``moved`` is of."""
    swept_until = _swept_until(kind, applies_at) if applies_at else None
    [found] = kind_effects.fading(
        kind, before=kind.ttl_days, after=after, days=[0], since=moved.ends_at, swept_until=swept_until
    )
    return found


def undoable(kind: Kind | None = None) -> list[KindChange]:
    """What ``undo`` takes: of each kind, or of one, the change that is to come, or else the newest that was made."""
    last = history(kind).filter(undone_at=None).order_by("kind_id", *_LAST_FIRST).distinct("kind_id")
    return [change for change in last if change.applied_at is None or _is_so(change.kind, change.after)]


def change(
    slug: str,
    values: Rule,
    *,
    changed_by: UUID | None,
    now: datetime,
    seen: Rule | None = None,
    applies_at: datetime | None = None,
) -> KindChange | None:
    """Set these fields now, or at ``applies_at``; None when they are so already.

    ``seen``: the rule as whoever decides saw it. Raises NotFoundError, InvalidInputError, KindChangedError when the
    rule is no more what was seen, and ChangeToComeError while another change waits for its day.
    """
    with transaction.atomic(durable=True):
        return change_within(slug, values, changed_by=changed_by, now=now, seen=seen, applies_at=applies_at)


def change_within(
    slug: str,
    values: Rule,
    *,
    changed_by: UUID | None,
    now: datetime,
    seen: Rule | None = None,
    applies_at: datetime | None = None,
) -> KindChange | None:
    """``change`` inside a transaction that the caller has opened."""
    kind = _locked(slug)
    _require_as_seen(kind, seen)
    _require_none_to_come(kind)
    present = rule(kind)
    after = {field: value for field, value in values.items() if value != present[field]}
    _with(kind, after)
    if not after:
        return None
    if applies_at is not None:
        require_ahead(applies_at, now=now)
    _set(kind, present)
    lifetime = after.get("ttl_days", kind.ttl_days)
    made = KindChange(
        kind=kind,
        changed_by_id=changed_by,
        before={field: present[field] for field in after},
        after=after,
        preview=_counted(preview(kind, after=lifetime, applies_at=applies_at)),
        moved=asdict(moved(kind, after=lifetime, applies_at=applies_at)),
        applies_at=applies_at or now,
    )
    if applies_at is None:
        _apply(kind, made, now=now)
    made.save()
    return made


def require_ahead(applies_at: datetime, *, now: datetime) -> None:
    """Raises InvalidInputError for a moment that has passed or is too far."""
    if not now < applies_at <= now + LONGEST_AHEAD:
        raise InvalidInputError(gettext("The day of a change has to be one of the next twelve months."))


def apply_due(now: datetime) -> int:
    """Make the changes whose day has come, each for itself; returns how many."""
    due = to_come().filter(applies_at__lte=now).values_list("id", flat=True)
    return sum(_apply_one(change_id, now=now) for change_id in list(due))


def undo(change_id: UUID, *, by: UUID | None, now: datetime) -> KindChange:
    """Withdraw one that is to come, or set the fields of one that was made to what they were.

    What it hid is back at once, unless the sweep has deleted it since (``deleted_rows``); what it kept longer is
    hidden (``undo_hidden_rows``). Raises NotFoundError, ChangeUndoneError, ChangeToComeError, ChangeFollowedError, and
    KindChangedError when the rule is no more what the change made it.
    """
    kind_slug = get_change(change_id).kind.slug
    with transaction.atomic(durable=True):
        kind = _locked(kind_slug)
        made = KindChange.objects.select_for_update().get(id=change_id)
        if made.undone_at is not None:
            raise ChangeUndoneError(gettext("This change was undone already."))
        if made.applied_at is not None:
            _require_none_to_come(kind)
            _require_newest(made)
            _require_as_seen(kind, made.after)
            made.undo_hidden_rows = _hidden_by(kind, made.before)
            _set(kind, made.before)
            kinds.validate(kind)
            kind.save()
        made.undone_at, made.undone_by_id = now, by
        made.save(update_fields=["undone_at", "undone_by", "undo_hidden_rows"])
    return made


def lifetime_is_settled(subject: Kind.Subject) -> bool:
    """Whether no lifetime of a kind of this subject was changed so lately that what it ended can be brought back."""
    grace = timedelta(hours=tuning.conf().expired_hours)
    return not changed_kinds.changed_lately(grace).filter(subject=subject).exists()


def run_lifetime_in_force() -> KindChange | None:
    """The change that gave records of runs their lifetime, unless it was undone; None when nobody changed it."""
    moved = KindChange.objects.filter(
        applied_at__isnull=False, after__has_key="ttl_days", kind__subject=Kind.Subject.RUN
    )
    return moved.filter(undone_at=None).order_by("-applied_at", "-id").first()


def note_records_deleted(change: KindChange, rows: int) -> None:
    """The sweep deleted records of runs that would still be there without this change."""
    KindChange.objects.filter(id=change.id).update(deleted_rows=F("deleted_rows") + rows)


def _apply_one(change_id: UUID, *, now: datetime) -> bool:
    with transaction.atomic(durable=True):
        kind = _locked(get_change(change_id).kind.slug)
        made = (
            KindChange.objects.select_for_update()
            .filter(id=change_id, applied_at=None, undone_at=None)
            .first()
        )
        if made is None:
            return False  # another sweep, or it was withdrawn
        _apply(kind, made, now=now)
        made.save()
    return True


def _apply(kind: Kind, made: KindChange, *, now: datetime) -> None:
    made.before = {field: getattr(kind, field) for field in made.after}
    made.hidden_rows = _hidden_by(kind, made.after)
    made.applied_at = now
    _set(kind, made.after)
    kinds.validate(kind)
    kind.save()


def _hidden_by(kind: Kind, values: Rule) -> int:
    """Rows that another rule hides at once."""
    return sum(fading.rows for fading in preview(kind, after=values.get("ttl_days", kind.ttl_days))[:1])


def _locked(slug: str) -> Kind:
    """Until the end of the transaction nobody else changes it."""
    kind = Kind.objects.select_for_update().filter(slug=slug).first()
    if kind is None:
        raise NotFoundError(gettext("There is no such kind."))
    return kind


def _require_as_seen(kind: Kind, seen: Rule | None) -> None:
    present = rule(kind)
    moved = [field for field, value in (seen or {}).items() if present[field] != value]
    if seen and moved:
        raise KindChangedError(
            gettext("Somebody changed this kind meanwhile. Look at it again."),
            seen={field: seen[field] for field in moved},
            present={field: present[field] for field in moved},
        )


def _is_so(kind: Kind, values: Rule) -> bool:
    present = rule(kind)
    return all(present[field] == value for field, value in values.items())


def _require_newest(change: KindChange) -> None:
    newest = KindChange.objects.filter(kind=change.kind_id, undone_at=None).order_by(*_LAST_FIRST).first()
    if newest is not None and newest != change:
        raise ChangeFollowedError(
            gettext("A newer change of this kind was made. Undo that one first."), newest=str(newest.id)
        )


def _require_none_to_come(kind: Kind) -> None:
    ahead = to_come(kind).first()
    if ahead is not None:
        raise ChangeToComeError(
            gettext("A change of this kind is to come. Withdraw it first."),
            applies_at=ahead.applies_at.isoformat(),
        )


def _swept_until(kind: Kind, applies_at: datetime) -> datetime | None:
    """What ended before is deleted by then; None: nothing is, for the lifetime has not stood long enough."""
    grace = timedelta(hours=tuning.conf().expired_hours)
    lately = changed_kinds.lifetime_changed_at(kind)
    is_held = lately is not None and lately + grace > applies_at
    return None if is_held else applies_at - grace


def _with(kind: Kind, values: Rule) -> Kind:
    _set(kind, values)
    kinds.validate(kind)
    return kind


def _set(kind: Kind, values: Rule) -> None:
    for field, value in values.items():
        setattr(kind, field, value)


def _counted(fading: Sequence[Fading]) -> list[dict[str, int]]:
    return [asdict(row) for row in fading]
