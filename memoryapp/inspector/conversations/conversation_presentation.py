"""What the pages of conversations show: each of a list, and of one its turns, where they stand and what they took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_lazy, ngettext

from memoryapp.context import queries as context
from memoryapp.inspector import charts
from memoryapp.inspector.amounts import cost_text, count_text
from memoryapp.inspector.charts import Chart, Point
from memoryapp.inspector.conversations.version_presentation import VersionRow
from memoryapp.longterm import queries as longterm
from memoryapp.transcript import browsing, queries, retention
from memoryapp.transcript.models import Conversation, Message, Turn
from memoryapp.transcript.snippets import Snippet
from memoryapp.tuning import queries as tuning

SHOWN_CHARS: Final = 1_200  # of a message in a list of fifty; its own page has all
CHANGES: Final = {
    Message.Change.CORRECTED: gettext_lazy("corrected by you"),
    Message.Change.REDACTED: gettext_lazy("redacted by you"),
}
PLACES: Final = {
    "verbatim": gettext_lazy("In the prompt word for word"),
    "summary": gettext_lazy("In the summary"),
    "none": gettext_lazy("In no prompt: no room"),
    "live": gettext_lazy("Being answered"),
}
STATUSES: Final = {
    Turn.Status.QUEUED: gettext_lazy("queued"),
    Turn.Status.RUNNING: gettext_lazy("running"),
    Turn.Status.WAITING: gettext_lazy("waiting"),
    Turn.Status.COMPLETED: gettext_lazy("completed"),
    Turn.Status.FAILED: gettext_lazy("failed"),
    Turn.Status.INTERRUPTED: gettext_lazy("interrupted"),
    Turn.Status.CANCELLED: gettext_lazy("cancelled"),
}


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """``kept_until``: None when it is kept for ever. ``snippet``: what a search found, as ``(text, is_match)``."""

    id: UUID
    title: str
    turn_count: int
    summary_count: int
    memory_count: int
    updated_at: datetime
    kept_until: datetime | None
    is_pinned: bool
    is_archived: bool
    is_temporary: bool
    snippet: Snippet
    url: str


@dataclass(frozen=True, slots=True)
class MessageRow:
    """``text`` is the beginning of a long one. ``change``: what its person did to it last, and when."""

    id: UUID
    text: str
    is_cut: bool
    change: str
    changed_at: datetime | None
    url: str


@dataclass(frozen=True, slots=True)
class Marker:
    """Where a version of the summary ends that stands for all turns up to ``last_seq``."""

    version: int
    last_seq: int
    state_label: str
    is_in_use: bool
    url: str


@dataclass(frozen=True, slots=True)
class TurnRow:
    """``place``: a key of ``PLACES``. ``status_label``: "" for a reply that is complete.

    ``following``: how many exchanges are deleted when all from here on are.
    """

    id: UUID
    seq: int
    asked: MessageRow | None
    reply: MessageRow | None
    created_at: datetime
    status_label: str
    place: str
    place_label: str
    memory_count: int
    following: int
    markers: Sequence[Marker]
    chat_url: str
    delete_url: str


@dataclass(frozen=True, slots=True)
class TokenRow:
    """What one reply took."""

    seq: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class TokenHistory:
    """Of the turns of a page, with the totals of the whole conversation and of its summaries."""

    chart: Chart
    rows: Sequence[TokenRow]
    total: browsing.Tokens
    summaries: browsing.Tokens
    summaries_cost: str


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long a conversation is kept, shortly and at length, and what a form says of it."""

    text: str
    title: str
    choice: str
    rule_text: str
    earliest: str
    date: str


def conversation_rows(
    user_id: UUID, rows: Sequence[Conversation], *, said: Mapping[UUID, Snippet]
) -> list[ConversationRow]:
    """``rows`` come with ``memory_count``."""
    told = browsing.told(user_id, [row.id for row in rows])
    return [
        ConversationRow(
            id=row.id,
            title=row.title,
            turn_count=told[row.id].turns,
            summary_count=told[row.id].summaries,
            memory_count=getattr(row, "memory_count", 0),
            updated_at=row.updated_at,
            kept_until=retention.kept_until(row),
            is_pinned=row.pinned_at is not None,
            is_archived=row.archived_at is not None,
            is_temporary=row.is_temporary,
            snippet=said.get(row.id, ()),
            url=reverse("inspector:conversation", args=[row.id]),
        )
        for row in rows
    ]


def turn_rows(
    conversation: Conversation, turns: Sequence[Turn], versions: Sequence[VersionRow]
) -> list[TurnRow]:
    """``turns`` come with their messages; ``versions``: all of the summary, newest first."""
    message_ids = [message.id for turn in turns for message in turn.messages.all()]
    taken = longterm.taken_from_messages(conversation.user_id, message_ids)
    covered = max((version.last_seq for version in versions if version.state == "in_use"), default=0)
    cut_through = covered + _cut_turns(conversation)
    return [
        _turn_row(
            turn,
            place=_place(turn, covered=covered, cut_through=cut_through),
            memory_count=sum(len(taken.get(message.id, ())) for message in turn.messages.all()),
            following=conversation.last_seq - turn.seq,
            markers=_markers(turn, versions),
        )
        for turn in turns
    ]


