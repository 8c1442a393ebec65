"""How an experience gets surer, and when two goals look alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies import experiences as policy

CONFIDENCE = st.floats(0, 1)


@given(CONFIDENCE)
def test_confidence_stays_one_and_a_persons_yes_counts_more_than_a_repetition(confidence):
    seen, helped = policy.when_seen_again(confidence), policy.when_helped(confidence)

    assert 0 <= policy.when_not_helped(confidence) <= confidence <= seen <= helped <= 1


def test_twice_no_help_is_enough_for_what_a_tool_taught():
    assert policy.when_not_helped(0.75) > 0.3
    assert policy.when_not_helped(policy.when_not_helped(0.75)) < 0.3


@pytest.mark.parametrize("message", ["", "ok", "Thanks!", "Hi there!", "  go   on  ", "好的"])
def test_less_than_a_task_is_trivial(message):
    assert policy.is_trivial(message)


@pytest.mark.parametrize("message", ["Convert 5 USD", "订一张去上海的票", "Book a table"])
def test_a_short_task_is_a_task(message):
    assert not policy.is_trivial(message)


@given(st.text(), st.text())
def test_overlap_is_a_share_and_has_no_direction(one, other):
    overlap = policy.word_overlap(one, other)

    assert 0 <= overlap <= 1
    assert overlap == policy.word_overlap(other, one)


def test_overlap_is_of_content_words_in_whatever_form():
    assert policy.word_overlap("Converting the dollars", "convert a dollar") == 1
    assert policy.word_overlap("to be or not to be", "to be or not to be") == 0
    assert policy.word_overlap("Überweise die Miete", "überweise miete") == 1
