"""Rules of kinds as the policy pages show them, and what a change of one would do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop, ngettext

from memoryapp.inspector import charts
from memoryapp.inspector.amounts import count_text
from memoryapp.longterm import kind_changes, kind_effects
from memoryapp.longterm.kind_effects import Fading, Held, Moved, Sample, Standing, Sureness
from memoryapp.longterm.models import Kind, KindChange
from memoryapp.longterm.presentation import last_day
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import record_ages
from memoryapp.tuning import queries as tuning

NAMES = {
    "label": gettext_noop("Label"),
    "ttl_days": gettext_noop("Lifetime"),
    "half_life_days": gettext_noop("Half-life"),
    "min_confidence": gettext_noop("Minimum confidence"),
    "needs_confirmation": gettext_noop("New ones wait for confirmation"),
    "is_always_used": gettext_noop("In every prompt"),
    "shape": gettext_noop("Shape"),
    "rationale": gettext_noop("Why"),
}
ORIGIN_WORDS = {
    Origin.USER_TYPED: gettext_noop("said by its person"),
    Origin.USER_CONFIRMED: gettext_noop("confirmed by its person"),
    Origin.MODEL_INFERRED: gettext_noop("concluded by the model"),
    Origin.TOOL: gettext_noop("from a tool"),
    Origin.IMPORTED: gettext_noop("imported"),
    Origin.UNTRUSTED: gettext_noop("from other text"),
}
STATUS_WORDS = {
    "pending": gettext_noop("waits for confirmation"),
    "conflict": gettext_noop("contradicts another"),
    "superseded": gettext_noop("replaced by a newer one"),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of a rule: what it is or was, and what it becomes."""

    name: str
    before: str
    after: str
    drafted: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind in the table."""

    kind: Kind
    held: Held
    to_come: KindChange | None


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A row as an admin may see it: its words only when they are the admin's own."""

    goes: bool
    age_days: int
    origin: str
    status: str
    statement: str


@dataclass(frozen=True, slots=True)
class FadingRow:
    """What is gone and what ends later at one moment, named as a person says it."""

    when: str
    at: datetime
    fading: Fading


