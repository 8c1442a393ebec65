"""How long memories live by their person's own word, of which kind they are, and what else is done to many at once.

Each is one transaction and says how many it changed; ids of others, and of what is forgotten or not in use, are simply
not there. What has expired is out of reach of all but ``bring_back_expired``. With an ``undo_id``, ``undo`` gives back
for a while what was before.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, OuterRef, Q
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from memoryapp.activity.models import Verb
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.longterm import history, operations, queries, refusals
from memoryapp.longterm.models import (
    MAX_DAYS,
    Kind,
    LifetimeChange,
    Memory,
    MemoryQuerySet,
    MemoryVersion,
)
from memoryapp.nudges import EMBED_MEMORIES, nudge
from memoryapp.policies import dates

UNDO_FOR: Final = timedelta(hours=1)  # a page that stood open over a coffee still has its button
BATCH: Final = 500  # rows in one statement
LOOKED_AT: Final = 100  # memories of a change, to tell whether undoing it gives anything back
LIFETIME_FIELDS: Final = ("is_kept", "expires_at", "affirmed_at")
CHANGED_FIELDS: Final = (*LIFETIME_FIELDS, "kind", "version")


class LifetimesGoneError(MemoryAppError):
    """None of the memories whose lifetimes were changed is there any more."""

    code = "lifetimes_gone"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be of a lifetime; what it leaves out stays. ``has_no_end``: no date of its own any more."""

    affirms: bool = False
    is_kept: bool | None = None
    expires_at: datetime | None = None
    has_no_end: bool = False


@dataclass(frozen=True, slots=True)
class GivenBack:
    """How many have the lifetime and the kind before again, and how many of the same change have not."""

    count: int
    left_alone: int


@dataclass(frozen=True, slots=True)
class LeftAsTheyWere:
    """How many an extension did not move, by why: kept for ever, by its person or its kind; given a date of its own;
    its full lifetime had begun today; not in use."""

    for_ever: int
    dated: int
    full: int
    unused: int


def extend(user_id: UUID, ids: Collection[UUID], *, now: datetime, undo_id: UUID | None = None) -> int:
    """The lifetime of their kind starts again, of those that then expire on a later day. A date of its own, "for ever"
    and what has its full lifetime stay as they are."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        rows = _in_use(user_id, ids).extendable(now=now)
        again = {"affirmed_at": now}
        return _set(user_id, rows, again, undo_id=undo_id, detail=history.STARTS_AGAIN)


def affirm(user_id: UUID, ids: Collection[UUID], *, now: datetime, undo_id: UUID | None = None) -> int:
    """They are still true, today: also those that do not live longer by it."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        rows, again = _in_use(user_id, ids), {"affirmed_at": Greatest("affirmed_at", now)}
        return _set(user_id, rows, again, undo_id=undo_id, detail=gettext_noop("still true"))


def extended_ends(user_id: UUID, ids: Collection[UUID], *, now: datetime) -> Mapping[UUID, datetime]:
    """When each of those would expire that ``extend`` moves."""
    rows = _in_use(user_id, ids).extendable(now=now).only("id")
    return {row.id: row.extended_at for row in rows}  # type: ignore[attr-defined]  # annotated by the query


def left_as_they_were(user_id: UUID, ids: Collection[UUID], *, extended: int) -> LeftAsTheyWere:
    """Of those that ``extend`` was just given, of which it moved ``extended``."""
    counts = _in_use(user_id, ids).aggregate(
        in_use=Count("id"),
        for_ever=Count("id", filter=Q(fades_at=None)),
        dated=Count("id", filter=Q(expires_at__isnull=False)),
    )
    full = counts["in_use"] - counts["for_ever"] - counts["dated"] - extended
    return LeftAsTheyWere(
        for_ever=counts["for_ever"], dated=counts["dated"], full=full, unused=len(set(ids)) - counts["in_use"]
    )


