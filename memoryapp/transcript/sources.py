"""What a person said as a source of long-term memory: which of it nobody has looked at yet, and that somebody has.

Only user messages are sources, only on the shown branch, and only once their turn has ended. What somebody else said
in an imported chat (``speaker``) is none.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from memoryapp.policies.trust import Origin
from memoryapp.policies.verbatim import Needles
from memoryapp.transcript.models import Conversation, Message, Turn

# More are looked for here and not by the database: a pattern of each, for each row, would take seconds.
MANY_TEXTS = 40


@dataclass(frozen=True, slots=True)
class UserMessage:
    """``taint``: the weakest origin in what the model read to answer it. ``tokens``: as estimated when it came."""

    id: UUID
    text: str
    said_at: datetime
    taint: Origin
    tokens: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Of a conversation's messages that nobody has looked at: when the turn of the first ended, and of the last.

    ``is_live``: a reply is being written, or waits to be.
    """

    first_ended_at: datetime
    last_ended_at: datetime
    is_live: bool


def not_extracted(user_id: UUID, conversation_id: UUID, *, limit: int) -> list[UserMessage]:
    """The oldest of them, in the order they were said; none where nothing may be saved."""
    rows = _unread().filter(user_id=user_id, turn__conversation=conversation_id)
    return [
        UserMessage(
            id=message.id,
            text=message.text,
            said_at=message.created_at,
            taint=Origin(message.turn.taint),
            tokens=message.tokens,
        )
        for message in rows.select_related("turn").order_by("turn__seq", "id")[:limit]
    ]


def waiting(user_id: UUID, conversation_id: UUID) -> Waiting | None:
    """None when there is nothing to look at."""
    unread = _unread().filter(user_id=user_id, turn__conversation=conversation_id)
    ended = unread.aggregate(first=Min("turn__finished_at"), last=Max("turn__finished_at"))
    if ended["first"] is None:
        return None
    live = Turn.objects.filter(user_id=user_id, conversation=conversation_id, status__in=Turn.LIVE)
    return Waiting(ended["first"], ended["last"], live.exists())


def conversations_waiting(*, active_since: datetime, ended_before: datetime, limit: int) -> list[UUID]:
    """Conversations with something to look at, those that were quiet for longest first.

    ``active_since`` keeps it to recent ones, so that the search does not grow with the archive.
    """
    overdue = _unread().filter(turn__conversation=OuterRef("pk"), turn__finished_at__lt=ended_before)
    rows = Conversation.objects.filter(Exists(overdue), updated_at__gte=active_since)
    return list(rows.order_by("updated_at", "id").values_list("id", flat=True)[:limit])


def take(user_id: UUID, message_ids: Collection[UUID]) -> set[UUID]:
    """Within the caller's transaction: note that these have been looked at; which of them still had to be.

    Not those that another worker took meanwhile, that were taken off the shown branch, or whose conversation was
    deleted or told to save nothing.
    """
    rows = _unread().filter(user_id=user_id, id__in=message_ids)
    mine = set(rows.select_for_update(of=("self",)).values_list("id", flat=True))
    Message.objects.filter(id__in=mine).update(extracted_at=Now())
    return mine


def pass_over(user_id: UUID, *, conversation_id: UUID | None = None, texts: Collection[str] = ()) -> None:
    """Nothing more is to be learned from what was said so far: in a conversation, or in messages that hold a text."""
    rows = Message.objects.filter(user_id=user_id, role=Message.Role.USER, extracted_at=None)
    if conversation_id:
        rows = rows.filter(turn__conversation=conversation_id)
    if len(texts) > MANY_TEXTS:
        needles = Needles(texts)
        unread = rows.values_list("id", "text").iterator(chunk_size=1_000)
        rows = rows.filter(id__in=[message_id for message_id, text in unread if needles.is_one_in(text)])
    elif texts:
        rows = rows.filter(Q(*(Q(text__contains=text) for text in texts), _connector=Q.OR))
    if conversation_id or texts:
        rows.update(extracted_at=Now())


def pass_over_everything(user_id: UUID) -> None:
    """Within the caller's transaction: nothing that this person said until now is ever learned from."""
    rows = Message.objects.filter(user_id=user_id, role=Message.Role.USER, extracted_at=None)
    rows.update(extracted_at=Now())


def _unread() -> QuerySet[Message]:
    return Message.objects.filter(
        role=Message.Role.USER,
        speaker="",
        extracted_at=None,
        turn__is_current=True,
        turn__deleted_at=None,
        turn__finished_at__isnull=False,
        turn__conversation__deleted_at=None,
        turn__conversation__save_memory=True,
        turn__conversation__is_temporary=False,
        user__save_memory=True,
    ).exclude(turn__status__in=Turn.LIVE)
