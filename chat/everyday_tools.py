"""The tools that need no memory: the clock and the calculator."""

import json
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from chat.arithmetic import MAX_CHARS, calculate
from memoryapp.llm.base import ToolDefinition
from memoryapp.policies.trust import Origin
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput


class NoArguments(Arguments):
    pass


class CalculateArguments(Arguments):
    expression: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


def _current_time(_arguments: NoArguments, context: ToolContext) -> ToolOutput:
    local = context.now.astimezone(ZoneInfo(context.time_zone))
    result = {
        "iso": local.isoformat(timespec="seconds"),
        "text": f"{local:%A}, {local.day} {local:%B %Y}, {local:%H:%M} ({context.time_zone})",
    }
    return ToolOutput(json.dumps(result), origin=Origin.USER_TYPED, facts=[("current time", result["text"])])


def _calculate(arguments: CalculateArguments, _context: ToolContext) -> ToolOutput:
    result = calculate(arguments.expression)
    content = json.dumps({"expression": arguments.expression, "result": result}, ensure_ascii=False)
    return ToolOutput(content, origin=Origin.USER_TYPED, facts=[(arguments.expression, result)])


CURRENT_TIME = Tool(
    ToolDefinition(
        name="current_time",
        description="The current date and time in the user's time zone.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    ),
    NoArguments,
    _current_time,
    is_volatile=True,
    timeout_s=None,
)
CALCULATE = Tool(
    ToolDefinition(
        name="calculate",
        description="Exact arithmetic: numbers, + - * / // % ** and parentheses. Use it for every calculation.",
        input_schema={
            "type": "object",
            "properties": {
                "expression": {"type": "string", "description": "For example: (1299.95 - 120) * 0.19"}
            },
            "required": ["expression"],
            "additionalProperties": False,
        },
    ),
    CalculateArguments,
    _calculate,
    timeout_s=None,
)
