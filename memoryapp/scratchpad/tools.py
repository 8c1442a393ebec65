"""The scratchpad's tools of the model: it may set its plan, and read on in a long result."""

import json
from typing import Annotated

from pydantic import Field

from memoryapp.errors import InvalidInputError
from memoryapp.llm.base import ToolDefinition
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import queries
from memoryapp.tooling.base import MAX_OUTPUT_CHARS, Arguments, Tool, ToolContext, ToolOutput

ITEM_MAX_CHARS = 300
LIST_MAX_ITEMS = 20
PART_CHARS = MAX_OUTPUT_CHARS

Line = Annotated[str, Field(min_length=1, max_length=ITEM_MAX_CHARS)]


class PlanArguments(Arguments):
    todo: Annotated[list[Line], Field(max_length=LIST_MAX_ITEMS)]
    open_questions: Annotated[list[Line], Field(max_length=LIST_MAX_ITEMS)] = []


class ReadResultArguments(Arguments):
    step: Annotated[int, Field(ge=1)]
    start: Annotated[int, Field(ge=0)] = 0


_LINES = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": ITEM_MAX_CHARS},
    "maxItems": LIST_MAX_ITEMS,
}


def _update_plan(arguments: PlanArguments, _context: ToolContext) -> ToolOutput:
    return ToolOutput(
        json.dumps({"outcome": "updated"}),
        origin=Origin.USER_TYPED,
        plan=(tuple(arguments.todo), tuple(arguments.open_questions)),
    )


def _read_result(arguments: ReadResultArguments, context: ToolContext) -> ToolOutput:
    step = queries.step_numbered(context.user_id, context.run_id, arguments.step)
    text = step.observation
    if arguments.start >= len(text):
        raise InvalidInputError(f"The result of step {step.number} has {len(text):,} characters.")
    part = text[arguments.start : arguments.start + PART_CHARS]
    end = arguments.start + len(part)
    result = {"step": step.number, "text": part, "more_from": end if end < len(text) else None}
    return ToolOutput(
        json.dumps(result, ensure_ascii=False),
        origin=Origin(step.origin or Origin.USER_TYPED),
        done=f"read the result of step {step.number} from {arguments.start}",
    )


UPDATE_PLAN = Tool(
    ToolDefinition(
        name="update_plan",
        description=(
            "Replace your to-do list and open questions for the current task. Use it only for tasks of several steps. "
            "Facts, finished steps and failed calls are kept for you."
        ),
        input_schema={
            "type": "object",
            "properties": {"todo": _LINES, "open_questions": _LINES},
            "required": ["todo"],
            "additionalProperties": False,
        },
    ),
    PlanArguments,
    _update_plan,
    is_volatile=True,
    timeout_s=None,
)
READ_RESULT = Tool.of(
    "read_result",
    "Read on in a result of this task that was cut: 'step' is its number, 'start' the character to begin with.",
    ReadResultArguments,
    _read_result,
    timeout_s=None,
    max_output_chars=3 * PART_CHARS,  # in JSON: a part is never cut again
)
