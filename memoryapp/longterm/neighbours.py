"""Which of a person's memories a statement touches: those that say the same, and those that cannot hold beside it.

Words narrow it down in SQL, ``policies.relations`` compares the texts: there is no model, no vector and no index of
what people said behind it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Lower

from memoryapp.longterm.models import Feedback, Memory, MemoryQuerySet, MemorySource
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.likeness import is_same
from memoryapp.policies.relations import Relation, anchors, relation
from memoryapp.policies.slots import slot_of, synonyms
from memoryapp.policies.trust import Origin

# The newest that share the statement's longest word: more would take longer to compare than a message may wait.
COMPARED = 400


@dataclass(frozen=True, slots=True)
class _Text:
    """What of a live row decides whether it is a rival."""

    id: UUID
    statement: str
    digest: str
    key: str
    slot: str
    said_at: datetime
    valid_to: datetime | None
    lower: str


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What of the statement is known already.

    ``same``: a live one that says it. ``rivals``: live ones that cannot hold beside it. ``former``: a replaced one that
    said it, the last of them. ``waiting``: one that says it and waits for a word.
    """

    same: Memory | None
    rivals: list[Memory]
    former: Memory | None
    waiting: Memory | None


def keys_of(statement: str, key: str) -> frozenset[str]:
    """The keys under which another answer to the statement's question may stand."""
    return frozenset(name for known in (key, storable_slot(statement)) if known for name in synonyms(known))


def storable_slot(statement: str) -> str:
    """A slot about an object holds what a person said: as a key it would stay in an index after a deletion."""
    slot = slot_of(statement)
    return "" if ":" in slot else slot


def neighbours(
    user_id: UUID, statement: str, *, digest: str, keys: Iterable[str], without: UUID | None = None
) -> Neighbours:
    """Faded ones are nobody's neighbours, nor is the memory ``without``."""
    near = _near(user_id, statement, digest=digest, keys=keys)
    rows = [row for row in near if row.id != without]
    same = [row for row in rows if row.digest == digest or is_same(statement, row.statement)]
    live = [row for row in rows if row.status == Memory.Status.ACTIVE and row not in same]
    return Neighbours(
        same=_first(same, Memory.Status.ACTIVE),
        rivals=[row for row in live if _is_rival(row, statement, keys=keys)],
        former=_first(same, Memory.Status.SUPERSEDED),
        waiting=_first(same, Memory.Status.PENDING, Memory.Status.CONFLICT),
    )


def around(memory: Memory) -> Neighbours:
    """The other memories that this one, if it were live, would repeat or replace."""
    keys = keys_of(memory.statement, memory.key)
    return neighbours(memory.user_id, memory.statement, digest=memory.digest, keys=keys, without=memory.id)


def rivals_of(user_id: UUID, waiting: Iterable[Memory]) -> dict[UUID, UUID]:
    """For each of these memories that has one, the newest live memory that it does not fit, as ``around`` finds it;
    one statement for all of them, which reads every live text of the person."""
    columns = ("id", "statement", "digest", "key", "slot", "said_at", "valid_to")
    live = Memory.objects.for_user(user_id).live().order_by("-affirmed_at", "-id")
    rows = [_Text(*values) for values in live.values_list(*columns, Lower("statement"))]
    found = {memory.id: _newest_rival(memory, rows) for memory in waiting}
    return {memory_id: rival for memory_id, rival in found.items() if rival}


def _newest_rival(memory: Memory, rows: Iterable["_Text"]) -> UUID | None:
    keys = keys_of(memory.statement, memory.key)
    parts = [part.lower() for part in anchors(memory.statement)]
    near = [
        row
        for row in rows
        if not parts or row.key in keys or row.slot in keys or any(part in row.lower for part in parts)
    ]
    # What answers the same question comes first, as in ``_near``.
    sure_first = sorted(near, key=lambda row: not (row.key in keys or row.slot in keys))
    for row in sure_first[:COMPARED]:
        is_same_words = row.digest == memory.digest or is_same(memory.statement, row.statement)
        if not is_same_words and _is_rival(row, memory.statement, keys=keys):
            return row.id
    return None


def has_persons_word(memory: Memory) -> bool:
    """Whether its person confirmed or corrected it."""
    return memory.id in with_persons_word(memory.user_id, [memory.id])


def with_persons_word(user_id: UUID, memory_ids: Iterable[UUID]) -> set[UUID]:
    """Those of these that their person confirmed or corrected."""
    word = [Verdict.CONFIRMED, Verdict.CORRECTED]
    said = Feedback.objects.filter(user_id=user_id, memory__in=list(memory_ids), verdict__in=word)
    return set(said.values_list("memory_id", flat=True))


def strongest_origin(memory: Memory) -> Origin:
    """Of all who ever said it, and of its person, where they confirmed or corrected it: what a rival must outweigh."""
    said = MemorySource.objects.filter(user_id=memory.user_id, memory=memory)
    origins = [Origin(memory.origin), *map(Origin, said.values_list("origin", flat=True).distinct())]
    if has_persons_word(memory):
        origins.append(Origin.USER_CONFIRMED)
    return min(origins, key=lambda origin: origin.rank)


def _near(user_id: UUID, statement: str, *, digest: str, keys: Iterable[str]) -> MemoryQuerySet:
    """Expects the index ``memory_list``: one person's rows."""
    asked = Q(key__in=list(keys)) | Q(slot__in=list(keys))
    parts = anchors(statement)
    near = Q(digest=digest) | (asked & Q(status=Memory.Status.ACTIVE))
    for part in parts:
        near |= Q(statement__icontains=part)
    rows = Memory.objects.for_user(user_id).unfaded().select_related("kind")
    if parts:  # else no part of a word is sure to be in what says the same: the newest are compared
        rows = rows.filter(near)
    # What is sure to be compared comes first: the same words, the same question.
    sure = Q(digest=digest) | asked
    return rows.alias(is_sure=sure).order_by("-is_sure", "-affirmed_at", "-id").defer("embedding")[:COMPARED]


def _is_rival(row: Memory | _Text, statement: str, *, keys: Iterable[str]) -> bool:
    if row.valid_to and row.valid_to <= row.said_at:  # history when it was said
        return False
    return (row.key != "" and row.key in keys) or relation(statement, row.statement) == Relation.RIVAL


def _first(rows: Iterable[Memory], *statuses: Memory.Status) -> Memory | None:
    return next((row for row in rows if row.status in statuses), None)
