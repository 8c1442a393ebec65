"""What the model gets when it looks up what was said."""

import json

import pytest
from pydantic import ValidationError

from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.policies.trust import Origin
from memoryapp.transcript import claims, queries
from memoryapp.transcript.tools import (
    SEARCH_CONVERSATIONS,
    SearchConversationsArguments,
    run_search_conversations,
)
from tests.tool_contexts import tool_context
from tests.turns import claim, post, start

pytestmark = pytest.mark.django_db


def said(user, text, reply, conversation):
    turn = post(user, text, conversation)
    claims.finish_turn(claim(turn), reply=reply, model="m", usage=Usage())
    return turn


def look_up(user, conversation, *, may_search_others=True, **arguments):
    context = tool_context(user.id, conversation_id=conversation.id, may_search_others=may_search_others)
    output = run_search_conversations(SearchConversationsArguments.model_validate(arguments), context)
    return json.loads(output.content)["items"], output.origin


def test_a_query_finds_what_was_said_here_and_elsewhere(alice):
    here, other = start(alice, title="Here"), start(alice, title="Other")
    said(alice, "My ticket is ORD-2041", "Noted.", here)
    turn = said(alice, "Is ORD-2041 late?", "I cannot see that.", other)

    items, origin = look_up(alice, here, query="ORD-2041")

    assert origin is Origin.USER_TYPED
    assert {(item["conversation"], item["is_this_one"]) for item in items} == {
        ("Here", True),
        ("Other", False),
    }
    assert next(item for item in items if not item["is_this_one"]) == {
        "conversation": "Other",
        "is_this_one": False,
        "turn": 1,
        "who": "user",
        "said_on": turn.created_at.date().isoformat(),
        "text": "Is ORD-2041 late?",
    }


def test_what_the_assistant_said_is_only_inferred(alice):
    here = start(alice)
    said(alice, "Which train?", "The one at nine.", here)

    items, origin = look_up(alice, here, query="nine")

    assert [(item["who"], item["text"]) for item in items] == [("assistant", "The one at nine.")]
    assert origin is Origin.MODEL_INFERRED


def test_other_conversations_are_searched_only_when_allowed(alice):
    here = start(alice)
    said(alice, "green tea", "Noted.", start(alice))

    items, origin = look_up(alice, here, query="tea", may_search_others=False)

    assert (items, origin) == ([], Origin.USER_TYPED)


def test_a_temporary_conversation_finds_itself(alice):
    here = start(alice, is_temporary=True)
    said(alice, "green tea", "Noted.", here)

    items, _ = look_up(alice, here, query="tea", may_search_others=False)

    assert [item["text"] for item in items] == ["green tea"]


def test_the_question_being_answered_is_not_its_own_answer(alice):
    here = start(alice)
    said(alice, "My tea is green", "Noted.", here)
    claim(post(alice, "Which tea is mine?", here))

    items, _ = look_up(alice, here, query="tea", limit=1)

    assert [item["turn"] for item in items] == [1]


def test_a_long_message_is_shown_around_the_match(alice):
    here = start(alice)
    said(alice, "before " * 2_000 + "aardvark" + " after" * 2_000, "Noted.", here)

    [item], _ = look_up(alice, here, query="aardvark")

    assert len(item["text"]) <= 400
    assert "before aardvark after" in item["text"]


def test_turns_are_read_in_full_with_both_sides(alice):
    here = start(alice, title="Here")
    for number in range(1, 5):
        said(alice, f"question {number}", f"answer {number}", here)

    items, origin = look_up(alice, here, turns="2-3")

    assert [(item["turn"], item["who"], item["text"]) for item in items] == [
        (2, "user", "question 2"),
        (2, "assistant", "answer 2"),
        (3, "user", "question 3"),
        (3, "assistant", "answer 3"),
    ]
    assert origin is Origin.MODEL_INFERRED
    assert [item["turn"] for item in look_up(alice, here, turns=" 4 ")[0]] == [4, 4]


def test_a_very_long_turn_is_cut_and_says_so(alice):
    here = start(alice)
    said(alice, "x" * 10_000, "Noted.", here)

    asked, _ = look_up(alice, here, turns="1")[0]

    assert len(asked["text"]) <= 4_000
    assert asked["text"].endswith("more characters]")


def test_turns_that_were_edited_away_are_not_read(alice):
    here = start(alice)
    said(alice, "green tea", "Noted.", here)
    said(alice, "black tea", "Noted.", here)
    queries.turns(alice.id, here.id).filter(seq=2).update(is_current=False)

    assert [item["text"] for item in look_up(alice, here, turns="1-2")[0]] == ["green tea", "Noted."]
    assert [item["text"] for item in look_up(alice, here, query="tea")[0]] == ["green tea"]


def test_bob_looks_up_nothing_of_alices(alice, bob):
    here = start(alice)
    said(alice, "green tea", "Noted.", here)

    assert look_up(bob, here, query="tea") == ([], Origin.USER_TYPED)
    with pytest.raises(NotFoundError):
        look_up(bob, here, turns="1")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "  "},
        {"query": "tea", "turns": "1"},
        {"turns": "1-11"},
        {"turns": "3-2"},
        {"turns": "one"},
        {"turns": "7"},
        {"turns": "999999999"},
        {"turns": "-1"},
    ],
)
def test_what_cannot_be_looked_up_is_an_error_that_says_what_to_do(alice, arguments):
    here = start(alice)
    said(alice, "green tea", "Noted.", here)

    with pytest.raises(
        InvalidInputError, match=r"^(Give|There is no such turn: this conversation has turns 1-1)"
    ):
        look_up(alice, here, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "x" * 501},
        {"query": "tea", "limit": 0},
        {"query": "tea", "limit": 11},
        {"query": "a", "user": "b"},
    ],
)
def test_arguments_have_bounds(arguments):
    with pytest.raises(ValidationError):
        SearchConversationsArguments.model_validate(arguments)


def test_the_definition_names_the_arguments():
    properties = SEARCH_CONVERSATIONS.definition.input_schema["properties"]

    assert set(properties) == set(SearchConversationsArguments.model_fields)
