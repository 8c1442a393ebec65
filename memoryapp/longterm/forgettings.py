"""Forgetting, of one memory or of thousands at once: out of every read at commit, undone or deleted minutes later."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import MemoryAppError, NotFoundError, StaleVersionError
from memoryapp.longterm import history, tombstones
from memoryapp.longterm.models import (
    Experience,
    Feedback,
    Forgetting,
    LifetimeChange,
    Memory,
    MemorySource,
    MemoryVersion,
    Tombstone,
)
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Scope, Sort
from memoryapp.tuning import queries as tuning

# Sent with ``traces`` inside the transaction of a forgetting: what other rooms hold goes with it, or neither.
# A receiver returns how many records it deleted that will not come back, or None.
forgetting = Signal()

FINISHED_AT_ONCE: Final = 200  # forgettings in one sweep; the next one is a minute away


class TooLateError(MemoryAppError):
    """It was deleted for good. ``details["finished_at"]``: when, ISO 8601."""

    code = "too_late"
    http_status = 409


class UndoneAlreadyError(MemoryAppError):
    """The forgetting was undone before."""

    code = "undone_already"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Traces:
    """By what that which is being forgotten can be found elsewhere: ids, wordings and quotes.

    ``forgetting_id``: what is derived from it in long-term memory is hidden as a part of this forgetting, and comes
    back with it; None: it is deleted.
    """

    user_id: UUID
    run_ids: frozenset[UUID]
    texts: frozenset[str]
    forgetting_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """How many came back; ``kept_away``: memories whose place something that was said since has taken."""

    memories: int
    experiences: int
    kept_away: int


def forget(
    user_id: UUID,
    memory_ids: Collection[UUID],
    *,
    now: datetime,
    versions: Mapping[UUID, int] | None = None,
    is_final: bool = False,
) -> Forgetting:
    """Take memories out of every read, and see to it that old text cannot teach them again; until ``undo_until`` of the
    forgetting ``undo`` brings them back, then they are deleted for good.

    One transaction: with each memory go its former values, which are the same fact in older words, and rows that wait
    with the same statement. A tombstone without the text stays for every wording, and for every turn in which it was
    said, so that recall passes over it; the memory epoch moves, so that a turn or job already running cannot write it
    back. Whoever listens to ``forgetting`` removes its traces elsewhere: records of runs that held it go at once and do
    not come back, experiences made of it come back with it.

    ``is_final``, or no ``undo_minutes``: everything is deleted now. ``versions``: as the person read them. Ids of
    others are not there. Raises NotFoundError when none of them is, StaleVersionError.
    """
    with transaction.atomic(durable=True):
        return forget_within(user_id, memory_ids, now=now, versions=versions, is_final=is_final)


def forget_within(
    user_id: UUID,
    memory_ids: Collection[UUID],
    *,
    now: datetime,
    versions: Mapping[UUID, int] | None = None,
    is_final: bool = False,
) -> Forgetting:
    """``forget``, as a part of the caller's transaction."""
    person = history.lock_person(user_id)
    asked = _asked(user_id, memory_ids, versions or {})
    act = _begin(person, now=now, is_final=is_final)
    rows = _with_what_goes_along(person, asked, is_final=act.finished_at is not None)
    ids = list(rows)
    _bury(person, rows, act, now=now)
    traces = traces_of(user_id, ids, hidden_by=act)
    if act.finished_at is None:
        Memory.objects.for_user(user_id).filter(id__in=ids).update(forgetting=act)
    accounts.advance_memory_epoch(user_id)
    act.records_count = _drop_elsewhere(Memory, traces)
    if act.finished_at:
        Memory.everything.for_user(user_id).filter(id__in=ids).only("id").delete()
    _keep_counts(act, memories=len(asked))
    history.note_done(user_id, Verb.FORGOT, [memory.id for memory in asked])
    _issue(act, Scope.MEMORY, memory_ids=ids)
    return act


def forget_experiences(
    user_id: UUID, ids: Collection[UUID], *, now: datetime, is_final: bool = False
) -> Forgetting:
    """Likewise for experiences, with records of runs that taught them or were given them, and what those taught.

    The memory epoch moves, so that no job that is under way teaches them again. Raises NotFoundError when none of these
    ids is one of the person's.
    """
    with transaction.atomic(durable=True):
        return forget_experiences_within(user_id, ids, now=now, is_final=is_final)


