import io
import json

from memoryapp.portability.importers.items import Attachment, Reason
from tests.portability.importers.uploads import as_json, conversations, data, items, said, skipped


def test_the_newest_line_of_a_flat_list_is_the_conversation():
    found = items(data("librechat.json"))

    (trains,) = conversations(found)
    assert said(trains) == [
        ("user", "When does the night train go?"),
        ("assistant", "At ten.\n\nPlatform 4."),
        ("user", "Thanks!"),
    ]
    assert trains.branches_left == 1
    assert trains.messages[0].attachments == (Attachment("ticket.pdf"),)
    assert trains.messages[1].model == "claude-3"
    assert skipped(found) == {Reason.UNKNOWN_PART: 1}


def test_nested_children_are_a_tree_and_the_last_leaf_is_the_newest():
    (nested,) = items(data("librechat-tree.json"))

    assert [text for _, text in said(nested)] == ["Hello", "Hi.", "The other way", "This one is the last."]
    assert nested.branches_left == 1


def test_nesting_far_deeper_than_python_recurses_is_read():
    depth = 20_000
    one = json.dumps({"sender": "User", "text": "deeper", "children": "?"})
    head, tail = one.split('"?"')
    text = '{"conversationId": "l", "messages": [' + (head + "[") * depth + ("]" + tail) * depth + "]}"

    (found,) = items(io.BytesIO(text.encode()))

    assert len(found.messages) == depth


def test_messages_with_the_same_id_are_all_kept():
    messages = [
        {"messageId": "m", "text": "one", "sender": "User"},
        {"messageId": "m", "text": "two", "sender": "AI"},
    ]

    (found,) = items(as_json({"conversationId": "l", "messages": messages}))

    assert found.branches_left == 1
    assert said(found) == [("assistant", "two")]
