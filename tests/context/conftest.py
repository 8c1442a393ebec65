import pytest

from memoryapp.embeddings import bundled
from memoryapp.embeddings.base import Embedder
from tests.turns import configure, nudges

__all__ = ["configure", "nudges"]


@pytest.fixture(scope="session")
def bundled_embedder() -> Embedder:
    """The real one, loaded once: ``configure`` makes the registry forget its own."""
    return bundled.pair(threads=2, batch_size=8)


@pytest.fixture(autouse=True)
def embedder(bundled_embedder, monkeypatch) -> Embedder:
    for module in ("memoryapp.context.recall", "memoryapp.lifecycle.embedding"):
        monkeypatch.setattr(f"{module}.get_embedder", lambda: bundled_embedder)
    return bundled_embedder