def forget_experiences_within(
    user_id: UUID, ids: Collection[UUID], *, now: datetime, is_final: bool = False
) -> Forgetting:
    """``forget_experiences``, as a part of the caller's transaction."""
    person = history.lock_person(user_id)
    rows = Experience.objects.for_user(user_id).unfaded().filter(id__in=list(ids))
    asked = list(rows.order_by("id").select_for_update(of=("self",)))
    if not asked:
        raise NotFoundError(gettext("There is no such experience."))
    act = _begin(person, now=now, is_final=is_final)
    asked_ids = [row.id for row in asked]
    tombstones.bury_lessons(user_id, Experience.everything.filter(id__in=asked_ids), now=now, forgetting=act)
    traces = traces_of_lessons(user_id, asked, hidden_by=act)
    if act.finished_at is None:
        Experience.objects.for_user(user_id).filter(id__in=asked_ids).update(forgetting=act)
    accounts.advance_memory_epoch(user_id)
    act.records_count = _drop_elsewhere(Experience, traces)
    if act.finished_at:
        Experience.everything.for_user(user_id).filter(id__in=asked_ids).delete()
    _keep_counts(act, experiences=len(asked))
    history.note_done(user_id, Verb.FORGOT, asked_ids)
    _issue(act, Scope.EXPERIENCE, experience_ids=asked_ids)
    return act


def undo(user_id: UUID, forgetting_id: UUID, *, now: datetime) -> Undone:
    """Bring back what a forgetting took, as it was, and lift its tombstones.

    A memory whose place was taken meanwhile, by saying it again or by another answer to the same question, stays
    forgotten with its former values, and so does a former value whose successor is forgotten. Raises NotFoundError,
    TooLateError, UndoneAlreadyError.
    """
    with transaction.atomic(durable=True):
        return undo_within(user_id, forgetting_id, now=now)


def undo_within(user_id: UUID, forgetting_id: UUID, *, now: datetime) -> Undone:
    """``undo``, as a part of the caller's transaction."""
    person = history.lock_person(user_id)
    act = _open(person, forgetting_id)
    if act.undo_until <= now:
        raise _too_late(act, person)
    hidden = Memory.everything.for_user(user_id).filter(forgetting=act)
    away = _hand_over(hidden, act) + _give_up(hidden, act)
    Tombstone.objects.filter(user_id=user_id, forgetting=act).exclude(memory_id__in=away).delete()
    lessons = Experience.everything.for_user(user_id).filter(forgetting=act)
    receipts.take_back(user_id, {Sort.MEMORY: _ids(hidden), Sort.EXPERIENCE: _ids(lessons)}, now=now)
    rows = hidden.update(forgetting=None)
    experiences = lessons.update(forgetting=None)
    act.undone_at = now
    act.save(update_fields=["undone_at"])
    # Fewer rows than that: some were deleted since, with what had replaced them.
    back = min(rows, act.memories_count - len(away))
    if back + experiences:
        activity.note(user_id, Verb.RESTORED, tier=Tier.LONGTERM, rows=back + experiences)
    return Undone(memories=back, experiences=experiences, kept_away=len(away))


def finish(user_id: UUID, forgetting_id: UUID) -> None:
    """Delete what a forgetting took for good, now. Once more changes nothing. Raises NotFoundError,
    UndoneAlreadyError."""
    with transaction.atomic(durable=True):
        finish_within(user_id, forgetting_id)


def finish_within(user_id: UUID, forgetting_id: UUID) -> None:
    """``finish``, as a part of the caller's transaction."""
    history.lock_person(user_id)
    act = _locked(user_id, forgetting_id)
    if act.undone_at:
        raise UndoneAlreadyError(gettext("This was undone already: nothing of it is forgotten."))
    if act.finished_at is None:
        _delete(act)


def delete_everything_within(user_id: UUID, *, now: datetime) -> dict[str, int]:
    """Within the caller's transaction: all memories and experiences of this person, now and for good; how many.

    What they want never to be remembered stays, and so do the tombstones, of which every wording gets one.
    """
    person = history.lock_person(user_id)
    accounts.advance_memory_epoch(user_id)
    _bury_all(person, now=now)
    counts = count_everything(user_id)
    Tombstone.objects.filter(user_id=user_id).exclude(forgetting=None).update(forgetting=None)
    accounts.delete_rows(
        user_id, (MemoryVersion, MemorySource, Feedback, LifetimeChange, Experience, Memory, Forgetting)
    )
    return counts


