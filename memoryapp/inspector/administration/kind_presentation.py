"""Rules of kinds as the policy pages show them: what a change would do, and what changes did."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext

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


class State(models.TextChoices):
    """How far a change has come."""

    TO_COME = "to_come", gettext_lazy("To come")
    IN_FORCE = "in_force", gettext_lazy("Applied")
    WITHDRAWN = "withdrawn", gettext_lazy("Withdrawn")
    UNDONE = "undone", gettext_lazy("Taken back")


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
class Effects:
    """What a drafted rule would do; parts that do not change are None or empty."""

    differences: Sequence[Difference]
    in_short: str
    fading: Sequence[Fading]
    exempt: Held
    ages: charts.Chart | None
    samples: Sequence[SampleRow]
    sureness: Sureness | None
    unconfirmed: int | None
    standing: Standing | None
    is_run: bool
    undo_hours: int

    @property
    def goes_first(self) -> Fading | None:
        """At once, or on the day of the change."""
        return self.fading[0] if self.fading else None


@dataclass(frozen=True, slots=True)
class Past:
    """A change in the history."""

    id: UUID
    kind: Kind
    differences: Sequence[Difference]
    why: str
    who: str
    state: State
    decided_at: datetime
    applies_at: datetime
    ended_at: datetime | None
    ended_by: str
    shown: Sequence[Mapping[str, int]]
    hidden_rows: int
    deleted_rows: int
    touches_lifetime: bool
    can_be_undone: bool

    @property
    def is_to_come(self) -> bool:
        return self.state == State.TO_COME

    @property
    def is_in_force(self) -> bool:
        return self.state == State.IN_FORCE

    @property
    def has_acted(self) -> bool:
        return self.state in {State.IN_FORCE, State.UNDONE}


@dataclass(frozen=True, slots=True)
class Undoing:
    """What taking the newest change of a kind back does; ``gone``: rows that it cannot bring back.

    ``brings_back``: whether it shows rows again that the change hid. ``until``: when what it ended is deleted, if it
    ended anything.
    """

    change_id: UUID
    label: str
    brings_back: bool
    gone: int
    until: datetime | None


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
    return Effects(
        differences=differences(kind_changes.rule(kind), kind_changes.rule(after)),
        in_short=_in_short(kind, after, fading[0], now=now, applies_at=applies_at) if fading else "",
        fading=fading,
        exempt=kind_effects.exempt(kind) if is_other_lifetime else Held(),
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
    return [
        Fading(each.days, each.goes, each.users, kept_rows=each.stays, later=each.later) for each in endings
    ]


def _in_short(kind: Kind, after: Kind, first: Fading, *, now: datetime, applies_at: datetime | None) -> str:
    """What another lifetime does, in one sentence with its dates. ``first``: what goes when it begins to act."""
    if first.rows:
        return _gone_words(first, kind, begins_at=applies_at or now)
    moved = kind_changes.moved(kind, after=after.ttl_days, applies_at=applies_at)
    nothing = gettext("nothing disappears then") if applies_at else gettext("nothing disappears now")
    return f"{_moved_words(moved)}; {nothing}." if moved.rows else f"{capfirst(nothing)}."


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


def _moved_words(moved: Moved) -> str:
    if moved.ends_at is None:
        said = gettext(
            "{rows} of {people} will be kept for ever instead of expiring on {before} at the earliest"
        )
    elif moved.ended_at is None:
        said = gettext(
            "{rows} of {people} will expire on {after} at the earliest instead of being kept for ever"
        )
    else:
        said = gettext("{rows} of {people} will expire on {after} instead of {before} at the earliest")
    return said.format(
        rows=counted(moved.rows),
        people=_people(moved.users),
        before=_end_day(moved.ended_at),
        after=_end_day(moved.ends_at),
    )


def _end_day(ends_at: datetime | None) -> str:
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


def past(change: KindChange, *, waiting: Collection[int]) -> Past:
    """``waiting``: the kinds that have a change to come."""
    why = change.after.get("rationale") or change.before.get("rationale") or ""
    turned = {field: value for field, value in change.after.items() if field != "rationale"}
    return Past(
        id=change.id,
        kind=change.kind,
        differences=differences(change.before, turned),
        why=gettext(why),
        who=_name(change.changed_by),
        state=_state(change),
        decided_at=change.created_at,
        applies_at=change.applied_at or change.applies_at,
        ended_at=change.undone_at,
        ended_by=_name(change.undone_by) if change.undone_at else "",
        shown=change.preview if "ttl_days" in change.after else [],
        hidden_rows=change.hidden_rows,
        deleted_rows=change.deleted_rows,
        touches_lifetime="ttl_days" in change.after,
        can_be_undone=kind_changes.can_be_undone(change, waiting=waiting),
    )


def undoing(change: KindChange) -> Undoing:
    """Of the newest change that was made, whose values are still those of its kind."""
    kind = change.kind
    back = change.before.get("ttl_days", kind.ttl_days)
    now = next(iter(lifetime_effects(kind, back)), Fading(0, 0, 0, 0))
    is_run = kind.subject == Kind.Subject.RUN
    return Undoing(
        change_id=change.id,
        label=_undo_label(now, kind),
        brings_back=bool(now.kept_rows) and not is_run,
        gone=change.deleted_rows,
        until=kind_changes.undo_until(change) if now.kept_rows else None,
    )


def _undo_label(now: Fading, kind: Kind) -> str:
    is_run = kind.subject == Kind.Subject.RUN
    if now.kept_rows and is_run:
        return gettext("Undo: keep {rows}").format(rows=counted(now.kept_rows, kind))
    if now.kept_rows:
        return gettext("Undo: bring {rows} back").format(rows=counted(now.kept_rows))
    if now.rows and not is_run:
        return gettext("Undo: hide {rows} again").format(rows=counted(now.rows))
    return gettext("Undo: restore the rule")


def _sample(sample: Sample) -> SampleRow:
    return SampleRow(
        goes=sample.goes,
        age_days=sample.age_days,
        origin=gettext(ORIGIN_WORDS[Origin(sample.origin)]),
        status=gettext(STATUS_WORDS.get(sample.status, "")),
        statement=sample.statement,
    )


def _state(change: KindChange) -> State:
    if change.undone_at:
        return State.UNDONE if change.applied_at else State.WITHDRAWN
    return State.IN_FORCE if change.applied_at else State.TO_COME


def _name(person: Any) -> str:
    return person.get_username() if person else gettext("somebody who is gone")


def counted(rows: int, kind: Kind | None = None) -> str:
    """Of a kind, if it may be of records of runs."""
    if kind is not None and kind.subject == Kind.Subject.RUN:
        return ngettext("{n} record", "{n} records", rows).format(n=count_text(rows))
    return ngettext("{n} memory", "{n} memories", rows).format(n=count_text(rows))


def held_words(held: Held) -> str:
    """How much there is of a kind, and of how many people."""
    rows, kept = count_text(held.rows), count_text(held.kept)
    if not held.users:
        return gettext("{n} held now").format(n=rows)
    if not held.kept:
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
