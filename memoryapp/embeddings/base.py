"""What an embedder is: texts in, unit vectors out, and the calibration that gives its cosines a meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final, Protocol

from memoryapp.errors import MemoryAppError


class Aim(Enum):
    """What a question is compared with: models differ in what they are good at."""

    FACTS = "facts"
    DIALOGUE = "dialogue"


@dataclass(frozen=True, slots=True)
class DialogueWeights:
    """The same for a message of a conversation, whose score is ``(1 - dense) * lexical + dense * similarity``.

    ``p = 1 / (1 + exp(-(bias + slope * score)))``.
    """

    dense: float
    bias: float
    slope: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns one model's scores into a probability that a fact answers a question.

    ``p = 1 / (1 + exp(-(bias + dense * similarity + lexical * overlap)))`` with ``overlap`` the idf-weighted
    share of the query's terms found in the fact, 0..1. Similarities range differently from model to model, so
    the weights belong to the model.
    """

    bias: float
    dense: float
    lexical: float
    # For every model whose similarities of dialogue spread as MiniLM's do (docs/recall.md says on what).
    dialogue: DialogueWeights = DialogueWeights(dense=0.4, bias=-6.9, slope=20.5)


# For a row or a question without a vector, where a model's own weights would find nothing: fitted like the
# others with the similarity left out, then rounded. Without a word in common p is 0.21.
LEXICAL_ONLY: Final = Calibration(
    bias=-1.3, dense=0.0, lexical=5.5, dialogue=DialogueWeights(dense=0.0, bias=-4.6, slope=14.9)
)


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

    def aimed(self, vector: Sequence[float], *, at: Aim, language: str) -> list[float]:
        """A question's vector, weighed so that its inner product with a stored passage's is the similarity.

        ``language``: the question's, ISO 639-1. Similarities are at most 1; those of two aims or two languages
        are not compared.
        """
        ...
