"""What the page of one fact shows: what it says, why it is believed, for how long, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy

from memoryapp.activity import queries as activity
from memoryapp.activity.models import Verb
from memoryapp.context import queries as context
from memoryapp.context.models import Use
from memoryapp.inspector.activity_presentation import who
from memoryapp.inspector.facts.fact_history import Reason, VersionRow, corrected_at, reasons, version_rows
from memoryapp.inspector.presentation import (
    MemoryRow,
    WaitingCard,
    fact_url,
    flag_reason,
    is_written_here,
    memory_row,
    message_url,
    source_url,
    turn_url,
    waiting_cards,
)
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Memory, MemorySource
from memoryapp.longterm.presentation import LAST_YEAR, last_day, last_moment, left_text, origin_text
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Message

LISTED: Final = 20  # of each list on the page, the newest
QUESTION_CHARS: Final = 120

CHANNELS: Final = {
    Memory.Channel.INSPECTOR: gettext_lazy("by what you wrote on this page"),
    Memory.Channel.API: gettext_lazy("by a program"),
    Memory.Channel.IMPORT: gettext_lazy("by an import"),
}


@dataclass(frozen=True, slots=True)
class FormerRow:
    """A former value of a fact: from when until when it held, and what put an end to it: "by your message"."""

    statement: str
    url: str
    held_from: datetime
    held_to: datetime | None
    replaced_by: str
    replaced_by_url: str


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A place where it was said again."""

    quote: str
    origin_label: str
    said_at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class UseRow:
    """A reply that was given it. ``question``: how what it answers begins; ``title``: of its chat."""

    question: str
    title: str
    url: str
    used_at: datetime
    is_looked_up: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What the log says was done with it."""

    who: str
    did: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReadingRow:
    reader: str
    day: date
    times: int


@dataclass(frozen=True, slots=True)
class Lifetime:
    """``rule``: what decides it at present: "kind", "kept" or "date". ``ends_at``: its last moment, for reading;
    ``left``: how long until then, in words, of what is in use. ``extends_to``: its last day if it were extended now,
    None where that moves nothing; ``is_full``: because it has all that its kind gives."""

    rule: str
    ends_at: datetime | None
    left: str
    kind_days: int | None
    extends_to: date | None
    is_full: bool
    can_be_kept: bool


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A ``MemoryRow`` with everything its own page adds. ``corrected_at``: since when it is in its person's words, None
    while it is as first said; ``is_written_here``: it began on these pages."""

    row: MemoryRow
    kind_rationale: str
    key: str
    channel: str
    is_written_here: bool
    corrected_at: datetime | None
    source_url: str
    source_text: str
    quote_parts: tuple[str, str, str] | None
    flag_reason: str
    happened_at: datetime | None
    lifetime: Lifetime
    reasons: Sequence[Reason]
    versions: Sequence[VersionRow]
    previous: VersionRow | None
    superseded_by_url: str
    superseded_at: datetime | None
    former: Sequence[FormerRow]
    said_again: Sequence[SourceRow]
    uses: Sequence[UseRow]
    use_count: int
    at_hand: Sequence[UseRow]
    at_hand_count: int
    readings: Sequence[ReadingRow]
    log: Sequence[Done]
    is_set_aside: bool
    can_change: bool
    card: WaitingCard | None

    def __getattr__(self, name: str) -> object:
        # Templates read one flat object.
        return getattr(self.row, name)


