"""What the inspector's templates show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm import queries as longterm
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Memory, MemoryVersion
from memoryapp.longterm.presentation import ORIGIN_LABELS, STATUS_LABELS, expires_text
from memoryapp.policies.flags import instruction_shaped
from memoryapp.policies.reconciliation import normalise
from memoryapp.policies.trust import Origin
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Conversation, Message, Turn


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


@dataclass(frozen=True, slots=True)
class VersionRow:
    version: int
    statement: str
    changed_by: str
    recorded_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class FormerRow:
    """A former value of a fact: from when until when it held, and what put an end to it."""

    statement: str
    url: str
    held_from: datetime
    held_to: datetime | None
    replaced_by: str
    replaced_by_url: str


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


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A ``MemoryRow`` with everything its own page adds."""

    row: MemoryRow
    kind_rationale: str
    key: str
    source_url: str
    source_text: str
    flag_reason: str
    happened_at: datetime | None
    expires_at: datetime | None
    versions: Sequence[VersionRow]
    superseded_by_url: str
    superseded_at: datetime | None
    former: Sequence[FormerRow]
    is_set_aside: bool
    card: WaitingCard | None

    def __getattr__(self, name: str) -> object:
        # Templates read one flat object.
        return getattr(self.row, name)


@dataclass(frozen=True, slots=True)
class ConversationRow:
    id: UUID
    title: str
    turn_count: int
    summary_count: int
    memory_count: int
    updated_at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class TurnRow:
    seq: int
    user_text: str
    reply_text: str
    created_at: datetime
    status: str


def memory_row(memory: Memory) -> MemoryRow:
    """``memory`` comes from a query with its kind and ``fades_at``."""
    now = timezone.now()
    fades_at: datetime | None = getattr(memory, "fades_at", None)
    has_faded = fades_at is not None and fades_at <= now and memory.status == Memory.Status.ACTIVE
    return MemoryRow(
        id=memory.id,
        statement=memory.statement,
        kind_label=memory.kind.label,
        kind_slug=memory.kind.slug,
        origin_label=ORIGIN_LABELS[Origin(memory.origin)],
        quote="" if _is_same(memory.quote, memory.statement) else memory.quote,
        said_at=memory.said_at,
        recorded_at=memory.recorded_at,
        confidence_percent=round(memory.confidence * 100),
        expires_text=expires_text(fades_at, now=now) if memory.status == Memory.Status.ACTIVE else "",
        status="expired" if has_faded else memory.status,
        status_label=_status_label(memory, has_faded=has_faded),
        url=fact_url(memory),
        version=memory.version,
        is_flagged=memory.is_flagged,
    )


def memory_page(memory: Memory) -> MemoryPage:
    message = memory.source_message
    replaced_by = memory.superseded_by
    return MemoryPage(
        row=memory_row(memory),
        kind_rationale=memory.kind.rationale,
        key=memory.key,
        source_url=source_url(memory),
        source_text=message.text if message else "",
        flag_reason=_flag_reason(memory),
        happened_at=memory.happened_at,
        expires_at=getattr(memory, "fades_at", None),
        versions=[_version_row(version, memory) for version in longterm.versions(memory)],
        superseded_by_url=fact_url(replaced_by) if replaced_by else "",
        superseded_at=memory.superseded_at,
        former=_former_rows(memory),
        is_set_aside=is_set_aside(memory),
        card=_waiting_card(memory) if memory.status in longterm.WAITING else None,
    )


def waiting_cards(waiting: Sequence[Memory]) -> list[WaitingCard]:
    """Of a conflict, what it does not fit is looked for: one statement each, and there are few."""
    prefetch_related_objects(waiting, "source_message__turn__conversation")
    return [_waiting_card(memory) for memory in waiting]


def conversation_row(conversation: Conversation, *, memory_count: int) -> ConversationRow:
    """``conversation`` comes with ``turn_count`` and ``summary_count``."""
    return ConversationRow(
        id=conversation.id,
        title=conversation.title,
        turn_count=getattr(conversation, "turn_count", 0),
        summary_count=getattr(conversation, "summary_count", 0),
        memory_count=memory_count,
        updated_at=conversation.updated_at,
        url=reverse("inspector:conversation", args=[conversation.id]),
    )


def turn_row(turn: Turn) -> TurnRow:
    return TurnRow(
        seq=turn.seq,
        user_text=transcript.text_of(turn, Message.Role.USER),
        reply_text=transcript.text_of(turn, Message.Role.ASSISTANT),
        created_at=turn.created_at,
        status=turn.status,
    )


def fact_url(memory: Memory) -> str:
    return reverse("inspector:fact", args=[memory.id])


def turn_url(turn: Turn) -> str:
    """Leads to its place in the chat, on whatever page of it and on whatever branch."""
    return reverse("chat:turn", args=[turn.id])


def source_url(memory: Memory) -> str:
    """The message it was taken from, while its conversation is there."""
    message = memory.source_message
    is_there = message is not None and message.turn.conversation.deleted_at is None
    return turn_url(message.turn) if message and is_there else ""


def _status_label(memory: Memory, *, has_faded: bool) -> str:
    if has_faded:
        return "Expired"
    return "Set aside as wrong" if is_set_aside(memory) else STATUS_LABELS[Memory.Status(memory.status)]


def _waiting_card(memory: Memory) -> WaitingCard:
    rival = longterm.rival(memory)
    return WaitingCard(
        row=memory_row(memory),
        source_url=source_url(memory),
        channel=memory.get_channel_display(),
        flag_reason=_flag_reason(memory),
        rival=memory_row(rival) if rival else None,
    )


def _former_rows(memory: Memory) -> list[FormerRow]:
    """The newest first; each was replaced by the one above it, the newest by ``memory`` itself."""
    rows = []
    successor = memory
    for former in longterm.superseded_by(memory).select_related("kind", "source_message__turn__conversation"):
        rows.append(
            FormerRow(
                statement=former.statement,
                url=fact_url(former),
                held_from=former.valid_from,
                held_to=former.valid_to,
                replaced_by=_how_it_came(successor),
                replaced_by_url=source_url(successor),
            )
        )
        successor = former
    return rows


def _how_it_came(memory: Memory) -> str:
    """What told it, to follow "replaced by"."""
    if memory.source_message_id:
        return "your message"
    return {
        Memory.Channel.INSPECTOR: "what you wrote on this page",
        Memory.Channel.API: "a program",
        Memory.Channel.IMPORT: "an import",
    }.get(Memory.Channel(memory.channel), "what you said in a chat that is gone")


def _flag_reason(memory: Memory) -> str:
    if not memory.is_flagged:
        return ""
    return instruction_shaped(memory.statement) or "it reads like an instruction to the assistant"


def _is_same(quote: str, statement: str) -> bool:
    """Whether the quote adds nothing: it differs in case and punctuation at most."""
    return normalise(quote) == normalise(statement)


def _version_row(version: MemoryVersion, memory: Memory) -> VersionRow:
    is_typed = version.version == 1 and memory.origin == Origin.USER_TYPED and memory.source_message_id
    return VersionRow(
        version=version.version,
        statement=version.statement,
        changed_by="from your message" if is_typed else f"by {version.get_changed_by_display()}",
        recorded_at=version.recorded_at,
        reason=version.reason,
    )
