"""Words of a message that stand in every prompt."""

import pytest

from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.policies.secrets import SecretRefusedError
from memoryapp.transcript import branches, conversations, queries, summaries
from memoryapp.transcript.conversations import NotShownError
from memoryapp.transcript.models import PinnedLine, Summary
from memoryapp.transcript.operations import MalformedTextError
from memoryapp.transcript.summaries import NewLine, NewSummary, PinsFullError
from tests.transcript.branching import answered, edited, said, talk
from tests.turns import COMMITTED, at_once, post

pytestmark = pytest.mark.django_db


def kept(turn):
    return [line.text for line in queries.pinned_lines(turn.user_id, turn.conversation_id)]


def summarised_with(turn, *lines):
    new = NewSummary(
        last_turn_id=turn.id,
        last_seq=turn.seq,
        text="In short.",
        method=Summary.Method.MODEL,
        trigger=Summary.Trigger.MANUAL,
        tokens_before=100,
    )
    current = queries.current_summary(turn.user_id, turn.conversation_id)
    assert summaries.add_summary(turn.conversation, new, replaces=current, lines=lines)


@pytest.mark.parametrize("text", ["green tea", "green tea, never", "two lines\nof it", " green "])
def test_words_of_either_side_are_kept_exactly(alice, text):
    turn = answered(post(alice, "I drink green tea, never coffee"), reply="So:\ntwo lines\nof it")

    line = summaries.pin_line(alice.id, turn.id, text=text)

    assert (line.text, line.kind) == (text.strip(), "pin")
    assert kept(turn) == [text.strip()]


def test_a_browsers_line_ends_are_those_of_the_message(alice):
    turn = said(alice, "one\ntwo")

    assert summaries.pin_line(alice.id, turn.id, text="one\r\ntwo").text == "one\ntwo"


@pytest.mark.parametrize("text", ["Green tea", "green  tea", "coffee", "green\x00"])
def test_words_that_do_not_stand_there_are_refused(alice, text):
    turn = said(alice, "I drink green tea")

    with pytest.raises(MalformedTextError):
        summaries.pin_line(alice.id, turn.id, text=text)

    assert kept(turn) == []


@pytest.mark.parametrize("text", ["", "  \n", "x" * 1_001])
def test_nothing_and_too_much_are_refused(alice, text):
    turn = said(alice, "x" * 2_000)

    with pytest.raises(InvalidInputError):
        summaries.pin_line(alice.id, turn.id, text=text)


@COMMITTED
def test_the_same_words_again_are_the_same_line(alice, nudges):
    turn = said(alice, "green tea")

    lines = at_once(4, lambda _: summaries.pin_line(alice.id, turn.id, text="tea").id)

    assert len(set(lines)) == 1
    assert kept(turn) == ["tea"]


def test_a_line_taken_off_can_be_kept_again(alice):
    turn = said(alice, "green tea")
    line = summaries.pin_line(alice.id, turn.id, text="tea")

    for _ in range(2):
        summaries.unpin_line(alice.id, line.id)
    without = kept(turn)
    again = summaries.pin_line(alice.id, turn.id, text="tea")

    assert without == []
    assert again.id == line.id
    assert kept(turn) == ["tea"]


def test_lines_stand_in_the_order_in_which_they_were_said(alice):
    first, second = talk(alice, "one", "two")
    summaries.pin_line(alice.id, second.id, text="two")
    summaries.pin_line(alice.id, first.id, text="one")

    assert kept(first) == ["one", "two"]


def test_a_line_counts_while_its_turn_is_shown(alice):
    _, second = talk(alice, "one", "two")
    summaries.pin_line(alice.id, second.id, text="two")

    edited(second, "TWO")
    away = kept(second)
    branches.show_branch(alice.id, second.id)

    assert away == []
    assert kept(second) == ["two"]


def test_there_is_room_for_so_many_lines(alice, configure):
    configure(STRATA_PINNED_MAX_TOKENS="100")
    turn = said(alice, "alpha " * 60 + "omega")
    summaries.pin_line(alice.id, turn.id, text=("alpha " * 50).strip())

    with pytest.raises(PinsFullError) as refused:
        summaries.pin_line(alice.id, turn.id, text=("alpha " * 59 + "alpha omega"))

    assert refused.value.details["tokens"] > refused.value.details["limit_tokens"] == 100
    assert len(kept(turn)) == 1


def test_what_a_person_took_off_compaction_does_not_put_there_again(alice):
    first, second = talk(alice, "Always use metric units", "two")
    rule = NewLine(first.id, PinnedLine.Kind.CONSTRAINT, "Always use metric units")
    summarised_with(first, rule)
    (line,) = queries.pinned_lines(alice.id, first.conversation_id)
    summaries.unpin_line(alice.id, line.id)

    summarised_with(second, rule)

    assert line.kind == "constraint"
    assert kept(first) == []


def test_bob_neither_keeps_nor_takes_off_nor_sees_lines_of_alice(alice, bob):
    turn = said(alice, "green tea")
    line = summaries.pin_line(alice.id, turn.id, text="tea")

    for attempt in (
        lambda: summaries.pin_line(bob.id, turn.id, text="green"),
        lambda: summaries.unpin_line(bob.id, line.id),
    ):
        with pytest.raises(NotFoundError):
            attempt()

    assert not queries.pinned_lines(bob.id, turn.conversation_id)
    assert kept(turn) == ["tea"]


def test_lines_of_a_deleted_conversation_cannot_be_changed(alice):
    turn = said(alice, "green tea")
    line = summaries.pin_line(alice.id, turn.id, text="tea")
    conversations.delete_conversation(alice.id, turn.conversation_id)

    for attempt in (
        lambda: summaries.pin_line(alice.id, turn.id, text="green"),
        lambda: summaries.unpin_line(alice.id, line.id),
    ):
        with pytest.raises(NotFoundError):
            attempt()


def test_words_of_a_hidden_message_are_not_kept_until_it_is_shown(alice):
    _, second = talk(alice, "one", "two")
    branches.take_off(alice.id, second.id)

    with pytest.raises(NotShownError, match="Show its branch first"):
        summaries.pin_line(alice.id, second.id, text="two")


def test_lines_of_hidden_branches_count_so_that_showing_one_never_overfills_the_prompt(alice, configure):
    configure(STRATA_PINNED_MAX_TOKENS="100")
    _, second = talk(alice, "one", "two " * 60)
    summaries.pin_line(alice.id, second.id, text=("two " * 60).strip())
    branches.take_off(alice.id, second.id)
    other = answered(post(alice, "three " * 60, second.conversation))

    with pytest.raises(PinsFullError):
        summaries.pin_line(alice.id, other.id, text=("three " * 60).strip())


@pytest.mark.parametrize(("text", "says"), [("\u200b\u200b", "Write what"), ("word " * 900, "Shorten it")])
def test_an_edited_summary_is_visible_and_no_longer_than_any_summary_may_be(alice, configure, text, says):
    configure(STRATA_WINDOW_TOKENS="8000")
    (turn,) = talk(alice, "one")
    summarised_with(turn)

    with pytest.raises(InvalidInputError, match=says):
        summaries.edit_summary(alice.id, turn.conversation_id, version=1, text=text)


def test_a_line_that_would_keep_a_secret_in_every_prompt_is_refused(alice):
    turn = said(alice, "My password is hunter2")

    with pytest.raises(SecretRefusedError):
        summaries.pin_line(alice.id, turn.id, text="password is hunter2")

    assert kept(turn) == []
