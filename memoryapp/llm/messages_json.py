"""Messages as JSON and back, without loss: what a checkpoint keeps of a run.

The arguments of a tool call are JSON text inside the JSON: ``jsonb`` sorts the keys of an object, and a prompt in
which they stand in another order misses the provider's cache.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from memoryapp.llm.base import (
    Block,
    Image,
    ModelMessage,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

_TYPES: dict[str, type[Block]] = {
    "text": Text,
    "image": Image,
    "thinking": Thinking,
    "redacted_thinking": RedactedThinking,
    "tool_use": ToolUse,
    "tool_result": ToolResult,
}
_NAMES = {block_type: name for name, block_type in _TYPES.items()}


def to_json(message: ModelMessage) -> dict[str, Any]:
    """``{"role": …, "blocks": [{"type": …, …}]}``."""
    return {"role": message.role, "blocks": [_block_to_json(block) for block in message.blocks]}


def from_json(data: Mapping[str, Any]) -> ModelMessage:
    return ModelMessage(role=data["role"], blocks=tuple(_block_from_json(block) for block in data["blocks"]))


def _block_to_json(block: Block) -> dict[str, Any]:
    values = {"type": _NAMES[type(block)], **asdict(block)}
    return {**values, "input": json.dumps(values["input"])} if isinstance(block, ToolUse) else values


def _block_from_json(data: Mapping[str, Any]) -> Block:
    values = {name: value for name, value in data.items() if name != "type"}
    if data["type"] == "tool_use":
        values["input"] = json.loads(values["input"])
    return _TYPES[data["type"]](**values)
