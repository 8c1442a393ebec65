"""What the page of one fact shows: what it says, why it is believed, for how long, and what became of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Final
from uuid import UUID

from django.utils import timezone

from memoryapp.acting import Actor
from memoryapp.activity import queries as activity
from memoryapp.context import queries as context
from memoryapp.context.models import Use
from memoryapp.inspector.presentation import (
    MemoryRow,
    WaitingCard,
    fact_url,
    flag_reason,
    memory_row,
    source_url,
    turn_url,
    waiting_cards,
)
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Feedback, Memory, MemorySource, MemoryVersion
from memoryapp.longterm.presentation import LAST_YEAR, ORIGIN_LABELS
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin
from memoryapp.policies.wording import Piece, changes

LISTED: Final = 20  # of each list on the page, the newest

BASES: Final = {
    Origin.USER_TYPED: "you wrote it yourself",
    Origin.USER_CONFIRMED: "you confirmed it",
    Origin.MODEL_INFERRED: "the model concluded it from what you wrote",
    Origin.TOOL: "a tool found it",
    Origin.IMPORTED: "it was imported",
    Origin.UNTRUSTED: "it comes from text that you did not write",
}
WORDS: Final = {
    Verdict.CONFIRMED: "You said that it is right",
    Verdict.CORRECTED: "You corrected its words",
    Verdict.WRONG: "You said that it is wrong",
    Verdict.NOT_RELEVANT: "You said that it was not relevant to a reply",
}


@dataclass(frozen=True, slots=True)
class VersionRow:
    """``changes``: word by word since the version before; empty for the first, and when the words stayed."""

    version: int
    statement: str
    changed_by: str
    recorded_at: datetime
    reason: str
    notes: Sequence[str] = ()
    changes: Sequence[Piece] = ()
    is_current: bool = False


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
class Reason:
    """A step on the way to how sure it is; ``percent`` afterwards."""

    text: str
    percent: int | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A place where it was said again."""

    quote: str
    origin_label: str
    said_at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class UseRow:
    """A reply that was given it."""

    title: str
    url: str
    used_at: datetime
    rank: int


@dataclass(frozen=True, slots=True)
class ReadingRow:
    reader: str
    day: date
    times: int


