"""Vectors for what is stored, some seconds after it was written; until then recall finds it by words."""

from collections.abc import Sequence
from uuid import UUID

from memoryapp.embeddings.registry import get_embedder
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.models import Memory

BATCH = 32


def embed_memory(memory_id: UUID) -> int:
    """Embed one memory if it still needs it; returns how many rows were embedded. Raises EmbedderUnavailable."""
    return _embed(list(queries.not_embedded(get_embedder().model_id).filter(id=memory_id)))


def embed_backlog() -> int:
    """Embed the oldest rows without a vector of the current model. Raises EmbedderUnavailable."""
    return _embed(list(queries.not_embedded(get_embedder().model_id)[:BATCH]))


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
