import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.embeddings.base import LEXICAL_ONLY, Calibration
from memoryapp.policies.ranking import Facts, boost, pack, score_facts
from memoryapp.policies.terms import packed, sought, terms

CALIBRATION = Calibration(bias=-5, dense=18, lexical=2)

ages = st.floats(-1_000, 1e6)
half_lives = st.none() | st.integers(1, 10_000)
shares = st.floats(0, 1)
ROUNDING = 1e-9


@given(ages, half_lives, shares)
def test_a_boost_moves_a_score_by_a_tenth_at_most(age, half_life, confidence):
    factor = boost(age_days=age, half_life_days=half_life, confidence=confidence)

    assert 0.9 - ROUNDING <= factor <= 1.1 + ROUNDING


@given(st.floats(0, 10_000), st.floats(0, 10_000), half_lives, shares)
def test_age_and_doubt_never_help(younger, older, half_life, confidence):
    younger, older = sorted((younger, older))

    new = boost(age_days=younger, half_life_days=half_life, confidence=confidence)

    assert new >= boost(age_days=older, half_life_days=half_life, confidence=confidence)
    assert new >= boost(age_days=younger, half_life_days=half_life, confidence=confidence / 2)


def test_half_of_the_recency_boost_is_gone_after_a_half_life():
    fresh, aged, ancient = (
        boost(age_days=days, half_life_days=30, confidence=0.5) for days in (0, 30, 30_000)
    )

    assert (fresh, aged, ancient) == pytest.approx((1.05, 1.0, 0.95))


@given(st.lists(st.integers(0, 500), max_size=60), st.integers(0, 2_000), st.integers(0, 60))
def test_what_is_packed_never_exceeds_the_budget_or_the_number_of_places(sizes, budget, max_items):
    kept = pack(sizes, budget=budget, max_items=max_items)

    packed = [size for size, is_in in zip(sizes, kept, strict=True) if is_in]
    assert sum(packed) <= budget
    assert len(packed) <= max_items


@given(st.lists(st.integers(0, 500), max_size=60), st.integers(0, 2_000), st.integers(0, 60))
def test_nothing_is_left_out_that_would_have_fitted_in_its_turn(sizes, budget, max_items):
    kept = pack(sizes, budget=budget, max_items=max_items)

    for place, is_in in enumerate(kept):
        before = [size for size, was_in in zip(sizes[:place], kept[:place], strict=True) if was_in]
        would_fit = len(before) < max_items and sum(before) + sizes[place] <= budget
        assert is_in == would_fit


def facts(*statements, cosine=None):
    found = [terms(statement) for statement in statements]
    return Facts(
        counts=np.array([len(one) for one in found], np.int32),
        terms=np.frombuffer(b"".join(map(packed, found)), "<i4").astype(np.int32),
        cosine=np.array([np.nan] * len(found) if cosine is None else cosine, np.float32),
    )


def test_overlap_is_the_share_of_the_questions_words_and_rare_words_weigh_more():
    known = facts(
        "My dog is called Biscuit.", "My dog is a dachshund.", "My dog sleeps.", "I work as a nurse."
    )

    overlap = score_facts(sought("Is my dog a dachshund?"), known, CALIBRATION).overlap

    assert overlap[1] == pytest.approx(1)
    assert 0 < overlap[0] == overlap[2] < 0.5
    assert overlap[3] == 0


def test_meaning_and_words_both_raise_the_probability():
    known = facts("My dog is ill.", "My cat is ill.", "My cat is ill.", cosine=[0.3, 0.3, 0.1])

    probability = score_facts(sought("dog"), known, CALIBRATION).probability

    assert probability[0] > probability[1] > probability[2]


def test_a_fact_without_a_vector_is_judged_by_its_words_alone():
    known = facts("My dog is ill.", "I work as a nurse.", cosine=[np.nan, 0.9])

    probability = score_facts(sought("dog"), known, CALIBRATION).probability

    assert probability[0] == pytest.approx(1 / (1 + math.exp(-(LEXICAL_ONLY.bias + LEXICAL_ONLY.lexical))))


def test_nothing_known_or_nothing_asked_is_no_error():
    assert len(score_facts(sought("dog"), facts(), CALIBRATION).probability) == 0
    assert score_facts(sought("?"), facts("My dog is ill."), CALIBRATION).overlap.tolist() == [0]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8), st.text(max_size=60))
def test_overlap_and_probability_are_shares(statements, asked):
    scores = score_facts(sought(asked), facts(*statements), CALIBRATION)

    assert ((scores.overlap >= 0) & (scores.overlap <= 1 + ROUNDING)).all()
    assert ((scores.probability >= 0) & (scores.probability <= 1)).all()
