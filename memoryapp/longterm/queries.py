"""Reads of long-term memory; every one starts from the user and says whether it wants live rows."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Case, Count, Exists, F, FloatField, Prefetch, Q, QuerySet, Value, When
from django.db.models.functions import Now
from pgvector.django import CosineDistance

from memoryapp.accounts.models import User
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.longterm.models import (
    Experience,
    ExperienceQuerySet,
    Kind,
    Memory,
    MemoryQuerySet,
    MemorySource,
    MemoryVersion,
    Tombstone,
)
from memoryapp.policies.reconciliation import normalise

WAITING = (Memory.Status.PENDING, Memory.Status.CONFLICT)  # for their person's word


@dataclass(frozen=True, slots=True)
class Holdings:
    """Whether a person has live rows of each sort."""

    memories: bool
    experiences: bool


def kinds() -> QuerySet[Kind]:
    return Kind.objects.order_by("position", "id")


def statement_kinds() -> QuerySet[Kind]:
    """The kinds a statement can be of."""
    return kinds().filter(subject=Kind.Subject.STATEMENT)


def get_kind(slug: str) -> Kind:
    kind = statement_kinds().filter(slug=slug).first()
    if kind is None:
        known = ", ".join(statement_kinds().values_list("slug", flat=True))
        raise InvalidInputError(f"There is no kind '{slug}'. Known kinds: {known}.")
    return kind


def run_record_days() -> int | None:
    """How long records of finished runs stay; 0: they go at once; None: for ever, also when no kind says so."""
    return kinds().filter(subject=Kind.Subject.RUN).values_list("ttl_days", flat=True).first()


def drops_run_records_at_once() -> bool:
    """Whether a run's record goes when the run ends."""
    return run_record_days() == 0


def statement_digest(forgetting_key: bytes | memoryview, statement: str) -> str:
    """HMAC-SHA256 of the normalised statement under the user's own key, hex."""
    return hmac.new(bytes(forgetting_key), normalise(statement).encode(), hashlib.sha256).hexdigest()


def memories(
    user_id: UUID,
    *,
    kind: str = "",
    key: str = "",
    text: str = "",
    status: str = "active",
    origin: str = "",
    expires_before: datetime | None = None,
) -> MemoryQuerySet:
    """The user's memories that have not faded. ``status``: one of Memory.Status, "waiting", "expired", or "any"."""
    rows = Memory.objects.for_user(user_id).select_related("kind")
    rows = rows.with_expiry() if status in {"expired", "any"} else rows.unfaded()
    if status == "expired":
        rows = rows.filter(Q(fades_at__lte=Now()), status=Memory.Status.ACTIVE)
    elif status != "any":
        rows = rows.filter(status__in=WAITING if status == "waiting" else [status])
    for field, value in (("kind__slug", kind), ("key", key), ("origin", origin)):
        if value:
            rows = rows.filter(**{field: value})
    if text:
        rows = rows.filter(statement__icontains=text)
    if expires_before:
        rows = rows.filter(Q(fades_at__lt=expires_before))
    return rows


def get_memory(user_id: UUID, memory_id: UUID) -> Memory:
    memory = (
        Memory.objects.for_user(user_id)
        .with_expiry()
        .select_related("kind", "source_message__turn", "superseded_by")
        .filter(id=memory_id)
        .first()
    )
    if memory is None:
        raise NotFoundError("There is no such memory.")
    return memory


def always_used(user_id: UUID) -> Sequence[Memory]:
    """Live memories of the kinds that belong in every prompt, oldest first (a stable prefix)."""
    return list(
        Memory.objects.for_user(user_id)
        .live()
        .filter(kind__is_always_used=True, confidence__gte=F("kind__min_confidence"))
        .select_related("kind")
        .order_by("recorded_at", "id")
    )


def has_live(user_id: UUID) -> bool:
    """Whether there is anything that a search could find."""
    return holdings(user_id).memories


def holdings(user_id: UUID) -> Holdings:
    """What a search could find; one statement, because it is asked before every answer."""
    row = (
        User.objects.filter(id=user_id)
        .values_list(
            Exists(Memory.objects.for_user(user_id).live()),
            Exists(Experience.objects.for_user(user_id).live()),
        )
        .first()
    )
    return Holdings(*row) if row else Holdings(memories=False, experiences=False)


def is_in_use() -> bool:
    """Whether anybody has a memory: a fresh installation has none."""
    return Memory.objects.exists()


def live_by_ids(user_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Memory]:
    rows = Memory.objects.for_user(user_id).live().filter(id__in=list(ids)).select_related("kind")
    return {memory.id: memory for memory in rows}


def by_ids(user_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Memory]:
    """Whatever their status; forgotten and faded ones are absent."""
    rows = Memory.objects.for_user(user_id).unfaded().filter(id__in=list(ids)).select_related("kind")
    return {memory.id: memory for memory in rows}


def versions(memory: Memory) -> QuerySet[MemoryVersion]:
    return MemoryVersion.objects.filter(user_id=memory.user_id, memory=memory).order_by("-version")


def sources(memory: Memory) -> QuerySet[MemorySource]:
    return (
        MemorySource.objects.filter(user_id=memory.user_id, memory=memory)
        .select_related("message__turn")
        .order_by("-said_at", "-id")
    )


