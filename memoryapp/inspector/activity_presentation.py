"""The activity log in words: who did what to which row, where that still is, and who read on which day."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext

from memoryapp.accounts import queries as accounts
from memoryapp.acting import Actor
from memoryapp.activity.models import EXCHANGES, Entry, Tier, Verb
from memoryapp.activity.queries import ReaderDay
from memoryapp.inspector.amounts import count_text
from memoryapp.longterm import experience_queries
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.presentation import detail_text
from memoryapp.receipts.queries import of_items
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.transcript import queries as transcript

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

READERS: Final = 12  # rows of the strip; who read least is left out
SHADES: Final = 4
CELL, GAP = 10, 2  # of the strip, in its own units
WRITTEN_WITHIN: Final = timedelta(minutes=1)  # an entry, after its receipt, of one transaction
_OF_BOTH: Final = frozenset({Verb.EXPIRED, Verb.DELETED, Verb.RESTORED})
_GOES: Final = frozenset({Verb.FORGOT, Verb.DELETED, Verb.REDACTED})
_DAYS: Final = re.compile(r"(\d+) days")  # for which a chat is kept


@dataclass(frozen=True, slots=True)
class Thing:
    """What entries are about: one that is there, one that is gone, and ``n`` of them."""

    there: "StrPromise"
    gone: "StrPromise"
    several: Callable[[int], str]


_FACT: Final = Thing(
    gettext_lazy("the fact"),
    gettext_lazy("a fact that is gone"),
    lambda count: ngettext("{n} fact", "{n} facts", count),
)
# Facts and experiences, where both are counted in one.
_MEMORY: Final = Thing(
    gettext_lazy("the memory"),
    gettext_lazy("a memory that is gone"),
    lambda count: ngettext("{n} memory", "{n} memories", count),
)
_RUN: Final = Thing(
    gettext_lazy("the run record"),
    gettext_lazy("a run record that is gone"),
    lambda count: ngettext("{n} run record", "{n} run records", count),
)
_CONVERSATION: Final = Thing(
    gettext_lazy("the conversation"),
    gettext_lazy("a conversation that is gone"),
    lambda count: ngettext("{n} conversation", "{n} conversations", count),
)
_EXCHANGE: Final = Thing(
    gettext_lazy("the exchange"),
    gettext_lazy("an exchange that is gone"),
    lambda count: ngettext("{n} exchange", "{n} exchanges", count),
)
_MESSAGE: Final = Thing(
    gettext_lazy("the message"),
    gettext_lazy("a message that is gone"),
    lambda count: ngettext("{n} message", "{n} messages", count),
)
_PERSON: Final = Thing(
    gettext_lazy("the person"),
    gettext_lazy("a person who is gone"),
    lambda count: ngettext("{n} person", "{n} people", count),
)
_THINGS: Final = {Tier.SCRATCHPAD: _RUN, Tier.TRANSCRIPT: _CONVERSATION, Tier.LONGTERM: _FACT}
# What the log says more, with blanks for underscores, of all but long-term memory (``detail_text``).
_DETAILS: Final = frozenset(
    {
        gettext_noop("use memory on"),
        gettext_noop("use memory off"),
        gettext_noop("save to memory on"),
        gettext_noop("save to memory off"),
        gettext_noop("use memory: on"),
        gettext_noop("use memory: off"),
        gettext_noop("save to memory: on"),
        gettext_noop("save to memory: off"),
        gettext_noop("as the rule says"),
        gettext_noop("for ever"),
        gettext_noop("made temporary"),
        gettext_noop("longer"),
        gettext_noop("by rule"),
        gettext_noop("correct fact"),
        gettext_noop("add fact"),
        gettext_noop("add todo"),
        gettext_noop("strike todo"),
        gettext_noop("clear failure"),
        gettext_noop("answer question"),
    }
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an entry is about, without what it says. ``url``: empty when it is gone; ``label``: empty until it is said
    what it is."""

    label: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """An entry. ``what``: of what, when it was several or none; ``subject``: when it was one. ``receipt_url``: of the
    forgetting that it tells of, when that was of one."""

    id: UUID
    at: datetime
    who: str
    actor: str
    did: str
    tier: str
    what: str
    subject: Subject | None
    detail: str
    receipt_url: str


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
        return name or str(Actor.PROGRAM.label)
    if actor == Actor.ADMIN and name:
        return gettext("An admin ({name})").format(name=name)
    if actor == Actor.PERSON and not is_own:
        return gettext("The person")
    return str(Actor(actor).label)


def rows(user_id: UUID, entries: Sequence[Entry], *, is_own: bool) -> list[Row]:
    """In a constant number of queries, however many entries."""
    found = _found(user_id, entries)
    labels = {kind.slug: gettext(kind.label) for kind in longterm.kinds()}
    receipts = _receipts(user_id, entries)
    return [_row(entry, found, labels, receipts, is_own=is_own) for entry in entries]


