"""By what a list of memories can be narrowed."""

from datetime import datetime
from typing import Final, TypedDict
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from memoryapp.longterm.models import Memory, MemoryQuerySet, MemorySource

# Of a memory's ``uses``: not those by which it stands in every prompt, whose score is below zero.
CALLED_FOR: Final = Q(uses__score__gte=0)


class Wanted(TypedDict, total=False):
    """What is missing, None or empty narrows nothing.

    ``kind``: a slug. ``text``: stands in the statement. ``said_after`` is within, ``said_before`` without.
    ``conversation_id``: one of its sources is in it. ``usage``: "used" in a reply, or "never". ``lifetime``: "kept" for
    ever by its person's word, or "dated" by it.
    """

    kind: str
    key: str
    text: str
    origin: str
    expires_before: datetime | None
    channel: str
    min_confidence: float | None
    max_confidence: float | None
    conversation_id: UUID | None
    run_id: UUID | None
    said_after: datetime | None
    said_before: datetime | None
    usage: str
    lifetime: str


def narrowed(rows: MemoryQuerySet, user_id: UUID, wanted: Wanted, *, is_past: bool) -> MemoryQuerySet:
    """``rows`` have ``fades_at``; ``is_past``: they are those of a moment, to be found by the words of then."""
    by_field = {
        "kind_then" if is_past else "kind__slug": wanted.get("kind"),
        "key_then" if is_past else "key": wanted.get("key"),
        "statement_then__icontains" if is_past else "statement__icontains": wanted.get("text"),
        "confidence_then__gte" if is_past else "confidence__gte": wanted.get("min_confidence"),
        "confidence_then__lte" if is_past else "confidence__lte": wanted.get("max_confidence"),
        "origin": wanted.get("origin"),
        "channel": wanted.get("channel"),
        "source_run": wanted.get("run_id"),
        "said_at__gte": wanted.get("said_after"),
        "said_at__lt": wanted.get("said_before"),
        "fades_at__lt": wanted.get("expires_before"),
    }
    rows = rows.filter(**{field: value for field, value in by_field.items() if value not in {None, ""}})
    conversation_id = wanted.get("conversation_id")
    if conversation_id:
        rows = rows.filter(id__in=_said_in(user_id, conversation_id))
    return _living(_used(rows, wanted.get("usage", "")), wanted.get("lifetime", ""))


def _said_in(user_id: UUID, conversation_id: UUID) -> QuerySet[MemorySource, UUID]:
    said = MemorySource.objects.filter(user_id=user_id, message__turn__conversation_id=conversation_id)
    return said.values_list("memory_id", flat=True)


def _used(rows: MemoryQuerySet, usage: str) -> MemoryQuerySet:
    used = Exists(Memory.objects.filter(CALLED_FOR, pk=OuterRef("pk")))
    match usage:
        case "used":
            return rows.filter(used)
        case "never":
            return rows.filter(~used)
    return rows


def _living(rows: MemoryQuerySet, lifetime: str) -> MemoryQuerySet:
    match lifetime:
        case "kept":
            return rows.filter(is_kept=True)
        case "dated":
            return rows.filter(is_kept=False, expires_at__isnull=False)
    return rows
