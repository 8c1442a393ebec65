"""What a person's word does to how sure a memory is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.feedback import NOT_RELEVANT_FLOOR, Verdict, confidence_after

confidences = st.floats(0, 1)


@given(st.sampled_from(Verdict), confidences)
def test_it_stays_between_0_and_1(verdict, confidence):
    assert 0 <= confidence_after(verdict, confidence) <= 1


@given(confidences)
def test_confirming_makes_it_surer_and_correcting_as_sure_as_what_is_typed(confidence):
    assert confidence_after(Verdict.CONFIRMED, confidence) >= max(confidence, 0.95)
    assert confidence_after(Verdict.CORRECTED, confidence) == 0.95


@given(confidences)
def test_wrong_and_not_relevant_never_make_it_surer(confidence):
    assert confidence_after(Verdict.WRONG, confidence) <= confidence
    assert confidence_after(Verdict.NOT_RELEVANT, confidence) <= confidence


@given(st.floats(NOT_RELEVANT_FLOOR, 1), st.integers(1, 100))
def test_not_relevant_alone_never_takes_it_below_a_half(confidence, times):
    for _ in range(times):
        confidence = confidence_after(Verdict.NOT_RELEVANT, confidence)

    assert confidence >= NOT_RELEVANT_FLOOR


@pytest.mark.parametrize(
    ("verdict", "before", "after"),
    [
        (Verdict.CONFIRMED, 0.3, 0.95),
        (Verdict.CONFIRMED, 0.95, 0.975),
        (Verdict.CORRECTED, 0.6, 0.95),
        (Verdict.WRONG, 0.8, 0.2),
        (Verdict.NOT_RELEVANT, 0.8, 0.76),
        (Verdict.NOT_RELEVANT, 0.3, 0.3),
    ],
)
def test_the_documented_sums(verdict, before, after):
    assert confidence_after(verdict, before) == pytest.approx(after)
