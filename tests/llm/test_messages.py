"""Messages on their way out: to the provider, and to a checkpoint and back."""

import json

import pytest

from memoryapp.llm.base import (
    Block,
    Image,
    ModelMessage,
    ModelRequest,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from memoryapp.llm.messages_json import from_json, to_json
from memoryapp.llm.messages_wire import encode_prompt


@pytest.mark.parametrize(
    "block",
    [
        Text("hello", cache_mark=True),
        Image("image/png", "iVBORw0KGgo=", cache_mark=True),
        Thinking("hm", "signature"),
        RedactedThinking("data"),
        ToolUse("toolu_1", "remember", {"b": 1, "a": [None]}),
        ToolResult("toolu_1", "done", is_error=True, cache_mark=True),
    ],
    ids=lambda block: type(block).__name__,
)
def test_every_block_survives_a_checkpoint(block: Block) -> None:
    message = ModelMessage("user", (block,))

    assert from_json(json.loads(json.dumps(to_json(message)))) == message


def test_image_is_sent_as_a_base64_source_with_its_mark() -> None:
    picture = Image("image/webp", "UklGRg==", cache_mark=True)
    asked = ModelRequest("any", "", (ModelMessage("user", (picture, Text("What is this?"))),), (), 100)

    content = encode_prompt(asked)["messages"][0]["content"]

    source = {"type": "base64", "media_type": "image/webp", "data": "UklGRg=="}
    assert content == [
        {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "What is this?"},
    ]