def keep(user_id: UUID, ids: Collection[UUID], *, undo_id: UUID | None = None) -> int:
    """For ever: until their person says otherwise."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        kept = {"is_kept": True, "expires_at": None}
        rows = _in_use(user_id, ids).exclude(**kept)
        return _set(user_id, rows, kept, undo_id=undo_id, detail=gettext_noop("kept for ever"))


def follow_kind(user_id: UUID, ids: Collection[UUID], *, undo_id: UUID | None = None) -> int:
    """Back to the rule of their kinds, from when they were last affirmed: one that is older than its kind allows
    expires at once."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        as_kind = {"is_kept": False, "expires_at": None}
        rows = _in_use(user_id, ids).exclude(**as_kind)
        return _set(user_id, rows, as_kind, undo_id=undo_id, detail=gettext_noop("as its kind"))


def end_at(user_id: UUID, ids: Collection[UUID], *, at: date, undo_id: UUID | None = None) -> int:
    """A day: they expire when it ends in their person's zone; or a moment. Raises InvalidInputError for one that is
    over."""
    with transaction.atomic(durable=True):
        person = history.lock_person(user_id)
        moment = end_of(at, time_zone=person.time_zone, now=timezone.now())
        dated = {"is_kept": False, "expires_at": moment}
        rows = _in_use(user_id, ids).exclude(**dated)
        return _set(user_id, rows, dated, undo_id=undo_id, detail=gettext_noop("until a date"))


def end_of(at: date, *, time_zone: str, now: datetime) -> datetime:
    """The moment that is meant by a day or a moment. Raises InvalidInputError unless it is to come."""
    if isinstance(at, datetime) and at.tzinfo is None:
        raise InvalidInputError(gettext("A moment needs a time zone, for example 2026-03-01T12:00:00Z."))
    latest = now + timedelta(days=MAX_DAYS)
    if at.year > latest.year:
        raise InvalidInputError(gettext("Choose a date within a hundred years, or keep it for ever."))
    moment = at if isinstance(at, datetime) else dates.midnight(at + timedelta(days=1), time_zone=time_zone)
    if moment <= now:
        raise InvalidInputError(gettext("This date is over. Choose one to come."))
    return moment


def bring_back_expired(
    user_id: UUID, ids: Collection[UUID], *, now: datetime, undo_id: UUID | None = None
) -> int:
    """What has expired and is not deleted yet is affirmed; a date of its own that is over counts no more.

    What was said again or has a new value under its key is deleted already; one whose question a newer memory answers
    is not brought back.
    """
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        expired = queries.memories(user_id, status="expired").filter(id__in=list(ids))
        answers = Memory.objects.for_user(user_id).live().filter(slot=OuterRef("slot")).exclude(slot="")
        rows = expired.exclude(Exists(answers.filter(recorded_at__gt=OuterRef("affirmed_at"))))
        again = {"affirmed_at": Greatest("affirmed_at", now), "expires_at": None}
        return _set(
            user_id,
            rows,
            again,
            undo_id=undo_id,
            verb=Verb.BROUGHT_BACK,
            detail=gettext_noop("after it expired"),
        )


def find_change(user_id: UUID, change_id: UUID) -> LifetimeChange | None:
    """The change that was given this ``undo_id``; None when it changed nothing."""
    return LifetimeChange.objects.filter(user_id=user_id, id=change_id).first()


def open_changes(user_id: UUID, *, now: datetime, about: UUID | None = None) -> list[LifetimeChange]:
    """Those that ``undo`` can take back, newest first; of one memory, or of all.

    One whose memories were all changed or forgotten since would give nothing back, and is left out.
    """
    made = LifetimeChange.objects.filter(user_id=user_id, made_at__gt=now - UNDO_FOR)
    if about:
        made = made.filter(before__contains=[{"id": str(about)}])
    before = {
        change: [row for row in change.before if about is None or row["id"] == str(about)][:LOOKED_AT]
        for change in made.order_by("-made_at", "-id")
    }
    ids = [UUID(row["id"]) for rows in before.values() for row in rows]
    lived = _lived(user_id, ids) if ids else {}
    return [
        change
        for change, rows in before.items()
        if any(lived.get(row["id"]) == row.get("left") for row in rows)
    ]


