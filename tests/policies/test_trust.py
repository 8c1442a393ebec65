from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin, weakest

origins = st.lists(st.sampled_from(Origin))


def test_the_order_of_trust():
    assert list(Origin) == [
        Origin.USER_TYPED,
        Origin.USER_CONFIRMED,
        Origin.MODEL_INFERRED,
        Origin.TOOL,
        Origin.IMPORTED,
        Origin.UNTRUSTED,
    ]


@given(origins)
def test_the_weakest_is_one_of_them_and_none_is_weaker(prompt):
    found = weakest(prompt)

    assert found in prompt or (not prompt and found == Origin.USER_TYPED)
    assert all(origin.is_at_least(found) for origin in prompt)


@given(origins, origins)
def test_more_text_never_makes_a_prompt_more_trusted(prompt, more):
    assert weakest(prompt).is_at_least(weakest([*prompt, *more]))


@given(origins, origins)
def test_taint_is_the_same_whether_taken_at_once_or_step_by_step(first, second):
    assert weakest([weakest(first), weakest(second)]) == weakest([*first, *second])


@given(st.sampled_from(Origin), st.sampled_from(Origin))
def test_a_stronger_origin_never_starts_with_less_confidence(one, other):
    assert not one.is_at_least(other) or INITIAL_CONFIDENCE[one] >= INITIAL_CONFIDENCE[other]


def test_strangers_are_those_whom_neither_the_user_nor_the_operator_chose():
    assert [origin for origin in Origin if origin.is_strangers] == [Origin.IMPORTED, Origin.UNTRUSTED]
