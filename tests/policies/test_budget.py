from hypothesis import given
from hypothesis import strategies as st

from memoryapp.llm.base import ModelLimits
from memoryapp.policies.budget import Budget, newest_that_fit, share_out

tokens = st.integers(0, 1_000_000)
sizes = st.lists(st.integers(0, 10_000), max_size=50)


@given(tokens, tokens, tokens, tokens)
def test_history_gets_what_is_left_and_never_less_than_nothing(window, output, fixed, scratchpad):
    budget = Budget(
        window_tokens=window,
        reserve_output_tokens=output,
        fixed_tokens=fixed,
        scratchpad_tokens=scratchpad,
    )

    assert budget.history_tokens == max(0, window - output - fixed - scratchpad)
    assert budget.history_tokens + output + fixed + scratchpad <= max(window, output + fixed + scratchpad)


@given(tokens, tokens, tokens, tokens)
def test_a_reply_as_long_as_reserved_fits_beside_a_full_prompt(window, longest_reply, fixed, scratchpad):
    budget = share_out(ModelLimits(window, longest_reply), fixed_tokens=fixed, scratchpad_tokens=scratchpad)

    assert budget.input_tokens + budget.reserve_output_tokens == window
    assert budget.reserve_output_tokens <= longest_reply
    assert budget.history_tokens <= budget.input_tokens


def test_the_longest_reply_is_reserved_where_the_window_is_large():
    budget = share_out(ModelLimits(200_000, 8_192))

    assert (budget.reserve_output_tokens, budget.input_tokens) == (8_192, 191_808)


def test_output_leaves_three_quarters_of_a_tiny_window_to_input():
    budget = share_out(ModelLimits(4_000, 8_192), fixed_tokens=500, scratchpad_tokens=300)

    assert (budget.reserve_output_tokens, budget.input_tokens, budget.history_tokens) == (1_000, 3_000, 2_200)


@given(sizes, st.integers(-10, 100_000))
def test_the_newest_turns_fit_and_one_more_would_not(turns, allowance):
    kept = newest_that_fit(turns, allowance_tokens=allowance)

    assert 0 <= kept <= len(turns)
    assert kept == 0 or sum(turns[len(turns) - kept :]) <= allowance
    assert kept == len(turns) or sum(turns[len(turns) - kept - 1 :]) > allowance


def test_a_large_old_turn_does_not_push_newer_ones_out():
    assert newest_that_fit([9_000, 10, 20], allowance_tokens=100) == 2
