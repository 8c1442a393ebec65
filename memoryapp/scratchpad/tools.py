"""The one scratchpad tool the model has: it may set its plan, nothing else of the pad."""

from memoryapp.llm.base import ToolDefinition

ITEM_MAX_CHARS = 300
LIST_MAX_ITEMS = 20

_LINES = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": ITEM_MAX_CHARS},
    "maxItems": LIST_MAX_ITEMS,
}

UPDATE_PLAN = ToolDefinition(
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
)
