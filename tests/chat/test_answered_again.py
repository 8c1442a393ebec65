"""Another answer to the same words: it teaches nothing that they taught before, and nothing that is gone since."""

from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.lifecycle import extraction
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory
from memoryapp.longterm.withdrawal import withdraw
from memoryapp.policies.feedback import Verdict
from memoryapp.transcript import branches, conversations
from memoryapp.transcript.models import Message, MessageKey
from memoryapp.transcript.queries import get_turn, turns, user_message
from tests.longterm.saying import live
from tests.turns import COMMITTED, answer, ask, reply_to

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]
SAID = "I'm allergic to cats."


@pytest.fixture(autouse=True)
def _offline(configure):
    configure(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")


def again(turn):
    """Another answer, as a worker gives it."""
    asked, _ = branches.ask_anew(turn.user, turn.id, idempotency_key=str(uuid4()), now=timezone.now())
    return answer(asked)


def copied(turn):
    """The last turn of a copy of the chat."""
    copy = conversations.fork_conversation(
        turn.user, turn.id, idempotency_key=str(uuid4()), now=timezone.now()
    )
    return turns(turn.user_id, copy.id).last()


def forget(memory, turn):
    longterm.forget(turn.user_id, memory.id, now=timezone.now())


def take_back(memory, turn):
    withdraw(turn.user_id, memory.id, source_message_id=user_message(turn).id, now=timezone.now())


def call_wrong(memory, turn):
    give_feedback(turn.user_id, memory.id, Verdict.WRONG, now=timezone.now())


@pytest.mark.parametrize("gone", [forget, take_back, call_wrong])
def test_what_is_gone_stays_gone_however_often_and_wherever_it_is_answered_again(alice, gone):
    turn = ask(alice, SAID)
    gone(queries.memories(alice.id).get(), turn)

    second = again(turn)
    third = again(second)
    of_the_copy = again(copied(third))

    for reply in map(reply_to, (second, third, of_the_copy)):
        assert "I'll remember" not in reply
    assert live(alice) == []


def test_what_was_replaced_stays_replaced(alice):
    turn = ask(alice, "I live in Lisbon.")
    ask(alice, "I moved to Porto.")

    again(turn)

    assert live(alice) == ["I moved to Porto."]


def test_what_is_known_from_the_same_words_is_not_said_once_more(alice):
    turn = ask(alice, SAID)
    before = queries.memories(alice.id).get()

    again(again(turn))
    again(copied(turn))

    memory = queries.memories(alice.id).get()
    assert memory.affirmed_at == before.affirmed_at
    assert queries.sources(memory).count() == 1


def test_a_reading_afterwards_does_not_bring_back_what_is_gone(alice):
    turn = ask(alice, SAID)
    forget(queries.memories(alice.id).get(), turn)

    second = again(turn)
    Message.objects.update(extracted_at=None)
    extraction.extract(second.conversation)

    assert Memory.objects.count() == 0


def test_the_words_keep_the_moment_in_which_they_were_said(alice):
    turn = ask(alice, SAID)

    message = user_message(again(turn))

    assert message.created_at == user_message(turn).created_at
    assert MessageKey.objects.get(message=message).said_at == message.created_at


def test_to_write_them_once_more_is_to_say_them_again(alice):
    turn = ask(alice, SAID)
    forget(queries.memories(alice.id).get(), turn)

    edited, _ = branches.ask_anew(alice, turn.id, idempotency_key=str(uuid4()), now=timezone.now(), text=SAID)
    answer(get_turn(alice.id, edited.id))

    assert live(alice) == [SAID]
