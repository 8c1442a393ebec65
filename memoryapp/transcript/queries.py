"""Reads of the transcript; every one starts from the user."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from memoryapp.errors import NotFoundError
from memoryapp.transcript.models import Conversation, Message, Summary, Turn


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn as it is said again to the model: text only.

    ``reply`` is empty when there was none, and ``is_whole`` false when it ended before the model had finished it.
    """

    turn_id: UUID
    seq: int
    user_message_id: UUID
    user_text: str
    reply: str
    said_at: datetime
    is_whole: bool


def conversations(user_id: UUID) -> QuerySet[Conversation]:
    running = Turn.objects.filter(conversation=OuterRef("pk"), status__in=Turn.LIVE)
    return Conversation.objects.filter(user_id=user_id).annotate(is_running=Exists(running))


def conversation_list(user_id: UUID, *, matching: str = "") -> QuerySet[Conversation]:
    """Newest first; ``matching`` keeps those whose title holds it."""
    rows = conversations(user_id).filter(is_temporary=False)
    if matching:
        rows = rows.filter(title__icontains=matching)
    return rows.order_by("-updated_at", "-id")


def conversations_with_counts(user_id: UUID) -> QuerySet[Conversation]:
    return conversation_list(user_id).annotate(
        turn_count=Count("turns", distinct=True), summary_count=Count("summaries", distinct=True)
    )


def get_conversation(user_id: UUID, conversation_id: UUID) -> Conversation:
    conversation = conversations(user_id).filter(id=conversation_id).first()
    if conversation is None:
        raise NotFoundError("There is no such conversation.")
    return conversation


def turns(user_id: UUID, conversation_id: UUID) -> QuerySet[Turn]:
    return (
        Turn.objects.filter(user_id=user_id, conversation_id=conversation_id)
        .prefetch_related("messages")
        .order_by("seq", "id")
    )


def get_turn(user_id: UUID, turn_id: UUID) -> Turn:
    turn = Turn.objects.filter(user_id=user_id, id=turn_id).prefetch_related("messages").first()
    if turn is None:
        raise NotFoundError("There is no such turn.")
    return turn


def turn_of_key(user_id: UUID, idempotency_key: str) -> Turn | None:
    return Turn.objects.filter(user_id=user_id, idempotency_key=idempotency_key).first()


def turn_for_worker(turn_id: UUID) -> Turn:
    """The turn a worker has claimed, with its conversation and its person."""
    return Turn.objects.select_related("conversation", "user").prefetch_related("messages").get(id=turn_id)


def text_of(turn: Turn, role: Message.Role) -> str:
    """What that side said in a turn whose messages are prefetched; empty when it has not spoken."""
    return next((message.text for message in turn.messages.all() if message.role == role), "")


def user_message(turn: Turn) -> Message:
    return next(message for message in turn.messages.all() if message.role == Message.Role.USER)


def get_message(user_id: UUID, message_id: UUID) -> Message:
    message = Message.objects.select_related("turn").filter(user_id=user_id, id=message_id).first()
    if message is None:
        raise NotFoundError("There is no such message.")
    return message


def current_summary(user_id: UUID, conversation_id: UUID) -> Summary | None:
    """The newest version that may be used."""
    return (
        Summary.objects.filter(user_id=user_id, conversation_id=conversation_id, is_stale=False)
        .order_by("-version")
        .first()
    )


def summaries(user_id: UUID, conversation_id: UUID) -> QuerySet[Summary]:
    return Summary.objects.filter(user_id=user_id, conversation_id=conversation_id).order_by("-version")


def spoken_turns(
    user_id: UUID, conversation_id: UUID, *, after_seq: int, before_seq: int
) -> Sequence[SpokenTurn]:
    """Finished turns strictly between the two, oldest first: what has been said, with whatever came of it.

    A failed, cancelled or interrupted turn counts with the partial text its person saw; it is never silently dropped,
    and a turn still queued is not yet said.
    """
    rows = (
        turns(user_id, conversation_id)
        .filter(seq__gt=after_seq, seq__lt=before_seq)
        .exclude(status__in=Turn.LIVE)
    )
    return [_spoken(turn) for turn in rows]


def next_queued(conversation_id: UUID) -> UUID | None:
    """The oldest queued turn of a conversation in which nothing runs."""
    if Turn.objects.filter(conversation_id=conversation_id, status__in=["running", "waiting"]).exists():
        return None
    return (
        Turn.objects.filter(conversation_id=conversation_id, status=Turn.Status.QUEUED)
        .order_by("seq")
        .values_list("id", flat=True)
        .first()
    )


def expired_leases() -> list[UUID]:
    """Running turns whose worker has gone silent (the database's clock decides)."""
    return list(
        Turn.objects.filter(status=Turn.Status.RUNNING, lease_until__lte=Now())
        .order_by("lease_until", "id")
        .values_list("id", flat=True)[:100]
    )


def overdue_in_queue() -> list[UUID]:
    """Queued turns at the head of an idle conversation that no worker took in time: their nudge seems lost."""
    busy = Turn.objects.filter(conversation=OuterRef("conversation")).filter(
        Q(status__in=["running", "waiting"]) | Q(status="queued", seq__lt=OuterRef("seq"))
    )
    return list(
        Turn.objects.filter(status=Turn.Status.QUEUED, lease_until__lte=Now())
        .exclude(Exists(busy))
        .order_by("created_at", "id")
        .values_list("id", flat=True)[:100]
    )


def is_stop_requested(turn_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these turns someone asked to stop."""
    return set(
        Turn.objects.filter(id__in=turn_ids).exclude(stop_requested_at=None).values_list("id", flat=True)
    )


def count(user_id: UUID) -> int:
    return Conversation.objects.filter(user_id=user_id, is_temporary=False).count()


def _spoken(turn: Turn) -> SpokenTurn:
    asked = user_message(turn)
    reply = text_of(turn, Message.Role.ASSISTANT)
    is_whole = turn.status == Turn.Status.COMPLETED
    return SpokenTurn(turn.id, turn.seq, asked.id, asked.text, reply, turn.created_at, is_whole)
