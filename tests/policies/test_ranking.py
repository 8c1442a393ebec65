import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.ranking import boost, pack, probability

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


@given(st.floats(-10, 10), st.floats(0, 20), st.floats(0, 10), st.none() | st.floats(-1, 1), shares)
def test_a_probability_is_one_and_grows_with_the_words_in_common(bias, dense, lexical, cosine, overlap):
    found = probability(bias=bias, dense=dense, lexical=lexical, cosine=cosine, overlap=overlap)

    assert 0 <= found <= 1
    assert found >= probability(bias=bias, dense=dense, lexical=lexical, cosine=cosine, overlap=overlap / 2)
