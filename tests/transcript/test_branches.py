"""Other words and other answers in a message's place, and which of them are shown."""

from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.nudges import RUN_TURN
from memoryapp.transcript import branches, claims, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.conversations import ReplyInProgressError
from memoryapp.transcript.models import Conversation, Summary, Turn
from tests.transcript.branching import answered, edited, everything_said, said, shown, summarised, talk
from tests.turns import COMMITTED, at_once, claim, fresh, post

pytestmark = pytest.mark.django_db


def ask_anew(turn, *, text=None, key=""):
    return branches.ask_anew(
        turn.user, turn.id, text=text, idempotency_key=key or str(uuid4()), now=timezone.now()
    )


def test_an_edit_takes_the_place_of_the_message_and_destroys_nothing(alice):
    _, second, third = talk(alice, "one", "two", "three")

    version, is_new = ask_anew(second, text=" TWO\r\n")

    assert is_new
    assert (version.seq, version.parent_id, version.status) == (2, second.parent_id, "queued")
    assert shown(second) == ["one", "TWO"]
    assert everything_said(second) == {"one", "one!", "two", "two!", "three", "three!", "TWO"}
    assert not fresh(third).is_current


@COMMITTED
def test_an_edit_wakes_a_worker(alice, nudges):
    (turn,) = talk(alice, "one")
    nudges.clear()

    version, _ = ask_anew(turn, text="ONE")

    assert nudges == [(RUN_TURN, version.id)]


def test_another_answer_is_a_version_with_the_same_words(alice):
    _, second = talk(alice, "one", "two")

    version, _ = ask_anew(second)

    assert shown(second) == ["one", "two"]
    assert queries.siblings(alice.id, [version]) == {version.id: [second.id, version.id]}


def test_the_first_message_has_versions_too(alice):
    first, _ = talk(alice, "one", "two")
    other = said(alice, "elsewhere")

    version = edited(first, "ONE")

    assert shown(first) == ["ONE"]
    assert queries.siblings(alice.id, [version])[version.id] == [first.id, version.id]
    assert queries.siblings(alice.id, [other]) == {}


def test_the_same_key_is_the_same_version(alice):
    (turn,) = talk(alice, "one")

    first, is_new = ask_anew(turn, text="ONE", key="k")
    again, is_new_again = ask_anew(turn, text="ONE", key="k")

    assert (first.id, is_new, is_new_again) == (again.id, True, False)


def test_the_same_key_with_other_words_is_refused(alice):
    (turn,) = talk(alice, "one")
    ask_anew(turn, text="ONE", key="k")

    with pytest.raises(transcript.IdempotencyConflictError):
        ask_anew(turn, text="Uno", key="k")


@pytest.mark.parametrize("text", ["", " \u200b ", "a\x00b"])
def test_words_that_no_message_may_have_change_nothing(alice, text):
    (turn,) = talk(alice, "one")

    with pytest.raises((transcript.EmptyMessageError, transcript.MalformedTextError)):
        ask_anew(turn, text=text)

    assert shown(turn) == ["one"]


@COMMITTED
def test_a_double_click_makes_one_version(alice, nudges):
    (turn,) = talk(alice, "one")

    made = at_once(4, lambda _: ask_anew(turn, text="ONE", key="k"))

    assert len({version.id for version, _ in made}) == 1
    assert sum(is_new for _, is_new in made) == 1
    assert shown(turn) == ["ONE"]


@COMMITTED
def test_of_two_edits_and_a_message_at_once_the_branch_stays_whole(alice, nudges):
    _, second = talk(alice, "one", "two")

    def act(number):
        try:
            if number == 2:
                return post(alice, "three", second.conversation)
            return ask_anew(second, text=f"two again {number}")[0]
        except (ReplyInProgressError, branches.NotShownError):
            return None

    done = [turn for turn in at_once(3, act) if turn]

    assert done
    assert shown(second)[0] == "one"


@COMMITTED
def test_of_a_retry_and_an_edit_at_once_one_counts(alice, nudges):
    first = post(alice, "one")
    claims.fail_turn(claim(first), status=Turn.Status.FAILED, partial_text="on")

    def act(number):
        try:
            return transcript.retry_turn(alice.id, first.id) if number else ask_anew(first, text="ONE")[0]
        except (ReplyInProgressError, transcript.TurnNotRetryableError):
            return None

    assert len([turn for turn in at_once(2, act) if turn]) == 1
    assert len(shown(first)) == 1


@pytest.mark.parametrize("act", ["edit", "again", "show", "remove"])
@pytest.mark.parametrize("is_running", [True, False])
def test_nothing_moves_while_a_reply_is_written(alice, act, is_running):
    first, second = talk(alice, "one", "two")
    live = post(alice, "three", second.conversation)
    if is_running:
        claim(live)
    acts = {
        "edit": lambda: ask_anew(first, text="ONE"),
        "again": lambda: ask_anew(second),
        "show": lambda: branches.show_branch(alice.id, first.id),
        "remove": lambda: branches.take_off(alice.id, second.id),
    }

    with pytest.raises(ReplyInProgressError):
        acts[act]()

    assert shown(first) == ["one", "two", "three"]


def test_a_version_that_is_not_shown_is_not_edited(alice):
    _, second = talk(alice, "one", "two")
    edited(second, "TWO")

    with pytest.raises(branches.NotShownError):
        ask_anew(second, text="zwei")

    assert shown(second) == ["one", "TWO"]


def test_showing_a_version_brings_back_what_followed_it(alice):
    _, second, _ = talk(alice, "one", "two", "three")
    version = edited(second, "TWO")
    said(alice, "drei", version.conversation)

    branches.show_branch(alice.id, second.id)
    before = shown(second)
    branches.show_branch(alice.id, version.id)

    assert before == ["one", "two", "three"]
    assert shown(second) == ["one", "TWO", "drei"]


