"""Figures of a ranking against the messages that answer. Pure; all are shares of 1, higher is better."""

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Final

DEPTHS: Final = (1, 5, 10, 25)


def figures(
    ranked: Sequence[Hashable],
    evidence: Set[Hashable],
    *,
    packed: Mapping[str, Set[Hashable]] = MappingProxyType({}),
) -> dict[str, float]:
    """Of one question, whose ``evidence`` is not empty.

    ``recall@k``: the share of the evidence among the first k; ``any@k`` and ``all@k``: whether at least one, and
    whether each of it, is there; ``mrr``: one over the rank of the first; ``ndcg@10``: with binary relevance and the
    discount log2(rank + 1). ``packed``: by the name of the figure, what of it fits a budget.
    """
    hits = [item in evidence for item in ranked]
    found: dict[str, float] = {}
    for depth in DEPTHS:
        share = sum(hits[:depth]) / len(evidence)
        found |= {
            f"recall@{depth}": share,
            f"any@{depth}": float(share > 0),
            f"all@{depth}": float(share == 1),
        }
    found["mrr"] = 1 / (hits.index(True) + 1) if any(hits) else 0.0
    ideal = _gain([True] * min(len(evidence), 10))
    found["ndcg@10"] = _gain(hits[:10]) / ideal
    return found | {name: len(fits & evidence) / len(evidence) for name, fits in packed.items()}


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each figure's mean over questions; nothing for no rows."""
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]} if rows else {}


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """How often a positive scores above a negative, ties counting half (Mann and Whitney); None without either."""
    if not positives or not negatives:
        return None
    wins = sum(
        (positive > negative) + (positive == negative) / 2 for positive in positives for negative in negatives
    )
    return wins / (len(positives) * len(negatives))


def _gain(hits: Sequence[bool]) -> float:
    return sum(hit / math.log2(rank + 1) for rank, hit in enumerate(hits, 1))
