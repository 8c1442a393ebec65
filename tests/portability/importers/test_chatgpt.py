from datetime import UTC, datetime

import pytest

from memoryapp.portability.importers.chatgpt import without_marks
from memoryapp.portability.importers.items import Attachment, Format, Reason
from tests.portability.importers.uploads import as_json, conversations, data, facts, items, said, skipped


def node(parent, text="Hello", *, role="user", at=1756000000, **message):
    return {
        "parent": parent,
        "message": {
            "author": {"role": role},
            "create_time": at,
            "content": {"content_type": "text", "parts": [text]},
            **message,
        },
    }


def context(at, **content):
    return node(None, at=at, role="system", content=content)


def chat(mapping, **fields):
    return {"id": "c", "mapping": mapping, **fields}


@pytest.fixture
def example():
    return items(data("chatgpt.json"))


def test_the_line_of_the_current_node_is_the_conversation(example):
    moving, _ = conversations(example)

    assert said(moving) == [
        ("user", "Where should I live?"),
        ("assistant", "Near the river."),
        ("user", "And somewhere quiet?"),
        ("assistant", "Alfama is quiet. See the city's page and Belém."),
    ]
    assert moving.branches_left == 2


def test_what_is_known_of_a_conversation_is_taken(example):
    moving, between_us = conversations(example)

    assert (moving.external_id, moving.title) == ("c-1", "Moving to Lisbon")
    assert (moving.is_archived, moving.is_pinned, moving.is_not_to_remember) == (True, True, False)
    assert moving.started_at == datetime(2025, 8, 24, 1, 46, 40, 123456, UTC)
    assert moving.messages[0].attachments == (Attachment("map.png"),)
    assert between_us.is_not_to_remember


def test_answers_name_their_model_and_questions_none(example):
    moving, _ = conversations(example)

    assert [one.model for one in moving.messages] == ["", "gpt-4o", "", "gpt-5"]


def test_a_message_without_a_time_has_that_of_the_one_before(example):
    moving, _ = conversations(example)

    assert moving.messages[2].said_at == moving.messages[1].said_at


def test_instructions_and_saved_memories_are_facts(example):
    assert [(one.text, one.kind_hint) for one in facts(example)] == [
        ("I am a nurse.", ""),
        ("I have two cats.", ""),
        ("Answer briefly.", "constraint"),
        ("Lives in Porto.", ""),
        ("Is allergic to nuts and to sesame.", ""),
    ]
    assert facts(example)[3].said_at == datetime(2024, 5, 1, tzinfo=UTC)


def test_nothing_is_a_fact_from_a_conversation_that_is_not_to_be_remembered(example):
    assert "Not for memory." not in [one.text for one in facts(example)]


def test_a_corrupted_entry_and_an_unknown_sort_of_content_are_counted(example):
    assert skipped(example) == {Reason.CORRUPTED: 1, Reason.UNKNOWN_PART: 1}


def test_the_newest_memories_are_taken_wherever_they_stand():
    saved = {"content_type": "model_editable_context"}
    found = items(
        as_json(
            [
                chat(
                    {"m": context(1756000002, **saved, model_set_context="1. [2025-01-01]. Lives in Rome.")}
                ),
                chat(
                    {"m": context(1756000001, **saved, model_set_context="1. [2024-01-01]. Lives in Oslo.")}
                ),
                chat({"m": context(1756000003, **saved, model_set_context="")}),
            ]
        )
    )

    assert [one.text for one in facts(found)] == ["Lives in Rome."]


def test_bare_instructions_are_preferred_to_wrapped_ones():
    wrapped = context(
        1756000000,
        content_type="user_editable_context",
        user_profile="They said:\n```Name: A```",
        user_instructions="no fence",
    )
    wrapped["message"]["metadata"] = {"user_context_message_data": {"about_user_message": "Name: Alice"}}

    found = items(as_json([chat({"m": wrapped})]))

    assert [one.text for one in facts(found)] == ["Name: Alice", "no fence"]


def test_without_a_current_node_the_newest_leaf_is_taken():
    tree = {
        "new": node("root", "newer", at=1756000009),
        "root": {"message": None, "parent": None},
        "old": node("root", "older", at=1756000001),
    }

    (one,) = conversations(items(as_json([chat(tree, current_node="gone")])))

    assert said(one) == [("user", "newer")]
    assert one.branches_left == 1


def test_a_cycle_and_a_missing_parent_end_the_line():
    found = items(
        as_json(
            [
                chat({"a": node("b", "A"), "b": node("a", "B")}, current_node="a"),
                chat({"c": node("gone", "C")}, current_node="c"),
            ]
        )
    )

    assert [said(one) for one in conversations(found)] == [[("user", "B"), ("user", "A")], [("user", "C")]]


@pytest.mark.parametrize(
    "hidden",
    [
        {"weight": 0},
        {"weight": 0.0},
        {"recipient": "browser"},
        {"metadata": {"is_visually_hidden_from_conversation": True}},
        {"metadata": {"is_user_system_message": True}},
        {"author": {"role": "tool"}},
        {"author": {"role": "system"}},
        {"author": None},
        {"content": {"content_type": "code", "text": "x"}},
        {"content": {"content_type": "text", "parts": [""]}},
        {"content": None},
    ],
)
def test_what_was_not_said_is_not_a_message(hidden):
    found = items(as_json([chat({"a": node(None, **hidden)}, current_node="a")]), Format.CHATGPT)

    assert conversations(found) == []
    assert skipped(found) == {Reason.EMPTY: 1}


def test_an_answer_in_pieces_is_one_message():
    tree = {
        "q": node(None, "Weather?"),
        "a": node("q", "Let me look.", role="assistant", channel="commentary"),
        "b": node("a", "Rain.", role="assistant", metadata={"model_slug": "gpt-5"}),
    }

    (one,) = conversations(items(as_json([chat(tree, current_node="b")])))

    assert said(one) == [("user", "Weather?"), ("assistant", "Let me look.\n\nRain.")]
    assert one.messages[1].model == "gpt-5"


def test_times_never_go_back():
    tree = {"a": node(None, at=1756000009), "b": node("a", at=1756000001), "c": node("b", at=1756000010)}

    (one,) = conversations(items(as_json([chat(tree, current_node="c")])))

    assert [message.said_at.second for message in one.messages] == [49, 49, 50]


def test_a_doubtful_date_is_counted_and_left_out():
    found = items(as_json([chat({"a": node(None, at=-5)}, create_time="yesterday", current_node="a")]))

    assert conversations(found)[0].started_at is None
    assert conversations(found)[0].messages[0].said_at is None
    assert skipped(found) == {Reason.DOUBTFUL_DATE: 2}


@pytest.mark.parametrize(
    ("marked", "clean"),
    [
        ("Yes \ue200cite\ue202turn0search0\ue202turn1view3\ue201.", "Yes."),
        ("Yes【3:0†notes.pdf】.", "Yes."),
        ('in \ue200entity\ue202["city","Paris"]\ue201!', "in Paris!"),
        ("in \ue200entity\ue202[broken\ue201!", "in!"),
        ("see \ue200url\ue202the page\ue202https://x\ue201", "see the page"),
        ("half \ue200cite and no end", "half cite and no end"),
        ("【kept】 † kept", "【kept】 † kept"),
    ],
)
def test_marks_of_citations_are_taken_out(marked, clean):
    assert without_marks(marked) == clean
