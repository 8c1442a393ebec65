"""Our own small evaluation set: facts, questions that one of them answers, and questions that none does."""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PATH = Path(__file__).parents[1] / "data" / "pairs.json"


@dataclass(frozen=True, slots=True)
class Pair:
    fact_language: str
    question_language: str
    shares_stem: bool
    fact: str
    question: str


@dataclass(frozen=True, slots=True)
class Unrelated:
    language: str
    question: str


@dataclass(frozen=True, slots=True)
class PairSet:
    pairs: tuple[Pair, ...]
    unrelated: tuple[Unrelated, ...]

    def facts_of(self, language: str) -> list[str]:
        """One language's facts are one person's memory: across languages they contradict each other."""
        return list(dict.fromkeys(pair.fact for pair in self.pairs if pair.fact_language == language))


@lru_cache(maxsize=1)
def load_pairs() -> PairSet:
    data = json.loads(PATH.read_text(encoding="utf-8"))
    return PairSet(
        pairs=tuple(Pair(**row) for row in data["pairs"]),
        unrelated=tuple(Unrelated(**row) for row in data["unrelated"]),
    )