@dataclass(frozen=True, slots=True)
class Effects:
    """What a drafted rule would do; parts that do not change are None or empty."""

    differences: Sequence[Difference]
    in_short: str
    table: Sequence[FadingRow]
    exempt_words: str
    ages: charts.Chart | None
    samples: Sequence[SampleRow]
    sureness: Sureness | None
    unconfirmed: int | None
    standing: Standing | None
    half_life_words: str
    is_run: bool
    undo_hours: int

    @property
    def goes_first(self) -> Fading | None:
        """At once, or on the day of the change."""
        return self.table[0].fading if self.table else None

    @property
    def has_gone(self) -> bool:
        return any(row.fading.rows for row in self.table)

    @property
    def has_later(self) -> bool:
        return any(row.fading.later for row in self.table)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Field by field, where they differ, in the order of the form."""
    return [
        Difference(gettext(NAMES[field]), value_words(field, before[field]), value_words(field, after[field]))
        for field in NAMES
        if field in after and before.get(field) != after[field]
    ]


def value_words(field: str, value: Any) -> str:
    """A value of a rule as one says it."""
    if field in {"ttl_days", "half_life_days"}:
        if value is None:
            return gettext("for ever") if field == "ttl_days" else gettext("none")
        return _days(value)
    if field == "min_confidence":
        return f"{round(value * 100)} %"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    # The labels and the reasons that the kinds began with are in the catalogues.
    return gettext(value) if field in {"label", "rationale"} else str(value)


def effects(
    kind: Kind, after: Kind, *, reader_id: UUID, now: datetime, applies_at: datetime | None
) -> Effects:
    """What ``after`` would do instead of ``kind``, by its rows as they are."""
    is_run = kind.subject == Kind.Subject.RUN
    is_other_lifetime = kind.ttl_days != after.ttl_days
    fading = lifetime_effects(kind, after.ttl_days, applies_at=applies_at) if is_other_lifetime else []
    moved = (
        lifetime_moved(kind, after.ttl_days, applies_at=applies_at)
        if fading and not fading[0].rows
        else Moved()
    )
    return Effects(
        differences=differences(kind_changes.rule(kind), kind_changes.rule(after)),
        in_short=_in_short(kind, fading[0], moved, now=now, applies_at=applies_at) if fading else "",
        table=_table(kind, after.ttl_days, fading, moved, now=now, applies_at=applies_at),
        exempt_words=_exempt_words(kind_effects.exempt(kind)) if is_other_lifetime else "",
        ages=age_chart(kind, after.ttl_days, now=now) if is_other_lifetime and not is_run else None,
        samples=[]
        if is_run or not is_other_lifetime
        else [
            _sample(each)
            for each in kind_effects.samples(kind, after=after.ttl_days, reader_id=reader_id, now=now)
        ],
        sureness=kind_effects.sureness(kind, after=after.min_confidence)
        if kind.min_confidence != after.min_confidence
        else None,
        unconfirmed=kind_effects.unconfirmed(kind)
        if kind.needs_confirmation != after.needs_confirmation
        else None,
        standing=kind_effects.standing(kind, min_confidence=after.min_confidence)
        if kind.is_always_used != after.is_always_used
        else None,
        half_life_words=_half_life_words(after),
        is_run=is_run,
        undo_hours=tuning.conf().expired_hours,
    )


def lifetime_effects(kind: Kind, after: int | None, *, applies_at: datetime | None = None) -> list[Fading]:
    """Of memories and experiences by long-term memory, of records of runs by the scratchpad."""
    if kind.subject != Kind.Subject.RUN:
        return kind_changes.preview(kind, after=after, applies_at=applies_at)
    endings = record_ages.endings(
        before=kind.ttl_days, after=after, days=kind_effects.horizons(after), since=applies_at
    )
    return [_of_records(ending) for ending in endings]


def _of_records(ending: record_ages.Ending) -> Fading:
    return Fading(ending.days, ending.goes, ending.users, kept_rows=ending.stays, later=ending.later)


def lifetime_moved(kind: Kind, after: int | None, *, applies_at: datetime | None) -> Moved:
    """What it gives another end; of whom, as ``lifetime_effects``."""
    if kind.subject != Kind.Subject.RUN:
        return kind_changes.moved(kind, after=after, applies_at=applies_at)
    found = record_ages.moving(before=kind.ttl_days, after=after, since=applies_at)
    return Moved(found.rows, found.users, found.ended_at, found.ends_at)


def _table(
    kind: Kind,
    after: int | None,
    fading: Sequence[Fading],
    moved: Moved,
    *,
    now: datetime,
    applies_at: datetime | None,
) -> list[FadingRow]:
    """Some days ahead, and the first end that a shorter lifetime brings forward."""
    begins_at = applies_at or now
    rows = [
        FadingRow(_when(each.days, begins_at, applies_at), begins_at + timedelta(days=each.days), each)
        for each in fading
    ]
    if moved.ends_at and kind_effects.is_shorter(kind.ttl_days, after):
        first = _first_gone(kind, moved, after=after, applies_at=applies_at)
        said = gettext("End of {day}").format(day=end_day(moved.ends_at))
        rows.append(FadingRow(said, moved.ends_at, first))
    return sorted(rows, key=lambda row: row.at)


def _first_gone(kind: Kind, moved: Moved, *, after: int | None, applies_at: datetime | None) -> Fading:
    """By the end of the first day on which any of what ``moved`` is of ends."""
    if kind.subject != Kind.Subject.RUN:
        return kind_changes.first_gone(kind, moved, after=after, applies_at=applies_at)
    assert moved.ends_at is not None
    midnight = datetime.combine(last_day(moved.ends_at) + timedelta(days=1), time())
    since = timezone.make_aware(midnight)
    [ending] = record_ages.endings(before=kind.ttl_days, after=after, days=[0], since=since)
    return _of_records(ending)


def _when(days: int, begins_at: datetime, applies_at: datetime | None) -> str:
    day = date_format(timezone.localtime(begins_at + timedelta(days=days)), gettext("j F Y"))
    if not days:
        return gettext("On {day}").format(day=day) if applies_at else gettext("Now")
    if applies_at:
        said = ngettext("{n} day after · {day}", "{n} days after · {day}", days)
    else:
        said = ngettext("In {n} day · {day}", "In {n} days · {day}", days)
    return said.format(n=count_text(days), day=day)


def _exempt_words(exempt: Held) -> str:
    """What no lifetime of the kind touches."""
    if not exempt.rows:
        return gettext("Nobody has kept one for ever or given one its own date.")
    kept = gettext("{n} kept for ever").format(n=count_text(exempt.kept))
    dated = ngettext("{n} with a date of its own", "{n} with a date of their own", exempt.dated)
    parts = [
        *([kept] if exempt.kept else []),
        *([dated.format(n=count_text(exempt.dated))] if exempt.dated else []),
    ]
    said = gettext("Not touched: {parts}.")
    return said.format(parts=", ".join(parts))


def _half_life_words(rule: Kind) -> str:
    """Said of a half-life that never comes to an end; otherwise empty."""
    if rule.ttl_days is None or rule.half_life_days is None or rule.half_life_days <= rule.ttl_days:
        return ""
    said = gettext(
        "The half-life ({half_life}) is longer than the lifetime ({lifetime}): each memory expires before it counts "
        "half as recent."
    )
    return said.format(half_life=_days(rule.half_life_days), lifetime=_days(rule.ttl_days))


def _in_short(kind: Kind, first: Fading, moved: Moved, *, now: datetime, applies_at: datetime | None) -> str:
    """What another lifetime does, in one sentence with its dates. ``first``: what goes when it begins to act;
    ``moved``: if nothing does, what gets another end."""
    if first.rows:
        return _gone_words(first, kind, begins_at=applies_at or now)
    nothing = gettext("nothing disappears then") if applies_at else gettext("nothing disappears now")
    said = [
        _moved_words(moved, kind) if moved.rows else "",
        _back_words(first.kept_rows, kind, is_now=applies_at is None) if first.kept_rows else "",
        nothing,
    ]
    return f"{capfirst('; '.join(filter(None, said)))}."


def _back_words(rows: int, kind: Kind, *, is_now: bool) -> str:
    if kind.subject == Kind.Subject.RUN:
        said = ngettext("{rows} that would be deleted is kept", "{rows} that would be deleted are kept", rows)
    elif is_now:
        said = ngettext(
            "{rows} that has expired comes back into use now",
            "{rows} that have expired come back into use now",
            rows,
        )
    else:
        said = ngettext(
            "{rows} that has expired by then comes back into use",
            "{rows} that have expired by then come back into use",
            rows,
        )
    return said.format(rows=counted(rows, kind))


def _gone_words(first: Fading, kind: Kind, *, begins_at: datetime) -> str:
    until = timezone.localtime(begins_at + timedelta(hours=tuning.conf().expired_hours))
    said = ngettext(
        "{rows} of {people} disappears when the change is made; until {moment} it can be undone.",
        "{rows} of {people} disappear when the change is made; until {moment} it can be undone.",
        first.rows,
    )
    return said.format(
        rows=counted(first.rows, kind),
        people=_people(first.users),
        moment=date_format(until, gettext("j F H:i")),
    )


def _moved_words(moved: Moved, kind: Kind) -> str:
    if moved.ends_at is None:
        said = ngettext(
            "{rows} of {people} will be kept for ever instead of expiring on {before}",
            "{rows} of {people} will be kept for ever instead of beginning to expire on {before}",
            moved.rows,
        )
    elif moved.ended_at is None:
        said = ngettext(
            "{rows} of {people} will expire on {after} instead of being kept for ever",
            "{rows} of {people} will begin to expire on {after} instead of being kept for ever",
            moved.rows,
        )
    else:
        said = ngettext(
            "{rows} of {people} will expire on {after} instead of {before}",
            "{rows} of {people} will begin to expire on {after} instead of {before}",
            moved.rows,
        )
    return said.format(
        rows=counted(moved.rows, kind),
        people=_people(moved.users),
        before=end_day(moved.ended_at),
        after=end_day(moved.ends_at),
    )


def end_day(ends_at: datetime | None) -> str:
    return date_format(last_day(ends_at), gettext("j F Y")) if ends_at else ""


def age_chart(kind: Kind, after: int | None, *, now: datetime) -> charts.Chart | None:
    """How old its rows are, with the present and the drafted limit."""
    ages = kind_effects.ages(kind, limits=(kind.ttl_days, after), now=now)
    if not ages.counts:
        return None
    points = [charts.Point(_age(at, ages.width_days), count) for at, count in enumerate(ages.counts)]
    limits = ((gettext("Now: {days}"), kind.ttl_days), (gettext("Then: {days}"), after))
    marks = [
        (said.format(days=_days(days)), (days + 1) / ages.width_days)
        for said, days in limits
        if days is not None
    ]
    oldest = [point for point in points if point.value][-1]
    rows = sum(ages.counts)
    about = ngettext(
        "{n} follows the lifetime of this kind; it is {age} old.",
        "{n} follow the lifetime of this kind; the oldest are {age} old.",
        rows,
    )
    return charts.columns(
        gettext("How long ago they were said or affirmed"),
        points,
        tone="longterm",
        column=gettext("Age"),
        marks=marks,
        about=about.format(n=count_text(rows), age=oldest.label),
    )


def _sample(sample: Sample) -> SampleRow:
    return SampleRow(
        goes=sample.goes,
        age_days=sample.age_days,
        origin=gettext(ORIGIN_WORDS[Origin(sample.origin)]),
        status=gettext(STATUS_WORDS.get(sample.status, "")),
        statement=sample.statement,
    )


def counted(rows: int, kind: Kind) -> str:
    """By the name of what is of this kind."""
    if kind.subject == Kind.Subject.RUN:
        said = ngettext("{n} record", "{n} records", rows)
    elif kind.subject == Kind.Subject.EXPERIENCE:
        said = ngettext("{n} experience", "{n} experiences", rows)
    else:
        said = ngettext("{n} memory", "{n} memories", rows)
    return said.format(n=count_text(rows))


def held_words(held: Held, kind: Kind) -> str:
    """How much there is of a kind, and of how many people."""
    rows, kept = count_text(held.rows), count_text(held.kept)
    if not held.users:
        return gettext("{n} held now").format(n=rows)
    if not held.kept or kind.ttl_days is None:
        return gettext("{n} held now by {people}").format(n=rows, people=_people(held.users))
    said = gettext("{n} held now by {people}, {kept} of them for ever")
    return said.format(n=rows, people=_people(held.users), kept=kept)


def not_changed(looked_at: Mapping[str, Any], drafted: Mapping[str, Any]) -> str:
    """Why a draft was not made the rule: another was looked at, or none (empty). Each as ``kind_views`` keeps it."""
    rows: list[Difference] = []
    if looked_at:
        rows = [
            *differences(looked_at["values"], drafted["values"]),
            *_other_day(looked_at["applies_at"], drafted["applies_at"]),
        ]
    if not rows:
        return gettext("Not changed yet: look first at what it would do.")
    said = gettext("Not changed yet: the preview was for “{before}”, and the form now says “{after}”.")
    return said.format(
        before=", ".join(f"{row.name}: {row.before}" for row in rows),
        after=", ".join(f"{row.name}: {row.after}" for row in rows),
    )


def _other_day(looked_at: str | None, drafted: str | None) -> list[Difference]:
    if looked_at == drafted:
        return []
    return [Difference(gettext("From"), _day_words(looked_at), _day_words(drafted))]


def _day_words(moment: str | None) -> str:
    if moment is None:
        return gettext("now")
    return date_format(timezone.localtime(datetime.fromisoformat(moment)), gettext("j M Y"))


def change_button(kind: Kind, first: Fading | None, *, applies_at: datetime | None) -> str:
    """What the button says that makes a change; ``first``: what goes at once."""
    if applies_at:
        day = date_format(timezone.localtime(applies_at), gettext("j M Y"))
        return gettext("Change it on {day}").format(day=day)
    if first is None or not first.rows:
        return gettext("Change it now")
    said = ngettext(
        "Change it now: {rows} of {people} goes", "Change it now: {rows} of {people} go", first.rows
    )
    return said.format(rows=counted(first.rows, kind), people=_people(first.users))


def _people(users: int) -> str:
    return ngettext("{n} person", "{n} people", users).format(n=count_text(users))


def _days(days: int) -> str:
    return ngettext("{n} day", "{n} days", days).format(n=count_text(days)) if days else gettext("not at all")


def _age(at: int, width: int) -> str:
    first, last = at * width, (at + 1) * width - 1
    if first == last:
        return ngettext("{n} day", "{n} days", first).format(n=count_text(first))
    return gettext("{first}–{last} days").format(first=count_text(first), last=count_text(last))