def undo(user_id: UUID, change_id: UUID, *, now: datetime) -> GivenBack:
    """Give every memory of a change its lifetime before, to the moment, also what has expired by it.

    One that was given another kind becomes what it was, as a new version. What was given a lifetime or changed or said
    again since keeps that, its person's later word; what was forgotten or deleted since stays so, and so does what was
    of another kind that is no more, or of which nothing is to be remembered now. Raises NotFoundError,
    LifetimesGoneError.
    """
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        made = find_change(user_id, change_id)
        if made is None or made.made_at + UNDO_FOR <= now:
            raise NotFoundError(gettext("This can be undone no longer."))
        before = {UUID(row["id"]): row for row in made.before}
        kinds = {kind.slug: kind for kind in queries.statement_kinds()}
        refused = refusals.refused(user_id)
        rows = [
            memory
            for memory in _locked_rows(user_id, list(before))
            if _can_be_given_back(memory, before[memory.id], kinds, refused=refused)
        ]
        if not rows:
            raise LifetimesGoneError(
                gettext(
                    "Nothing was changed back: it is not there any more, was changed since,"
                    " or was of a kind that is never to be remembered now."
                )
            )
        moved = [memory for memory in rows if memory.kind.slug != before[memory.id]["kind"]]
        for memory in rows:
            _give_back(memory, before[memory.id], kinds)
        Memory.objects.bulk_update(rows, CHANGED_FIELDS, batch_size=BATCH)
        _write_versions(moved)
        verb = Verb.EDITED if moved else Verb.LIFETIME
        history.note_done(user_id, verb, [memory.id for memory in rows], detail=gettext_noop("as before"))
        made.delete()
    return GivenBack(len(rows), left_alone=len(before) - len(rows))


def change_kind(
    user_id: UUID, ids: Collection[UUID], *, kind: str, now: datetime, undo_id: UUID | None = None
) -> int:
    """As a new version of each; as any correction it affirms them.

    Raises InvalidInputError for an unknown kind, KindRefusedError for one of which nothing is to be remembered.
    """
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        becomes = queries.get_kind(kind)
        refusals.check_kind(user_id, kind)
        found = _ids(_in_use(user_id, ids).exclude(kind=becomes))
        values = {"kind": becomes, "version": F("version") + 1, "affirmed_at": Greatest("affirmed_at", now)}
        _change(user_id, found, values, undo_id=undo_id)
        _write_versions(_rows(user_id, found).select_related("kind").defer("embedding", "terms"))
        history.note_done(user_id, Verb.EDITED, found, detail=history.OF_THE_KIND.format(kind=kind))
    return len(found)


def confirm_many(user_id: UUID, versions: Mapping[UUID, int], *, now: datetime) -> int:
    """Settle what waits in its own favour, one after the other, as ``operations.confirm`` does.

    What changed since it was read, does not wait any more or repeats what is known stays as it is and is not counted.
    Each is compared with all that is known by then, those before it included.
    """
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        confirmed = [
            memory_id
            for memory_id, version in sorted(versions.items())
            if _is_confirmed(user_id, memory_id, version=version, now=now)
        ]
        history.note_done(user_id, Verb.CONFIRMED, confirmed)
    for memory_id in confirmed:
        nudge(EMBED_MEMORIES, memory_id)
    return len(confirmed)


def checked(wish: Wish | None, *, now: datetime) -> Wish | None:
    """Raises InvalidInputError for an end that is over, and for an end of what is kept for ever."""
    if wish and wish.expires_at:
        if wish.is_kept:
            raise InvalidInputError(gettext("What is kept for ever has no date: send is_kept or expires_at."))
        end_of(wish.expires_at, time_zone="UTC", now=now)
    return wish


def give(user_id: UUID, memory_id: UUID, wish: Wish, *, version: int, now: datetime) -> Memory:
    """One memory's lifetime, as its person read it; no new version, for what it says is the same.

    ``wish`` was ``checked``. It is affirmed only where it then expires on a later day. Raises NotFoundError,
    StaleVersionError, InvalidInputError for what is not in use.
    """
    with transaction.atomic(durable=True):
        memory = history.locked(user_id, memory_id, version=version)
        if memory.status == Memory.Status.SUPERSEDED:
            raise InvalidInputError(gettext("This is not in use any more."))
        before = _life_of(memory)
        if wish.expires_at or wish.is_kept or wish.has_no_end:
            memory.expires_at = wish.expires_at
        memory.is_kept = (memory.is_kept if wish.is_kept is None else wish.is_kept) and not wish.expires_at
        memory.save(update_fields=["expires_at", "is_kept"])
        if wish.affirms and _rows(user_id, [memory_id]).extendable(now=now).exists():
            memory.affirmed_at = now
            memory.save(update_fields=["affirmed_at"])
        if _life_of(memory) != before:
            history.note_done(user_id, Verb.LIFETIME, [memory_id])
    return queries.get_memory(user_id, memory_id)


