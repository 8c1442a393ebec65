"""What recall is compared with: textbook retrieval over the same messages, without anything of ours but the terms."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

# Robertson's usual ones; on LoCoMo these are the best of those tried (BM25 with 1.2 and .75 is a point below).
K1: Final = 0.9
B: Final = 0.4
RRF_K: Final = 60  # Cormack et al. 2009

Scores = NDArray[np.float64]


class Bm25:
    """An index over the terms of texts."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._size = len(texts)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, terms in enumerate(texts):
            for term, count in Counter(terms).items():
                self._postings[term].append((place, count))
        lengths = np.array([len(terms) for terms in texts], np.float64)
        self._norms = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))

    def ranking(self, question: Sequence[str]) -> list[int]:
        """The places of the texts that have a term of the question, best first."""
        scores = np.zeros(self._size)
        for term, asked in Counter(question).items():
            postings = self._postings.get(term, [])
            idf = math.log(1 + (self._size - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, count in postings:
                scores[place] += asked * idf * count * (K1 + 1) / (count + self._norms[place])
        return [place for place in ranking(scores) if scores[place] > 0]


def ranking(scores: Scores) -> list[int]:
    """Places, best first; equal ones in their order."""
    return [int(place) for place in np.argsort(-scores, kind="stable")]


def fused(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Reciprocal-rank fusion: a place gains by its rank in each ranking that has it, whatever the scores were."""
    gained: defaultdict[int, float] = defaultdict(float)
    for ranked in rankings:
        for rank, place in enumerate(ranked, 1):
            gained[place] += 1 / (RRF_K + rank)
    return sorted(gained, key=lambda place: (-gained[place], place))
