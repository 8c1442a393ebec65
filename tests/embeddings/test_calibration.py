"""What the cutoff lets through and what it keeps silent, on our own pairs."""

import numpy as np
import pytest

from memoryapp.conf import Conf
from memoryapp.embeddings import aiming, bundled
from memoryapp.embeddings.base import LEXICAL_ONLY, Aim
from memoryapp.policies.ranking import score_facts
from memoryapp.policies.terms import sought, terms
from tests.embeddings import calibrate
from tests.embeddings.pairs import load_pairs

TEA = "I only drink green tea, never coffee."
QUESTION = "What do I usually drink?"
CUTOFF = Conf.model_fields["recall_min_confidence"].default


@pytest.fixture(scope="module")
def pairs():
    return load_pairs()


@pytest.fixture(scope="module")
def embedder():
    return bundled.pair(threads=2, batch_size=8)


@pytest.fixture(scope="module")
def vectors(embedder, pairs):
    return calibrate.embed_all(embedder, pairs)


def confidences(question, facts, vectors, calibration):
    scores = score_facts(sought(question), calibrate.as_facts(question, facts, vectors), calibration)
    return dict(zip(facts, scores.probability, strict=True))


@pytest.mark.parametrize("fact_count", [1, 5, 1_000])
def test_tea_is_the_clear_answer_however_many_facts_there_are(pairs, vectors, embedder, fact_count):
    facts = [TEA, *(fact for fact in pairs.facts_of("en") if fact != TEA)][:fact_count]

    found = confidences(QUESTION, facts, vectors, embedder.calibration)

    assert found[TEA] >= CUTOFF + 0.25
    assert max(found, key=found.get) == TEA
    assert [fact for fact, p in found.items() if p >= CUTOFF] == [TEA]


def test_tea_is_far_from_every_unrelated_question(pairs, vectors, embedder):
    questions = [item.question for item in pairs.unrelated if item.language == "en"]
    assert {"What is the capital of France?", "How do I reset my router?", "Tell me a joke."} < set(questions)
    assert len(questions) >= 50

    highest = max(confidences(question, [TEA], vectors, embedder.calibration)[TEA] for question in questions)

    assert highest < CUTOFF / 4


def test_cutoff_separates_as_the_decision_record_says(pairs, vectors, embedder):
    """Constants, cutoff, pairs and docs/adr/0007 must not drift apart."""
    unrelated = {item.question for item in pairs.unrelated}
    judged = [
        (case, calibrate.features(case, vectors))
        for case in calibrate.cases(pairs, [1_000])
        if case.gold is not None or case.question in unrelated
    ]

    scores = calibrate.judge(judged, calibrate.weights_of(embedder.calibration), CUTOFF)

    assert scores["recall"] == pytest.approx(0.77, abs=0.02)
    assert scores["precision"] == pytest.approx(0.82, abs=0.03)
    assert scores["silent"] == pytest.approx(0.84, abs=0.02)


def test_words_alone_find_the_tea_and_stay_silent_without_a_common_word(vectors):
    without = dict.fromkeys(vectors, np.array([np.nan]))

    assert confidences(QUESTION, [TEA], without, LEXICAL_ONLY)[TEA] >= CUTOFF
    assert confidences("What is the capital of France?", [TEA], without, LEXICAL_ONLY)[TEA] < CUTOFF


@pytest.mark.parametrize(
    "embedder", [bundled.minilm(threads=1, batch_size=1), bundled.use(threads=1)], ids=lambda e: e.model_id
)
def test_every_local_model_answers_the_tea_question(embedder):
    (question,), (fact,) = embedder.embed_queries([QUESTION]), embedder.embed_passages([TEA])
    aimed = embedder.aimed(question, at=Aim.FACTS, language="en")
    vectors = {QUESTION: np.array(aimed), TEA: np.array(fact)}

    assert confidences(QUESTION, [TEA], vectors, embedder.calibration)[TEA] >= CUTOFF


def test_what_is_common_to_all_texts_was_found_in_these_pairs(pairs):
    found = calibrate.common(pairs)

    with np.load(aiming.COMMON) as stored:
        assert set(stored) == set(found)
        for name, vector in found.items():
            sign = np.sign(vector @ stored[name])  # an axis has no direction
            np.testing.assert_allclose(sign * vector, stored[name], atol=5e-3)


def test_english_pairs_share_a_stem_exactly_when_they_say_so(pairs):
    english = [pair for pair in pairs.pairs if pair.fact_language == pair.question_language == "en"]

    wrong = [
        pair
        for pair in english
        if bool(set(terms(pair.fact)) & set(terms(pair.question))) != pair.shares_stem
    ]

    assert wrong == []


def test_pairs_are_many_and_half_without_a_common_word(pairs):
    assert len(pairs.pairs) >= 120
    assert len(pairs.unrelated) >= 60
    assert {pair.fact_language for pair in pairs.pairs} == {"en", "de", "es", "fr", "zh", "ja"}
    assert sum(not pair.shares_stem for pair in pairs.pairs) >= len(pairs.pairs) / 2
