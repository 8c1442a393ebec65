"""Vectors for what is stored, some seconds after it was written; until then recall finds it by words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from memoryapp.embeddings.registry import get_embedder
from memoryapp.longterm import experience_queries, experiences, queries
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Experience, Memory
from memoryapp.transcript import keys
from memoryapp.transcript.models import MessageKey

BATCH = 32  # texts at a time: what a run holds in memory, and what is lost when it is stopped
BACKLOG_ROWS = 256  # of each sort in a sweep, so that it takes seconds and the next one comes on time
# An embedder reads some 256 tokens; the rest of a long message would only cost time.
EMBEDDED_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row without a vector of the current model. ``store`` returns whether its text was still the same."""

    id: UUID
    text: str
    store: Callable[[list[float], str], bool]


def embed_memory(memory_id: UUID) -> int:
    """Embed one memory if it still needs it; returns how many rows were embedded. Raises EmbedderUnavailable."""
    return _embed(_memories(queries.not_embedded(_model_id()).filter(id=memory_id)))


def embed_turn(turn_id: UUID) -> int:
    """Embed what was said in a turn, as far as it still needs it. Raises EmbedderUnavailable."""
    return _embed(_messages(keys.not_embedded(_model_id()).filter(turn=turn_id)))


def embed_backlog() -> int:
    """Embed the oldest rows of each sort without a vector of the current model. Raises EmbedderUnavailable."""
    return sum(_embed(waiting) for sort in SORTS.values() for waiting in sort.batches(limit=BACKLOG_ROWS))


def embed_goal(goal: str) -> tuple[list[float], str]:
    """The vector of a goal and the model that it is of. Raises EmbedderUnavailable."""
    embedder = get_embedder()
    return embedder.embed_passages([goal])[0], embedder.model_id


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of rows that have vectors. ``rows``: those without one of a model, in the order of their ids."""

    rows: Callable[[str], QuerySet[Any]]
    read: Callable[[QuerySet[Any]], Sequence[Waiting]]

    def count(self) -> int:
        """How many wait."""
        return self.rows(_model_id()).count()

    def embed(self) -> Iterator[int]:
        """Embed all that wait, batch by batch; yields how many were embedded in each.

        Each batch is kept as it is done: stopped anywhere, the next run goes on from there. What is written meanwhile
        is left to those who embed what is new. Raises EmbedderUnavailable.
        """
        for waiting in self.batches():
            yield _embed(waiting)

    def batches(self, *, limit: int | None = None) -> Iterator[Sequence[Waiting]]:
        """Each begins behind the last: what could not be stored is not tried again and again."""
        rows, last, left = self.rows(_model_id()), UUID(int=0), limit
        while left is None or left > 0:
            waiting = self.read(rows.filter(pk__gt=last)[: BATCH if left is None else min(BATCH, left)])
            if not waiting:
                return
            yield waiting
            last = waiting[-1].id
            left = None if left is None else left - len(waiting)


def _memories(rows: QuerySet[Memory]) -> Sequence[Waiting]:
    return [
        Waiting(memory.id, memory.statement, partial(_store_memory, memory.id, memory.version))
        for memory in rows.only("id", "statement", "version")
    ]


def _store_memory(memory_id: UUID, version: int, embedding: list[float], model_id: str) -> bool:
    return longterm.store_embedding(memory_id, version=version, embedding=embedding, model_id=model_id)


def _messages(rows: QuerySet[MessageKey]) -> Sequence[Waiting]:
    return [
        Waiting(row.message_id, row.text, partial(keys.store_embedding, row))
        for row in keys.to_embed(rows, max_chars=EMBEDDED_CHARS)
    ]


def _experiences(rows: QuerySet[Experience]) -> Sequence[Waiting]:
    return [
        Waiting(experience.id, experience.goal, partial(_store_goal, experience.id))
        for experience in rows.only("id", "goal")
    ]


def _store_goal(experience_id: UUID, embedding: list[float], model_id: str) -> bool:
    return experiences.store_embedding(experience_id, embedding=embedding, model_id=model_id)


SORTS: Final = {
    "memories": Sort(queries.not_embedded, _memories),
    "messages": Sort(keys.not_embedded, _messages),
    "experiences": Sort(experience_queries.not_embedded, _experiences),
}


def _embed(waiting: Sequence[Waiting]) -> int:
    if not waiting:
        return 0
    embedder = get_embedder()
    vectors = embedder.embed_passages([row.text for row in waiting])
    return sum(row.store(vector, embedder.model_id) for row, vector in zip(waiting, vectors, strict=True))


def _model_id() -> str:
    return get_embedder().model_id