def count_everything(user_id: UUID) -> dict[str, int]:
    """How many memories and experiences there are, with what is being forgotten."""
    memories = Memory.everything.for_user(user_id)
    return {
        "memories": memories.exclude(status=Memory.Status.SUPERSEDED).count(),
        "experiences": Experience.everything.for_user(user_id).count(),
    }


def foresee(user_id: UUID, memory_ids: Collection[UUID], *, is_final: bool) -> list[UUID]:
    """All rows that ``forget`` would take: these, their former values, and what waits in the same words."""
    person = User.objects.get(id=user_id)
    asked = Memory.objects.for_user(user_id).filter(id__in=list(memory_ids))
    return list(_with_what_goes_along(person, list(asked.only("id")), is_final=is_final))


def finish_due() -> int:
    """Delete for good what can be undone no longer (the database's clock); returns how many rows."""
    due = Forgetting.objects.filter(finished_at=None, undone_at=None, undo_until__lte=Now())
    acts = list(due.order_by("undo_until", "id").values_list("user_id", "id")[:FINISHED_AT_ONCE])
    return sum(_finish_due(user_id, forgetting_id) for user_id, forgetting_id in acts)


def open_forgettings(user_id: UUID) -> QuerySet[Forgetting]:
    """Those that can still be undone, newest first."""
    acts = Forgetting.objects.filter(user_id=user_id, finished_at=None, undone_at=None)
    return acts.filter(undo_until__gt=Now()).order_by("-created_at", "-id")


def open_among(user_id: UUID, ids: Collection[UUID]) -> list[UUID]:
    """Those of these forgettings that can still be undone or finished, the newest first."""
    return list(open_forgettings(user_id).filter(id__in=ids).values_list("id", flat=True))


def hiding(user_id: UUID, ids: Collection[UUID]) -> QuerySet[Forgetting]:
    """Those that can still be undone and took one of these memories or experiences, newest first."""
    took = Q(memories__in=ids) | Q(experiences__in=ids)
    return open_forgettings(user_id).filter(took).distinct()


def _asked(user_id: UUID, ids: Collection[UUID], versions: Mapping[UUID, int]) -> list[Memory]:
    rows = Memory.objects.for_user(user_id).filter(id__in=list(ids)).order_by("id")
    asked = list(rows.select_for_update(of=("self",)).only("id", "user_id", "digest", "version"))
    if not asked:
        raise NotFoundError(gettext("There is no such memory."))
    for memory in asked:
        if versions.get(memory.id, memory.version) != memory.version:
            raise StaleVersionError(
                gettext("This memory changed since you opened it."), version=memory.version
            )
    return asked


def _begin(person: User, *, now: datetime, is_final: bool) -> Forgetting:
    minutes = 0 if is_final else tuning.conf().undo_minutes
    return Forgetting.objects.create(
        user=person,
        created_at=now,
        undo_until=now + timedelta(minutes=minutes),
        finished_at=None if minutes else now,
    )


def _with_what_goes_along(person: User, asked: Sequence[Memory], *, is_final: bool) -> dict[UUID, UUID]:
    """Row → the asked memory that it goes with: its former values, and what waits in any words that these ever had.

    A former value that another forgetting took before comes along only for good: until then it has an undo of its own.
    """
    user_id = person.id
    taken = {memory.id: memory.id for memory in asked}
    manager = Memory.everything if is_final else Memory.objects
    former = manager.for_user(user_id).filter(superseded_by__in=list(taken))
    for former_id, successor_id in former.values_list("id", "superseded_by"):
        if successor_id:
            taken.setdefault(former_id, taken[successor_id])
    of_words = _by_digest(person, taken)
    repeats = Memory.objects.for_user(user_id).filter(digest__in=list(of_words))
    # Named, and not "all but active", which no index answers.
    waiting = repeats.filter(
        status__in=[status for status in Memory.Status if status != Memory.Status.ACTIVE]
    )
    for row in waiting.values_list("id", "digest"):
        taken.setdefault(row[0], of_words[row[1]])
    return taken


