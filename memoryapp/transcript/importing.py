"""Conversations that were held elsewhere, as turns of the transcript."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from memoryapp.accounts.models import User
from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.trust import Origin
from memoryapp.transcript.conversations import start_conversation
from memoryapp.transcript.keys import keep_keys
from memoryapp.transcript.models import Conversation, Message, Turn


@dataclass(frozen=True, slots=True)
class Said:
    """One message. ``speaker``: a person's name; empty for the user or the assistant."""

    text: str
    is_assistant: bool
    said_at: datetime
    speaker: str = ""


def import_conversation(
    user: User, said: Sequence[Said], *, title: str = "", taint: Origin = Origin.IMPORTED
) -> list[UUID]:
    """Keep a conversation, oldest message first, in one transaction; the ids of its messages, in order.

    A message of the user's side begins a turn, and one of the other side right after it ends it; any other has a turn
    for itself. Nothing is queued and nothing is answered: all of it has been said.
    """
    with transaction.atomic(durable=True):
        conversation = start_conversation(user, now=said[-1].said_at, title=title)
        turns = _add_turns(conversation, list(_exchanges(said)), taint=taint)
        Conversation.objects.filter(id=conversation.id).update(
            last_seq=len(turns), created_at=said[0].said_at
        )
        message_ids = _add_messages(turns)
        keep_keys(user.id, message_ids)
        return message_ids


def _exchanges(said: Sequence[Said]) -> Iterator[list[Said]]:
    """Each message of the user with its answer, if it got one."""
    exchange: list[Said] = []
    for message in said:
        if exchange and not (message.is_assistant and len(exchange) == 1 and not exchange[0].is_assistant):
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange


def _add_turns(
    conversation: Conversation, exchanges: Sequence[Sequence[Said]], *, taint: Origin
) -> list[tuple[Turn, Sequence[Said]]]:
    turns: list[Turn] = []
    for seq, exchange in enumerate(exchanges, 1):
        turns.append(
            Turn(
                user_id=conversation.user_id,
                conversation=conversation,
                seq=seq,
                parent=turns[-1] if turns else None,
                status=Turn.Status.COMPLETED,
                idempotency_key=f"imported:{uuid4()}",
                attempt=1,
                taint=taint,
                started_at=exchange[0].said_at,
                finished_at=exchange[-1].said_at,
            )
        )
    Turn.objects.bulk_create(turns)
    # The column fills itself with the moment of the insertion, which is not when it was said.
    for turn in turns:
        turn.created_at = turn.started_at or turn.created_at
    Turn.objects.bulk_update(turns, ["created_at"])
    return list(zip(turns, exchanges, strict=True))


def _add_messages(turns: Sequence[tuple[Turn, Sequence[Said]]]) -> list[UUID]:
    said = [(turn, message) for turn, exchange in turns for message in exchange]
    messages = [
        Message(
            user_id=turn.user_id,
            turn=turn,
            role=Message.Role.ASSISTANT if one.is_assistant else Message.Role.USER,
            text=one.text,
            speaker=one.speaker,
            tokens=estimate_text(one.text),
        )
        for turn, one in said
    ]
    Message.objects.bulk_create(messages)
    for message, (_, one) in zip(messages, said, strict=True):
        message.created_at = one.said_at
    Message.objects.bulk_update(messages, ["created_at"])
    return [message.id for message in messages]
