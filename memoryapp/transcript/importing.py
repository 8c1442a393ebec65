"""Conversations that were held elsewhere, as turns of the transcript."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Now

from memoryapp.accounts.models import User
from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.trust import Origin, weakest
from memoryapp.transcript import deletions
from memoryapp.transcript.conversations import start_conversation
from memoryapp.transcript.keys import keep_keys
from memoryapp.transcript.models import Conversation, Message, Turn


@dataclass(frozen=True, slots=True)
class Said:
    """One message. ``speaker``: a person's name; empty for the user or the assistant. ``model``: who answered."""

    text: str
    is_assistant: bool
    said_at: datetime
    speaker: str = ""
    model: str = ""


def import_conversation(
    user: User, said: Sequence[Said], *, title: str = "", taint: Origin = Origin.IMPORTED
) -> list[UUID]:
    """Keep a conversation, oldest message first, in one transaction; the ids of its messages, in order.

    A message of the user's side begins a turn, and one of the other side right after it ends it; any other has a turn
    for itself. Nothing is queued and nothing is answered: all of it has been said.
    """
    with transaction.atomic(durable=True):
        conversation = start_conversation(user, now=said[-1].said_at, title=title)
        return _add(conversation, said, taint=taint)


def import_within(
    user: User,
    said: Sequence[Said],
    *,
    title: str,
    save_memory: bool = True,
    is_archived: bool = False,
    is_pinned: bool = False,
) -> UUID:
    """``import_conversation`` as a part of the caller's transaction, of a chat with another assistant; its id.

    Nothing of it is learned unless its person has it read.
    """
    conversation = start_conversation(user, now=said[-1].said_at, title=title, save_memory=save_memory)
    _pass_over(_add(conversation, said, taint=Origin.IMPORTED))
    rows = Conversation.objects.filter(id=conversation.id)
    if is_archived:
        rows.update(archived_at=Now())
    if is_pinned:
        rows.update(pinned_at=Now())
    return conversation.id


def continue_within(user_id: UUID, conversation_id: UUID, said: Sequence[Said]) -> UUID:
    """Within the caller's transaction: what was said elsewhere after the last turn; the id of the first turn added.

    Nothing of it is learned, as with the rest of it, and it is no more trusted than what it was said after.
    """
    conversation = Conversation.objects.select_for_update().get(user_id=user_id, id=conversation_id)
    before = Turn.objects.filter(conversation=conversation, is_current=True).values_list("taint", flat=True)
    message_ids = _add(conversation, said, taint=weakest([Origin.IMPORTED, *map(Origin, before.distinct())]))
    _pass_over(message_ids)
    first: UUID = Message.objects.values_list("turn_id", flat=True).get(id=message_ids[0])
    return first


def discontinue_within(user_id: UUID, turn_id: UUID, *, now: datetime) -> None:
    """Within the caller's transaction: delete what was added from this turn on. What is left was said when it was.

    Raises as ``deletions.delete_turns_within``.
    """
    deletion = deletions.delete_turns_within(user_id, turn_id, following=True, now=now)
    left = Message.objects.filter(
        turn__conversation=deletion.conversation_id, turn__is_current=True, turn__deleted_at=None
    )
    last_said_at = left.aggregate(at=Max("created_at"))["at"]
    if last_said_at:
        Conversation.objects.filter(id=deletion.conversation_id).update(updated_at=last_said_at)


def _add(conversation: Conversation, said: Sequence[Said], *, taint: Origin) -> list[UUID]:
    """After the last turn of its shown branch."""
    is_new = conversation.last_seq == 0
    turns = _add_turns(conversation, list(_exchanges(said)), taint=taint)
    rows = Conversation.objects.filter(id=conversation.id)
    rows.update(
        last_seq=F("last_seq") + len(turns), updated_at=max(conversation.updated_at, said[-1].said_at)
    )
    if is_new:
        rows.update(created_at=said[0].said_at)
    message_ids = _add_messages(turns)
    keep_keys(conversation.user_id, message_ids)
    return message_ids


def _pass_over(message_ids: Sequence[UUID]) -> None:
    Message.objects.filter(id__in=message_ids, role=Message.Role.USER).update(extracted_at=Now())


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
    shown = Turn.objects.filter(conversation=conversation, is_current=True)
    last = shown.filter(seq=conversation.last_seq).first()
    for seq, exchange in enumerate(exchanges, conversation.last_seq + 1):
        turns.append(
            Turn(
                user_id=conversation.user_id,
                conversation=conversation,
                seq=seq,
                parent=turns[-1] if turns else last,
                status=Turn.Status.COMPLETED,
                idempotency_key=f"imported:{uuid4()}",
                attempt=1,
                taint=taint,
                model=exchange[-1].model,
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
