"""What the inspector's templates show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory, MemoryVersion
from memoryapp.longterm.presentation import ORIGIN_LABELS, STATUS_LABELS, fades_text
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
    fades_text: str
    status: str
    status_label: str
    url: str
    version: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    version: int
    statement: str
    changed_by: str
    recorded_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A ``MemoryRow`` with everything its own page adds."""

    row: MemoryRow
    kind_rationale: str
    key: str
    source_url: str
    source_text: str
    expires_at: datetime | None
    versions: Sequence[VersionRow]
    superseded_by_url: str
    superseded_at: datetime | None
    supersedes: Sequence[MemoryRow]
    rival: MemoryRow | None

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
        quote=memory.quote if memory.quote != memory.statement else "",
        said_at=memory.said_at,
        recorded_at=memory.recorded_at,
        confidence_percent=round(memory.confidence * 100),
        fades_text=fades_text(fades_at, now=now) if memory.status == Memory.Status.ACTIVE else "",
        status="expired" if has_faded else memory.status,
        status_label="Faded" if has_faded else STATUS_LABELS[Memory.Status(memory.status)],
        url=reverse("inspector:fact", args=[memory.id]),
        version=memory.version,
    )


def memory_page(memory: Memory) -> MemoryPage:
    message = memory.source_message
    replaced_by = memory.superseded_by
    rival = longterm.rival(memory)
    return MemoryPage(
        row=memory_row(memory),
        kind_rationale=memory.kind.rationale,
        key=memory.key,
        source_url=turn_url(message.turn) if message else "",
        source_text=message.text if message else "",
        expires_at=getattr(memory, "fades_at", None),
        versions=[_version_row(version) for version in longterm.versions(memory)],
        superseded_by_url=reverse("inspector:fact", args=[replaced_by.id]) if replaced_by else "",
        superseded_at=memory.superseded_at,
        rival=memory_row(rival) if rival else None,
        supersedes=[memory_row(older) for older in longterm.superseded_by(memory)],
    )


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


def turn_url(turn: Turn) -> str:
    return f"{reverse('chat:conversation', args=[turn.conversation_id])}#turn-{turn.id}"


def _version_row(version: MemoryVersion) -> VersionRow:
    return VersionRow(
        version=version.version,
        statement=version.statement,
        changed_by=f"by {version.get_changed_by_display()}",
        recorded_at=version.recorded_at,
        reason=version.reason,
    )
