from hypothesis import given
from hypothesis import strategies as st

from memoryapp.llm.calibration import learned_ratio

CALLS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)))


def test_ratio_is_the_median_so_that_one_odd_call_does_not_count() -> None:
    assert learned_ratio([(1_000, 800), (1_000, 99_000), (1_000, 900), (1_000, 700), (500, 425)]) == 0.85


def test_two_calls_are_too_few() -> None:
    assert learned_ratio([]) == 1.0
    assert learned_ratio([(1_000, 700), (1_000, 700)]) == 1.0
    assert learned_ratio([(1_000, 700), (1_000, 700), (1_000, 700)]) == 0.7


def test_small_prompts_and_missing_reports_say_nothing() -> None:
    silent = [(199, 20), (0, 5), (1_000, 0)]

    assert learned_ratio(silent * 5) == 1.0
    assert learned_ratio([*silent * 5, (200, 180), (200, 180), (200, 180)]) == 0.9


def test_newest_calls_replace_what_was_learned_before() -> None:
    old, new = [(1_000, 700)] * 100, [(1_000, 1_300)] * 11

    assert learned_ratio(old) == 0.7
    assert learned_ratio(new + old) == 1.3


@given(CALLS)
def test_ratio_stays_between_a_half_and_two(calls: list[tuple[int, int]]) -> None:
    assert 0.5 <= learned_ratio(calls) <= 2.0


def test_server_that_misreports_is_not_believed() -> None:
    assert learned_ratio([(1_000, 1)] * 5) == 0.5
    assert learned_ratio([(1_000, 10**9)] * 5) == 2.0
