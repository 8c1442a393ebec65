"""Writes of long-term memory, each one transaction.

Every path (chat, extraction, API, inspector, import) remembers through ``remember``; ``reconciling`` settles it among
what is known.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.utils.translation import gettext, gettext_noop

from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import (
    changed_kinds,
    experience_queries,
    forgettings,
    neighbours,
    queries,
    refusals,
    tombstones,
)
from memoryapp.longterm.candidates import (
    Candidate,
    QuoteNotFoundError,
    Source,
    checked,
    clean_key,
    clean_statement,
    held_in,
)
from memoryapp.longterm.forgettings import Traces, forgetting
from memoryapp.longterm.history import (
    lock_person,
    locked,
    note_done,
    note_word,
    point_to,
    retire_faded,
    save_version,
    step_aside,
    word,
)
from memoryapp.longterm.models import (
    Experience,
    ExperienceQuerySet,
    Memory,
    MemoryQuerySet,
    MemoryVersion,
)
from memoryapp.longterm.reconciling import (
    ForgottenError,
    MemoryFullError,
    PendingFullError,
    Remembered,
    reconcile,
)
from memoryapp.longterm.refusals import KindRefusedError, SavingPausedError
from memoryapp.nudges import EMBED_MEMORIES, nudge
from memoryapp.policies import dates
from memoryapp.policies.feedback import Verdict, confidence_after
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.secrets import SecretRefusedError
from memoryapp.policies.slots import synonyms
from memoryapp.tuning import queries as tuning

__all__ = [
    "Candidate",
    "ForgottenError",
    "KindRefusedError",
    "MemoryFullError",
    "PendingFullError",
    "QuoteNotFoundError",
    "Remembered",
    "SavingPausedError",
    "SecretRefusedError",
    "Source",
    "Traces",
    "confirm",
    "confirm_within",
    "delete_faded",
    "edit",
    "forget",
    "forgetting",
    "lock_person",
    "remember",
    "remember_within",
    "store_embedding",
]

REPEATS = gettext_noop("Another memory already says this or has this key. Change or forget that one.")
REMEMBERED_ALREADY = gettext_noop("This is remembered already. Forget one of the two.")

# What is noted of an outcome; of what is ignored nothing.
VERBS = {
    Outcome.ADDED: Verb.ADDED,
    Outcome.REINFORCED: Verb.REINFORCED,
    Outcome.SUPERSEDED: Verb.REPLACED,
    Outcome.CONFLICT: Verb.HELD,
    Outcome.PENDING: Verb.HELD,
}

SWEEP_ROWS = 1_000  # of each sort in one transaction; the next sweep is a minute away


def remember(user_id: UUID, candidate: Candidate) -> Remembered:
    """Reconcile a statement with what is known and keep the result, in one transaction.

    Writers of the same person take turns; if one ever did not, the constraints of one live row per key and statement
    refuse the second row. Raises InvalidInputError and its children, ForgottenError, MemoryFullError, PendingFullError,
    KindRefusedError, SavingPausedError.
    """
    candidate = checked(candidate)
    with transaction.atomic(durable=True):
        return _settled(user_id, candidate)


def remember_within(user_id: UUID, candidate: Candidate) -> Remembered:
    """``remember`` as a part of the caller's transaction."""
    return _settled(user_id, checked(candidate))


