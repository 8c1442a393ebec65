"""The activity log in words: who did what to which row, where that still is, and who read on which day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils.formats import date_format

from memoryapp.acting import Actor
from memoryapp.activity.models import EXCHANGES, Entry, Tier, Verb
from memoryapp.activity.queries import ReaderDay
from memoryapp.longterm import experience_queries
from memoryapp.longterm import queries as longterm
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.transcript import queries as transcript

READERS: Final = 12  # rows of the strip; who read least is left out
SHADES: Final = 4
CELL, GAP = 10, 2  # of the strip, in its own units


_THINGS: Final = {
    Tier.SCRATCHPAD: ("run record", "run records"),
    Tier.TRANSCRIPT: ("conversation", "conversations"),
    Tier.LONGTERM: ("memory", "memories"),
    Tier.ACCOUNT: ("", ""),
}
_EXCHANGES: Final = ("exchange", "exchanges")
_MESSAGES: Final = ("message", "messages")


@dataclass(frozen=True, slots=True)
class Subject:
    """What an entry is about, without what it says. ``url``: empty when it is gone."""

    label: str
    url: str = ""

    @property
    def gone(self) -> str:
        article = "an" if self.label.startswith("e") else "a"
        return f"{article} {self.label} that is gone"


@dataclass(frozen=True, slots=True)
class Row:
    """An entry. ``what``: of what, when it was several or none; ``subject``: when it was one."""

    id: UUID
    at: datetime
    who: str
    actor: str
    did: str
    tier: str
    what: str
    subject: Subject | None
    detail: str


@dataclass(frozen=True, slots=True)
class Cell:
    """``shade``: from 0, nothing, to 4, the most of all."""

    x: int
    shade: int
    words: str


@dataclass(frozen=True, slots=True)
class Reader:
    name: str
    total: int
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Strip:
    """Readers by day. ``days``: with their totals, for the table."""

    readers: Sequence[Reader]
    first: date
    last: date
    left_out: int
    width: int
    height: int = CELL


def who(actor: str, name: str, *, is_own: bool) -> str:
    """ "You", "The assistant", "laptop", "An admin (carol)"; ``is_own``: the reader is the person of the log."""
    if actor == Actor.PROGRAM:
        return name or "A program"
    if actor == Actor.ADMIN:
        return f"An admin ({name})" if name else "An admin"
    if actor == Actor.PERSON and not is_own:
        return "The person"
    return str(Actor(actor).label)


def rows(user_id: UUID, entries: Sequence[Entry], *, is_own: bool) -> list[Row]:
    """In a constant number of queries, however many entries."""
    found = _found(user_id, entries)
    labels = {kind.slug: kind.label for kind in longterm.kinds()}
    return [_row(entry, found, labels, is_own=is_own) for entry in entries]


def _row(entry: Entry, found: Mapping[UUID, str], labels: Mapping[str, str], *, is_own: bool) -> Row:
    one, many = _things(entry)
    is_one = entry.subject_id is not None and entry.rows == 1
    return Row(
        id=entry.id,
        at=entry.recorded_at,
        who=who(entry.actor, entry.actor_name, is_own=is_own),
        actor=entry.actor,
        did=Verb(entry.verb).label,
        tier=entry.tier,
        what="" if is_one or not one else f"{entry.rows:,} {one if entry.rows == 1 else many}",
        subject=Subject(one, found.get(entry.subject_id, ""))
        if is_one and entry.subject_id and one
        else None,
        detail=_detail(entry, labels),
    )


def _things(entry: Entry) -> tuple[str, str]:
    """One and many of what it counts. Of the transcript, messages alone are edited and redacted."""
    if entry.detail == EXCHANGES:
        return _EXCHANGES
    if entry.tier == Tier.TRANSCRIPT and entry.verb in {Verb.EDITED, Verb.REDACTED}:
        return _MESSAGES
    return _THINGS[Tier(entry.tier)]


def _detail(entry: Entry, labels: Mapping[str, str]) -> str:
    """For a reader: kinds by their labels, changes of a pad as words, without the noun that ``_things`` says."""
    match entry.tier:
        case Tier.LONGTERM:
            return " ".join(labels.get(word, word) for word in entry.detail.split(" "))
        case Tier.SCRATCHPAD:
            return entry.detail.replace("_", " ")
    return "" if entry.detail == EXCHANGES else entry.detail


def _found(user_id: UUID, entries: Iterable[Entry]) -> dict[UUID, str]:
    """The pages of that which is still there, in one query of each sort."""
    ids: dict[str, set[UUID]] = {}
    for entry in entries:
        if entry.subject_id:
            ids.setdefault(entry.tier, set()).add(entry.subject_id)
    found: dict[UUID, str] = {}
    if about := ids.get(Tier.LONGTERM):
        memories = longterm.with_a_page(user_id, about)
        found |= {id_: reverse("inspector:fact", args=[id_]) for id_ in memories}
        lessons = experience_queries.with_a_page(user_id, about - memories)
        found |= {id_: reverse("inspector:experience", args=[id_]) for id_ in lessons}
    if about := ids.get(Tier.TRANSCRIPT):
        chats = transcript.conversations_of(user_id, about)
        found |= {id_: reverse("inspector:conversation", args=[chat]) for id_, chat in chats.items()}
    if about := ids.get(Tier.SCRATCHPAD):
        runs = scratchpad.recorded(user_id, about)
        found |= {id_: reverse("inspector:run", args=[id_]) for id_ in runs}
    return found


def strip(readings: Sequence[ReaderDay], uses: Mapping[date, int], *, days: int, today: date) -> Strip | None:
    """None when nobody read anything. ``uses``: what replies were given, by day."""
    by_reader: dict[str, dict[date, int]] = {}
    if uses:
        by_reader["The assistant, for replies"] = dict(uses)
    for row in readings:
        counts = by_reader.setdefault(who(row.reader, row.name, is_own=True), {})
        counts[row.day] = counts.get(row.day, 0) + row.times
    if not by_reader:
        return None
    most = max(max(counts.values()) for counts in by_reader.values())
    first = today - timedelta(days=days - 1)
    busiest = sorted(by_reader.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return Strip(
        readers=[_reader(name, counts, first, days, most) for name, counts in busiest[:READERS]],
        first=first,
        last=today,
        left_out=max(len(busiest) - READERS, 0),
        width=days * (CELL + GAP) - GAP,
    )


def _reader(name: str, counts: Mapping[date, int], first: date, days: int, most: int) -> Reader:
    cells = []
    for at in range(days):
        day = first + timedelta(days=at)
        times = counts.get(day, 0)
        read = f"{times:,} {'memory' if times == 1 else 'memories'}" if times else "nothing"
        shade = -(-times * SHADES // most)
        cells.append(Cell(at * (CELL + GAP), shade, f"{date_format(day, 'j M')}: {read}"))
    return Reader(name, sum(counts.values()), cells)
