"""Conversations that are over, for recall to find something in."""

from memoryapp.accounts.models import User
from memoryapp.llm.base import Usage
from memoryapp.policies.trust import Origin
from memoryapp.transcript import claims
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.turns import claim, fresh, post


def talk(
    user: User,
    text: str,
    reply: str = "Noted.",
    *,
    conversation: Conversation | None = None,
    taint: Origin | None = None,
) -> Turn:
    """A finished turn, in a conversation of its own unless one is given."""
    turn = post(user, text, conversation)
    claims.finish_turn(claim(turn), reply=reply, model="offline", usage=Usage(), taint=taint)
    return fresh(turn)


def said(turn: Turn, role: Message.Role = Message.Role.USER) -> Message:
    return next(message for message in turn.messages.all() if message.role == role)
