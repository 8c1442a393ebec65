"""Changing and deleting a conversation, and what of it is said again."""

from datetime import timedelta

import pytest

from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.transcript import claims, conversations, queries
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.turns import NOW, claim, post, start

pytestmark = pytest.mark.django_db


def finished(user, conversation, text, reply):
    turn = post(user, text, conversation)
    claims.finish_turn(claim(turn), reply=reply, model="m", usage=Usage())
    return turn


def test_a_conversation_is_renamed(alice):
    conversation = start(alice)

    changed = conversations.change_conversation(alice.id, conversation.id, title="  Trip\nto\u202e Lisbon ")

    assert changed.title == "Trip to Lisbon"


def test_a_name_of_nothing_is_refused(alice):
    conversation = start(alice, title="Trip")

    with pytest.raises(InvalidInputError):
        conversations.change_conversation(alice.id, conversation.id, title=" \u200b ")

    assert queries.get_conversation(alice.id, conversation.id).title == "Trip"


def test_memory_is_switched_one_way_at_a_time(alice):
    conversation = start(alice)

    changed = conversations.change_conversation(alice.id, conversation.id, save_memory=False)

    assert (changed.use_memory, changed.save_memory) == (True, False)


def test_bob_cannot_see_change_or_delete_it(alice, bob):
    conversation = start(alice, title="Trip")

    for attempt in (
        lambda: queries.get_conversation(bob.id, conversation.id),
        lambda: conversations.change_conversation(bob.id, conversation.id, title="Mine"),
        lambda: conversations.change_conversation(bob.id, conversation.id),
        lambda: conversations.delete_conversation(bob.id, conversation.id),
    ):
        with pytest.raises(NotFoundError):
            attempt()

    assert queries.get_conversation(alice.id, conversation.id).title == "Trip"
    assert list(queries.conversation_list(bob.id)) == []


def test_deleting_for_good_takes_turns_messages_and_runs_along_and_nothing_else(alice):
    doomed, kept = start(alice), start(alice)
    finished(alice, doomed, "hello", "hi")
    finished(alice, kept, "still here", "yes")
    conversations.delete_conversation(alice.id, doomed.id)
    Conversation.objects.filter(id=doomed.id).update(undo_until=NOW - timedelta(days=2))

    assert conversations.delete_for_good() == 1

    assert list(Conversation.objects.all()) == [kept]
    assert [turn.conversation_id for turn in Turn.objects.all()] == [kept.id]
    assert {message.text for message in Message.objects.all()} == {"still here", "yes"}


def test_a_temporary_conversation_is_not_listed(alice):
    temporary = start(alice, is_temporary=True)

    assert list(queries.conversation_list(alice.id)) == []
    assert queries.get_conversation(alice.id, temporary.id) == temporary


def test_a_conversation_says_whether_something_runs_in_it(alice):
    conversation = start(alice)
    turn = post(alice, "hello", conversation)

    before = queries.get_conversation(alice.id, conversation.id).is_running
    claims.finish_turn(claim(turn), reply="hi", model="m", usage=Usage())

    assert before is True
    assert queries.get_conversation(alice.id, conversation.id).is_running is False


def test_spoken_turns_are_the_ended_ones_in_the_range_in_order(alice):
    conversation = start(alice)
    for number in range(1, 6):
        finished(alice, conversation, f"q{number}", f"a{number}")
    post(alice, "not yet said", conversation)

    spoken = queries.spoken_turns(alice.id, conversation.id, after_seq=2, before_seq=7)

    assert [(turn.seq, turn.user_text, turn.reply) for turn in spoken] == [
        (3, "q3", "a3"),
        (4, "q4", "a4"),
        (5, "q5", "a5"),
    ]


def test_a_failed_turn_is_spoken_with_the_part_that_was_shown(alice):
    conversation = start(alice)
    for status in (Turn.Status.FAILED, Turn.Status.INTERRUPTED, Turn.Status.CANCELLED):
        held = claim(post(alice, f"{status}?", conversation))
        claims.fail_turn(held, status=status, partial_text=f"half of {status}")
    claims.fail_turn(
        claim(post(alice, "nothing came?", conversation)), status=Turn.Status.FAILED, partial_text=""
    )

    spoken = queries.spoken_turns(alice.id, conversation.id, after_seq=0, before_seq=9)

    assert [turn.reply for turn in spoken] == [
        "half of failed",
        "half of interrupted",
        "half of cancelled",
        "",
    ]


def test_bob_hears_nothing_of_it(alice, bob):
    conversation = start(alice)
    finished(alice, conversation, "hello", "hi")

    assert queries.spoken_turns(bob.id, conversation.id, after_seq=0, before_seq=9) == []
    assert list(queries.turns(bob.id, conversation.id)) == []
