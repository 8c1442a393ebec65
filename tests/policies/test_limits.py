"""How far a run may go."""

import pytest

from memoryapp.policies.limits import Limits, Spent, reached

LIMITS = Limits(model_calls=4, tokens=1_000, seconds=60.0, usd=0.5)
NOTHING = Spent(model_calls=0, tokens=0, seconds=0.0)


@pytest.mark.parametrize(
    ("spent", "told"),
    [
        (NOTHING, ""),
        (Spent(3, 999, 59.9, 0.49), ""),
        (Spent(4, 0, 0.0), "4 steps"),
        (Spent(0, 1_000, 0.0), "1,000 tokens"),
        (Spent(0, 0, 60.0), "60 seconds of work"),
        (Spent(0, 0, 0.0, 0.5), "$0.50"),
    ],
)
def test_a_limit_that_is_reached_is_named(spent, told):
    assert reached(LIMITS, spent) == told


def test_no_price_is_no_limit():
    assert reached(Limits(4, 1_000, 60.0, usd=0.0), Spent(0, 0, 0.0, 1_000.0)) == ""


def test_going_on_gives_the_allowance_once_more():
    more = LIMITS.above(Spent(4, 800, 30.0, 0.2))

    assert more == Limits(8, 1_800, 90.0, 0.7)
    assert reached(more, Spent(4, 800, 30.0, 0.2)) == ""


def test_a_limit_that_is_off_stays_off_when_going_on():
    assert Limits(4, 1_000, 60.0).above(Spent(4, 1, 1.0, 9.0)).usd == 0.0


def test_what_an_older_record_does_not_say_is_as_configured():
    assert Limits.from_json({"tokens": 5}, otherwise=LIMITS) == Limits(4, 5, 60.0, 0.5)
    assert Limits.from_json(LIMITS.to_json(), otherwise=Limits(1, 1, 1.0)) == LIMITS
