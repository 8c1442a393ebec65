"""What a model says, in a form that Postgres can keep: neither ``text`` nor ``jsonb`` takes NUL or half a character.

Applied once, where the model's words enter, so that what is shown, stored, checkpointed and sent back is one text.
Thinking stays as it is: it is opaque, and signed.
"""

import math
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from uuid import uuid4

from memoryapp.llm.base import Block, ModelReply, Text, ToolUse

ID_MAX_CHARS = 128
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what cannot be stored."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_reply(reply: ModelReply, *, taken: Collection[str] = ()) -> ModelReply:
    """``taken``: ids of earlier calls of the run. Servers that are not careful use one twice; a call needs its own."""
    used = set(taken)
    return replace(reply, blocks=tuple(_with_own_id(_storable_block(block), used) for block in reply.blocks))


def _with_own_id(block: Block, used: set[str]) -> Block:
    """Adds the id of a call to ``used``."""
    if not isinstance(block, ToolUse):
        return block
    own = replace(block, id=_own_id(block.id, used))
    used.add(own.id)
    return own


def _own_id(given: str, used: Collection[str]) -> str:
    is_usable = 0 < len(given) <= ID_MAX_CHARS and given not in used and not _UNSTORABLE.search(given)
    return given if is_usable else f"toolu_{uuid4().hex}"


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
        case float() if not math.isfinite(value):  # no JSON, though Python's parser takes it
            return str(value)
        case dict():
            return {storable(key): _storable_json(item) for key, item in value.items()}
        case list():
            return [_storable_json(item) for item in value]
    return value
