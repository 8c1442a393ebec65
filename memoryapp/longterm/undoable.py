"""Which memories something was done to, for the notice that tells of it and offers to take it back: in their own words,
but of what is being forgotten only the kind and the day, for from its commit on no page says it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from memoryapp.longterm.forgettings import open_forgettings
from memoryapp.longterm.models import Experience, Forgetting, Memory

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
    """By what its person knows again what is being forgotten, without a word of it."""

    kind: str  # its label
    learned_at: datetime


def words(user_id: UUID, ids: Collection[UUID]) -> dict[UUID, str]:
    """What these say: of memories their statement, of experiences their goal; with what has expired."""
    memories = Memory.objects.for_user(user_id).filter(id__in=ids)
    lessons = Experience.objects.for_user(user_id).filter(id__in=ids)
    return dict(memories.values_list("id", "statement")) | dict(lessons.values_list("id", "goal"))


def marks(user_id: UUID, ids: Collection[UUID]) -> dict[UUID, Mark]:
    """Of those of these that are being forgotten, while that can be undone."""
    acts = open_forgettings(user_id).order_by().values("id")
    rows = [
        *Memory.everything.for_user(user_id).filter(forgetting__in=acts, id__in=ids).select_related("kind"),
        *Experience.everything.for_user(user_id)
        .filter(forgetting__in=acts, id__in=ids)
        .select_related("kind"),
    ]
    return {row.id: Mark(row.kind.label, row.recorded_at) for row in rows}


def _first(rows: QuerySet[Any]) -> list[tuple[UUID, UUID]]:
    """Forgetting and row, of each forgetting a few; of memories or of experiences."""
    place = Window(RowNumber(), partition_by="forgetting", order_by="id")
    found = rows.annotate(place=place).filter(place__lte=NAMED + 1).order_by("id")
    return list(found.values_list("forgetting", "id"))
