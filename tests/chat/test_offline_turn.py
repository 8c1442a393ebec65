"""The same loop without a key: the built-in responder remembers, recalls and admits what it does not know."""

import pytest

from memoryapp.longterm import queries as longterm
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Summary
from memoryapp.transcript.summaries import NewSummary, add_summary, pin_line
from tests.turns import COMMITTED, ask, reply_to, streamed

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


@pytest.fixture(autouse=True)
def _offline(configure):
    configure(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")


def test_what_is_said_in_one_conversation_is_known_in_the_next(alice):
    told = ask(alice, "I only drink green tea.")
    asked = ask(alice, "Which tea do I drink?")

    [memory] = longterm.memories(alice.id)
    assert memory.origin == "user_typed"
    assert told.status == asked.status == "completed"
    assert "green tea" in reply_to(asked)
    assert streamed(asked) == reply_to(asked)


def test_what_nobody_said_is_not_known(alice, bob):
    ask(alice, "I only drink green tea.")

    turn = ask(bob, "Which tea do I drink?")

    assert "green" not in reply_to(turn)


def test_arithmetic_goes_through_the_tool(alice):
    turn = ask(alice, "What is 6 * 7?")

    assert "42" in reply_to(turn)
    assert [step.action for step in runs.steps(runs.run_of_turn(alice.id, turn.id))] == ["calculate"]


def test_a_line_kept_word_for_word_is_not_taken_for_the_users_words(alice):
    first = ask(alice, "What is 2 + 2?")
    pin_line(alice.id, first.id, text="What is 2 + 2?")
    conversation = conversations.change_conversation(alice.id, first.conversation_id, use_memory=False)
    compacted = NewSummary(
        last_turn_id=first.id,
        last_seq=1,
        text="## Goal\n- arithmetic",
        method=Summary.Method.EXTRACTIVE,
        trigger=Summary.Trigger.MANUAL,
        tokens_before=100,
    )
    add_summary(conversation, compacted, replaces=None)

    turn = ask(alice, "What is 6 * 7?", conversation)

    assert "42" in reply_to(turn)