def _by_digest(person: User, taken: Mapping[UUID, UUID]) -> dict[str, UUID]:
    """The digest of every wording that these rows ever had → the asked memory."""
    key = person.forgetting_key
    now = Memory.everything.for_user(person.id).filter(id__in=list(taken)).values_list("id", "digest")
    versions = MemoryVersion.objects.filter(user_id=person.id, memory__in=list(taken))
    said = versions.values_list("memory_id", "statement")
    before = ((row_id, tombstones.statement_digest(key, statement)) for row_id, statement in said)
    return {digest: taken[row_id] for row_id, digest in chain(before, now)}


def _bury(person: User, rows: Mapping[UUID, UUID], act: Forgetting, *, now: datetime) -> None:
    """A tombstone for every wording that the rows ever had and every turn in which they were said."""
    key = person.forgetting_key
    held = Memory.everything.for_user(person.id).filter(id__in=list(rows)).values_list("id", "statement")
    versions = MemoryVersion.objects.filter(user_id=person.id, memory__in=list(rows))
    statements = {*held, *versions.values_list("memory_id", "statement")}
    said = MemorySource.objects.filter(user_id=person.id, memory__in=list(rows)).exclude(message=None)
    turns = said.values_list("memory_id", "message__turn").distinct()
    worded = ((rows[row], digest) for row, text in statements for digest in tombstones.digests(key, text))
    placed = ((rows[row], tombstones.turn_digest(key, turn)) for row, turn in turns)
    tombstones.put(person.id, chain(worded, placed), now=now, forgetting=act)


def _bury_all(person: User, *, now: datetime) -> None:
    """As ``_bury``, for every row at once."""
    key = person.forgetting_key
    worded = Memory.everything.for_user(person.id).values_list("id", "statement")
    former = MemoryVersion.objects.filter(user_id=person.id).values_list("memory", "statement")
    said = {text: memory_id for memory_id, text in [*former, *worded]}
    stones = (
        (memory_id, digest) for text, memory_id in said.items() for digest in tombstones.digests(key, text)
    )
    tombstones.put(person.id, stones, now=now)
    tombstones.bury_lessons(person.id, Experience.everything.for_user(person.id), now=now)


def traces_of(user_id: UUID, ids: Sequence[UUID], *, hidden_by: Forgetting | None = None) -> Traces:
    """Of memories."""
    rows = list(
        Memory.everything.for_user(user_id)
        .filter(id__in=ids)
        .values_list("id", "statement", "quote", "source_run_id")
    )
    wordings = MemoryVersion.objects.filter(user_id=user_id, memory__in=ids)
    quotes = MemorySource.objects.filter(user_id=user_id, memory__in=ids)
    texts = {str(value) for row in rows for value in row[:3]}
    texts |= {*wordings.values_list("statement", flat=True), *quotes.values_list("quote", flat=True)}
    return Traces(
        user_id=user_id,
        run_ids=frozenset(run_id for *_, run_id in rows if run_id),
        texts=frozenset(filter(None, texts)),
        forgetting_id=_unfinished(hidden_by),
    )


def traces_of_lessons(
    user_id: UUID, lessons: Collection[Experience], *, hidden_by: Forgetting | None = None
) -> Traces:
    taught = {run_id for row in lessons for run_id in (*row.run_ids, row.source_run_id) if run_id}
    return Traces(
        user_id=user_id,
        run_ids=frozenset(taught),
        texts=frozenset(str(row.id) for row in lessons),
        forgetting_id=_unfinished(hidden_by),
    )


def _unfinished(act: Forgetting | None) -> UUID | None:
    return act.id if act and not act.finished_at else None


def _drop_elsewhere(sender: type[Memory | Experience], traces: Traces) -> int:
    """How many records of other rooms are gone for good with it."""
    answers: Sequence[tuple[object, Any]] = forgetting.send(sender=sender, traces=traces)
    return sum(gone or 0 for _, gone in answers)


def _keep_counts(act: Forgetting, *, memories: int = 0, experiences: int = 0) -> None:
    """With the experiences that went along."""
    along = Experience.everything.filter(user_id=act.user_id, forgetting=act).count()
    act.memories_count, act.experiences_count = memories, max(experiences, along)
    act.save(update_fields=["memories_count", "experiences_count"])