def edit(
    user_id: UUID,
    memory_id: UUID,
    *,
    version: int,
    now: datetime,
    statement: str | None = None,
    kind: str | None = None,
    key: str | None = None,
    confidence: float | None = None,
    channel: Memory.Channel = Memory.Channel.INSPECTOR,
) -> Memory:
    """A person's correction, as a new version; it also affirms the memory, so that its lifetime starts again.

    New words are as sure as what a person says, unless ``confidence`` is given or the memory still waits: correcting is
    not confirming. They take the place of live memories that they do not fit, but for those beside which the old words
    stood already. A key or a date that only the old words gave goes with them. Raises StaleVersionError when
    ``version`` is not the current one, InvalidInputError for what cannot be kept, and what ``refusals.check_edit``
    raises: ``channel`` is by what way the correction comes.
    """
    if confidence is not None and not 0 <= confidence <= 1:
        raise InvalidInputError(gettext("Confidence lies between 0 and 1."))
    try:
        with transaction.atomic(durable=True):
            memory = locked(user_id, memory_id, version=version)
            if memory.status == Memory.Status.SUPERSEDED:
                raise InvalidInputError(
                    gettext(
                        "This is not in use any more. Correct what replaced it, or bring this back first."
                    )
                )
            text = clean_statement(memory.statement if statement is None else statement)
            refusals.check_edit(memory, statement=text, kind=kind, channel=channel)
            is_corrected = text != memory.statement and memory.status == Memory.Status.ACTIVE
            before = memory.confidence
            beside = {row.id for row in neighbours.around(memory).rivals} if is_corrected else set()
            memory.key = _key_after(memory, text) if key is None else clean_key(key)
            memory.valid_from, memory.valid_to = _held_after(memory, text)
            memory.happened_at = _happened_after(memory, text, now=now)
            memory.kind = queries.get_kind(kind) if kind else memory.kind
            word(memory, text, digest=tombstones.statement_digest(memory.user.forgetting_key, text))
            replaced: list[Memory] = []
            if is_corrected:
                memory.confidence = confidence_after(Verdict.CORRECTED, before)
                replaced = _cleared(memory, beside=beside, named=key, now=now)
            memory.confidence = memory.confidence if confidence is None else confidence
            memory.affirmed_at = now
            save_version(memory, author=MemoryVersion.Author.USER, reason=queries.EDITED)
            for former in replaced:
                point_to(memory, former)
            if is_corrected:
                note_word(memory, Verdict.CORRECTED, before=before)
            note_done(user_id, Verb.EDITED, [memory.id])
    except IntegrityError as error:
        raise InvalidInputError(gettext(REPEATS)) from error
    nudge(EMBED_MEMORIES, memory.id)
    return queries.get_memory(user_id, memory_id)


def confirm(
    user_id: UUID, memory_id: UUID, *, version: int, now: datetime, is_beside: bool = False
) -> Memory:
    """A person settles a pending or conflicting memory in its favour; bound to the text they saw by ``version``.

    The live memories that it does not fit are superseded; ``is_beside``: they stay, for both are true, and the key,
    which has one value, stays with them. Raises StaleVersionError, and InvalidInputError for a memory that does not
    wait or that repeats a live one.
    """
    try:
        with transaction.atomic(durable=True):
            memory = confirm_within(user_id, memory_id, version=version, now=now, is_beside=is_beside)
            note_done(user_id, Verb.CONFIRMED, [memory.id])
    except IntegrityError as error:
        raise InvalidInputError(gettext(REMEMBERED_ALREADY)) from error
    nudge(EMBED_MEMORIES, memory.id)
    return queries.get_memory(user_id, memory_id)


def confirm_within(
    user_id: UUID, memory_id: UUID, *, version: int, now: datetime, is_beside: bool = False
) -> Memory:
    """``confirm`` as a part of the caller's transaction, who notes it and has it embedded."""
    memory = locked(user_id, memory_id, version=version)
    if memory.status not in queries.WAITING:
        raise InvalidInputError(gettext("This memory does not wait for your word."))
    retire_faded(user_id, digest=memory.digest, keys=[memory.key])
    near = neighbours.around(memory)
    if near.same:
        raise InvalidInputError(gettext(REMEMBERED_ALREADY))
    replaced = [] if is_beside else near.rivals
    if is_beside and near.rivals:
        memory.key = ""
    for former in replaced:
        step_aside(former, until=now, at=now)
    before = memory.confidence
    memory.status = Memory.Status.ACTIVE
    memory.confidence = confidence_after(Verdict.CONFIRMED, before)
    memory.affirmed_at = now
    save_version(memory, author=MemoryVersion.Author.USER, reason=queries.CONFIRMED)
    note_word(memory, Verdict.CONFIRMED, before=before)
    for former in replaced:
        point_to(memory, former)
    return memory


def forget(user_id: UUID, memory_id: UUID, *, now: datetime, version: int | None = None) -> None:
    """Delete a memory for good, with all that ``forgettings.forget`` takes along, and see to it that old text cannot
    teach it again. Raises NotFoundError, StaleVersionError."""
    versions = None if version is None else {memory_id: version}
    forgettings.forget(user_id, [memory_id], now=now, versions=versions, is_final=True)


def store_embedding(memory_id: UUID, *, version: int, embedding: list[float], model_id: str) -> bool:
    """Keep a vector unless the statement changed while it was computed."""
    return (
        Memory.objects.filter(id=memory_id, version=version).update(
            embedding=embedding, embedding_model=model_id
        )
        == 1
    )


@dataclass(frozen=True, slots=True)
class DueSooner:
    """How many rows; ``promised``: those among them whose kind was changed so lately that they could all come back."""

    rows: int
    promised: int


