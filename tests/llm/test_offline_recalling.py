"""How the offline responder answers from what was recalled, or looks for it."""

import pytest

from memoryapp.llm.base import (
    ModelMessage,
    Text,
)
from tests.llm.offline_calls import NAME, TEA, Tools, fenced, reply_to, said


def test_answer_quotes_the_memory_with_its_date():
    reply = Tools().run(said("What do I usually drink?", NAME, TEA))

    assert reply == 'You told me on 30 November 2026: "I only drink green tea, never coffee."'


@pytest.mark.parametrize(
    ("origin", "opening"),
    [
        ("user_confirmed", "You confirmed what was said on"),
        ("model_inferred", "I noted on"),
        ("imported", "You imported on"),
    ],
)
def test_answer_says_where_the_memory_comes_from(origin, opening):
    assert reply_to(said("What do I drink?", {**TEA, "origin": origin})).text.startswith(opening)


BIKE = {"user, 30 Jun 2026": "We rode our bikes along the Danube."}


def test_an_earlier_message_is_quoted_like_a_memory():
    reply = Tools().run(said("Where did we ride our bikes?", BIKE))

    assert reply == 'You told me on 30 June 2026: "We rode our bikes along the Danube."'


def test_what_another_person_said_is_theirs():
    reply = Tools().run(
        said(
            "Who rode bikes along the Danube?",
            {"Caroline, 30 Jun 2026": "We rode our bikes along the Danube."},
        )
    )

    assert reply.startswith("Caroline said on 30 June 2026")


@pytest.mark.parametrize(
    "message",
    [
        {"assistant, 30 Jun 2026": "You rode your bikes along the Danube."},
        {"user, 30 Jun 2026": "Where did we ride our bikes along the Danube?"},
    ],
    ids=["an earlier reply", "an earlier question"],
)
def test_neither_an_earlier_reply_nor_a_question_is_an_answer(message):
    assert "I know nothing about that" in Tools().run(said("Where did we ride our bikes?", message))


def test_what_recall_found_is_shown_with_doubt_rather_than_denied():
    reply = Tools().run(said("¿Dónde montamos en bicicleta?", NAME, BIKE))

    assert reply == 'This may be it: You told me on 30 June 2026: "We rode our bikes along the Danube."'


def test_several_things_that_recall_found_are_shown_best_first():
    lake = {**TEA, "statement": "I swam in the lake.", "confidence": 0.45}
    reply = Tools().run(said("我们在哪里骑车？", BIKE, lake))

    assert reply.startswith("One of these may be it:")
    assert reply.index("lake") < reply.index("Danube")


def test_of_several_questions_the_one_without_an_answer_gets_what_no_other_was_given():
    reply = Tools().run(said("What do I drink? ¿Qué río es?", TEA, BIKE))

    assert reply.split("\n\n") == [
        'You told me on 30 November 2026: "I only drink green tea, never coffee."',
        'This may be it: You told me on 30 June 2026: "We rode our bikes along the Danube."',
    ]


def test_always_included_memory_is_not_spouted():
    reply = Tools().run(said("What is the capital of France?", NAME))

    assert "Ana" not in reply
    assert "I know nothing about that" in reply


def test_several_questions_are_answered_one_by_one():
    reply = Tools().run(said("What's my name? What do I drink? Where do I live?", NAME, TEA))

    assert "Ana" in reply
    assert "green tea" in reply
    assert "About *Where do I live?* I know nothing." in reply


@pytest.mark.parametrize("recalled", [(), None])
def test_recall_is_called_once_when_nothing_was_recalled(recalled):
    tools = Tools({"recall": {"memories": [TEA]}})
    message = (
        said("What do I drink?")
        if recalled is None
        else ModelMessage("user", (fenced(), Text("What do I drink?")))
    )

    reply = tools.run(message)

    assert [use.name for use in tools.called] == ["recall"]
    assert tools.called[0].input == {"query": "What do I drink?"}
    assert "green tea" in reply


def test_recall_that_finds_nothing_ends_in_a_plain_answer():
    tools = Tools({"recall": {"memories": []}})

    assert "I know nothing about that" in tools.run(said("What do I drink?"))
    assert len(tools.called) == 1


def test_recall_that_fails_is_said():
    tools = Tools({"recall": {"message": "The index is down."}}, failing=frozenset({"recall"}))

    assert tools.run(said("What do I drink?")) == "I could not search my memory: The index is down."


def test_recall_is_not_called_when_something_was_recalled():
    tools = Tools()
    tools.run(said("Where do I live?", TEA))

    assert tools.called == []


def test_overview_lists_what_was_recalled():
    reply = Tools().run(said("What do you know about me?", NAME, TEA))

    assert "My name is Ana." in reply
    assert "green tea" in reply
    assert "[Memory](/memory/)" in reply


def test_overview_lists_the_facts_and_each_once():
    tools = Tools(
        {"list_facts": {"memories": [{"statement": "I work as a nurse."}, {"statement": NAME["statement"]}]}}
    )

    reply = tools.run(said("What do you remember about me?", NAME))

    assert [use.name for use in tools.called] == ["list_facts"]
    assert reply.count("My name is Ana.") == 1
    assert reply.count("I work as a nurse.") == 1
    assert "everything I remember is on the [Memory](/memory/) page" in reply


def test_an_overview_whose_listing_fails_says_so():
    tools = Tools({"list_facts": {"message": "The index is down."}}, failing=frozenset({"list_facts"}))

    reply = tools.run(said("Who am I to you?", NAME))

    assert reply.count("The index is down.") == 1
    assert "My name is Ana." in reply


@pytest.mark.parametrize("block", ["not json", "{}", "[1, null, {}]", '[{"statement": 3}]', "[" * 5_000])
def test_unreadable_recall_block_is_no_recall(block):
    message = ModelMessage(
        "user", (Text(f'<recalled-memories id="a">\n{block}\n</recalled-memories>'), Text("What is my name?"))
    )

    assert reply_to(message, tools=()).text.startswith("I know nothing about that")
