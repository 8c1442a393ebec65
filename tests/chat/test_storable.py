"""What a model says, as Postgres can keep it."""

from chat.storable import storable, storable_reply
from memoryapp.llm.base import ModelReply, Text, Thinking, ToolUse, Usage


def test_nul_and_half_characters_are_replaced_and_all_else_stays():
    kept = "\U0001f600 naïve\n\t\u200b"

    assert storable(f"a\x00b \ud83d \udc00 {kept}") == f"a\ufffdb \ufffd \ufffd {kept}"


def test_texts_and_arguments_of_a_reply_are_replaced_at_any_depth_and_thinking_is_not():
    thought = Thinking("a\x00", "signature")
    call = ToolUse("t", "n\x00", {"k\x00": ["c\x00", {"d": 1.5, "e": None}]})
    said = ModelReply("id", "m", (thought, Text("b\x00"), call), "tool_use", Usage())

    assert storable_reply(said).blocks == (
        thought,
        Text("b\ufffd"),
        ToolUse("t", "n\ufffd", {"k\ufffd": ["c\ufffd", {"d": 1.5, "e": None}]}),
    )
