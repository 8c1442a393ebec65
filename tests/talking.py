"""Conversations that have been going on: turns that ended, without a model that answered them."""

from memoryapp.llm.base import Usage
from memoryapp.transcript import claims
from memoryapp.transcript.models import Conversation, Turn
from tests.turns import claim, fresh, post


def say(
    conversation: Conversation, text: str, reply: str = "", *, status: Turn.Status = Turn.Status.COMPLETED
) -> Turn:
    """A finished turn: completed with ``reply``, or ended otherwise with it as the partial text."""
    turn = post(conversation.user, text, conversation)
    held = claim(turn)
    if status == Turn.Status.COMPLETED:
        claims.finish_turn(held, reply=reply, model="m", usage=Usage())
    else:
        claims.fail_turn(held, status=status, partial_text=reply)
    return fresh(turn)
