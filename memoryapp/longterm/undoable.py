"""Which memories something was done to, for the notice that tells of it and offers to take it back: in their own words,
but of what is being forgotten only the kind, the moment and the chat, for from its commit on no page says it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from memoryapp.longterm.forgettings import open_forgettings
from memoryapp.longterm.models import Experience, Forgetting, Memory
from memoryapp.policies.terms import terms

NAMED: Final = 3  # of many; the others are counted


def ids_of(acts: Iterable[Forgetting]) -> dict[UUID, list[UUID]]:
    """By forgetting the first that it took, one more than are named; without former values that went along."""
    counts = {act.id: act.memories_count for act in acts}
    named: dict[UUID, list[UUID]] = {act_id: [] for act_id in counts}
    memories = Memory.everything.filter(forgetting__in=named).exclude(
        superseded_by__forgetting=F("forgetting")
    )
    # Lessons that went along with memories are not what their person forgot.
    lessons = Experience.everything.filter(forgetting__in=[id_ for id_, n in counts.items() if not n])
    for rows in (memories, lessons):
        for act_id, row_id in _first(rows):
            named[act_id].append(row_id)
    return named


@dataclass(frozen=True, slots=True)
class Mark:
    """By what its person knows again what is being forgotten, without a word of it. ``turn_id``: where it was said,
    while that is there; ``chat``: the title of it, empty where that says the same."""

    kind: str  # its label
    learned_at: datetime
    turn_id: UUID | None = None
    chat: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """What a memory or an experience says."""

    id: UUID
    text: str
    is_experience: bool = False


def words(user_id: UUID, ids: Collection[UUID]) -> dict[UUID, Named]:
    """What these say: of memories their statement, of experiences their goal; with what has expired."""
    memories = Memory.objects.for_user(user_id).filter(id__in=ids).values_list("id", "statement")
    lessons = Experience.objects.for_user(user_id).filter(id__in=ids).values_list("id", "goal")
    named = [Named(*row) for row in memories] + [Named(*row, is_experience=True) for row in lessons]
    return {each.id: each for each in named}


def marks(user_id: UUID, ids: Collection[UUID]) -> dict[UUID, Mark]:
    """Of those of these that are being forgotten, while that can be undone."""
    acts = open_forgettings(user_id).order_by().values("id")
    memories = Memory.everything.for_user(user_id).filter(forgetting__in=acts, id__in=ids)
    lessons = Experience.everything.for_user(user_id).filter(forgetting__in=acts, id__in=ids)
    said = memories.select_related("kind", "source_message__turn__conversation")
    return {memory.id: _mark(memory) for memory in said} | {
        lesson.id: Mark(lesson.kind.label, lesson.recorded_at) for lesson in lessons.select_related("kind")
    }


def _mark(memory: Memory) -> Mark:
    turn = memory.source_message.turn if memory.source_message else None
    if turn is None or turn.deleted_at or turn.conversation.deleted_at:
        return Mark(memory.kind.label, memory.recorded_at)
    title = turn.conversation.title
    tells = not set(terms(title)).isdisjoint(terms(f"{memory.statement} {memory.quote}"))
    return Mark(memory.kind.label, memory.recorded_at, turn.id, "" if tells else title)


def _first(rows: QuerySet[Any]) -> list[tuple[UUID, UUID]]:
    """Forgetting and row, of each forgetting a few; of memories or of experiences."""
    place = Window(RowNumber(), partition_by="forgetting", order_by="id")
    found = rows.annotate(place=place).filter(place__lte=NAMED + 1).order_by("id")
    return list(found.values_list("forgetting", "id"))
