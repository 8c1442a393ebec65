import pytest

from memoryapp.portability.importers.items import Attachment, Reason
from tests.portability.importers.uploads import (
    as_json,
    conversations,
    data,
    facts,
    items,
    said,
    skipped,
    zipped,
)


def chat(*messages):
    return {"uuid": "c", "name": "", "chat_messages": list(messages)}


def message(text, **fields):
    return {"sender": "human", "text": text, **fields}


@pytest.fixture
def example():
    return items(data("claude-conversations.json"))


def test_text_is_taken_from_the_blocks_and_else_from_the_flat_text(example):
    bread, _ = conversations(example)

    assert said(bread) == [
        ("user", "How long does dough rest?"),
        ("assistant", "Let me look.\n\nAn hour."),
        ("user", "And rye?"),
        ("assistant", "Two hours."),
    ]
    assert bread.branches_left == 1


def test_the_text_of_an_attachment_comes_with_it(example):
    bread, _ = conversations(example)

    assert bread.messages[0].attachments == (
        Attachment("recipe.txt", "Flour, water."),
        Attachment("loaf.jpg"),
    )


def test_an_old_export_without_parents_is_in_the_order_of_the_file(example):
    _, old = conversations(example)

    assert said(old) == [("user", "An old one."), ("assistant", "Without parents.")]


def test_empty_conversations_and_unknown_blocks_are_counted(example):
    assert skipped(example) == {Reason.EMPTY: 1, Reason.UNKNOWN_PART: 1}


def test_memories_are_one_fact_for_each_paragraph_and_bullet():
    found = items(data("claude-memories.json"))

    assert [one.text for one in facts(found)] == [
        "Alice bakes for a living. She runs a small bakery.",
        "Prefers rye bread",
        "Dislikes raisins",
        "The oven is new.",
        "Opens at six.",
    ]
    assert {one.source for one in found} == {"import:claude"}


def test_a_design_chat_is_a_conversation():
    (one,) = items(data("claude-design-chat.json"))

    assert said(one) == [("user", "A sign, please."), ("assistant", "Here it is.")]


def test_an_archive_of_all_is_read_but_for_people_and_projects():
    found = items(
        zipped(
            {
                "conversations.json": data("claude-conversations.json"),
                "memories/acc.json": data("claude-memories.json"),
                "design_chats/d.json": data("claude-design-chat.json"),
                "users.json": [{"uuid": "acc", "email_address": "alice@example.org"}],
                "projects/p.json": {"uuid": "p", "docs": [{"filename": "a.md", "content": "A"}]},
            }
        )
    )

    assert len(conversations(found)) == 3
    assert len(facts(found)) == 5
    assert skipped(found) == {Reason.EMPTY: 1, Reason.UNKNOWN_PART: 1}


def test_batches_of_archives_are_read_in_order():
    batches = {
        f"batch-{number}.zip": zipped({"conversations.json": [chat(message(f"From {number}."))]}).getvalue()
        for number in (10, 9)
    }

    found = items(zipped(batches))

    assert [said(one) for one in conversations(found)] == [[("user", "From 9.")], [("user", "From 10.")]]


def test_messages_whose_parents_are_gone_stay_in_the_order_of_the_file():
    found = items(
        as_json(
            [
                chat(
                    message("one", uuid="1", parent_message_uuid="r"),
                    message("two", uuid="2", parent_message_uuid="gone"),
                )
            ]
        )
    )

    assert said(conversations(found)[0]) == [("user", "one"), ("user", "two")]


def test_an_edited_first_question_is_another_branch_whatever_the_root_is_called():
    found = items(
        as_json(
            [
                chat(
                    message("first", uuid="1", parent_message_uuid="r", created_at="2025-01-01T00:00:00Z"),
                    message("edited", uuid="2", parent_message_uuid="r", created_at="2025-01-01T00:01:00Z"),
                )
            ]
        )
    )

    assert said(conversations(found)[0]) == [("user", "edited")]
    assert conversations(found)[0].branches_left == 1
