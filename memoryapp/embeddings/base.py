"""What an embedder is: texts in, unit vectors out, and the calibration that gives its cosines a meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from memoryapp.errors import MemoryAppError


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns one model's scores into a probability that a fact answers a question.

    ``p = 1 / (1 + exp(-(bias + dense * cosine + lexical * overlap)))`` with ``overlap`` the idf-weighted
    share of the query's terms found in the fact, 0..1. Cosine ranges differ from model to model, so the
    weights belong to the model.
    """

    bias: float
    dense: float
    lexical: float


# For a row or a question without a vector, where a model's own weights would find nothing: fitted like the
# others with the cosine left out, then rounded. Without a word in common p is 0.25.
LEXICAL_ONLY: Final = Calibration(bias=-1.1, dense=0.0, lexical=4.3)


class EmbedderUnavailable(MemoryAppError):
    """No vectors can be had now (weights missing or damaged, service down): recall goes on by words alone."""

    code: ClassVar[str] = "embedder_unavailable"
    http_status: ClassVar[int] = 503


class Embedder(Protocol):
    """Thread-safe; loading is lazy, so constructing one is cheap and never fails.

    Vectors of different ``model_id`` are never compared. Every returned vector has ``dimensions`` finite
    numbers and length 1 (to 1e-3). Empty text, NUL and emoji are fine; texts longer than the model's limit
    are cut, not refused. Raises ``EmbedderUnavailable`` only.
    """

    model_id: str
    dimensions: int
    calibration: Calibration

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, in order: for what is stored."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, in order: for what is asked."""
        ...
