"""What the chat's templates show: rows from every tier, gathered per page with a constant number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from chat.rendering import render_markdown
from chat.waiting_presentation import FOR_A_PERSON, Wait, wait_id, waits
from memoryapp.context import queries as contexts
from memoryapp.inspector.summary_presentation import PinnedRow, fallback_text, pinned_row, summary_url
from memoryapp.longterm import presentation as memories
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Experience, Memory
from memoryapp.policies.reconciliation import Outcome
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.scratchpad.models import Step
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Conversation, Message, Summary, Turn

QUIET_TOOLS = {"remember"}  # shown as what they changed, not as a tool
LIMIT_REACHED = "run_limit_reached"
EFFECT_UNKNOWN = "Whether it took effect is not known"  # in the error of a call that something overtook
STEP_WORDS: dict[str, str] = {
    Step.Status.RUNNING: "cut off",
    Step.Status.ERROR: "failed",
    Step.Status.REFUSED: "not run",
    Step.Status.REPEATED: "not run again",
}


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
    """``status``: how it went; ``why`` it did not go well, if it did not."""

    name: str
    status: str
    url: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Versions:
    """A turn among its siblings: the ``position``-th of ``count``. The first has no previous one, the last no next."""

    position: int
    count: int
    previous_id: UUID | None
    next_id: UUID | None


@dataclass(frozen=True, slots=True)
class Marker:
    """Where the model's reading begins. ``above``: the first turn on the page that is not summarised, if any.

    ``made_without``: why the model did not make the summary; empty when it did.
    """

    label: str
    url: str
    made_without: str
    above: UUID | None


@dataclass(frozen=True, slots=True)
class Removed:
    """Turns that once followed the last shown one. Showing ``turn_id`` brings them back."""

    turn_id: UUID
    count: int


@dataclass(frozen=True, slots=True)
class TurnView:
    """``key`` makes one of a double click; ``can_retry``: it has no whole reply, and nothing was said after it.

    ``waits_behind``: while it is queued, what above must come first. ``is_at_limit``: it ended with what it had found
    until then, and goes on from there when it is tried again.
    """

    id: UUID
    seq: int
    status: str
    is_live: bool
    user_text: str
    created_at: datetime
    reply_html: SafeString | str
    error_message: str
    stream_url: str
    can_retry: bool = False
    is_at_limit: bool = False
    waits_behind: str = ""
    wait: Wait | None = None
    versions: Versions | None = None
    key: str = field(default_factory=lambda: str(uuid4()))
    notices: Sequence[Notice] = ()
    recalled: Sequence[Recalled] = ()
    forgotten_count: int = 0  # given to the model, and forgotten since
    tools: Sequence[ToolUsed] = ()

    @property
    def given_count(self) -> int:
        """How many memories the model was given: what happened to them later does not change it."""
        return len(self.recalled) + self.forgotten_count


@dataclass(slots=True)
class _Gathered:
    """Rows of the other tiers, by turn."""

    notices: dict[UUID, list[Notice]] = field(default_factory=dict)
    recalled: dict[UUID, list[Recalled]] = field(default_factory=dict)
    forgotten_counts: dict[UUID, int] = field(default_factory=dict)
    tools: dict[UUID, list[ToolUsed]] = field(default_factory=dict)
    siblings: Mapping[UUID, Sequence[UUID]] = field(default_factory=dict)
    waits: Mapping[UUID, Wait] = field(default_factory=dict)
    waits_behind: str = ""  # each of those that are queued


def turn_views(conversation: Conversation, turns: Sequence[Turn]) -> list[TurnView]:
    gathered = _gather(conversation.user_id, turns)
    return [_turn_view(turn, gathered, last_seq=conversation.last_seq) for turn in turns]


def marker(summary: Summary | None, turns: Sequence[Turn]) -> Marker | None:
    """What stands between the turns that the summary stands for and the rest of the page's ``turns``."""
    if summary is None or not turns:
        return None
    return Marker(
        label=f"Messages 1–{summary.last_seq}" if summary.last_seq > 1 else "Message 1",
        url=summary_url(summary),
        made_without=fallback_text(summary),
        above=next((turn.id for turn in turns if turn.seq > summary.last_seq), None),
    )


def removed(conversation: Conversation) -> Removed | None:
    """What was taken off the end of the shown branch; None when nothing was."""
    newest = transcript.taken_off(conversation)
    if newest is None:
        return None
    return Removed(newest.id, count=len(transcript.branch_through(newest)) - conversation.last_seq)


def kept_lines(conversation: Conversation) -> list[PinnedRow]:
    """The lines that stand word for word in every prompt, in the order they were said."""
    lines = transcript.pinned_lines(conversation.user_id, conversation.id).prefetch_related("turn__messages")
    return [pinned_row(line) for line in lines]