@dataclass(frozen=True, slots=True)
class Lifetime:
    """``rule``: what decides it at present: "kind", "kept" or "date"."""

    rule: str
    days_left: int | None
    kind_days: int | None


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A ``MemoryRow`` with everything its own page adds."""

    row: MemoryRow
    kind_rationale: str
    key: str
    channel: str
    source_url: str
    source_text: str
    quote_parts: tuple[str, str, str] | None
    flag_reason: str
    happened_at: datetime | None
    expires_at: datetime | None
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
    readings: Sequence[ReadingRow]
    is_set_aside: bool
    can_change: bool
    card: WaitingCard | None

    def __getattr__(self, name: str) -> object:
        # Templates read one flat object.
        return getattr(self.row, name)


def memory_page(memory: Memory) -> MemoryPage:
    message = memory.source_message
    replaced_by = memory.superseded_by
    versions = list(longterm.versions(memory))
    uses = context.uses_of(memory.user_id, memory.id)
    waits = memory.status in longterm.WAITING
    rows = _version_rows(versions, memory)
    return MemoryPage(
        row=memory_row(memory),
        kind_rationale=memory.kind.rationale,
        key=memory.key,
        channel=memory.get_channel_display(),
        source_url=source_url(memory),
        source_text=message.text if message else "",
        quote_parts=_around(memory.quote, message.text) if message else None,
        flag_reason=flag_reason(memory),
        happened_at=memory.happened_at,
        expires_at=getattr(memory, "fades_at", None),
        lifetime=_lifetime(memory),
        reasons=_reasons(memory, versions),
        versions=rows,
        previous=rows[1] if len(rows) > 1 and memory.status != Memory.Status.SUPERSEDED else None,
        superseded_by_url=fact_url(replaced_by) if replaced_by else "",
        superseded_at=memory.superseded_at,
        former=_former_rows(memory),
        said_again=[_source_row(source) for source in _others(memory)],
        uses=[_use_row(use) for use in uses[:LISTED]],
        use_count=uses.count(),
        readings=_reading_rows(memory.user_id, memory.id),
        is_set_aside=is_set_aside(memory),
        can_change=memory.status != Memory.Status.SUPERSEDED,
        card=waiting_cards([memory])[0] if waits else None,
    )


def _around(quote: str, text: str) -> tuple[str, str, str] | None:
    """The message before the quote, the quote, and after; None where the quote is all of it."""
    before, found, after = text.partition(quote) if quote else ("", "", "")
    return (before, found, after) if found and (before or after) else None


def _lifetime(memory: Memory) -> Lifetime:
    fades_at: datetime | None = getattr(memory, "fades_at", None)
    ends = fades_at if fades_at and fades_at.year <= LAST_YEAR else None
    left = max((ends - timezone.now()).days, 0) if ends else None
    rule = "kept" if memory.is_kept else "date" if memory.expires_at else "kind"
    return Lifetime(rule, left, memory.kind.ttl_days)


def _reasons(memory: Memory, versions: Sequence[MemoryVersion]) -> list[Reason]:
    """Where it began, what moved it, in order of time; the last is where it stands."""
    origin = Origin(memory.origin)
    begun = versions[-1] if versions else None
    base = begun.confidence if begun else INITIAL_CONFIDENCE[origin]
    because = f"Begins at {_percent(base)} %, because {BASES[origin]}"
    first = Reason(because, _percent(base), memory.recorded_at)
    said = list(longterm.feedback_on(memory))
    steps = [_word(word) for word in said]
    steps += _by_hand(versions, said)
    again = len(
        [source for source in longterm.sources(memory) if source.message_id != memory.source_message_id]
    )
    steps.sort(key=lambda step: step.at or memory.recorded_at)
    if again:
        steps.append(Reason(f"Said again {_times(again)}: its lifetime starts again, and it is no surer"))
    return [first, *steps]


def _word(word: Feedback) -> Reason:
    return Reason(WORDS[Verdict(word.verdict)], _percent(word.confidence_after), word.created_at)


def _by_hand(versions: Sequence[MemoryVersion], said: Iterable[Feedback]) -> list[Reason]:
    """Versions that set another confidence without a word that explains it; ``versions`` come newest first."""
    explained = {_percent(word.confidence_after) for word in said}
    steps = []
    for newer, older in pairwise(versions):
        percent = _percent(newer.confidence)
        if percent != _percent(older.confidence) and percent not in explained:
            steps.append(Reason(f"Set {_by(newer)}, in version {newer.version}", percent, newer.recorded_at))
    return steps


def _version_rows(versions: Sequence[MemoryVersion], memory: Memory) -> list[VersionRow]:
    """Newest first, as they come; each compared with the one below it."""
    olders: list[MemoryVersion | None] = [*versions[1:], None]
    return [_version_row(version, older, memory) for version, older in zip(versions, olders, strict=False)]


def _version_row(version: MemoryVersion, older: MemoryVersion | None, memory: Memory) -> VersionRow:
    is_typed = version.version == 1 and memory.origin == Origin.USER_TYPED and memory.source_message_id
    is_reworded = older is not None and older.statement != version.statement
    return VersionRow(
        version=version.version,
        statement=version.statement,
        changed_by="from your message" if is_typed else _by(version),
        recorded_at=version.recorded_at,
        reason=version.reason,
        notes=_notes(version, older),
        changes=changes(older.statement, version.statement) if older and is_reworded else (),
        is_current=version.version == memory.version,
    )


def _notes(version: MemoryVersion, older: MemoryVersion | None) -> list[str]:
    """What else changed with it."""
    if older is None:
        return []
    pairs = [
        ("kind", older.kind_slug, version.kind_slug),
        ("key", older.key or "none", version.key or "none"),
        ("sure", f"{_percent(older.confidence)} %", f"{_percent(version.confidence)} %"),
    ]
    return [f"{name}: {before} → {after}" for name, before, after in pairs if before != after]


def _by(version: MemoryVersion) -> str:
    return f"by {version.get_changed_by_display()}"


def _others(memory: Memory) -> list[MemorySource]:
    """Where it was said beside where it was first said."""
    rows = longterm.sources(memory).exclude(message=None).select_related("message__turn__conversation")
    return [source for source in rows[: LISTED + 1] if source.message_id != memory.source_message_id][:LISTED]


def _source_row(source: MemorySource) -> SourceRow:
    message = source.message
    is_there = (
        message is not None
        and message.turn.deleted_at is None
        and message.turn.conversation.deleted_at is None
    )
    return SourceRow(
        quote=source.quote,
        origin_label=ORIGIN_LABELS[Origin(source.origin)],
        said_at=source.said_at,
        url=turn_url(message.turn) if message and is_there else "",
    )


def _use_row(use: Use) -> UseRow:
    return UseRow(
        title=use.turn.conversation.title or "New chat",
        url=turn_url(use.turn),
        used_at=use.used_at,
        rank=use.rank,
    )


def _reading_rows(user_id: UUID, memory_id: UUID) -> list[ReadingRow]:
    return [
        ReadingRow(reading.reader_name or Actor(reading.reader).label, reading.day, reading.times)
        for reading in activity.readings_of(user_id, memory_id)[:LISTED]
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
    """What told it, to follow "replaced by"."""
    if memory.source_message_id:
        return "your message"
    return {
        Memory.Channel.INSPECTOR: "what you wrote on this page",
        Memory.Channel.API: "a program",
        Memory.Channel.IMPORT: "an import",
    }.get(Memory.Channel(memory.channel), "what you said in a chat that is gone")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _percent(share: float) -> int:
    return round(share * 100)