def test_a_branch_comes_back_as_it_was_last_shown(alice):
    first, second = talk(alice, "one", "two")
    edited(second, "TWO")
    branches.show_branch(alice.id, second.id)
    edited(first, "ONE")

    branches.show_branch(alice.id, first.id)

    assert shown(first) == ["one", "two"]


def test_showing_what_is_shown_changes_nothing(alice):
    first, second = talk(alice, "one", "two")
    edited(second, "TWO")
    branches.show_branch(alice.id, second.id)

    for _ in range(2):
        branches.show_branch(alice.id, first.id)

    assert shown(first) == ["one", "two"]


def test_a_message_goes_on_from_the_branch_that_is_shown(alice):
    _, second, _ = talk(alice, "one", "two", "three")
    edited(second, "TWO")
    branches.show_branch(alice.id, second.id)

    said(alice, "four", second.conversation)

    assert shown(second) == ["one", "two", "three", "four"]


def test_what_is_taken_off_can_be_brought_back(alice):
    _, second, _ = talk(alice, "one", "two", "three")

    branches.take_off(alice.id, second.id)
    without = shown(second)
    taken = queries.taken_off(Conversation.objects.get(id=second.conversation_id))
    branches.show_branch(alice.id, taken.id)

    assert without == ["one"]
    assert taken == second
    assert shown(second) == ["one", "two", "three"]


def test_of_several_versions_the_one_that_was_taken_off_comes_back(alice):
    _, second, _ = talk(alice, "one", "two", "three")
    edited(second, "TWO")
    branches.show_branch(alice.id, second.id)

    branches.take_off(alice.id, second.id)

    assert queries.taken_off(Conversation.objects.get(id=second.conversation_id)) == second


def test_taking_off_twice_is_taking_off_once(alice):
    _, second, _ = talk(alice, "one", "two", "three")

    for _ in range(2):
        taken = branches.take_off(alice.id, second.id)

    assert not taken.is_current
    assert shown(second) == ["one"]


def test_everything_can_be_taken_off_and_a_new_beginning_made(alice):
    first, _ = talk(alice, "one", "two")

    branches.take_off(alice.id, first.id)
    empty = shown(first)
    said(alice, "uno", first.conversation)

    assert empty == []
    assert shown(first) == ["uno"]


def test_nothing_is_said_to_be_taken_off_where_nothing_was(alice):
    _, second = talk(alice, "one", "two")
    edited(second, "TWO")

    assert queries.taken_off(Conversation.objects.get(id=second.conversation_id)) is None


def test_the_model_is_told_the_shown_branch_only(alice):
    _, second, _ = talk(alice, "one", "two", "three")
    version = edited(second, "TWO")

    told = queries.spoken_turns(alice.id, second.conversation_id, after_seq=0, before_seq=99)

    assert [turn.user_text for turn in told] == ["one", "TWO"]
    assert [turn.turn_id for turn in told][-1] == version.id


def test_a_summary_counts_while_its_last_turn_is_shown_and_again_when_it_is_back(alice):
    _, second, third = talk(alice, "one", "two", "three")
    summary = summarised(second)
    in_use = [queries.current_summary(alice.id, second.conversation_id)]

    edited(third, "THREE")
    in_use.append(queries.current_summary(alice.id, second.conversation_id))
    edited(second, "TWO")
    in_use.append(queries.current_summary(alice.id, second.conversation_id))
    branches.show_branch(alice.id, second.id)
    in_use.append(queries.current_summary(alice.id, second.conversation_id))

    assert in_use == [summary, summary, None, summary]


def test_each_branch_has_its_own_summary(alice):
    _, second, _ = talk(alice, "one", "two", "three")
    summarised(second, "of two")
    version = edited(second, "TWO")
    said(alice, "drei", second.conversation)
    summarised(version, "of TWO")

    texts = []
    for turn in (second, version):
        branches.show_branch(alice.id, turn.id)
        texts.append(queries.current_summary(alice.id, second.conversation_id).text)

    assert texts == ["of two", "of TWO"]


@COMMITTED
def test_a_summary_of_what_is_edited_at_the_same_moment_is_not_used(alice, nudges):
    _, second, _ = talk(alice, "one", "two", "three")

    at_once(2, lambda number: summarised(second) if number else ask_anew(second, text="TWO"))

    assert shown(second) == ["one", "TWO"]
    assert queries.current_summary(alice.id, second.conversation_id) is None
    assert Summary.objects.count() <= 1


def test_a_first_try_is_kept_beside_its_retry_and_before_it(alice):
    turn = post(alice, "one")
    claims.fail_turn(claim(turn), status=Turn.Status.FAILED, partial_text="half")

    transcript.retry_turn(alice.id, turn.id)
    while_queued = queries.siblings(alice.id, [fresh(turn)])[turn.id]
    answered(turn)

    (kept, last) = queries.siblings(alice.id, [fresh(turn)])[turn.id]
    assert while_queued == [kept, last]
    assert last == turn.id
    assert shown(turn) == ["one"]
    branches.show_branch(alice.id, kept)
    assert queries.get_turn(alice.id, kept).is_current


def test_bob_reaches_no_branch_of_alice(alice, bob):
    first, second = talk(alice, "one", "two")

    for attempt in (
        lambda: branches.ask_anew(bob, first.id, text="x", idempotency_key="k", now=timezone.now()),
        lambda: branches.show_branch(bob.id, first.id),
        lambda: branches.take_off(bob.id, second.id),
    ):
        with pytest.raises(NotFoundError):
            attempt()

    assert queries.siblings(bob.id, [first, second]) == {}
    assert shown(first) == ["one", "two"]
