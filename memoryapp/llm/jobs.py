"""A reply that nobody reads as it is written: for summaries, titles, lessons."""

from memoryapp.llm.base import Cancellation, Completed, ModelReply, ModelRequest, Retrying
from memoryapp.llm.errors import Overloaded
from memoryapp.llm.registry import get_chat_model

# A job holds its thread while it waits, and does without the model rather than for long.
LONGEST_WAIT_S = 5.0


def whole_reply(request: ModelRequest, cancellation: Cancellation) -> ModelReply:
    """The reply once it is whole. Raises ``ModelError``; also where the provider asks for more than a short wait."""
    for event in get_chat_model().stream(request, cancellation):
        match event:
            case Retrying(wait_s=wait_s) if wait_s > LONGEST_WAIT_S:
                raise Overloaded("The model asks to wait for longer than this is worth.")
            case Completed(reply=reply):
                return reply
    raise AssertionError
