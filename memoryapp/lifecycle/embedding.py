"""Vectors for what is stored, some seconds after it was written; until then recall finds it by words."""

from collections.abc import Sequence
from uuid import UUID

from memoryapp.embeddings.registry import get_embedder
from memoryapp.longterm import experiences, queries
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Experience, Memory

BATCH = 32


def embed_memory(memory_id: UUID) -> int:
    """Embed one memory if it still needs it; returns how many rows were embedded. Raises EmbedderUnavailable."""
    return _embed(list(queries.not_embedded(get_embedder().model_id).filter(id=memory_id)))


def embed_backlog() -> int:
    """Embed the oldest rows of each sort without a vector of the current model. Raises EmbedderUnavailable."""
    model_id = get_embedder().model_id
    memories = _embed(list(queries.not_embedded(model_id)[:BATCH]))
    return memories + _embed_goals(list(queries.experiences_not_embedded(model_id)[:BATCH]))


def embed_goal(goal: str) -> tuple[list[float], str]:
    """The vector of a goal and the model that it is of. Raises EmbedderUnavailable."""
    embedder = get_embedder()
    return embedder.embed_passages([goal])[0], embedder.model_id


def _embed(memories: Sequence[Memory]) -> int:
    if not memories:
        return 0
    embedder = get_embedder()
    vectors = embedder.embed_passages([memory.statement for memory in memories])
    return sum(
        longterm.store_embedding(
            memory.id, version=memory.version, embedding=vector, model_id=embedder.model_id
        )
        for memory, vector in zip(memories, vectors, strict=True)
    )


def _embed_goals(learned: Sequence[Experience]) -> int:
    if not learned:
        return 0
    embedder = get_embedder()
    vectors = embedder.embed_passages([experience.goal for experience in learned])
    return sum(
        experiences.store_embedding(experience.id, embedding=vector, model_id=embedder.model_id)
        for experience, vector in zip(learned, vectors, strict=True)
    )
