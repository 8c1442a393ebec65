"""What the chat's templates show: rows from every tier, gathered per page with a constant number of queries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from chat.rendering import render_markdown
from memoryapp.context import queries as contexts
from memoryapp.longterm import presentation as memories
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory
from memoryapp.policies.reconciliation import Outcome
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Conversation, Message, Summary, Turn

QUIET_TOOLS = {"remember"}  # shown as what they changed, not as a tool


@dataclass(frozen=True, slots=True)
class Notice:
    """What a turn changed in memory, built from the committed row."""

    outcome: str
    statement: str
    kind_label: str
    memory_url: str
    fades_text: str
    undo_url: str


@dataclass(frozen=True, slots=True)
class Recalled:
    statement: str
    kind_label: str
    said_on: str
    confidence_percent: int | None
    url: str
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class ToolUsed:
    name: str
    status: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class TurnView:
    id: UUID
    seq: int
    status: str
    is_live: bool
    user_text: str
    created_at: datetime
    reply_html: SafeString | str
    error_message: str
    stream_url: str
    summary_marker: str = ""
    notices: Sequence[Notice] = ()
    recalled: Sequence[Recalled] = ()
    forgotten_count: int = 0  # given to the model, and forgotten since
    tools: Sequence[ToolUsed] = ()

    @property
    def given_count(self) -> int:
        """How many memories the model was given: what happened to them later does not change it."""
        return len(self.recalled) + self.forgotten_count


@dataclass(frozen=True, slots=True)
class ListedConversation:
    id: UUID
    title: str
    updated_at: datetime
    is_running: bool
    is_current: bool
    snippet: str = ""


@dataclass(slots=True)
class _Gathered:
    """Rows of the other tiers, by turn."""

    notices: dict[UUID, list[Notice]] = field(default_factory=dict)
    recalled: dict[UUID, list[Recalled]] = field(default_factory=dict)
    forgotten_counts: dict[UUID, int] = field(default_factory=dict)
    tools: dict[UUID, list[ToolUsed]] = field(default_factory=dict)


def turn_views(user_id: UUID, turns: Sequence[Turn], *, summary: Summary | None = None) -> list[TurnView]:
    """The turns as shown, with a marker above the first one that the summary does not cover."""
    gathered = _gather(user_id, turns)
    return [_turn_view(turn, gathered, marker=_marker(turn, summary)) for turn in turns]


def conversation_groups(
    rows: Iterable[Conversation], *, current_id: UUID | None, said: Mapping[UUID, str] | None = None
) -> list[tuple[str, list[ListedConversation]]]:
    """The list under "Today", "Yesterday", … in the reader's time zone; rows come newest first.

    ``said``: what a search found in a conversation, by its id.
    """
    today = timezone.localdate()
    groups: dict[str, list[ListedConversation]] = {}
    for row in rows:
        listed = ListedConversation(
            id=row.id,
            title=row.title,
            updated_at=row.updated_at,
            is_running=bool(getattr(row, "is_running", False)),
            is_current=row.id == current_id,
            snippet=(said or {}).get(row.id, ""),
        )
        groups.setdefault(_day(timezone.localtime(row.updated_at), today), []).append(listed)
    return list(groups.items())


def _turn_view(turn: Turn, gathered: _Gathered, *, marker: str) -> TurnView:
    is_live = turn.status in Turn.LIVE
    reply = "" if is_live else transcript.text_of(turn, Message.Role.ASSISTANT)
    return TurnView(
        id=turn.id,
        seq=turn.seq,
        status=turn.status,
        is_live=is_live,
        user_text=transcript.text_of(turn, Message.Role.USER),
        created_at=turn.created_at,
        reply_html=render_markdown(reply) if reply else "",
        error_message=turn.error_message,
        stream_url=reverse("chat:stream", args=[turn.id]) if is_live else "",
        summary_marker=marker,
        notices=gathered.notices.get(turn.id, ()),
        recalled=gathered.recalled.get(turn.id, ()),
        forgotten_count=gathered.forgotten_counts.get(turn.id, 0),
        tools=gathered.tools.get(turn.id, ()),
    )


def _gather(user_id: UUID, turns: Sequence[Turn]) -> _Gathered:
    gathered = _Gathered()
    ended = [turn.id for turn in turns if turn.status not in Turn.LIVE]
    turn_of_message = {transcript.user_message(turn).id: turn for turn in turns}
    for source in longterm.taken_from(user_id, turn_of_message):
        if source.message_id:
            turn = turn_of_message[source.message_id]
            notice = _notice(source.memory, source.outcome, turn.conversation_id)
            gathered.notices.setdefault(turn.id, []).append(notice)
    for step in scratchpad.steps_of_turns(user_id, ended):
        if step.action not in QUIET_TOOLS:
            used = ToolUsed(step.action, step.status, url=reverse("inspector:run", args=[step.run_id]))
            gathered.tools.setdefault(step.run.turn_id, []).append(used)
    snapshots = contexts.first_snapshots(user_id, ended)
    given = {
        turn_id: [item for item in snapshot.recalled if item["included"]]
        for turn_id, snapshot in snapshots.items()
    }
    known = longterm.by_ids(user_id, {_memory_id(item) for items in given.values() for item in items})
    for turn_id, items in given.items():
        kept = [item for item in items if _memory_id(item) in known]
        gathered.recalled[turn_id] = [_recalled(item, known[_memory_id(item)]) for item in kept]
        gathered.forgotten_counts[turn_id] = len(items) - len(kept)
    return gathered


def _notice(memory: Memory, outcome: str, conversation_id: UUID) -> Notice:
    undo_url = ""
    if outcome == Outcome.ADDED and memory.version == 1:  # since then a person may have made it their own
        back = urlencode({"next": reverse("chat:conversation", args=[conversation_id])})
        undo_url = f"{reverse('inspector:fact_delete', args=[memory.id])}?{back}"
    return Notice(
        outcome=outcome,
        statement=memory.statement,
        kind_label=memory.kind.label,
        memory_url=reverse("inspector:fact", args=[memory.id]),
        fades_text=memories.fades_text(getattr(memory, "fades_at", None), now=timezone.now()),
        undo_url=undo_url,
    )


def _memory_id(item: dict[str, Any]) -> UUID:
    return UUID(str(item["memory_id"]))


def _recalled(item: dict[str, Any], memory: Memory) -> Recalled:
    confidence = item["confidence"]
    return Recalled(
        statement=memory.statement,
        kind_label=memory.kind.label,
        said_on=date_format(timezone.localtime(memory.said_at), "j F Y"),
        confidence_percent=None if confidence is None else round(confidence * 100),
        url=reverse("inspector:fact", args=[memory.id]),
        is_replaced=memory.status == Memory.Status.SUPERSEDED,
    )


def _marker(turn: Turn, summary: Summary | None) -> str:
    if summary is None or turn.seq != summary.last_seq + 1:
        return ""
    return f"Messages 1–{summary.last_seq} are summarised for the model"


def _day(at: datetime, today: Any) -> str:
    day = at.date()
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day > today - timedelta(days=7):
        return "This week"
    return date_format(day, "F Y")
