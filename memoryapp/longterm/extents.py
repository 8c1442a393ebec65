"""Which memories and lessons a wider forgetting takes, of whatever status; without what is being forgotten already."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from memoryapp.longterm.models import Experience, Memory, MemoryQuerySet, MemorySource, MemoryVersion


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned in some place: ``only`` there, or elsewhere, too, or by its person's own hand since."""

    only: frozenset[UUID]
    elsewhere: frozenset[UUID]


def of_kind(user_id: UUID, slug: str) -> tuple[set[UUID], set[UUID]]:
    """Memories and experiences of this kind."""
    memories = Memory.objects.for_user(user_id).filter(kind__slug=slug)
    lessons = Experience.objects.for_user(user_id).unfaded().filter(kind__slug=slug)
    return set(memories.values_list("id", flat=True)), set(lessons.values_list("id", flat=True))


def recorded_since(user_id: UUID, since: datetime) -> tuple[set[UUID], set[UUID]]:
    """Memories and experiences; also memories that got other words since."""
    reworded = Exists(_reworded_since(since).filter(memory=OuterRef("pk")))
    memories = Memory.objects.for_user(user_id).filter(Q(recorded_at__gte=since) | reworded)
    lessons = Experience.objects.for_user(user_id).unfaded().filter(recorded_at__gte=since)
    return set(memories.values_list("id", flat=True)), set(lessons.values_list("id", flat=True))


def of_channel(user_id: UUID, channel: str) -> set[UUID]:
    return set(Memory.objects.for_user(user_id).filter(channel=channel).values_list("id", flat=True))


def of_program(user_id: UUID, name: str) -> set[UUID]:
    """What the program with this token's name wrote, whether or not the token is still there."""
    rows = Memory.objects.for_user(user_id).filter(channel=Memory.Channel.API, program=name)
    return set(rows.values_list("id", flat=True))


def learned_in(user_id: UUID, conversation_ids: Collection[UUID]) -> Learned:
    """From what was said in these conversations."""
    here = MemorySource.objects.filter(
        memory=OuterRef("pk"), message__turn__conversation__in=list(conversation_ids)
    )
    rows = Memory.objects.for_user(user_id).filter(Exists(here))
    there = MemorySource.objects.filter(memory=OuterRef("pk")).exclude(
        message__turn__conversation__in=list(conversation_ids)
    )
    return _divided(rows, Exists(there))


def learned_in_run(user_id: UUID, run_id: UUID, turn_id: UUID) -> Learned:
    """What the assistant remembered in it."""
    rows = Memory.objects.for_user(user_id).filter(source_run=run_id)
    there = MemorySource.objects.filter(memory=OuterRef("pk")).exclude(message__turn=turn_id)
    return _divided(rows, Exists(there))


def lessons_of(user_id: UUID, run_ids: Collection[UUID]) -> Learned:
    """What these runs taught; those that other runs taught, too, are elsewhere."""
    rows = (
        Experience.objects.for_user(user_id)
        .unfaded()
        .filter(Q(source_run__in=list(run_ids)) | Q(run_ids__overlap=list(run_ids)))
    )
    taught = {row.id: {*row.run_ids, row.source_run_id} - {None} for row in rows}
    only = frozenset(row_id for row_id, runs in taught.items() if runs <= set(run_ids))
    return Learned(only, frozenset(taught) - only)


def said_where(user_id: UUID, memory_ids: Collection[UUID]) -> list[tuple[UUID, str]]:
    """Message and quote of every place where one of these, or a former value of it, was said."""
    rows = MemorySource.objects.filter(_family(memory_ids), user_id=user_id)
    rows = rows.exclude(message=None).exclude(quote="")
    return list(rows.order_by("message_id", "id").values_list("message_id", "quote").distinct())


def said_when(user_id: UUID, memory_ids: Collection[UUID]) -> list[tuple[datetime, str]]:
    """Moment and quote of every place whose message is gone: copies of it were said at that moment, too."""
    rows = MemorySource.objects.filter(_family(memory_ids), user_id=user_id, message=None).exclude(quote="")
    return list(rows.order_by("said_at", "id").values_list("said_at", "quote").distinct())


def wordings(user_id: UUID, memory_ids: Collection[UUID]) -> set[str]:
    """Everything that these, and former values of them, say or said."""
    family = Q(id__in=list(memory_ids)) | Q(superseded_by__in=list(memory_ids))
    rows = Memory.objects.for_user(user_id).filter(family)
    former = MemoryVersion.objects.filter(user_id=user_id, memory__in=rows.values("id"))
    return {*rows.values_list("statement", flat=True), *former.values_list("statement", flat=True)}


def _reworded_since(since: datetime) -> QuerySet[MemoryVersion]:
    before = MemoryVersion.objects.filter(memory=OuterRef("memory"), version=OuterRef("version") - 1)
    versions = MemoryVersion.objects.filter(recorded_at__gte=since, version__gt=1)
    return versions.exclude(Exists(before.filter(statement=OuterRef("statement"))))


def _family(memory_ids: Collection[UUID]) -> Q:
    return Q(memory__in=list(memory_ids)) | Q(memory__superseded_by__in=list(memory_ids))


def _divided(rows: MemoryQuerySet, has_more: Exists) -> Learned:
    """Corrected or confirmed by its person since, it rests on their word, too."""
    by_hand = MemoryVersion.objects.filter(
        memory=OuterRef("pk"), changed_by=MemoryVersion.Author.USER, version__gt=1
    )
    found = rows.annotate(is_more=has_more, is_theirs=Exists(by_hand)).values_list(
        "id", "is_more", "is_theirs"
    )
    only = {row_id for row_id, is_more, is_theirs in found if not (is_more or is_theirs)}
    return Learned(frozenset(only), frozenset(row_id for row_id, *_ in found) - only)
