"""The offline responder asked by tests: with tools, recalled memories and results."""

import json
from dataclasses import dataclass, field

from memoryapp.llm.base import (
    Cancellation,
    ModelMessage,
    ModelReply,
    ModelRequest,
    StreamEvent,
    Text,
    ToolDefinition,
    ToolResult,
    ToolUse,
)
from memoryapp.llm.offline import OfflineModel
from tests.llm.contract import completed

MODEL = OfflineModel(delay_s=0)
KEY = r"^[a-z0-9_]+(\.[a-z0-9_]+)*$"


def tool(name: str, **properties: object) -> ToolDefinition:
    schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name != "key"],
        "additionalProperties": False,
    }
    return ToolDefinition(name, f"The {name} tool.", schema)


WORDS = {"type": "string", "minLength": 1}
TOOLS = (
    tool("remember", statement=WORDS, kind=WORDS, quote=WORDS, key={"type": "string", "pattern": KEY}),
    tool("recall", query=WORDS),
    tool("current_time"),
    tool("calculate", expression=WORDS),
    tool("send_mail", to=WORDS),
    tool("list_facts", limit={"type": "integer"}),
    tool("roll_dice", sides={"type": "integer"}),
)
TEA = {
    "id": "1",
    "kind": "preference",
    "statement": "I only drink green tea, never coffee.",
    "origin": "user_typed",
    "said_on": "2026-11-30",
    "confidence": 0.9,
}
NAME = {
    "id": "2",
    "kind": "identity",
    "statement": "My name is Ana.",
    "origin": "user_typed",
    "said_on": "2026-11-01",
    "always": True,
}


def fenced(*items: dict) -> Text:
    return Text(f'<recalled-memories id="a1b2c3">\n{json.dumps(items)}\n</recalled-memories>')


def said(words: str, *recalled: dict) -> ModelMessage:
    return ModelMessage("user", (*([fenced(*recalled)] if recalled else []), Text(words)))


def answered(text: str) -> ModelMessage:
    return ModelMessage("assistant", (Text(text),))


def asked(*messages: ModelMessage, tools=TOOLS, max_tokens: int = 2_000) -> ModelRequest:
    return ModelRequest("offline", "You are Strata.", messages, tools, max_tokens)


def streamed(request: ModelRequest) -> list[StreamEvent]:
    return list(MODEL.stream(request, Cancellation()))


def reply_to(*messages: ModelMessage, **options) -> ModelReply:
    return completed(streamed(asked(*messages, **options)))


@dataclass
class Tools:
    """Runs a turn as the loop does, answering calls from ``results`` by tool name."""

    results: dict[str, object] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    called: list[ToolUse] = field(default_factory=list)

    def run(self, *messages: ModelMessage, tools=TOOLS) -> str:
        for _ in range(4):
            reply = reply_to(*messages, tools=tools)
            if reply.stop_reason != "tool_use":
                assert not reply.tool_uses
                return reply.text
            self.called += reply.tool_uses
            results = tuple(self._result(use) for use in reply.tool_uses)
            pad = Text("<scratchpad>\ngoal: I like figs.\n</scratchpad>")
            messages = (
                *messages,
                ModelMessage("assistant", reply.blocks),
                ModelMessage("user", (*results, pad)),
            )
        raise AssertionError("the run did not end")

    def _result(self, use: ToolUse) -> ToolResult:
        content = self.results.get(use.name, {"outcome": "added"})
        text = content if isinstance(content, str) else json.dumps(content)
        return ToolResult(use.id, text, is_error=use.name in self.failing)
