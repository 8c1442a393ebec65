"""Runs of an agent for tests of how they fit the window."""

import itertools
import json

from memoryapp.context.run_window import fitted, retold
from memoryapp.llm.base import (
    ModelMessage,
    Text,
    ToolResult,
    ToolUse,
)
from memoryapp.llm.tokens import estimate_message

PAD = '<scratchpad>\n{"goal": "find it"}\n</scratchpad>'
A_NOTE = f"""<steps-so-far>
{json.dumps({"steps": "1–1 of this run, in short; do not repeat them", "done": ["recall"]}, ensure_ascii=False)}
</steps-so-far>"""


def fitted_to(run, allowance: int):
    return fitted(run, allowance_tokens=allowance, measure=estimate_message)


def retold_to(run, allowance: int):
    return retold(run, allowance_tokens=allowance, measure=estimate_message)


def size(run) -> int:
    return sum(map(estimate_message, run))


def results_of(message: ModelMessage) -> list[ToolResult]:
    return [block for block in message.blocks if isinstance(block, ToolResult)]


def rounds_of(run) -> int:
    return sum(message.role == "assistant" for message in run)


def round_of(
    *contents: str, number: int = 1, is_error: bool = False, tool: str = "recall"
) -> list[ModelMessage]:
    ids = [f"toolu_{number}_{place}" for place in range(len(contents))]
    return [
        ModelMessage("assistant", tuple(ToolUse(tool_use_id, tool, {}) for tool_use_id in ids)),
        ModelMessage(
            "user",
            tuple(
                ToolResult(i, content, is_error=is_error) for i, content in zip(ids, contents, strict=True)
            ),
        ),
    ]


def run_of(*rounds: list[ModelMessage]) -> list[ModelMessage]:
    return [ModelMessage("user", (Text("Find it."),)), *itertools.chain(*rounds)]