def _issue(
    act: Forgetting, scope: Scope, *, memory_ids: Sequence[UUID] = (), experience_ids: Sequence[UUID] = ()
) -> None:
    along = Experience.everything.for_user(act.user_id).filter(forgetting=act)
    receipts.issue(
        act.user_id,
        scope,
        items={Sort.MEMORY: memory_ids, Sort.EXPERIENCE: {*experience_ids, *_ids(along)}},
        counts={"records": act.records_count},
        now=act.created_at,
        undo_until=None if act.finished_at else act.undo_until,
        act_id=act.id,
    )


def _ids(rows: QuerySet[Any]) -> list[UUID]:
    return list(rows.values_list("id", flat=True))


def _locked(user_id: UUID, forgetting_id: UUID) -> Forgetting:
    act = Forgetting.objects.select_for_update().filter(user_id=user_id, id=forgetting_id).first()
    if act is None:
        raise NotFoundError(gettext("There is no such forgetting."))
    return act


def _open(person: User, forgetting_id: UUID) -> Forgetting:
    act = _locked(person.id, forgetting_id)
    if act.undone_at:
        raise UndoneAlreadyError(gettext("This was undone already."))
    if act.finished_at:
        raise _too_late(act, person)
    return act


def _too_late(act: Forgetting, person: User) -> TooLateError:
    """Rows that the sweep has not reached yet count as deleted: a person must not depend on when it runs."""
    ended_at = act.finished_at or act.undo_until
    at = ended_at.astimezone(ZoneInfo(person.time_zone))
    said = gettext("It was deleted for good at {time}.").format(time=f"{at:%H:%M}")
    return TooLateError(said, finished_at=ended_at.isoformat())


def _hand_over(hidden: QuerySet[Memory], act: Forgetting) -> list[UUID]:
    """Former values of what another forgetting took go over to that one; their ids."""
    # Two looks by primary key: as one join over rows that were just written it is planned for few and takes minutes.
    former = dict(hidden.exclude(superseded_by=None).values_list("id", "superseded_by"))
    others = Memory.everything.for_user(act.user_id).exclude(forgetting=None).exclude(forgetting=act)
    takers = dict(others.filter(id__in=set(former.values())).values_list("id", "forgetting"))
    handed = [(memory_id, takers[current]) for memory_id, current in former.items() if current in takers]
    for taker in {taker for _, taker in handed}:
        ids = [memory_id for memory_id, other in handed if other == taker]
        hidden.filter(id__in=ids).update(forgetting=taker)
    return [memory_id for memory_id, _ in handed]


def _give_up(hidden: QuerySet[Memory], act: Forgetting) -> list[UUID]:
    """Memories whose place is taken are deleted for good, with their former values; the ids of the memories."""
    live = Memory.objects.for_user(act.user_id).filter(status=Memory.Status.ACTIVE)
    newer = live.filter(recorded_at__gt=act.created_at)
    # None of them asks about the row at hand, so that each is read once, and not once for every hidden row.
    has_place = Q(digest__in=live.values("digest")) | Q(key__in=live.exclude(key="").values("key"))
    # Two that answer one question may have stood side by side before: only a newer one takes the place.
    has_answer = Q(slot__in=newer.exclude(slot="").values("slot"))
    taken = hidden.filter(has_place | has_answer, status=Memory.Status.ACTIVE)
    ids = list(taken.values_list("id", flat=True))
    hidden.filter(Q(id__in=ids) | Q(superseded_by__in=ids)).delete()
    return ids


def _finish_due(user_id: UUID, forgetting_id: UUID) -> int:
    """Of two sweeps, and of a sweep and a person, one deletes it."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        act = _locked(user_id, forgetting_id)
        return 0 if act.finished_at or act.undone_at else _delete(act)


def _delete(act: Forgetting) -> int:
    """Its rows, and former values of them that another forgetting took; how many."""
    mine = Memory.everything.filter(user_id=act.user_id, forgetting=act)
    ids = list(mine.values_list("id", flat=True))
    former = Q(superseded_by__in=ids, forgetting__isnull=False)
    Memory.everything.for_user(act.user_id).filter(former | Q(id__in=ids)).only("id").delete()
    experiences = Experience.everything.filter(user_id=act.user_id, forgetting=act)
    rows = len(ids) + experiences.count()
    experiences.delete()
    act.finished_at = timezone.now()
    act.save(update_fields=["finished_at"])
    counted = act.memories_count + act.experiences_count
    activity.note(act.user_id, Verb.DELETED, tier=Tier.LONGTERM, rows=counted)
    return rows