def _set(
    user_id: UUID,
    rows: MemoryQuerySet,
    values: Mapping[str, Any],
    *,
    undo_id: UUID | None,
    detail: str,
    verb: Verb = Verb.LIFETIME,
) -> int:
    found = _ids(rows)
    _change(user_id, found, values, undo_id=undo_id)
    history.note_done(user_id, verb, found, detail=detail)
    return len(found)


def _change(user_id: UUID, ids: Sequence[UUID], values: Mapping[str, Any], *, undo_id: UUID | None) -> None:
    """Keeps for an undo what was before, and what it left; what nobody can undo any more goes."""
    LifetimeChange.objects.filter(user_id=user_id, made_at__lte=timezone.now() - UNDO_FOR).delete()
    before = _lived(user_id, ids) if undo_id and ids else {}
    _rows(user_id, ids).update(**values)
    if before:
        left = _lived(user_id, ids)
        rows = [{"id": memory_id, **lived, "left": left[memory_id]} for memory_id, lived in before.items()]
        LifetimeChange.objects.create(id=undo_id, user_id=user_id, made_at=timezone.now(), before=rows)


def _lived(user_id: UUID, ids: Sequence[UUID]) -> dict[str, dict[str, Any]]:
    rows = _rows(user_id, ids).select_related("kind").only("kind__slug", *LIFETIME_FIELDS)
    return {str(memory.id): _life_of(memory) for memory in rows}


def _life_of(memory: Memory) -> dict[str, Any]:
    """What decides how long it lives, as it is kept for an undo."""
    return {
        "is_kept": memory.is_kept,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
        "affirmed_at": memory.affirmed_at.isoformat(),
        "kind": memory.kind.slug,
    }


def _can_be_given_back(
    memory: Memory, before: Mapping[str, Any], kinds: Mapping[str, Kind], *, refused: Collection[str]
) -> bool:
    """Not what has changed since, which is its person's later word, nor into a kind that is deleted or refused."""
    is_same_kind = memory.kind.slug == before["kind"]
    is_open = before["kind"] in kinds and (is_same_kind or before["kind"] not in refused)
    return _life_of(memory) == before.get("left") and is_open


def _give_back(memory: Memory, before: Mapping[str, Any], kinds: Mapping[str, Kind]) -> None:
    memory.is_kept, memory.affirmed_at = before["is_kept"], datetime.fromisoformat(before["affirmed_at"])
    memory.expires_at = datetime.fromisoformat(before["expires_at"]) if before["expires_at"] else None
    if memory.kind.slug != before["kind"]:
        memory.kind = kinds[before["kind"]]
        memory.version += 1


def _is_confirmed(user_id: UUID, memory_id: UUID, *, version: int, now: datetime) -> bool:
    try:
        with transaction.atomic():
            operations.confirm_within(user_id, memory_id, version=version, now=now)
    except (MemoryAppError, IntegrityError):
        return False
    return True


def _in_use(user_id: UUID, ids: Collection[UUID]) -> MemoryQuerySet:
    rows = Memory.objects.for_user(user_id).unfaded().filter(id__in=list(ids))
    return rows.exclude(status=Memory.Status.SUPERSEDED)


def _ids(rows: MemoryQuerySet) -> list[UUID]:
    """Locked, always in this order."""
    return list(rows.order_by("id").select_for_update(of=("self",)).values_list("id", flat=True))


def _rows(user_id: UUID, ids: Sequence[UUID]) -> MemoryQuerySet:
    return Memory.objects.for_user(user_id).filter(id__in=ids)


def _locked_rows(user_id: UUID, ids: Sequence[UUID]) -> MemoryQuerySet:
    rows = _rows(user_id, ids).order_by("id").select_for_update(of=("self",))
    return rows.select_related("kind").defer("embedding", "terms")


def _write_versions(rows: Iterable[Memory]) -> None:
    """By their person's hand."""
    MemoryVersion.objects.bulk_create(
        history.version_of(memory, author=MemoryVersion.Author.USER, reason=queries.EDITED) for memory in rows
    )
