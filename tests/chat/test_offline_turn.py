"""The same loop without a key: the built-in responder remembers, recalls and admits what it does not know."""

import pytest

from memoryapp.longterm import queries as longterm
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Summary
from memoryapp.transcript.summaries import NewSummary, add_summary, pin_line
from tests.longterm.saying import live
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


def test_what_was_not_saved_is_kept_when_it_is_to_be_remembered(alice):
    refused = reply_to(ask(alice, "Ich darf kein Schweinefleisch essen."))
    assert refused.startswith("Nicht gespeichert: ")
    assert live(alice) == []

    ask(alice, "Remember: Ich darf kein Schweinefleisch essen.")

    assert live(alice) == ["Ich darf kein Schweinefleisch essen."]


def test_what_is_said_in_german_is_kept_and_answered_in_german(alice):
    told = reply_to(ask(alice, "Meine Schwester heißt Anna."))

    assert told == "Gemerkt: „Meine Schwester heißt Anna.“"
    assert live(alice) == ["Meine Schwester heißt Anna."]
    assert "„Meine Schwester heißt Anna.“" in reply_to(ask(alice, "Wie heißt meine Schwester?"))


def test_a_sentence_that_says_two_things_keeps_each_once(alice):
    ask(alice, "My sister's name is Hannah and she lives in Glasgow.")

    assert live(alice) == ["My sister lives in Glasgow.", "My sister's name is Hannah."]
    assert "Glasgow" in reply_to(ask(alice, "Where does my sister live?"))


def test_all_that_answers_is_named(alice):
    ask(alice, "I may not eat peanuts, I am allergic to them.")
    ask(alice, "I can't eat gluten.")

    reply = reply_to(ask(alice, "What may I not eat?"))

    assert "peanuts" in reply
    assert "gluten" in reply


def test_what_nobody_said_is_not_known(alice, bob):
    ask(alice, "I only drink green tea.")

    turn = ask(bob, "Which tea do I drink?")

    assert "green" not in reply_to(turn)


@pytest.mark.parametrize(
    ("told", "correction"),
    [
        ("I'm vegan.", "I'm not vegan any more."),
        ("I'm allergic to nuts.", "I'm not allergic to nuts."),
        ("My name is Ana.", "My name isn't Ana."),
        ("I'm vegetarian.", "I eat meat again."),
        ("My name is Tomás.", "Call me Tommy instead of Tomás."),
        ("My dog is called Bruno.", "My dog is called Bono."),
        ("I live in Lisbon.", "I don't live in Lisbon any more."),
        ("I work at Siemens.", "I don't work at Siemens any more."),
    ],
)
def test_what_is_taken_back_is_in_use_no_more(alice, told, correction):
    ask(alice, told)

    reply = reply_to(ask(alice, f"No, that's wrong: {correction}"))

    assert reply.startswith("Updated: ")
    assert live(alice) == [correction]


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("My son is called Tim.", "My son is called Tom."),
        ("My work e-mail is anna@acme.com.", "My private e-mail is anna@home.org."),
        ("I live in Lisbon.", "In 2015 I moved to Porto."),
        ("My name is Alexander Meyer.", "Call me Al."),
    ],
)
def test_what_holds_beside_something_known_takes_no_place(alice, first, later):
    ask(alice, first)

    ask(alice, later)

    assert live(alice) == sorted([first, later])


def test_who_only_said_what_to_be_called_is_known_by_that(alice):
    ask(alice, "Call me Ana.")

    assert "Call me Ana." in reply_to(ask(alice, "What is my name?"))


def test_what_is_named_beside_the_right_value_is_not_kept(alice):
    ask(alice, "My dog is called Bruno.")

    ask(alice, "No, that's wrong: my dog is called Bono, not Bruno.")

    assert live(alice) == ["My dog is called Bono."]


def test_a_denial_of_the_former_value_leaves_the_present_one(alice):
    ask(alice, "I moved to Porto.")

    ask(alice, "I no longer live in Lisbon.")

    assert live(alice) == ["I moved to Porto.", "I no longer live in Lisbon."]


def test_what_one_sentence_says_changes_one_by_one(alice):
    ask(alice, "I live in Lisbon with my wife Ana and our dog Bruno")

    ask(alice, "I moved to Porto.")

    assert live(alice) == ["I moved to Porto.", "My wife Ana.", "Our dog Bruno."]
    assert "Ana" in reply_to(ask(alice, "What is my wife's name?"))


@pytest.mark.parametrize(
    ("said", "question"),
    [("我住在里斯本。", "我住在哪里？"), ("Soy alérgica a las nueces.", "¿A qué soy alérgica?")],
)
def test_what_was_said_in_another_language_is_shown_though_it_was_not_learned(alice, said, question):
    first = reply_to(ask(alice, said))

    assert "I learn facts from English" in first
    assert live(alice) == []
    assert said in reply_to(ask(alice, question))


def test_a_request_to_forget_leads_to_the_page_of_the_fact(alice, client):
    ask(alice, "I love olives.")
    [memory] = longterm.memories(alice.id)
    client.force_login(alice)

    reply = reply_to(ask(alice, "forget that I love olives"))

    address = f"/memory/facts/{memory.id}/"
    assert f"({address})" in reply
    assert client.get(address).status_code == 200
    assert longterm.memories(alice.id).count() == 1


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
