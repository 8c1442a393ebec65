# ruff: noqa: T201  (a command: it prints)
"""Fit and judge a model's calibration on ``tests/data/pairs.json``; a development tool, not a test.

    python -m tests.embeddings.calibrate            # the embedder that the environment configures
    STRATA_BUNDLED_MODEL=minilm python -m tests.embeddings.calibrate
    python -m tests.embeddings.calibrate --common   # first, when the pairs changed: writes embeddings/common.npz

Prints the constants to paste into the embedder's ``Calibration`` and what those in the code do at the cutoff.
The question fitted is the one recall asks: *is the best fact we found an answer?* So each question gives its
fact as a positive and the best-scoring wrong fact, with the right one taken away, as a negative; each
unrelated question gives the best fact of a person who has nothing to say about it. Overlap depends on how
many facts a person has (idf over one fact says little), so pools of 1, 5, 20 and all facts enter alike.
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from memoryapp.conf import get_conf
from memoryapp.embeddings import aiming, bundled
from memoryapp.embeddings.base import Aim, Calibration, Embedder
from memoryapp.embeddings.registry import get_embedder
from memoryapp.policies.languages import language_of
from memoryapp.policies.ranking import Facts, score_facts
from memoryapp.policies.terms import packed, sought, terms
from tests.embeddings.pairs import PairSet, load_pairs

POOL_SIZES = (1, 5, 20, 1_000)
FOLDS = 5
# Most of what is said to an assistant needs no memory: we assume one message in three does.
ANSWERABLE_SHARE = 1 / 3
# Keeps the weights finite where the classes separate; too small to move them elsewhere.
RIDGE = 1e-2
ROUNDS = 8
# The pairs were written to share few words, so they say little about them; names and numbers must still count.
LEXICAL_LEAST = 2.0

Features = NDArray[np.float64]  # one row per fact: 1, similarity, overlap
Weights = NDArray[np.float64]
Vectors = Mapping[str, NDArray[np.float64]]
UNCALIBRATED = Calibration(bias=0, dense=0, lexical=0)


@dataclass(frozen=True, slots=True)
class Case:
    """One question over one pool of facts; ``gold`` is None when no fact answers it."""

    group: int
    question: str
    facts: Sequence[str]
    gold: int | None


def cases(pairs: PairSet, pool_sizes: Sequence[int]) -> Iterator[Case]:
    random_pool = random.Random(7)
    for size in pool_sizes:
        for number, pair in enumerate(pairs.pairs):
            others = [fact for fact in pairs.facts_of(pair.fact_language) if fact != pair.fact]
            pool = random_pool.sample(others, min(size - 1, len(others)))
            yield Case(number, pair.question, [pair.fact, *pool], 0)
            if pool:
                yield Case(number, pair.question, pool, None)
        for number, question in enumerate(pairs.unrelated):
            facts = pairs.facts_of(question.language)
            yield Case(number, question.question, random_pool.sample(facts, min(size, len(facts))), None)


def as_facts(question: str, facts: Sequence[str], vectors: Vectors) -> Facts:
    """The facts as recall reads them from the database."""
    found = [terms(fact) for fact in facts]
    return Facts(
        counts=np.array([len(fact) for fact in found], np.int32),
        terms=np.frombuffer(b"".join(map(packed, found)), "<i4").astype(np.int32),
        cosine=np.array([vectors[question] @ vectors[fact] for fact in facts], np.float32),
    )


def features(case: Case, vectors: Vectors) -> Features:
    facts = as_facts(case.question, case.facts, vectors)
    overlap = score_facts(sought(case.question), facts, UNCALIBRATED).overlap
    return np.column_stack([np.ones(len(case.facts)), facts.cosine, overlap])


def weights_of(calibration: Calibration) -> Weights:
    return np.array(astuple(calibration)[:3])


def probabilities(rows: Features, weights: Weights) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-(rows @ weights)))


def fit(judged: Sequence[tuple[Case, Features]]) -> Weights:
    """Logistic regression, with ``LEXICAL_LEAST`` for words that would count for less."""
    weights = _rounds(judged, free=3)
    return weights if weights[2] >= LEXICAL_LEAST else _rounds(judged, free=2)


def _rounds(judged: Sequence[tuple[Case, Features]], *, free: int) -> Weights:
    """Which wrong fact is the best one depends on the weights, hence the rounds. ``free``: how many are fitted."""
    weights = np.array([-5.0, 10.0, LEXICAL_LEAST])
    for _ in range(ROUNDS):
        positives = np.array([rows[case.gold] for case, rows in judged if case.gold is not None])
        negatives = np.array([rows[np.argmax(rows @ weights)] for case, rows in judged if case.gold is None])
        weights = logistic(positives, negatives, fixed=weights[free:])
    return weights


def logistic(positives: Features, negatives: Features, *, fixed: Weights) -> Weights:
    """The weights of the first features; those of the last are ``fixed``."""
    together = np.vstack([positives, negatives])
    rows, offset = np.split(together, [together.shape[1] - len(fixed)], axis=1)
    given = offset @ fixed
    targets = np.r_[np.ones(len(positives)), np.zeros(len(negatives))]
    importance = np.r_[
        np.full(len(positives), ANSWERABLE_SHARE / len(positives)),
        np.full(len(negatives), (1 - ANSWERABLE_SHARE) / len(negatives)),
    ] * len(rows)
    weights = np.zeros(rows.shape[1])
    for _ in range(25):  # Newton's method
        p = 1 / (1 + np.exp(-(rows @ weights + given)))
        gradient = rows.T @ (importance * (p - targets)) + RIDGE * weights
        hessian = (rows * (importance * p * (1 - p))[:, None]).T @ rows + RIDGE * np.eye(len(weights))
        weights = weights - np.linalg.solve(hessian, gradient)
    return np.r_[weights, fixed]


def judge(judged: Sequence[tuple[Case, Features]], weights: Weights, cutoff: float) -> dict[str, float]:
    """Shares: answers that pass, answers among all that pass, unanswerable questions where none does."""
    found = passed = answerable = silent = unanswerable = 0
    for case, rows in judged:
        passing = probabilities(rows, weights) >= cutoff
        if case.gold is None:
            unanswerable += 1
            silent += not passing.any()
        else:
            answerable += 1
            passed += passing.sum()
            found += passing[case.gold]
    return {
        "recall": found / max(answerable, 1),
        "precision": found / max(passed, 1),
        "silent": silent / max(unanswerable, 1),
    }


def embed_all(embedder: Embedder, pairs: PairSet) -> Vectors:
    """Facts as they are stored, questions as they are compared."""
    questions = sorted({pair.question for pair in pairs.pairs} | {item.question for item in pairs.unrelated})
    facts = sorted({pair.fact for pair in pairs.pairs})
    aimed = [
        embedder.aimed(vector, at=Aim.FACTS, language=language_of(question))
        for question, vector in zip(questions, embedder.embed_queries(questions), strict=True)
    ]
    vectors = np.array([*aimed, *embedder.embed_passages(facts)])
    return dict(zip([*questions, *facts], vectors, strict=True))


def common(pairs: PairSet) -> dict[str, NDArray[np.float32]]:
    """Per bundled model the mean of all our sentences and the axis along which they differ most."""
    texts = sorted(
        {*(text for pair in pairs.pairs for text in (pair.fact, pair.question))} | unrelated(pairs)
    )
    found = {}
    for name, embedder in (
        ("minilm", bundled.minilm(threads=2, batch_size=8)),
        ("use", bundled.use(threads=2)),
    ):
        vectors = np.array(embedder.embed_passages(texts))
        mean = vectors.mean(axis=0)
        axis = np.linalg.svd(vectors - mean, full_matrices=False).Vh[0]
        found |= {f"{name}_mean": mean.astype(np.float32), f"{name}_axis": axis.astype(np.float32)}
    return found


def unrelated(pairs: PairSet) -> set[str]:
    return {item.question for item in pairs.unrelated}


def main() -> None:
    if "--common" in sys.argv:
        np.savez(aiming.COMMON, **common(load_pairs()))
        return
    embedder, pairs, cutoff = get_embedder(), load_pairs(), get_conf().recall_min_confidence
    vectors = embed_all(embedder, pairs)
    fitted_on = [(case, features(case, vectors)) for case in cases(pairs, POOL_SIZES)]
    everything = [(case, features(case, vectors)) for case in cases(pairs, POOL_SIZES[-1:])]
    judged = [item for item in everything if item[0].gold is not None or item[0].question in unrelated(pairs)]

    print(f"{embedder.model_id}: {_constants(fit(fitted_on))}")
    print("words alone:", _constants(fit([(case, rows * [1, 0, 1]) for case, rows in fitted_on])))
    ranked_first = [np.argmax(rows[:, 1]) == case.gold for case, rows in judged if case.gold is not None]
    print(f"by similarity the fact ranks first for {np.mean(ranked_first):.3f} of its questions")

    in_code = weights_of(embedder.calibration)
    for limit in (0.2, 0.3, 0.4, 0.5):
        print(f"constants in code, p >= {limit}: ", _line(judge(judged, in_code, limit)))
    held_out = [
        judge(
            [item for item in judged if item[0].group % FOLDS == fold],
            fit([item for item in fitted_on if item[0].group % FOLDS != fold]),
            cutoff,
        )
        for fold in range(FOLDS)
    ]
    means = {name: float(np.mean([scores[name] for scores in held_out])) for name in held_out[0]}
    print(f"held out ({FOLDS} folds), p >= {cutoff}: ", _line(means))
    best = sorted(
        (float(probabilities(rows, in_code).max()), case.question)
        for case, rows in judged
        if case.gold is None
    )
    print("unrelated questions that come closest:")
    for p, question in best[-10:]:
        print(f"  {p:.2f} {question}")


def _constants(weights: Weights) -> str:
    bias, dense, lexical = weights
    return f"Calibration(bias={bias:.2f}, dense={dense:.2f}, lexical={lexical:.2f})"


def _line(scores: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in scores.items())


if __name__ == "__main__":
    main()
