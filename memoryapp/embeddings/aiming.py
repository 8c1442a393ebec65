"""What is compared of a question: its vector without what all texts have in common, each model at its share.

Vectors of these models lie in a cone: all share a mean, and one axis says little about the subject (for MiniLM
English against other languages, for USE question against statement). Taking both away is Mu & Viswanath's
"all-but-the-top" (2018); inner products let us do it to the question alone, so that stored vectors stay as they are.
``common.npz`` is what ``python -m tests.embeddings.calibrate --common`` finds in ``tests/data/pairs.json``;
docs/recall.md says what it is worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryapp.embeddings.base import Aim

Vector = NDArray[np.float64]

COMMON: Final = Path(__file__).with_name("common.npz")
# How much of the mean goes; all of it would lose that a fact about oneself is likelier than one about the world.
MEAN_SHARE: Final = 0.7
# MiniLM's share where both models look for the same.
MINILM_SHARE: Final = 0.35
# What brings USE's similarities of dialogue to the spread of MiniLM's in English, which their calibration is for.
DIALOGUE_SCALE: Final = 1.3


@dataclass(frozen=True, slots=True)
class Part:
    """One model's numbers in a stored vector: its unit vectors times √``stored_share``."""

    model: str
    dimensions: int
    stored_share: float = 1.0


def aimed(vector: Sequence[float], parts: Sequence[Part], *, at: Aim, language: str) -> list[float]:
    """The question's vector for an inner product with stored vectors that have these parts."""
    models = [part.model for part in parts]
    start, weighed = 0, []
    for part in parts:
        unit = np.asarray(vector[start : start + part.dimensions], np.float64) / np.sqrt(part.stored_share)
        start += part.dimensions
        weighed.append(_weighed(unit, part.model, models, at, language) / np.sqrt(part.stored_share))
    numbers: list[float] = np.concatenate(weighed).tolist()
    return numbers


def _weighed(unit: Vector, model: str, models: Sequence[str], at: Aim, language: str) -> Vector:
    """English dialogue is MiniLM's, as it is; all else is both models', without what is common."""
    is_english_dialogue = at is Aim.DIALOGUE and language == "en" and "minilm" in models
    if is_english_dialogue:
        return unit if model == "minilm" else np.zeros_like(unit)
    share = 1.0 if len(models) == 1 else {"minilm": MINILM_SHARE, "use": 1 - MINILM_SHARE}[model]
    scale = DIALOGUE_SCALE if at is Aim.DIALOGUE and "use" in models else 1.0
    return share * scale * _without_common(unit, model)


def _without_common(unit: Vector, model: str) -> Vector:
    mean, axis = _common(model)
    shifted = unit - MEAN_SHARE * mean
    return shifted - (shifted @ axis) * axis


@cache
def _common(model: str) -> tuple[Vector, Vector]:
    with np.load(COMMON) as common:
        return common[f"{model}_mean"].astype(np.float64), common[f"{model}_axis"].astype(np.float64)
