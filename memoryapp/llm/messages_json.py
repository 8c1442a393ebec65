"""Messages as JSON and back, without loss: what a checkpoint keeps of a run."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from memoryapp.llm.base import Block, ModelMessage, RedactedThinking, Text, Thinking, ToolResult, ToolUse

_TYPES: dict[str, type[Block]] = {
    "text": Text,
    "thinking": Thinking,
    "redacted_thinking": RedactedThinking,
    "tool_use": ToolUse,
    "tool_result": ToolResult,
}
_NAMES = {block_type: name for name, block_type in _TYPES.items()}


def to_json(message: ModelMessage) -> dict[str, Any]:
    """``{"role": …, "blocks": [{"type": …, …}]}``."""
    blocks = [{"type": _NAMES[type(block)], **asdict(block)} for block in message.blocks]
    return {"role": message.role, "blocks": blocks}


def from_json(data: Mapping[str, Any]) -> ModelMessage:
    blocks = tuple(
        _TYPES[block["type"]](**{name: value for name, value in block.items() if name != "type"})
        for block in data["blocks"]
    )
    return ModelMessage(role=data["role"], blocks=blocks)