def _receipts(user_id: UUID, entries: Sequence[Entry]) -> dict[UUID, str]:
    """By what is gone, the address of its receipt."""
    gone = {
        entry.subject_id: entry.recorded_at for entry in entries if entry.verb in _GOES and entry.subject_id
    }
    if not gone:
        return {}
    found = of_items(user_id, gone.keys(), since=min(gone.values()) - WRITTEN_WITHIN)
    return {id_: reverse("inspector:receipt", args=[receipt_id]) for id_, receipt_id in found.items()}


def _row(
    entry: Entry,
    found: Mapping[UUID, Subject],
    labels: Mapping[str, str],
    receipts: Mapping[UUID, str],
    *,
    is_own: bool,
) -> Row:
    thing = _thing(entry)
    subject = _subject(entry, thing, found) if thing else None
    return Row(
        id=entry.id,
        at=entry.recorded_at,
        who=who(entry.actor, entry.actor_name, is_own=is_own),
        actor=entry.actor,
        did=str(Verb(entry.verb).label),
        tier=entry.tier,
        what=thing.several(entry.rows).format(n=count_text(entry.rows)) if thing and not subject else "",
        subject=subject,
        detail=_detail(entry, labels),
        receipt_url=receipts.get(entry.subject_id, "") if entry.subject_id and entry.verb in _GOES else "",
    )


def _subject(entry: Entry, thing: Thing, found: Mapping[UUID, Subject]) -> Subject | None:
    if entry.subject_id is None or entry.rows != 1:
        return None
    place = found.get(entry.subject_id)
    return Subject(place.label or str(thing.there), place.url) if place else Subject(str(thing.gone))


def _thing(entry: Entry) -> Thing | None:
    """What it counts; None: nothing. Of the transcript, messages alone are edited and redacted."""
    if entry.detail == EXCHANGES:
        return _EXCHANGE
    if entry.tier == Tier.ACCOUNT and entry.verb == Verb.ADDED:
        return _PERSON
    if entry.tier == Tier.TRANSCRIPT and entry.verb in {Verb.EDITED, Verb.REDACTED}:
        return _MESSAGE
    if entry.tier == Tier.LONGTERM and entry.verb in _OF_BOTH:
        return _MEMORY
    return _THINGS.get(Tier(entry.tier))


def _detail(entry: Entry, labels: Mapping[str, str]) -> str:
    """For a reader: kinds by their labels, changes of a pad as words, without the noun that ``_thing`` says."""
    if entry.detail == EXCHANGES:
        return ""
    if entry.verb == Verb.OPENED:
        return entry.detail  # an admin's own words
    if entry.tier == Tier.LONGTERM:
        return detail_text(entry.detail, labels)
    days = _DAYS.fullmatch(entry.detail)
    if days:
        return ngettext("{n} day", "{n} days", int(days[1])).format(n=days[1])
    said = entry.detail.replace("_", " ")
    return gettext(said) if said in _DETAILS else said


def _found(user_id: UUID, entries: Iterable[Entry]) -> dict[UUID, Subject]:
    """The pages of that which is still there, in one query of each sort; people by their names."""
    ids: dict[str, set[UUID]] = {}
    for entry in entries:
        if entry.subject_id:
            ids.setdefault(entry.tier, set()).add(entry.subject_id)
    found: dict[UUID, Subject] = {}
    if about := ids.get(Tier.LONGTERM):
        memories = longterm.with_a_page(user_id, about)
        found |= {id_: Subject("", reverse("inspector:fact", args=[id_])) for id_ in memories}
        lessons = experience_queries.with_a_page(user_id, about - memories)
        lesson = gettext("the experience")
        found |= {id_: Subject(lesson, reverse("inspector:experience", args=[id_])) for id_ in lessons}
    if about := ids.get(Tier.TRANSCRIPT):
        chats = transcript.conversations_of(user_id, about)
        found |= {
            id_: Subject("", reverse("inspector:conversation", args=[chat])) for id_, chat in chats.items()
        }
    if about := ids.get(Tier.ACCOUNT):
        people = accounts.people().filter(id__in=about)
        found |= {one.id: Subject(one.username, reverse("policies:person", args=[one.id])) for one in people}
    if about := ids.get(Tier.SCRATCHPAD):
        runs = scratchpad.recorded(user_id, about)
        found |= {id_: Subject("", reverse("inspector:run", args=[id_])) for id_ in runs}
    return found


def strip(readings: Sequence[ReaderDay], uses: Mapping[date, int], *, days: int, today: date) -> Strip | None:
    """None when nobody read anything. ``uses``: what replies were given, by day."""
    by_reader: dict[str, dict[date, int]] = {}
    if uses:
        by_reader[gettext("The assistant, for replies")] = dict(uses)
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
        read = _FACT.several(times).format(n=count_text(times)) if times else gettext("nothing")
        shade = -(-times * SHADES // most)
        cells.append(Cell(at * (CELL + GAP), shade, f"{date_format(day, gettext('j M'))}: {read}"))
    return Reader(name, sum(counts.values()), cells)