def _turn_view(turn: Turn, gathered: _Gathered, *, last_seq: int) -> TurnView:
    is_live = turn.status in Turn.LIVE
    reply = turn.partial_text if is_live else transcript.text_of(turn, Message.Role.ASSISTANT)
    return TurnView(
        id=turn.id,
        seq=turn.seq,
        status=turn.status,
        is_live=is_live,
        user_text=transcript.text_of(turn, Message.Role.USER),
        created_at=turn.created_at,
        reply_html=render_markdown(reply) if reply else "",
        error_message=turn.error_message,
        stream_url=_stream_url(turn) if is_live else "",
        can_retry=turn.status in Turn.RETRYABLE and turn.is_current and turn.seq == last_seq,
        is_at_limit=turn.error_code == LIMIT_REACHED,
        waits_behind=gathered.waits_behind if turn.status == Turn.Status.QUEUED else "",
        wait=gathered.waits.get(turn.id),
        versions=_versions(turn, gathered.siblings.get(turn.id, ())),
        notices=gathered.notices.get(turn.id, ()),
        recalled=gathered.recalled.get(turn.id, ()),
        forgotten_count=gathered.forgotten_counts.get(turn.id, 0),
        tools=gathered.tools.get(turn.id, ()),
    )


def _stream_url(turn: Turn) -> str:
    """With the wait that the page shows already, which the stream then need not show again."""
    seen = wait_id(turn)
    return reverse("chat:stream", args=[turn.id]) + (f"?{urlencode({'seen': seen})}" if seen else "")


def _gather(user_id: UUID, turns: Sequence[Turn]) -> _Gathered:
    gathered = _Gathered(
        siblings=transcript.siblings(user_id, turns),
        waits=waits(user_id, turns),
        waits_behind=_waits_behind(user_id, turns),
    )
    ended = [turn.id for turn in turns if turn.status not in Turn.LIVE]
    turn_of_message = {transcript.user_message(turn).id: turn for turn in turns}
    for source in longterm.taken_from(user_id, turn_of_message):
        if source.message_id:
            turn = turn_of_message[source.message_id]
            notice = _notice(source.memory, source.outcome, turn.conversation_id)
            gathered.notices.setdefault(turn.id, []).append(notice)
    steps = [step for step in scratchpad.steps_of_turns(user_id, ended) if step.action not in QUIET_TOOLS]
    has_record = bool(steps) and not longterm.drops_run_records_at_once()
    for step in steps:
        gathered.tools.setdefault(step.run.turn_id, []).append(_tool_used(step, has_record=has_record))
    snapshots = contexts.first_snapshots(user_id, ended)
    given = {
        turn_id: [item for item in snapshot.recalled if item["included"]]
        for turn_id, snapshot in snapshots.items()
    }
    known = _known(user_id, [item for items in given.values() for item in items])
    for turn_id, items in given.items():
        kept = [recalled for item in items if (recalled := _recalled(item, known))]
        gathered.recalled[turn_id] = kept
        gathered.forgotten_counts[turn_id] = len(items) - len(kept)
    return gathered


def _waits_behind(user_id: UUID, turns: Sequence[Turn]) -> str:
    queued = next((turn for turn in turns if turn.status == Turn.Status.QUEUED), None)
    if queued is None:
        return ""
    waiting = (
        transcript.turns(user_id, queued.conversation_id)
        .filter(status=Turn.Status.WAITING, seq__lt=queued.seq)
        .last()
    )
    if waiting is None:
        return ""
    awaited = "your answer" if waiting.wait_reason in FOR_A_PERSON else "the message"
    return f"Waits for {awaited} above"


def _tool_used(step: Step, *, has_record: bool) -> ToolUsed:
    is_unknown = step.status == Step.Status.ERROR and EFFECT_UNKNOWN in step.error
    return ToolUsed(
        step.action,
        "not known" if is_unknown else STEP_WORDS.get(step.status, step.status),
        url=reverse("inspector:run", args=[step.run_id]) if has_record else "",
        why=step.error,
    )


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


def _known(user_id: UUID, items: Sequence[dict[str, Any]]) -> Mapping[str, Memory | Experience]:
    """What of these is still there, by id."""
    memory_ids = {UUID(item["memory_id"]) for item in items if "memory_id" in item}
    experience_ids = {UUID(item["experience_id"]) for item in items if "experience_id" in item}
    remembered = longterm.by_ids(user_id, memory_ids)
    learned = longterm.experiences_by_ids(user_id, experience_ids) if experience_ids else {}
    rows: list[Memory | Experience] = [*remembered.values(), *learned.values()]
    return {str(row.id): row for row in rows}


def _recalled(item: dict[str, Any], known: Mapping[str, Memory | Experience]) -> Recalled | None:
    """None for what was forgotten since."""
    row = known.get(item.get("memory_id") or item["experience_id"])
    confidence = item["confidence"]
    percent = None if confidence is None else round(confidence * 100)
    if isinstance(row, Experience):
        return Recalled(
            statement=row.goal,
            kind_label="Solved before" if row.outcome == Experience.Outcome.SUCCEEDED else "Tried before",
            said_on="",
            confidence_percent=percent,
            url=reverse("inspector:experience", args=[row.id]),
        )
    if row is None:
        return None
    return Recalled(
        statement=row.statement,
        kind_label=row.kind.label,
        said_on=date_format(timezone.localtime(row.said_at), "j F Y"),
        confidence_percent=percent,
        url=reverse("inspector:fact", args=[row.id]),
        is_replaced=row.status == Memory.Status.SUPERSEDED,
    )


def _versions(turn: Turn, siblings: Sequence[UUID]) -> Versions | None:
    if not siblings:
        return None
    place = siblings.index(turn.id)
    return Versions(
        position=place + 1,
        count=len(siblings),
        previous_id=siblings[place - 1] if place else None,
        next_id=siblings[place + 1] if place + 1 < len(siblings) else None,
    )
