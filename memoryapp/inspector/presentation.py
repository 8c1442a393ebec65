"""What the inspector's templates show."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory, MemoryVersion
from memoryapp.longterm.presentation import ORIGIN_LABELS, STATUS_LABELS, fades_text
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad.models import Run, Step
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


@dataclass(frozen=True, slots=True)
class RunRow:
    id: UUID
    status: str
    goal: str
    steps: int
    tokens: int
    duration_text: str
    created_at: datetime
    url: str
    conversation_title: str
    expires_text: str


@dataclass(frozen=True, slots=True)
class StepRow:
    n: int
    action: str
    args_json: str
    observation: str
    status: str
    tokens: int
    duration_text: str


@dataclass(frozen=True, slots=True)
class PadRow:
    """The pad as lines to read."""

    facts: Sequence[str]
    done: Sequence[str]
    todo: Sequence[str]
    failed: Sequence[str]
    open_questions: Sequence[str]


@dataclass(frozen=True, slots=True)
class RunPage:
    goal: str
    status: str
    tokens: int
    duration_text: str
    created_at: datetime
    expires_text: str
    chat_url: str
    pad: PadRow
    steps: Sequence[StepRow]


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
        source_url=_turn_url(message.turn) if message else "",
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


def run_row(run: Run, *, kept_days: int | None) -> RunRow:
    """``run`` comes with ``step_count``, its turn and its conversation."""
    return RunRow(
        id=run.id,
        status=run.status,
        goal=run.goal,
        steps=getattr(run, "step_count", 0),
        tokens=run.input_tokens + run.output_tokens,
        duration_text=_run_duration(run),
        created_at=run.started_at,
        url=reverse("inspector:run", args=[run.id]),
        conversation_title=run.turn.conversation.title,
        expires_text=_record_text(run, kept_days=kept_days),
    )


def run_page(run: Run, steps: Sequence[Step], *, kept_days: int | None) -> RunPage:
    pad = pads.from_json(run.pad)
    return RunPage(
        goal=run.goal,
        status=run.status,
        tokens=run.input_tokens + run.output_tokens,
        duration_text=_run_duration(run),
        created_at=run.started_at,
        expires_text=_record_text(run, kept_days=kept_days),
        chat_url=_turn_url(run.turn),
        pad=PadRow(
            facts=[f"{fact.key}: {fact.value} ({fact.source})" for fact in pad.facts],
            done=pad.done,
            todo=pad.todo,
            failed=[f"{failure.call}: {failure.why}" for failure in pad.failed],
            open_questions=pad.open_questions,
        ),
        steps=[_step_row(step) for step in steps],
    )


def _version_row(version: MemoryVersion) -> VersionRow:
    return VersionRow(
        version=version.version,
        statement=version.statement,
        changed_by=f"by {version.get_changed_by_display()}",
        recorded_at=version.recorded_at,
        reason=version.reason,
    )


def _step_row(step: Step) -> StepRow:
    return StepRow(
        n=step.number,
        action=step.action,
        args_json=json.dumps(step.arguments, indent=2, ensure_ascii=False),
        observation=step.observation,
        status="failed" if step.status == Step.Status.ERROR else step.status,
        tokens=step.tokens,
        duration_text=_duration_text(step.duration_ms / 1000),
    )


def _turn_url(turn: Turn) -> str:
    return f"{reverse('chat:conversation', args=[turn.conversation_id])}#turn-{turn.id}"


def _run_duration(run: Run) -> str:
    """ "" while it runs."""
    return _duration_text((run.finished_at - run.started_at).total_seconds()) if run.finished_at else ""


def _duration_text(seconds: float) -> str:
    """ "230 ms", "14.8 s", "2 min 5 s"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _record_text(run: Run, *, kept_days: int | None) -> str:
    if run.finished_at is None:
        return "Running"
    if kept_days is None:
        return "Record kept"
    hours = max(
        round((run.finished_at + timedelta(days=kept_days) - timezone.now()).total_seconds() / 3600), 0
    )
    return f"Record goes in {hours} h" if hours < 48 else f"Record goes in {hours // 24} days"