def memory_page(memory: Memory, *, extended_at: datetime | None, is_own: bool) -> MemoryPage:
    """``extended_at``: its end if it were extended now, None where that moves nothing. ``is_own``: its person looks at
    it, and no admin."""
    source = source_url(memory)
    # Of a chat that was deleted, nothing that stands around the quote.
    message = memory.source_message if source else None
    replaced_by = memory.superseded_by
    versions = list(longterm.versions(memory))
    uses = context.called_for_in(memory.user_id, memory.id)
    at_hand = context.at_hand_in(memory.user_id, memory.id)
    waits = memory.status in longterm.WAITING
    rows = version_rows(versions, memory)
    return MemoryPage(
        row=memory_row(memory),
        kind_rationale=gettext(memory.kind.rationale),
        key=memory.key,
        channel=memory.get_channel_display(),
        is_written_here=is_written_here(memory),
        corrected_at=corrected_at(versions),
        source_url=source,
        source_text=message.text if message else "",
        quote_parts=_around(memory.quote, message.text) if message else None,
        flag_reason=flag_reason(memory),
        happened_at=memory.happened_at,
        lifetime=_lifetime(memory, extended_at),
        reasons=reasons(memory, versions),
        versions=rows,
        previous=rows[1] if len(rows) > 1 and memory.status != Memory.Status.SUPERSEDED else None,
        superseded_by_url=fact_url(replaced_by) if replaced_by else "",
        superseded_at=memory.superseded_at,
        former=_former_rows(memory),
        said_again=[_source_row(source) for source in _others(memory)],
        uses=_use_rows(uses),
        use_count=uses.count(),
        at_hand=_use_rows(at_hand),
        at_hand_count=at_hand.count(),
        readings=_reading_rows(memory, is_own=is_own),
        log=_log(memory, is_own=is_own),
        is_set_aside=is_set_aside(memory),
        can_change=memory.status != Memory.Status.SUPERSEDED,
        card=waiting_cards([memory])[0] if waits else None,
    )


def _around(quote: str, text: str) -> tuple[str, str, str] | None:
    """The message before the quote, the quote, and after; None where the quote is all of it."""
    before, found, after = text.partition(quote) if quote else ("", "", "")
    return (before, found, after) if found and (before or after) else None


def _lifetime(memory: Memory, extended_at: datetime | None) -> Lifetime:
    fades_at: datetime | None = getattr(memory, "fades_at", None)
    ends = fades_at if fades_at and fades_at.year <= LAST_YEAR else None
    now = timezone.now()
    is_used = memory.status == Memory.Status.ACTIVE and (ends is None or ends > now)
    rule = "kept" if memory.is_kept else "date" if memory.expires_at else "kind"
    return Lifetime(
        rule,
        ends_at=last_moment(ends) if ends else None,
        left=left_text(ends, now=now) if ends and is_used else "",
        kind_days=memory.kind.ttl_days,
        extends_to=last_day(extended_at) if is_used and extended_at else None,
        is_full=is_used and ends is not None and rule == "kind" and extended_at is None,
        can_be_kept=is_used and not memory.is_kept,
    )


def _others(memory: Memory) -> list[MemorySource]:
    """Where it was said beside where it was first said."""
    rows = longterm.sources(memory).exclude(message=None).select_related("message__turn__conversation")
    return [source for source in rows[: LISTED + 1] if source.message_id != memory.source_message_id][:LISTED]


def _source_row(source: MemorySource) -> SourceRow:
    return SourceRow(
        quote=source.quote,
        origin_label=origin_text(source.origin, is_from_chat=source.message_id is not None),
        said_at=source.said_at,
        url=message_url(source.message),
    )


def _use_rows(uses: QuerySet[Use]) -> list[UseRow]:
    return [_use_row(use) for use in uses.prefetch_related("turn__messages")[:LISTED]]


def _use_row(use: Use) -> UseRow:
    asked = " ".join(transcript.text_of(use.turn, Message.Role.USER).split())
    return UseRow(
        question=Truncator(asked).chars(QUESTION_CHARS),
        title=use.turn.conversation.title or gettext("New chat"),
        url=turn_url(use.turn),
        used_at=use.used_at,
        is_looked_up=use.score == Use.LOOKED_UP,
    )


def _reading_rows(memory: Memory, *, is_own: bool) -> list[ReadingRow]:
    return [
        ReadingRow(who(reading.reader, reading.reader_name, is_own=is_own), reading.day, reading.times)
        for reading in activity.readings_of(memory.user_id, memory.id)[:LISTED]
    ]


def _log(memory: Memory, *, is_own: bool) -> list[Done]:
    return [
        Done(
            who(entry.actor, entry.actor_name, is_own=is_own), str(Verb(entry.verb).label), entry.recorded_at
        )
        for entry in activity.entries_about(memory.user_id, memory.id)[:LISTED]
    ]


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
    """What told it, to follow "replaced"."""
    if memory.source_message_id:
        return gettext("by your message")
    gone = gettext("by what you said in a chat that is gone")
    return str(CHANNELS.get(Memory.Channel(memory.channel), gone))
