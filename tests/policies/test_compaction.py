import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.compaction import is_due, last_turn_to_cover

rows_of_turns = st.integers(1, 1_000).flatmap(
    lambda first: st.integers(0, 60).map(lambda count: list(range(first, first + count)))
)


@pytest.mark.parametrize(("used", "is_due_then"), [(0, False), (599, False), (600, True), (2_000, True)])
def test_compaction_is_due_at_its_share_of_the_window(used, is_due_then):
    assert is_due(used_tokens=used, window_tokens=1_000, trigger_share=0.6) is is_due_then


@given(rows_of_turns, st.integers(0, 60))
def test_all_but_the_newest_turns_are_covered(turns, keep):
    last = last_turn_to_cover(turns, keep_turns=keep)

    if last is None:
        assert len(turns) <= keep
    else:
        assert [turn for turn in turns if turn > last] == turns[len(turns) - keep :]
