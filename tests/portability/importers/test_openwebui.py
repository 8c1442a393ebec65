import pytest

from memoryapp.portability.importers.items import Attachment, Format, Reason
from memoryapp.portability.importers.openwebui import without_blocks
from tests.portability.importers.uploads import as_json, conversations, data, items, said, skipped


@pytest.fixture
def example():
    return items(data("openwebui.json"))


def test_the_current_line_is_the_conversation_and_answers_of_other_models_are_branches(example):
    sums, _ = conversations(example)

    assert said(sums) == [
        ("user", "What is 15 times 17?"),
        ("assistant", "255"),
        ("user", '<details type="reasoning">mine</details> And 3 times 4?'),
        ("assistant", "12"),
    ]
    assert sums.branches_left == 1
    assert (sums.is_archived, sums.is_pinned) == (True, True)
    assert [one.model for one in sums.messages] == ["", "deepseek-r1", "", "deepseek-r1"]
    assert sums.messages[0].attachments == (Attachment("sums.pdf"),)


def test_a_chat_from_before_trees_is_read_in_order(example):
    _, old = conversations(example)

    assert said(old) == [("user", "Hello"), ("assistant", "Hi.")]


def test_unknown_output_is_counted(example):
    assert skipped(example) == {Reason.UNKNOWN_PART: 1}


@pytest.mark.parametrize(
    "wrap", [lambda chats: {"data": chats}, lambda chats: {"chats": chats}, lambda chats: chats[0]]
)
def test_a_list_under_a_key_and_a_single_chat_are_accepted(wrap):
    chats = [
        {
            "id": "w",
            "chat": {"history": {"currentId": "u", "messages": {"u": {"role": "user", "content": "Hi"}}}},
        }
    ]

    found = items(as_json(wrap(chats)))

    assert [said(one) for one in conversations(found)] == [[("user", "Hi")]]


@pytest.mark.parametrize(
    ("spoken", "kept"),
    [
        ('<details type="reasoning" done="true">\n> hm\n</details>\nYes', "\nYes"),
        ('A<details type="tool_calls">x</details>B<details type="code_interpreter">y</details>C', "ABC"),
        ("<details><summary>More</summary>kept</details>", "<details><summary>More</summary>kept</details>"),
        ('Yes <details type="reasoning">never closed', "Yes "),
        ("a <details", "a <details"),
    ],
)
def test_thoughts_and_tools_are_taken_out_of_the_text(spoken, kept):
    assert without_blocks(spoken) == kept


def test_a_hundred_thousand_blocks_take_no_longer_than_their_text():
    assert without_blocks('<details type="x">' * 100_000) == '<details type="x">' * 100_000


def test_an_unknown_role_is_counted():
    chat = {"chat": {"messages": [{"role": "oracle", "content": "?"}, {"role": "tool", "content": "?"}]}}

    assert skipped(items(as_json([chat]), Format.OPENWEBUI)) == {Reason.UNKNOWN_PART: 1, Reason.EMPTY: 1}
