"""When a run is getting nowhere."""

from itertools import count

import pytest

from memoryapp.policies.discipline import Tried, why_stuck

ROUNDS = count()
NEWS = Tried("recall", "", is_news=True, round=0)
OLD = Tried("recall", "", is_news=False, round=0)


def fail(action="fetch", error="gone", in_round=None):
    return Tried(action, error, is_news=False, round=next(ROUNDS) if in_round is None else in_round)


@pytest.mark.parametrize(
    "tried",
    [
        [],
        [fail(), fail()],
        [fail(), fail(error="slow"), fail()],
        [fail(), fail("recall"), fail()],
        [fail(), fail(), NEWS],
        [fail(in_round=7)] * 3,
        [fail(), *[fail(in_round=7)] * 3],
        [OLD] * 5,
        [NEWS, *[OLD] * 5],
        [OLD, NEWS, *[OLD] * 4],
    ],
)
def test_a_run_that_gets_on_is_left_alone(tried):
    assert why_stuck(tried, stall_steps=6) == ""


def test_three_equal_errors_in_a_row_are_enough():
    assert why_stuck([NEWS, fail(), fail(), fail()], stall_steps=6) == (
        "The tool fetch failed 3 times in the same way: gone"
    )


def test_steps_that_tell_nothing_new_are_enough():
    tried = [NEWS, OLD, fail("a"), OLD, fail("b"), OLD, OLD]

    assert why_stuck(tried, stall_steps=6) == "The last 6 steps told nothing new."
