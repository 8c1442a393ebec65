"""Words that occur nowhere else, to be told to an installation and looked for in it afterwards.

All words of a run begin with one stem, so that a scan looks for the stem alone, whatever the number of words. They are
lower-case letters: no stemmer, no case folding and no check for secrets changes them.
"""

import random
from dataclasses import dataclass
from typing import Final

STEM_CHARS: Final = 12
WORD_CHARS: Final = 24
_BEGINNING: Final = "zqx"  # no language's word begins so, and "z" is rare enough to be looked for quickly
# Without the vowels no ending is a language's ("-ing", "-ed"), so that a stemmer leaves the word alone.
_LETTERS: Final = "bcdfghjkmnpqrtvwxz"


@dataclass(frozen=True, slots=True)
class Canary:
    """One word, and what it is told by. ``door``: where it was told, for whoever reads a hit."""

    door: str
    word: str


class Canaries:
    """The words of one run. Equal seeds give equal words.

    ``stem`` begins those that must go. ``kept_stem`` begins the neighbours', which must stay, and ``control_stem`` the
    one that is planted in stores to see that their scanners find anything there.
    """

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        stems: set[str] = set()
        while len(stems) < 3:
            stems.add(_BEGINNING + _letters(chance, STEM_CHARS - len(_BEGINNING)))
        self.stem, self.kept_stem, self.control_stem = sorted(stems)
        self._chance = chance
        self._words: dict[str, Canary] = {}

    @property
    def control(self) -> Canary:
        return self._canary("control", self.control_stem)

    def of(self, door: str) -> Canary:
        """The one that is told at this door, always the same."""
        return self._canary(door, self.stem)

    def kept(self, whose: str) -> Canary:
        """One that nobody forgets."""
        return self._canary(f"kept: {whose}", self.kept_stem)

    def _canary(self, door: str, stem: str) -> Canary:
        if door not in self._words:
            self._words[door] = Canary(door, stem + _letters(self._chance, WORD_CHARS - STEM_CHARS))
        return self._words[door]


def _letters(chance: random.Random, count: int) -> str:
    return "".join(chance.choices(_LETTERS, k=count))
