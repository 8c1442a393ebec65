"""Statements as people make them: a message in a conversation, and the candidate that quotes it."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from memoryapp.accounts.models import User
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Candidate, Remembered, Source
from memoryapp.policies.trust import Origin
from memoryapp.transcript import conversations, queries
from memoryapp.transcript import operations as transcript

# Days before today, so that lifetimes of a month and more are not over while the tests run.
DAY = timedelta(days=1)
NOW = datetime.now(UTC).replace(microsecond=0)


def message(user: User, text: str) -> Source:
    """A message that ``user`` really sent."""
    conversation = conversations.start_conversation(user, now=NOW)
    turn, _ = transcript.post_turn(user, conversation.id, text=text, idempotency_key=str(uuid4()), now=NOW)
    return Source(queries.user_message(turn).id, text)


def candidate(statement: str, **values) -> Candidate:
    """What a person wrote themselves unless ``values`` say otherwise."""
    return Candidate(
        **{
            "kind": "event",
            "statement": statement,
            "origin": Origin.USER_TYPED,
            "channel": Memory.Channel.API,
            "said_at": NOW,
            **values,
        }
    )


def remember(user: User, statement: str, **values) -> Remembered:
    return longterm.remember(user.id, candidate(statement, **values))


def remember_from(user: User, source: Source, statement: str, **values) -> Remembered:
    """As the chat's tool and extraction do: with a quote from a message."""
    values = {"quote": source.text, "source": source, "channel": Memory.Channel.CHAT, **values}
    return remember(user, statement, **values)


def live(user: User) -> list[str]:
    return sorted(Memory.objects.for_user(user.id).live().values_list("statement", flat=True))
