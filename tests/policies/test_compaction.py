from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.compaction import Sized, is_breaker_open, is_due, is_near, last_to_cover

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@st.composite
def rows_of_turns(draw) -> list[Sized]:
    first = draw(st.integers(1, 1_000))
    sizes = draw(st.lists(st.integers(0, 3_000), max_size=40))
    return [Sized(seq, tokens) for seq, tokens in enumerate(sizes, start=first)]


def total(turns: list[Sized]) -> int:
    return sum(turn.tokens for turn in turns)


@pytest.mark.parametrize(("used", "is_due_then"), [(0, False), (599, False), (600, True), (2_000, True)])
def test_compaction_is_due_at_its_share_of_the_input(used, is_due_then):
    assert is_due(used_tokens=used, input_tokens=1_000, share=0.6) is is_due_then


@pytest.mark.parametrize(("used", "is_near_then"), [(539, False), (540, True), (660, True), (661, False)])
def test_an_exact_count_is_worth_it_within_a_tenth_of_the_threshold(used, is_near_then):
    assert is_near(used_tokens=used, input_tokens=1_000, share=0.6) is is_near_then


@given(rows_of_turns(), st.integers(0, 20_000), st.integers(0, 12), st.integers(0, 20_000))
def test_newest_turns_stay_and_of_the_others_the_oldest_that_fit_are_covered(
    turns, keep_tokens, keep_turns, chunk_tokens
):
    last = last_to_cover(turns, keep_tokens=keep_tokens, keep_turns=keep_turns, chunk_tokens=chunk_tokens)

    if last is None:
        assert len(turns) <= max(keep_turns, 1)
        assert len(turns) <= 1 or total(turns) <= keep_tokens
        return
    covered = [turn for turn in turns if turn.seq <= last]
    left = turns[len(covered) :]
    assert covered
    assert left
    assert len(covered) == 1 or total(covered) <= chunk_tokens
    # What could stay verbatim does: the turn after the covered ones is kept, or had no room in the chunk.
    is_next_kept = len(left) == 1 or (len(left) <= keep_turns and total(left) <= keep_tokens)
    assert is_next_kept or total(covered) + left[0].tokens > chunk_tokens


@given(rows_of_turns(), st.integers(0, 9_000), st.integers(0, 6), st.integers(0, 9_000))
def test_one_chunk_after_the_other_ends_with_what_stays_verbatim(
    turns, keep_tokens, keep_turns, chunk_tokens
):
    left = turns
    while last := last_to_cover(
        left, keep_tokens=keep_tokens, keep_turns=keep_turns, chunk_tokens=chunk_tokens
    ):
        left = [turn for turn in left if turn.seq > last]

    assert len(left) <= max(keep_turns, 1)
    assert len(left) <= 1 or total(left) <= keep_tokens


def test_giants_among_the_newest_turns_are_covered_too():
    turns = [Sized(1, 10), Sized(2, 900), Sized(3, 900), Sized(4, 10)]

    assert last_to_cover(turns, keep_tokens=1_000, keep_turns=6, chunk_tokens=5_000) == 2


def test_the_newest_turn_stays_however_large_it_is():
    turns = [Sized(1, 10), Sized(2, 9_000)]

    assert last_to_cover(turns, keep_tokens=100, keep_turns=6, chunk_tokens=5_000) == 1
    assert last_to_cover(turns[1:], keep_tokens=100, keep_turns=6, chunk_tokens=5_000) is None


def test_a_turn_larger_than_a_chunk_is_covered_alone():
    turns = [Sized(seq, 9_000) for seq in (4, 5, 6)]

    assert last_to_cover(turns, keep_tokens=0, keep_turns=1, chunk_tokens=1_000) == 4


def fallbacks(*reasons: str, minutes_ago: int = 1) -> list[tuple[str, datetime]]:
    newest = NOW - timedelta(minutes=minutes_ago)
    return [(reason, newest - timedelta(hours=place)) for place, reason in enumerate(reasons)]


@pytest.mark.parametrize(
    ("made", "is_open"),
    [
        (fallbacks(), False),
        (fallbacks("overloaded", "invented"), False),
        (fallbacks("overloaded", "invented", "too_long"), True),
        (fallbacks("", "overloaded", "invented", "too_long"), False),
        (fallbacks("overloaded", "invented", "", "too_long"), False),
        (fallbacks("overloaded", "invented", "too_long", ""), True),
        (fallbacks("overloaded", "invented", "too_long", minutes_ago=14), True),
        (fallbacks("overloaded", "invented", "too_long", minutes_ago=15), False),
    ],
)
def test_the_breaker_opens_for_a_while_after_three_fallbacks_in_a_row(made, is_open):
    assert is_breaker_open(made, now=NOW, minutes=15) is is_open
