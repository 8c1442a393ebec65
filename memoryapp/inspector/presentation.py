"""What the inspector's templates show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from memoryapp.longterm import queries as longterm
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Memory
from memoryapp.longterm.presentation import STATUS_LABELS, expires_text, origin_text
from memoryapp.policies.flags import instruction_shaped
from memoryapp.policies.reconciliation import normalise
from memoryapp.policies.trust import Origin
from memoryapp.transcript.models import Message, Turn


@dataclass(frozen=True, slots=True)
class MemoryRow:
    id: UUID
    statement: str
    kind_label: str
    kind_slug: str
    origin_label: str
    quote: str
    said_at: datetime
    recorded_at: datetime
    confidence_percent: int
    expires_text: str
    status: str
    status_label: str
    url: str
    version: int
    is_flagged: bool
    use_count: int


@dataclass(frozen=True, slots=True)
class WaitingCard:
    """What waits for its person's word, with all they need to decide. ``rival``: the value that it does not fit."""

    row: MemoryRow
    source_url: str
    channel: str
    flag_reason: str
    rival: MemoryRow | None

    def __getattr__(self, name: str) -> object:
        return getattr(self.row, name)


def memory_row(memory: Memory) -> MemoryRow:
    """``memory`` comes from a query with its kind and ``fades_at``; ``with_uses`` adds what lists say besides."""
    now = timezone.now()
    fades_at: datetime | None = getattr(memory, "fades_at", None)
    has_faded = fades_at is not None and fades_at <= now and memory.status == Memory.Status.ACTIVE
    return MemoryRow(
        id=memory.id,
        statement=memory.statement,
        kind_label=gettext(memory.kind.label),
        kind_slug=memory.kind.slug,
        origin_label=_origin_label(memory),
        quote="" if _is_same(memory.quote, memory.statement) else memory.quote,
        said_at=memory.said_at,
        recorded_at=memory.recorded_at,
        confidence_percent=round(memory.confidence * 100),
        expires_text=kept_text(memory, now=now),
        status="expired" if has_faded else memory.status,
        status_label=_status_label(memory, has_faded=has_faded),
        url=fact_url(memory),
        version=memory.version,
        is_flagged=memory.is_flagged,
        use_count=getattr(memory, "use_count", 0),
    )


def kept_text(memory: Memory, *, now: datetime) -> str:
    """Until when, of what is in use; what its person keeps is told from what its kind keeps."""
    if memory.status != Memory.Status.ACTIVE:
        return ""
    if memory.is_kept:
        return gettext("kept for ever, by you")
    return expires_text(getattr(memory, "fades_at", None), now=now)


def is_written_here(memory: Memory) -> bool:
    """Whether its person wrote it on these pages, and in no chat."""
    return memory.channel == Memory.Channel.INSPECTOR and memory.origin == Origin.USER_TYPED


def _origin_label(memory: Memory) -> str:
    if getattr(memory, "is_corrected", False):
        return gettext("You corrected")
    if is_written_here(memory):
        return gettext("You wrote it here")
    return origin_text(memory.origin, is_from_chat=memory.source_message_id is not None)


def waiting_cards(waiting: Sequence[Memory]) -> list[WaitingCard]:
    """All of one person."""
    if not waiting:
        return []
    prefetch_related_objects(waiting, "source_message__turn__conversation")
    rivals = longterm.rivals(waiting[0].user_id, waiting)
    return [_waiting_card(memory, rivals.get(memory.id)) for memory in waiting]


def fact_url(memory: Memory) -> str:
    return reverse("inspector:fact", args=[memory.id])


def turn_url(turn: Turn) -> str:
    """Leads to its place in the chat, on whatever page of it and on whatever branch."""
    return reverse("chat:turn", args=[turn.id])


def source_url(memory: Memory) -> str:
    """The message it was taken from."""
    return message_url(memory.source_message)


def message_url(message: Message | None) -> str:
    """While its conversation is there; else empty."""
    is_there = (
        message is not None
        and message.turn.deleted_at is None
        and message.turn.conversation.deleted_at is None
    )
    return turn_url(message.turn) if message and is_there else ""


def _status_label(memory: Memory, *, has_faded: bool) -> str:
    if has_faded:
        return pgettext("a state", "Expired")
    if is_set_aside(memory):
        return gettext("Set aside as wrong")
    return str(STATUS_LABELS[Memory.Status(memory.status)])


def _waiting_card(memory: Memory, rival: Memory | None) -> WaitingCard:
    return WaitingCard(
        row=memory_row(memory),
        source_url=source_url(memory),
        channel=memory.get_channel_display(),
        flag_reason=flag_reason(memory),
        rival=memory_row(rival) if rival else None,
    )


def flag_reason(memory: Memory) -> str:
    if not memory.is_flagged:
        return ""
    reason = instruction_shaped(memory.statement)
    return gettext(reason) if reason else gettext("it reads like an instruction to the assistant")


def _is_same(quote: str, statement: str) -> bool:
    """Whether the quote adds nothing: it differs in case and punctuation at most."""
    return normalise(quote) == normalise(statement)
