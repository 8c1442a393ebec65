"""A copy of a conversation up to a turn."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.policies.trust import Origin
from memoryapp.transcript import branches, claims, conversations, queries, summaries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.conversations import ReplyInProgressError
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.transcript.branching import edited, said, shown, summarised, talk
from tests.turns import COMMITTED, at_once, claim, post, start

pytestmark = pytest.mark.django_db


def fork(turn, *, key=""):
    return conversations.fork_conversation(
        turn.user, turn.id, idempotency_key=key or str(uuid4()), now=timezone.now()
    )


def turns_of(conversation):
    return list(queries.turns(conversation.user_id, conversation.id))


def test_a_copy_holds_what_was_said_up_to_the_turn_when_it_was_said(alice):
    _, second, _ = talk(alice, "one", "two", "three")
    long_ago = timezone.now() - timedelta(days=30)
    Turn.objects.update(created_at=long_ago)
    Message.objects.filter(turn=second).update(created_at=long_ago + timedelta(minutes=1))

    copy = fork(second)

    first_copy, second_copy = turns_of(copy)
    assert shown(second_copy) == ["one", "two"]
    assert queries.text_of(second_copy, Message.Role.ASSISTANT) == "two!"
    assert (copy.last_seq, copy.forked_from_id) == (2, second.conversation_id)
    assert first_copy.created_at == second_copy.created_at == long_ago
    assert {m.created_at for m in second_copy.messages.all()} == {long_ago + timedelta(minutes=1)}
    assert [m.tokens for m in second_copy.messages.order_by("role")] == [
        m.tokens for m in second.messages.order_by("role")
    ]


def test_what_others_said_and_untrusted_text_stay_what_they_are_in_a_copy(alice):
    (turn,) = talk(alice, "one")
    Turn.objects.update(taint=Origin.UNTRUSTED)
    Message.objects.filter(role=Message.Role.USER).update(speaker="Bob")

    (made,) = turns_of(fork(turn))

    assert made.taint == Origin.UNTRUSTED
    assert queries.user_message(made).speaker == "Bob"


def test_the_original_is_as_it_was_and_both_go_their_own_ways(alice):
    _, second, _ = talk(alice, "one", "two", "three")

    copy = fork(second)
    said(alice, "four", copy)

    assert shown(second) == ["one", "two", "three"]
    assert shown(turns_of(copy)[0]) == ["one", "two", "four"]


def test_a_copy_of_a_version_that_is_not_shown_holds_its_branch(alice):
    _, second = talk(alice, "one", "two")
    edited(second, "TWO")

    copy = fork(second)

    assert shown(turns_of(copy)[0]) == ["one", "two"]
    assert shown(second) == ["one", "TWO"]


def test_a_copy_takes_the_switches_and_a_name_of_its_own(alice):
    conversation = start(alice, title="Trip", use_memory=False)
    turn = said(alice, "one", conversation)

    copy = fork(turn)

    assert (copy.title, copy.use_memory, copy.save_memory) == ("Trip (copy)", False, True)
    assert Conversation.objects.get(id=conversation.id).title == "Trip"


def test_a_copy_of_a_temporary_conversation_is_temporary(alice):
    turn = said(alice, "one", start(alice, is_temporary=True))

    copy = fork(turn)

    assert (copy.is_temporary, copy.save_memory) == (True, False)


def test_a_copy_takes_the_summary_that_it_reaches_and_its_kept_lines(alice):
    first, second, third = talk(alice, "one", "two", "three")
    summarised(first, "of one")
    summarised(third, "of three")
    summaries.pin_line(alice.id, first.id, text="one")
    summaries.pin_line(alice.id, third.id, text="three")

    copy = fork(second)

    summary = queries.current_summary(alice.id, copy.id)
    assert (summary.text, summary.version, summary.last_turn) == ("of one", 1, turns_of(copy)[0])
    assert [line.text for line in queries.pinned_lines(alice.id, copy.id)] == ["one"]
    assert len(queries.summaries(alice.id, second.conversation_id)) == 2


def test_a_line_that_was_taken_off_stays_off_in_a_copy(alice):
    (first,) = talk(alice, "one")
    line = summaries.pin_line(alice.id, first.id, text="one")
    summaries.unpin_line(alice.id, line.id)

    copy = fork(first)

    assert not queries.pinned_lines(alice.id, copy.id)


@COMMITTED
def test_a_double_click_makes_one_copy(alice, nudges):
    (first,) = talk(alice, "one")

    copies = at_once(4, lambda _: fork(first, key="k").id)

    assert len(set(copies)) == 1
    assert Conversation.objects.count() == 2


def test_the_same_key_for_another_turn_is_refused(alice):
    first, second = talk(alice, "one", "two")
    fork(first, key="k")

    with pytest.raises(transcript.IdempotencyConflictError):
        fork(second, key="k")


def test_what_is_being_answered_is_not_copied(alice):
    (first,) = talk(alice, "one")
    running = post(alice, "two", first.conversation)
    claim(running)
    cancelled = post(alice, "three", first.conversation)
    claims.request_stop(alice.id, cancelled.id)

    for turn in (running, cancelled):
        with pytest.raises(ReplyInProgressError):
            fork(turn)

    assert Conversation.objects.count() == 1


def test_an_ended_turn_before_a_live_one_can_be_copied(alice):
    (first,) = talk(alice, "one")
    post(alice, "two", first.conversation)

    assert shown(turns_of(fork(first))[0]) == ["one"]


def test_bob_copies_nothing_of_alice(alice, bob):
    (first,) = talk(alice, "one")

    with pytest.raises(NotFoundError):
        conversations.fork_conversation(bob, first.id, idempotency_key="k", now=timezone.now())

    assert not Conversation.objects.filter(user=bob).exists()


def test_a_copy_outlives_its_original(alice):
    (first,) = talk(alice, "one")
    copy = fork(first)
    branches.take_off(alice.id, first.id)

    Conversation.objects.filter(id=first.conversation_id).delete()

    assert shown(turns_of(copy)[0]) == ["one"]
    assert Conversation.objects.get(id=copy.id).forked_from is None
