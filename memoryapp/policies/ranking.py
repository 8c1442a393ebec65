"""How scores become an order and a cut. Pure; constants say where they come from."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryapp.embeddings.base import LEXICAL_ONLY, Calibration
from memoryapp.policies.terms import Sought, places

# Recency and confidence are tie-breakers, not rankers: together they move a score by at most ±10 %.
BOOST_SHARE = 0.05


def boost(*, age_days: float, half_life_days: float | None, confidence: float) -> float:
    """A factor in [0.9, 1.1]. Half of it decays with age (none without a half-life), half follows confidence."""
    freshness = 1.0 if half_life_days is None else math.exp2(-max(age_days, 0.0) / half_life_days)
    return 1.0 + BOOST_SHARE * (2 * freshness - 1) + BOOST_SHARE * (2 * confidence - 1)


@dataclass(frozen=True, slots=True)
class Facts:
    """n facts of one person. ``terms``: all of theirs, end to end, as ``policies.terms`` packs them."""

    counts: NDArray[np.int32]  # how many of ``terms`` are each fact's
    terms: NDArray[np.int32]
    cosine: NDArray[np.float32]  # to the question; nan without a vector


@dataclass(frozen=True, slots=True)
class FactScores:
    """One number per fact: the share of the question's words found in it, and the probability that it answers."""

    overlap: NDArray[np.float64]
    probability: NDArray[np.float64]


def score_facts(sought: Sought, facts: Facts, calibration: Calibration) -> FactScores:
    """Every fact against the question, in the order of the facts."""
    overlap = _overlap(sought, facts)
    has_vector = ~np.isnan(facts.cosine)
    known = calibration.bias + calibration.dense * np.nan_to_num(facts.cosine) + calibration.lexical * overlap
    by_words = LEXICAL_ONLY.bias + LEXICAL_ONLY.lexical * overlap
    return FactScores(overlap, 1 / (1 + np.exp(-np.where(has_vector, known, by_words))))


def _overlap(sought: Sought, facts: Facts) -> NDArray[np.float64]:
    """The share of the question's words found in each fact, weighted by their idf over the facts; 0..1."""
    size = len(facts.counts)
    hits, fact = places(sought, facts.terms, facts.counts)
    found = facts.terms[hits]
    has = np.zeros((size, len(sought.words)), np.bool_)
    for column, word in enumerate(sought.words):
        has[fact[np.isin(found, word.variants)], column] = True
    frequency = has.sum(axis=0)
    idf = np.log(1 + (size - frequency + 0.5) / (frequency + 0.5))
    total = float(idf.sum())
    return np.asarray(has @ idf / total if total else np.zeros(size), np.float64)


def pack(sizes: Iterable[int], *, budget: int, max_items: int) -> Sequence[bool]:
    """Which items fit, best first: an item too large for what is left is skipped, not the end of packing."""
    kept: list[bool] = []
    left, places = budget, max_items
    for size in sizes:
        fits = places > 0 and size <= left
        if fits:
            left, places = left - size, places - 1
        kept.append(fits)
    return kept