def delete_faded() -> int:
    """Delete for good what has been past its end for ``expired_hours``; returns how many rows.

    A kind whose lifetime was changed is left alone for as long, so that taking the change back brings all of it back.
    """
    grace = timedelta(hours=tuning.conf().expired_hours)
    with transaction.atomic(durable=True):
        ended, over = _due(grace)
        memories = list(ended.values_list("id", "user_id")[:SWEEP_ROWS])
        experiences = list(over.values_list("id", "user_id")[:SWEEP_ROWS])
        memory_ids = [memory_id for memory_id, _ in memories]
        experience_ids = [experience_id for experience_id, _ in experiences]
        changed_kinds.note_deleted(memory_ids, experience_ids, grace=grace)
        Memory.objects.filter(id__in=memory_ids).delete()
        Experience.objects.filter(id__in=experience_ids).delete()
        for user_id, rows in Counter(user_id for _, user_id in memories + experiences).items():
            activity.note(user_id, Verb.EXPIRED, tier=Tier.LONGTERM, rows=rows)
    return len(memories) + len(experiences)


def due_sooner(hours: int) -> DueSooner:
    """What ``delete_faded`` would delete at once, and does not as it is, if ``expired_hours`` were so many."""
    grace = timedelta(hours=tuning.conf().expired_hours)
    present, other = _due(grace), _due(timedelta(hours=hours))
    hidden = Q(kind__in=changed_kinds.changed_lately(grace))
    rows = promised = 0
    for due, due_now in zip(other, present, strict=True):
        counted = due.exclude(id__in=due_now.values("id")).aggregate(
            n=Count("id"), hidden=Count("id", filter=hidden)
        )
        rows, promised = rows + counted["n"], promised + counted["hidden"]
    return DueSooner(rows, promised)


def _due(grace: timedelta) -> tuple[MemoryQuerySet, ExperienceQuerySet]:
    """Past their end for so long, but for kinds whose lifetime was changed since."""
    changed = changed_kinds.changed_lately(grace)
    return (
        queries.faded(for_at_least=grace).exclude(kind__in=changed),
        experience_queries.faded(for_at_least=grace).exclude(kind__in=changed),
    )


def _settled(user_id: UUID, candidate: Candidate) -> Remembered:
    refusals.check(lock_person(user_id), candidate)
    remembered = reconcile(user_id, candidate)
    verb = VERBS.get(remembered.outcome)
    if verb:
        note_done(user_id, verb, [remembered.memory.id], detail=candidate.kind)
    return remembered


def _key_after(memory: Memory, statement: str) -> str:
    """The key of the new words; else its own, unless that came from words that are gone."""
    slot = neighbours.storable_slot(statement)
    if slot == memory.slot or memory.key in synonyms(slot):
        return memory.key
    return slot or ("" if memory.key == memory.slot else memory.key)


def _cleared(memory: Memory, *, beside: Collection[UUID], named: str | None, now: datetime) -> list[Memory]:
    """Live memories that its new words do not fit, which have left their place; ``named``: a key that its person gave,
    which is not taken from another. Raises InvalidInputError when one says the same."""
    near = neighbours.around(memory)
    if near.same:
        raise InvalidInputError(gettext(REPEATS))
    replaced = [row for row in near.rivals if row.id not in beside]
    if named:
        replaced = [row for row in replaced if row.key != memory.key or row.slot == memory.slot != ""]
    for former in replaced:
        step_aside(former, until=now, at=now)
    return replaced


def _held_after(memory: Memory, statement: str) -> tuple[datetime, datetime | None]:
    """When it holds, unless that came from words that are gone."""
    zone = memory.user.time_zone
    before = held_in(memory.statement, said_at=memory.said_at, time_zone=zone)
    held = held_in(statement, said_at=memory.said_at, time_zone=zone)
    is_of_the_words = before == (memory.valid_from, memory.valid_to)
    return held or ((memory.said_at, None) if is_of_the_words else (memory.valid_from, memory.valid_to))


def _happened_after(memory: Memory, statement: str, *, now: datetime) -> datetime | None:
    """The day of the new words, where they name another than the old words or none; else its own."""
    zone = memory.user.time_zone
    before, meant = (
        dates.happened(text, said_at=memory.said_at, time_zone=zone) for text in (memory.statement, statement)
    )
    if meant == before:
        return memory.happened_at
    return dates.happened(statement, said_at=_written_at(memory, statement, now=now), time_zone=zone)


def _written_at(memory: Memory, statement: str, *, now: datetime) -> datetime:
    """When these words were first its own: "yesterday" of a version that is brought back is the day before that."""
    former = queries.versions(memory).filter(statement=statement).order_by("version").first()
    if former is None:
        return now
    return memory.said_at if former.version == 1 else former.recorded_at
