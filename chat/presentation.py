"""What the chat's templates show: rows from every tier, gathered per page with a constant number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from chat.memory_presentation import Asking, Learned, asking, learned_from
from chat.receipt_presentation import at_hand_text, given_text, is_memory_away, without_text
from chat.rendering import render_markdown
from chat.tool_words import UNKNOWN, ended_word, tool_name
from chat.waiting_presentation import FOR_A_PERSON, Wait, wait_id, waits
from memoryapp.context import exclusions
from memoryapp.context import queries as contexts
from memoryapp.context.models import ContextSnapshot
from memoryapp.inspector.conversations.summary_presentation import PinnedRow, pinned_row
from memoryapp.inspector.conversations.version_presentation import fallback_text, summary_url
from memoryapp.inspector.stored_texts import failure_text
from memoryapp.longterm import queries as longterm
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.scratchpad.models import Step
from memoryapp.transcript import queries as transcript
from memoryapp.transcript import tree
from memoryapp.transcript.models import Conversation, Message, Summary, Turn

QUIET_TOOLS = {"remember"}  # shown as what they changed, not as a tool
LIMIT_REACHED = "run_limit_reached"
EFFECT_UNKNOWN = "Whether it took effect is not known"  # in the error of a call that something overtook


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """``status``: how it went, and ``why``; both empty where it went well."""

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
    """Where the model's reading begins: after message ``last_seq``.

    ``above``: the first turn on the page that is not summarised, if any.
    ``made_without``: why the model did not make the summary; empty when it did.
    """

    last_seq: int
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
    learned: Sequence[Learned] = ()
    asking: Asking | None = None
    given_text: str = ""
    at_hand_text: str = ""
    without_text: str = ""
    is_memory_away: bool = False
    tools: Sequence[ToolUsed] = ()


@dataclass(slots=True)
class _Gathered:
    """Rows of the other tiers, by turn."""

    learned: Mapping[UUID, Sequence[Learned]] = field(default_factory=dict)
    snapshots: Mapping[UUID, ContextSnapshot] = field(default_factory=dict)
    looked_up: Mapping[UUID, int] = field(default_factory=dict)
    without: Mapping[UUID, int] = field(default_factory=dict)
    tools: dict[UUID, list[ToolUsed]] = field(default_factory=dict)
    siblings: Mapping[UUID, Sequence[UUID]] = field(default_factory=dict)
    waits: Mapping[UUID, Wait] = field(default_factory=dict)
    waits_behind: str = ""  # each of those that are queued


def turn_views(conversation: Conversation, turns: Sequence[Turn]) -> list[TurnView]:
    gathered = _gather(conversation, turns)
    return [_turn_view(turn, gathered, conversation) for turn in turns]


def marker(summary: Summary | None, turns: Sequence[Turn]) -> Marker | None:
    """What stands between the turns that the summary stands for and the rest of the page's ``turns``."""
    if summary is None or not turns:
        return None
    return Marker(
        last_seq=summary.last_seq,
        url=summary_url(summary),
        made_without=fallback_text(summary),
        above=next((turn.id for turn in turns if turn.seq > summary.last_seq), None),
    )


def removed(conversation: Conversation) -> Removed | None:
    """What was taken off the end of the shown branch; None when nothing was."""
    newest = transcript.taken_off(conversation)
    if newest is None:
        return None
    return Removed(newest.id, count=len(tree.branch_through(newest)) - conversation.last_seq)


def kept_lines(conversation: Conversation) -> list[PinnedRow]:
    """The lines that stand word for word in every prompt, in the order they were said."""
    lines = transcript.pinned_lines(conversation.user_id, conversation.id).prefetch_related("turn__messages")
    return [pinned_row(line) for line in lines]


def _turn_view(turn: Turn, gathered: _Gathered, conversation: Conversation) -> TurnView:
    is_live = turn.status in Turn.LIVE
    learned = gathered.learned.get(turn.id, ())
    snapshot = gathered.snapshots.get(turn.id)
    reply = turn.partial_text if is_live else transcript.text_of(turn, Message.Role.ASSISTANT)
    return TurnView(
        id=turn.id,
        seq=turn.seq,
        status=turn.status,
        is_live=is_live,
        user_text=transcript.text_of(turn, Message.Role.USER),
        created_at=turn.created_at,
        reply_html=render_markdown(reply) if reply else "",
        error_message=failure_text(turn),
        stream_url=_stream_url(turn) if is_live else "",
        can_retry=turn.status in Turn.RETRYABLE and turn.is_current and turn.seq == conversation.last_seq,
        is_at_limit=turn.error_code == LIMIT_REACHED,
        waits_behind=gathered.waits_behind if turn.status == Turn.Status.QUEUED else "",
        wait=gathered.waits.get(turn.id),
        versions=_versions(turn, gathered.siblings.get(turn.id, ())),
        learned=learned,
        asking=None if is_live else asking(turn, conversation, seen=len(learned)),
        given_text=given_text(
            snapshot.recalled if snapshot else (), looked_up=gathered.looked_up.get(turn.id, 0)
        ),
        without_text=without_text(gathered.without.get(turn.id, 0)),
        at_hand_text=at_hand_text(snapshot.recalled) if snapshot else "",
        is_memory_away=is_memory_away(snapshot.recalled) if snapshot else False,
        tools=gathered.tools.get(turn.id, ()),
    )


def _stream_url(turn: Turn) -> str:
    """With the wait that the page shows already, which the stream then need not show again."""
    seen = wait_id(turn)
    return reverse("chat:stream", args=[turn.id]) + (f"?{urlencode({'seen': seen})}" if seen else "")


def _gather(conversation: Conversation, turns: Sequence[Turn]) -> _Gathered:
    user_id = conversation.user_id
    ended = [turn.id for turn in turns if turn.status not in Turn.LIVE]
    gathered = _Gathered(
        learned=learned_from(conversation, turns),
        snapshots=contexts.first_snapshots(user_id, ended),
        looked_up=contexts.looked_up_counts(user_id, ended),
        without=exclusions.counts(user_id, ended),
        siblings=transcript.siblings(user_id, turns),
        waits=waits(user_id, turns),
        waits_behind=_waits_behind(user_id, turns),
    )
    steps = [step for step in scratchpad.steps_of_turns(user_id, ended) if step.action not in QUIET_TOOLS]
    has_record = bool(steps) and not longterm.drops_run_records_at_once()
    for step in steps:
        gathered.tools.setdefault(step.run.turn_id, []).append(_tool_used(step, has_record=has_record))
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
    is_for_a_person = waiting.wait_reason in FOR_A_PERSON
    return (
        gettext("Waits for your answer above") if is_for_a_person else gettext("Waits for the message above")
    )


def _tool_used(step: Step, *, has_record: bool) -> ToolUsed:
    is_unknown = step.status == Step.Status.ERROR and EFFECT_UNKNOWN in step.error
    return ToolUsed(
        tool_name(step.action),
        str(UNKNOWN) if is_unknown else ended_word(step.status),
        url=reverse("inspector:run", args=[step.run_id]) if has_record else "",
        why=step.error,
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
