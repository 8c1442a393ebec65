"""A reply of the cheap model that nobody reads as it is written: for summaries, titles, lessons, what to remember."""

from memoryapp.llm.base import (
    Cancellation,
    Completed,
    ModelMessage,
    ModelReply,
    ModelRequest,
    Retrying,
    Text,
    ToolDefinition,
)
from memoryapp.llm.configured import configured
from memoryapp.llm.errors import Overloaded
from memoryapp.llm.registry import get_chat_model

# A job holds its thread while it waits, and does without the model rather than for long.
LONGEST_WAIT_S = 5.0


def whole_reply(
    system: str,
    told: str,
    *,
    max_tokens: int,
    tools: tuple[ToolDefinition, ...] = (),
    cancellation: Cancellation | None = None,
) -> ModelReply:
    """The reply to ``told`` once it is whole.

    Raises ``ModelError``; also where the provider asks for more than a short wait.
    """
    request = ModelRequest(
        model=configured().cheap_model,
        system=system,
        messages=(ModelMessage("user", (Text(told),)),),
        tools=tools,
        max_tokens=max_tokens,
    )
    for event in get_chat_model().stream(request, cancellation or Cancellation()):
        match event:
            case Retrying(wait_s=wait_s) if wait_s > LONGEST_WAIT_S:
                raise Overloaded("The model asks to wait for longer than this is worth.")
            case Completed(reply=reply):
                return reply
    raise AssertionError
