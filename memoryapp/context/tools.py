"""The read tool of the model: ``recall``."""

import json
from typing import Annotated

from pydantic import Field

from memoryapp.accounts import queries as accounts
from memoryapp.context import recall
from memoryapp.llm.base import ToolDefinition
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput
from memoryapp.transcript import queries as transcript

MAX_ITEMS = 10


class RecallArguments(Arguments):
    query: Annotated[str, Field(min_length=1, max_length=2_000)]


_DEFINITION = ToolDefinition(
    name="recall",
    description=(
        "Search the user's long-term memories, what was said in other conversations and what earlier tasks taught, by "
        "meaning and by words. What fits the user's message is recalled already; use this for something else you need "
        "to know. An empty list means that nothing is known."
    ),
    input_schema={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What you want to know, as a question."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


def run_recall(arguments: RecallArguments, context: ToolContext) -> ToolOutput:
    """``memories``: as they stand in a prompt; the origin is the weakest among them.

    Raises ``MemoryPausedError``, when its person paused memory after the run began.
    """
    accounts.require_memory_use(context.user_id)
    found = recall.search(
        context.user_id,
        arguments.query,
        now=context.now,
        limit=recall.SHOWN,
        in_prompt=transcript.in_prompt(context.user_id, context.conversation_id),
        without=context.without,
    )
    relevant = recall.Recall([item for item in found if item.included][:MAX_ITEMS])
    content = json.dumps({"memories": recall.prompt_items(relevant)}, ensure_ascii=False)
    return ToolOutput(
        content,
        origin=relevant.taint,
        done=f"recalled: {arguments.query}",
        given=[item.what.id for item in relevant.included if item.sort != "turn"],
    )


RECALL = Tool(_DEFINITION, RecallArguments, run_recall, timeout_s=None)
