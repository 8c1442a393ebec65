"""The read tool of the model: ``recall``."""

import json
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from memoryapp.context import recall
from memoryapp.llm.base import ToolDefinition
from memoryapp.policies.trust import Origin

MAX_ITEMS = 10


class RecallArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query: Annotated[str, Field(min_length=1, max_length=2_000)]


RECALL = ToolDefinition(
    name="recall",
    description=(
        "Search the user's long-term memories by meaning. What fits the user's message is recalled already; use this "
        "for something else you need to know about them. An empty list means that nothing is known."
    ),
    input_schema={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What you want to know, as a question."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


def run_recall(arguments: RecallArguments, *, user_id: UUID, now: datetime) -> tuple[str, Origin]:
    """The result as JSON text, and the weakest origin in it."""
    found = recall.search(user_id, arguments.query, now=now, limit=recall.CANDIDATES)
    relevant = recall.Recall([item for item in found if item.included][:MAX_ITEMS])
    return json.dumps({"memories": recall.prompt_items(relevant)}, ensure_ascii=False), relevant.taint
