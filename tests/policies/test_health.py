"""Which pairs of facts may say the same, and when memory is nearly full."""

import numpy as np
import pytest

from memoryapp.policies import health


@pytest.mark.parametrize(
    ("one", "other", "similarity", "is_likely"),
    [
        ("I live in Lisbon", "My home is in Lisbon", 0.84, True),
        ("I work as a nurse", "My job is nursing", 0.84, True),
        ("I like figs", "I love figs", 0.95, True),
        ("I live in Lisbon", "My home is in Lisbon", 0.7, False),  # not near enough
        ("I like figs", "I like dates", 0.9, False),  # one word apart
        ("My dog is called Bruno", "My cat is called Bruno", 0.85, False),
        ("I live in Lisbon", "I live in Porto", 0.97, False),  # another name
        ("Invoice 1041 was paid", "Invoice 1042 was paid", 0.97, False),  # another number
        ("The meeting is on Monday at 10", "The meeting is on Tuesday at 10", 0.97, False),  # another name
        ("I eat meat", "I do not eat meat", 0.96, False),  # a denial
        (
            "I only drink green tea, never coffee",
            "I only drink coffee, never green tea",
            0.97,
            False,
        ),  # opposites
        ("I only drink tea, never coffee", "I only drink tea, not coffee", 0.97, True),
    ],
)
def test_words_decide_among_what_is_near(one, other, similarity, is_likely):
    assert health.may_say_the_same(one, other, similarity=similarity) is is_likely
    assert health.may_say_the_same(other, one, similarity=similarity) is is_likely


def unit(*angles):
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], np.float32)


def test_pairs_come_once_and_the_most_similar_first():
    vectors = unit(0, 0.5, 0.1, 3.0)

    pairs = health.similar_pairs(vectors, part=4)

    assert [(pair.first, pair.second) for pair in pairs] == [(0, 2), (1, 2), (0, 1)]
    assert pairs[0].similarity == pytest.approx(np.cos(0.1), abs=1e-5)


def test_the_parts_together_find_every_pair_once():
    vectors = unit(0, 0.1, 0.2, 0.3, 0.4, 0.5)
    whole = {(pair.first, pair.second) for pair in health.similar_pairs(vectors, part=6)}

    parts = [
        (pair.first + begin, pair.second + begin)
        for begin in (0, 2, 4)
        for pair in health.similar_pairs(vectors[begin:], part=2)
    ]

    assert sorted(parts) == sorted(whole)


def test_nothing_is_similar_to_nothing():
    assert health.similar_pairs(np.zeros((0, 0), np.float32), part=0) == []


def test_pairs_are_bounded():
    vectors = unit(*[0.0] * 60)

    assert len(health.similar_pairs(vectors, part=60)) == health.MAX_PAIRS


@pytest.mark.parametrize(("used", "is_full"), [(0, False), (89, False), (90, True), (100, True)])
def test_nearly_full_is_nine_tenths(used, is_full):
    assert health.is_nearly_full(used, 100) is is_full
