"""When something about a person's memory deserves their eye: limits, and which pairs may say the same. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryapp.policies.likeness import Word, essence
from memoryapp.policies.relations import without_contrast

# Affirmed less recently than this, of a kind without a half-life: hardly anything said a year ago is still quite so.
STALE_DAYS: Final = 365
UNUSED_DAYS: Final = 90  # a quarter in which no reply was given it
NOISE_SHARE: Final = 0.8  # of the replies looked at; what is in more of them was hardly asked for
NOISE_REPLIES: Final = 50
MIN_REPLIES: Final = 10  # of fewer no share says anything
NEARLY_FULL_SHARE: Final = 0.9

# Cosines of stored vectors, by the bundled pair on two dozen pairs of our own: the same in other words lies between
# 0.6 and 0.95, something else with shared words between 0.4 and 0.97. No limit parts them, so the words decide too.
SIMILAR: Final = 0.8
# Alike but for one word ("my dog", "my cat" is called Bruno) is mostly another fact: only near synonyms are nearer.
SUBSTITUTED: Final = 0.94
MAX_PAIRS: Final = 500  # compared by their words in one go, the most similar first

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Pair:
    """Rows of a matrix, the first the lower, and their cosine."""

    first: int
    second: int
    similarity: float


def similar_pairs(vectors: Matrix, *, part: int) -> list[Pair]:
    """Pairs of rows, at least one of them among the first ``part``, each pair once, the most similar first; at most
    ``MAX_PAIRS``. ``vectors``: of length 1."""
    cosines = vectors[:part] @ vectors.T
    firsts, seconds = np.nonzero(cosines >= SIMILAR)
    is_once = firsts < seconds
    firsts, seconds = firsts[is_once], seconds[is_once]
    found = cosines[firsts, seconds]
    best = np.lexsort((seconds, firsts, -found))[:MAX_PAIRS]
    return [Pair(int(firsts[at]), int(seconds[at]), float(found[at])) for at in best]


def may_say_the_same(one: str, other: str, *, similarity: float) -> bool:
    """Whether a person should see the two side by side: never for another number or name, or when one denies it."""
    first, second = essence(one), essence(other)
    if similarity < SIMILAR or first.is_negative != second.is_negative:
        return False
    if _fixed(first.phrases) != _fixed(second.phrases):
        return False
    heads = without_contrast(one), without_contrast(other)
    if heads != (one, other) and essence(heads[0]).stems != essence(heads[1]).stems:
        return False  # "only tea, never coffee" and "only coffee, never tea": the same words, and opposites
    return similarity >= SUBSTITUTED or not _is_one_word_apart(first.stems, second.stems)


def is_nearly_full(used: int, limit: int) -> bool:
    return used >= limit * NEARLY_FULL_SHARE


def _fixed(phrases: Sequence[Sequence[Word]]) -> set[str]:
    """Names and numbers: of two that say the same they are the same."""
    words = [word for phrase in phrases for word in phrase]
    return {word.text for word in words if word.is_name or any(map(str.isdigit, word.text))}


def _is_one_word_apart(one: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> bool:
    first, second = (Counter(stem for phrase in stems for stem in phrase) for stems in (one, other))
    return (first - second).total() == 1 and (second - first).total() == 1