def taken_from(user_id: UUID, message_ids: Iterable[UUID]) -> QuerySet[MemorySource]:
    """What was remembered from these messages: the chips under a reply."""
    return (
        MemorySource.objects.filter(user_id=user_id, message_id__in=list(message_ids))
        .prefetch_related(Prefetch("memory", Memory.objects.with_expiry().select_related("kind")))
        .order_by("recorded_at", "id")
    )


def from_conversation(user_id: UUID, conversation_id: UUID) -> MemoryQuerySet:
    taken = MemorySource.objects.filter(user_id=user_id, message__turn__conversation_id=conversation_id)
    return memories(user_id, status="any").filter(id__in=taken.values("memory_id"))


def from_run(user_id: UUID, run_id: UUID) -> MemoryQuerySet:
    """What the assistant remembered during this run."""
    return memories(user_id, status="any").filter(source_run=run_id)


def experiences_from_run(user_id: UUID, run_id: UUID) -> ExperienceQuerySet:
    return experiences(user_id).filter(Q(source_run=run_id) | Q(run_ids__contains=[run_id]))


def learned_per_conversation(user_id: UUID, conversation_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Conversation id → how many memories have a source in it."""
    rows = (
        MemorySource.objects.filter(
            user_id=user_id, message__turn__conversation_id__in=list(conversation_ids)
        )
        .values("message__turn__conversation_id")
        .annotate(learned=Count("memory", distinct=True))
    )
    return {row["message__turn__conversation_id"]: row["learned"] for row in rows}


def rival(memory: Memory) -> Memory | None:
    """For a conflict: the live value of its key, which it does not fit."""
    if memory.status != Memory.Status.CONFLICT or not memory.key:
        return None
    live = Memory.objects.for_user(memory.user_id).live()
    return live.filter(key=memory.key).select_related("kind").first()


def superseded_by(memory: Memory) -> MemoryQuerySet:
    """The former values that this one replaced, newest first."""
    return (
        memories(memory.user_id, status="any").filter(superseded_by=memory).order_by("-superseded_at", "-id")
    )


def expiring_soon(user_id: UUID, *, now: datetime, days: int) -> MemoryQuerySet:
    return memories(user_id, expires_before=now + timedelta(days=days)).order_by(F("fades_at"), "id")


def tombstone_for(user_id: UUID, digest: str) -> Tombstone | None:
    return (
        Tombstone.objects.filter(user_id=user_id, digest=digest, expires_at__gt=Now())
        .order_by("-created_at")
        .first()
    )


def not_embedded(model_id: str) -> QuerySet[Memory]:
    """Rows that recall can so far find by words only, oldest first."""
    waiting = Q(embedding=None) | ~Q(embedding_model=model_id)
    return Memory.objects.filter(waiting, status=Memory.Status.ACTIVE).order_by("recorded_at", "id")


def faded() -> MemoryQuerySet:
    """Rows past their end, of anyone: for the sweep."""
    return Memory.objects.all().with_expiry().filter(Q(fades_at__lte=Now()))


def experiences(user_id: UUID) -> ExperienceQuerySet:
    """Those that have not faded, whether or not they may be recalled, newest first."""
    rows = Experience.objects.for_user(user_id).unfaded().select_related("kind")
    return rows.order_by("-recorded_at", "-id")


def get_experience(user_id: UUID, experience_id: UUID) -> Experience:
    experience = experiences(user_id).filter(id=experience_id).first()
    if experience is None:
        raise NotFoundError("There is no such experience.")
    return experience


def experiences_by_ids(user_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Experience]:
    return {experience.id: experience for experience in experiences(user_id).filter(id__in=list(ids))}


def live_experiences(user_id: UUID, *, embedding: list[float] | None, model_id: str) -> list[Experience]:
    """What may be recalled, newest first, with ``cosine``: all of it, for one person has a few hundred at most."""
    live = Experience.objects.for_user(user_id).live().select_related("kind")
    return list(with_cosine(live, embedding=embedding, model_id=model_id).order_by("-recorded_at", "-id"))


def with_cosine(
    rows: ExperienceQuerySet, *, embedding: list[float] | None, model_id: str
) -> ExperienceQuerySet:
    """Adds ``cosine``, of the goal's vector: None while one side has none, or that of another model.

    The vectors themselves stay in the database: they are a hundred times the rest.
    """
    never = Value(None, output_field=FloatField())
    similarity = Value(1.0) - CosineDistance("embedding", embedding) if embedding else never
    cosine = Case(When(embedding_model=model_id, then=similarity), default=never, output_field=FloatField())
    return rows.annotate(cosine=cosine).defer("embedding")


def has_taught(user_id: UUID, run_id: UUID) -> bool:
    """Whether something was learned from this run already."""
    taught = Q(source_run=run_id) | Q(run_ids__contains=[run_id])
    return Experience.objects.for_user(user_id).filter(taught).exists()


def experiences_not_embedded(model_id: str) -> QuerySet[Experience]:
    """Those whose goals recall can so far find by words only, oldest first."""
    waiting = Q(embedding=None) | ~Q(embedding_model=model_id)
    return Experience.objects.filter(waiting).order_by("recorded_at", "id")


def faded_experiences() -> ExperienceQuerySet:
    """Of anyone: for the sweep."""
    return Experience.objects.with_expiry().filter(Q(fades_at__lte=Now()))


def count(user_id: UUID) -> int:
    return Memory.objects.for_user(user_id).live().count()