def token_history(conversation: Conversation, turns: Sequence[Turn], *, model: str) -> TokenHistory:
    """``model``: which makes the summaries, for their price."""
    rows = [
        TokenRow(
            turn.seq,
            turn.input_tokens + turn.cache_read_tokens + turn.cache_creation_tokens,
            turn.cache_read_tokens,
            turn.output_tokens,
        )
        for turn in turns
    ]
    spent = browsing.summary_tokens(conversation.user_id, conversation.id)
    points = [
        Point(
            gettext("Turn {number}").format(number=row.seq),
            row.input_tokens + row.output_tokens,
            count_text(row.input_tokens + row.output_tokens),
        )
        for row in rows
    ]
    return TokenHistory(
        chart=charts.columns(
            gettext("Tokens of each reply"), points, tone="transcript", column=gettext("Turn")
        ),
        rows=rows,
        total=browsing.tokens(conversation.user_id, conversation.id),
        summaries=spent,
        summaries_cost=cost_text(model, input_tokens=spent.input_tokens, output_tokens=spent.output_tokens),
    )


def keeping(conversation: Conversation) -> Keeping:
    until = retention.kept_until(conversation)
    own = conversation.retention_days
    choice = "rule" if own is None else "date" if own else "ever"
    last_day = retention.last_whole_day(conversation) if choice == "date" else None
    return Keeping(
        text=_kept_text(until, last_day, gettext("j M Y")),
        title=_kept_text(until, last_day, gettext("j F Y")),
        choice=choice,
        rule_text=_rule_text(tuning.conf().transcript_retention_days),
        earliest=timezone.localdate().isoformat(),
        date=last_day.isoformat() if last_day else "",
    )


def _kept_text(until: datetime | None, last_day: date | None, form: str) -> str:
    if last_day:
        return gettext("Kept until the end of {day}").format(day=date_format(last_day, form))
    if until:
        return gettext("Kept until {day}").format(day=date_format(timezone.localtime(until), form))
    return gettext("Kept for ever")


def _rule_text(days: int) -> str:
    """Stands in brackets."""
    if not days:
        return gettext("for ever")
    said = ngettext(
        "{n} day after the last message; pinned chats for ever",
        "{n} days after the last message; pinned chats for ever",
        days,
    )
    return said.format(n=count_text(days))


def message_row(message: Message, *, is_whole: bool = False) -> MessageRow:
    is_cut = not is_whole and len(message.text) > SHOWN_CHARS
    return MessageRow(
        id=message.id,
        text=f"{message.text[:SHOWN_CHARS].rstrip()}…" if is_cut else message.text,
        is_cut=is_cut,
        change=str(CHANGES[Message.Change(message.change)]) if message.change else "",
        changed_at=message.changed_at,
        url=reverse("inspector:message", args=[message.id]),
    )


def _turn_row(
    turn: Turn, *, place: str, memory_count: int, following: int, markers: Sequence[Marker]
) -> TurnRow:
    said = {message.role: message_row(message) for message in turn.messages.all()}
    return TurnRow(
        id=turn.id,
        seq=turn.seq,
        asked=said.get(Message.Role.USER),
        reply=said.get(Message.Role.ASSISTANT),
        created_at=turn.created_at,
        status_label="" if turn.status == Turn.Status.COMPLETED else str(STATUSES[Turn.Status(turn.status)]),
        place=place,
        place_label=str(PLACES[place]),
        memory_count=memory_count,
        following=following,
        markers=markers,
        chat_url=reverse("chat:turn", args=[turn.id]),
        delete_url=reverse("inspector:turn_delete", args=[turn.id]),
    )


def _place(turn: Turn, *, covered: int, cut_through: int) -> str:
    if turn.status in Turn.LIVE:
        return "live"
    if turn.seq <= covered:
        return "summary"
    return "none" if turn.seq <= cut_through else "verbatim"


def _cut_turns(conversation: Conversation) -> int:
    """How many turns after the summary found no room in the last prompt."""
    last = queries.turns(conversation.user_id, conversation.id).reverse().first()
    snapshot = context.newest_snapshot(conversation.user_id, last.id) if last else None
    return snapshot.cut_turns if snapshot else 0


def _markers(turn: Turn, versions: Sequence[VersionRow]) -> list[Marker]:
    return [
        Marker(
            version=version.version,
            last_seq=version.last_seq,
            state_label=version.state_label,
            is_in_use=version.state == "in_use",
            url=version.url,
        )
        for version in versions
        if version.last_seq == turn.seq and version.state in {"in_use", "replaced"}
    ]
