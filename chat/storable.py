"""What a model says, in a form that Postgres can keep: neither ``text`` nor ``jsonb`` takes NUL or half a character.

Applied once, where the model's words enter, so that what is shown, stored, checkpointed and sent back is one text.
Thinking stays as it is: it is opaque, and signed.
"""

import re
from dataclasses import replace
from typing import Any

from memoryapp.llm.base import Block, ModelReply, Text, ToolUse

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what cannot be stored."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_reply(reply: ModelReply) -> ModelReply:
    return replace(reply, blocks=tuple(map(_storable_block, reply.blocks)))


def _storable_block(block: Block) -> Block:
    match block:
        case Text(text=text):
            return replace(block, text=storable(text))
        case ToolUse(name=name, input=arguments):
            return replace(block, name=storable(name), input=_storable_json(dict(arguments)))
    return block


def _storable_json(value: Any) -> Any:  # JSON
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(key): _storable_json(item) for key, item in value.items()}
        case list():
            return [_storable_json(item) for item in value]
    return value
