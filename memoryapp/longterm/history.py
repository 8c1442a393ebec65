"""What every change of a memory is made of: locks, versions, words, intervals.

All of it happens within a caller's transaction.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext, gettext_noop

from memoryapp.accounts.models import User
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import NotFoundError, StaleVersionError
from memoryapp.longterm import queries
from memoryapp.longterm.models import Feedback, Memory, MemoryVersion
from memoryapp.longterm.neighbours import storable_slot
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.flags import instruction_shaped
from memoryapp.policies.terms import packed, terms

STARTS_AGAIN: Final = gettext_noop("starts again")  # in the activity log, of a lifetime
# Details of the activity log that name a kind: by its slug, which is also a detail alone.
OF_THE_KIND: Final = gettext_noop("of the kind {kind}")
NEVER_REMEMBER: Final = gettext_noop("never remember {kind}")
REMEMBER_AGAIN: Final = gettext_noop("remember {kind} again")


def lock_person(user_id: UUID) -> User:
    """One writer of a person's memory at a time, and none beside a forgetting.

    Taken before any memory is locked, always in this order, so that two writers never wait for each other; without
    the key, so that a new message, which refers to the person, does not wait for a memory.
    """
    return User.objects.select_for_update(no_key=True).get(id=user_id)


def locked(user_id: UUID, memory_id: UUID, *, version: int | None = None) -> Memory:
    """The memory with its person and kind. Raises NotFoundError, StaleVersionError."""
    lock_person(user_id)
    memory = (
        Memory.objects.for_user(user_id)
        .select_for_update(of=("self",))
        .select_related("user", "kind")
        .filter(id=memory_id)
        .first()
    )
    if memory is None:
        raise NotFoundError(gettext("There is no such memory."))
    if version is not None and memory.version != version:
        raise StaleVersionError(gettext("This memory changed since you opened it."), version=memory.version)
    return memory


def word(memory: Memory, statement: str, *, digest: str) -> None:
    """Give it these words, unsaved, with everything that follows from them alone."""
    if statement != memory.statement:
        memory.embedding, memory.embedding_model = None, ""
    memory.statement = statement
    memory.digest = digest
    memory.slot = storable_slot(statement)
    memory.terms = packed(terms(statement))
    memory.is_flagged = instruction_shaped(statement) is not None


def save_version(memory: Memory, *, author: MemoryVersion.Author, reason: str) -> None:
    memory.version += 1
    memory.save()
    write_version(memory, author=author, reason=reason)


def write_version(memory: Memory, *, author: MemoryVersion.Author, reason: str) -> None:
    version_of(memory, author=author, reason=reason).save(force_insert=True)


def version_of(memory: Memory, *, author: MemoryVersion.Author, reason: str) -> MemoryVersion:
    """As it is now, not saved; its kind comes with it."""
    return MemoryVersion(
        user_id=memory.user_id,
        memory=memory,
        version=memory.version,
        statement=memory.statement,
        kind_slug=memory.kind.slug,
        key=memory.key,
        confidence=memory.confidence,
        changed_by=author,
        reason=reason,
    )


def note_done(user_id: UUID, verb: Verb, ids: Sequence[UUID], *, detail: str = "") -> None:
    """In the activity log: one entry for all of these memories or experiences, none for none."""
    if ids:
        subject_id = ids[0] if len(ids) == 1 else None
        activity.note(user_id, verb, tier=Tier.LONGTERM, subject_id=subject_id, rows=len(ids), detail=detail)


def note_word(memory: Memory, verdict: Verdict, *, before: float, turn_id: UUID | None = None) -> None:
    """``before``: how sure it was. The same word about the same reply is one row, of when it was said last."""
    if turn_id:
        said = Feedback.objects.filter(user_id=memory.user_id, memory=memory, verdict=verdict.value)
        said.filter(turn=turn_id).delete()
    Feedback.objects.create(
        user_id=memory.user_id,
        memory=memory,
        turn_id=turn_id,
        verdict=verdict.value,
        confidence_before=before,
        confidence_after=memory.confidence,
    )


def step_aside(memory: Memory, *, until: datetime, at: datetime) -> None:
    """It held in the world until ``until``, and for us until ``at``; it leaves its place under its key."""
    memory.status = Memory.Status.SUPERSEDED
    memory.valid_to = until
    memory.superseded_at = at
    memory.save(update_fields=["status", "valid_to", "superseded_at"])


def come_back(memory: Memory) -> None:
    """The opposite of ``step_aside``. Raises IntegrityError when its place is taken."""
    memory.status = Memory.Status.ACTIVE
    memory.valid_to = memory.superseded_at = memory.superseded_by = None
    memory.save(update_fields=["status", "valid_to", "superseded_at", "superseded_by"])


def point_to(current: Memory, former: Memory) -> None:
    """Older links move along, also of what is being forgotten, so that every former value points at the current one."""
    chain = Q(superseded_by=former) | Q(id=former.id)
    Memory.everything.for_user(current.user_id).filter(chain).update(superseded_by=current)


def retire_faded(user_id: UUID, *, digest: str, keys: Iterable[str]) -> None:
    """Faded rows that still hold the place of this statement or key are past their end: delete them now."""
    held = Q(digest=digest) | Q(key__in=[key for key in keys if key])
    queries.faded().for_user(user_id).filter(held).delete()
