"""A local estimate of tokens: instant, pure and on the high side.

For deciding when a prompt nears its budget, between two counts by the provider. Weights per character class
were fitted to the tokenizer that ``anthropic`` 0.34 shipped (the last one published), over English dialogue
and prose, Python, JSON, German, Russian, Arabic, Chinese, Japanese, Korean, digits, identifiers and emoji.
Texts longer than a line come out within +30 % and -20 % of that tokenizer before ``NEWER_TOKENIZER`` is
applied; long runs of hexadecimal, at 0.7, are the worst case.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memoryapp.llm.base import (
    Block,
    ModelMessage,
    ModelRequest,
    RedactedThinking,
    Text,
    Thinking,
    ToolDefinition,
    ToolResult,
    ToolUse,
)

# The 5.x models need about 30 % more tokens for the same text than those before them. Counting high for the
# older ones only compacts a little earlier; counting low would overrun the window.
NEWER_TOKENIZER = 1.3

# What the API adds around content: role markers, block headers, and the instructions that make tools work.
MESSAGE_TOKENS = 4
BLOCK_TOKENS = 2
TOOL_TOKENS = 12
TOOLS_PREAMBLE_TOKENS = 320

_LETTERS_AND_SPACE = b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_ASCII_REST = bytes(sorted(set(range(128)) - set(_LETTERS_AND_SPACE) - set(_DIGITS)))

# Tokens per character of a class; characters beyond ASCII are counted by the first byte of their UTF-8 form.
_WEIGHTS: tuple[tuple[bytes, float], ...] = (
    (_LETTERS_AND_SPACE, 0.235),
    (_DIGITS, 0.53),
    (_ASCII_REST, 0.455),
    (bytes(range(0xC2, 0xE0)), 0.75),  # two bytes: accented Latin, Greek, Cyrillic, Hebrew, Arabic
    (bytes(range(0xE0, 0xF0)), 1.13),  # three bytes: Chinese, Japanese, Korean, Indic scripts, punctuation
    (bytes(range(0xF0, 0xF5)), 2.7),  # four bytes: emoji, rare ideographs
)


def estimate_text(text: str) -> int:
    """Tokens of ``text``: 0 when it is empty, else at least 1. Never shrinks when text is appended."""
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    # bytes.translate deletes at C speed: a megabyte takes milliseconds where a Python loop takes a second.
    weighed = sum((len(data) - len(data.translate(None, members))) * weight for members, weight in _WEIGHTS)
    return max(1, round(weighed * NEWER_TOKENIZER))


def estimate_json(value: Mapping[str, Any]) -> int:
    """Tokens of ``value`` written as JSON, as tool inputs and schemas are."""
    return estimate_text(json.dumps(value, ensure_ascii=False, default=str))


def estimate_block(block: Block) -> int:
    match block:
        case Text(text=text):
            return BLOCK_TOKENS + estimate_text(text)
        case Thinking(thinking=thinking, signature=signature):
            # Hidden thinking travels in its signature, which the provider counts at about a token per four
            # characters.
            return BLOCK_TOKENS + max(estimate_text(thinking), len(signature) // 4)
        case RedactedThinking(data=data):
            return BLOCK_TOKENS + len(data) // 4
        case ToolUse(id=tool_use_id, name=name, input=tool_input):
            return TOOL_TOKENS + estimate_text(tool_use_id + name) + estimate_json(tool_input)
        case ToolResult(tool_use_id=tool_use_id, content=content):
            return TOOL_TOKENS + estimate_text(tool_use_id) + estimate_text(content)


def estimate_message(message: ModelMessage) -> int:
    return MESSAGE_TOKENS + sum(estimate_block(block) for block in message.blocks)


def estimate_tools(tools: Iterable[ToolDefinition]) -> int:
    """Tokens of the tools' definitions; 0 without tools."""
    each = [
        TOOL_TOKENS + estimate_text(f"{tool.name} {tool.description}") + estimate_json(tool.input_schema)
        for tool in tools
    ]
    return TOOLS_PREAMBLE_TOKENS + sum(each) if each else 0


def estimate_request(request: ModelRequest) -> int:
    """Input tokens of the whole request, at least 1."""
    messages = sum(estimate_message(message) for message in request.messages)
    return max(1, estimate_text(request.system) + estimate_tools(request.tools) + messages)
