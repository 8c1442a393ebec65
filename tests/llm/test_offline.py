"""What the offline responder says of itself, in small talk and when it is to forget; and that anything ends."""

from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.llm.base import (
    ModelMessage,
    Text,
)
from tests.llm.offline_calls import NAME, TEA, TOOLS, Tools, answered, asked, reply_to, said, streamed


@pytest.mark.parametrize("words", ["Who are you?", "What can you do?", "Are you a language model?", "help"])
def test_it_says_what_it_is_and_how_to_connect_a_model(words):
    reply = reply_to(said(words)).text

    assert "not a language model" in reply
    assert "ANTHROPIC_API_KEY" in reply
    assert "ANTHROPIC_BASE_URL" in reply


@pytest.mark.parametrize("words", ["Wer bist du?", "Was kannst du?", "Bist du ein Mensch?", "Hilfe!"])
def test_it_says_what_it_is_in_german(words):
    reply = reply_to(said(words)).text

    assert "kein Sprachmodell" in reply
    assert "ANTHROPIC_BASE_URL" in reply


@pytest.mark.parametrize("words", ["Hi", "Good morning!", "Thanks a lot.", "ok", "How are you?"])
def test_small_talk_is_short(words):
    assert 0 < len(reply_to(said(words)).text) < 200


@pytest.mark.parametrize(
    ("words", "opening"),
    [
        ("Hallo!", "Hallo! Erzähl mir"),
        ("Guten Morgen", "Hallo! Erzähl mir"),
        ("Vielen Dank!", "Gern geschehen."),
        ("Danke schön", "Gern geschehen."),
        ("Tschüss", "Bis bald."),
        ("Alles klar.", "In Ordnung."),
        ("Wie geht es dir?", "Stimmungen habe ich nicht"),
    ],
)
def test_small_talk_in_german_is_answered_in_german(words, opening):
    assert reply_to(said(words)).text.startswith(opening)


def test_fallback_is_in_full_once_in_a_conversation_and_then_a_line():
    first = reply_to(said("The sky is blue.")).text
    second = reply_to(said("The sky is blue."), answered(first), said("The sea too.")).text
    later = reply_to(answered(first), answered("You're welcome."), said("And the plums.")).text
    shortened = reply_to(answered(second), said("And the plums.")).text
    elsewhere = reply_to(answered("You're welcome."), said("And the plums.")).text

    assert "ANTHROPIC_API_KEY" in first
    assert "\n" not in second
    assert second == later == shortened
    assert elsewhere == first


def test_which_languages_it_learns_from_is_said_once_where_that_is_why():
    english = reply_to(said("The sky is blue.")).text
    first = reply_to(answered(english), said("Soy alérgica a las nueces y vivo en Lisboa.")).text
    second = reply_to(answered(english), answered(first), said("我住在里斯本。")).text

    assert "learn facts from English" not in english
    assert first.count("learn facts from English") == 1
    assert "learn facts from English" not in second


OLIVES = {
    "id": "0190c5b2-7d4e-7a55-8f00-5a5f6c2f4c11",
    "kind": "preference",
    "statement": "I love olives.",
    "origin": "user_typed",
    "said_on": "2026-11-30",
    "confidence": 0.7,
}


def test_a_fact_that_is_to_be_forgotten_is_named_with_the_page_that_has_the_button():
    reply = reply_to(said("Forget that I love olives", NAME, OLIVES)).text

    assert f'"I love olives." has its *Forget* button on [its page](/memory/facts/{OLIVES["id"]}/)' in reply
    assert "Ana" not in reply
    assert "I changed nothing" in reply


def test_what_is_to_be_forgotten_and_was_not_recalled_can_be_searched_for():
    reply = reply_to(said("Please forget what I said about olives.", NAME)).text

    assert "(/memory/facts/?q=olives)" in reply


def test_where_several_facts_may_be_meant_each_has_its_page():
    other = {
        **OLIVES,
        "id": OLIVES["id"].replace("0190", "0191"),
        "statement": "Olives from Crete are my favourite.",
    }

    reply = reply_to(said("Forget my olives", OLIVES, other)).text

    assert all(f'- "{item["statement"]}"' in reply for item in (OLIVES, other))
    assert all(f"(/memory/facts/{item['id']}/)" in reply for item in (OLIVES, other))


@pytest.mark.parametrize("words", ["Vergiss, dass ich Oliven mag.", "Bitte lösche meine Oliven."])
def test_what_is_to_be_forgotten_can_be_searched_for_in_german(words):
    assert "[was ich über oliven weiß](/memory/facts/?q=oliven)" in reply_to(said(words, NAME)).text


def test_what_is_to_be_forgotten_is_named_in_german_where_it_was_asked_in_german():
    olives = {**OLIVES, "statement": "Ich mag Oliven."}

    reply = reply_to(said("Bitte vergiss, dass ich Oliven mag.", NAME, olives)).text

    assert (
        f"„Ich mag Oliven.“ hat den Knopf *Vergessen* auf [der eigenen Seite](/memory/facts/{OLIVES['id']}/)"
        in reply
    )
    assert "[Gedächtnis](/memory/)" in reply


def test_an_id_that_is_none_is_in_no_address():
    reply = reply_to(said("Forget that I love olives", {**OLIVES, "id": "x)[y](/memory"})).text

    assert "x)[y]" not in reply
    assert "(/memory/facts/?q=olives)" in reply


@pytest.mark.parametrize(
    "words",
    ["Forget my name.", "Please forget that I live in Porto.", "Can you delete everything?", "forget it all"],
)
def test_forgetting_is_left_to_the_person(words):
    tools = Tools()

    assert "[Memory](/memory/)" in tools.run(said(words, NAME))
    assert tools.called == []


PIECES = st.sampled_from(
    [
        "I like tea. ",
        "My name is Ana. ",
        "What time is it? ",
        "What is 2+2? ",
        "What do I drink? ",
        "<scratchpad",
        "İ ",
        "\ud800",
    ]
)
ANYTHING = st.lists(PIECES | st.text(max_size=30), max_size=6).map("".join)


@given(
    words=ANYTHING,
    statement=ANYTHING,
    result=ANYTHING | st.just('{"outcome": "added", "statement": "İ am Ana"}'),
)
def test_any_conversation_ends_after_one_round_with_valid_calls(words, statement, result):
    tools = Tools(dict.fromkeys((definition.name for definition in TOOLS), result))
    schemas = {definition.name: definition.input_schema for definition in TOOLS}

    reply = tools.run(said(words, {**TEA, "statement": statement}))

    assert reply
    assert len({use.id for use in tools.called}) == len(tools.called)
    for use in tools.called:
        assert use.name != "send_mail"
        jsonschema.validate(dict(use.input), schemas[use.name])
        assert use.input.get("quote", "") in words


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), ANYTHING), max_size=5))
def test_any_history_is_survived(turns):
    messages = tuple(ModelMessage(role, (Text(text), replace(Text("x"), text=text))) for role, text in turns)

    assert streamed(asked(*messages))
