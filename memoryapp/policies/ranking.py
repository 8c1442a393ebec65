"""How scores become an order and a cut. Pure; constants say where they come from."""

import math
from collections.abc import Iterable, Sequence

# Recency and confidence are tie-breakers, not rankers: together they move a score by at most ±10 %.
BOOST_SHARE = 0.05


def boost(*, age_days: float, half_life_days: float | None, confidence: float) -> float:
    """A factor in [0.9, 1.1]. Half of it decays with age (none without a half-life), half follows confidence."""
    freshness = 1.0 if half_life_days is None else math.exp2(-max(age_days, 0.0) / half_life_days)
    return 1.0 + BOOST_SHARE * (2 * freshness - 1) + BOOST_SHARE * (2 * confidence - 1)


def probability(*, bias: float, dense: float, lexical: float, cosine: float | None, overlap: float) -> float:
    """The logistic of ``embeddings.base.Calibration``; without a vector, words alone have to convince."""
    return 1.0 / (1.0 + math.exp(-(bias + dense * (cosine or 0.0) + lexical * overlap)))


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
