"""Rules of kinds as the policy pages show them: what a change would do, and what changes did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memoryapp.inspector import charts
from memoryapp.longterm import kind_changes, kind_effects
from memoryapp.longterm.kind_effects import Fading, Held, Sample, Standing, Sureness
from memoryapp.longterm.models import Kind, KindChange
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import record_ages

NAMES = {
    "label": "Label",
    "ttl_days": "Lifetime",
    "half_life_days": "Half-life",
    "min_confidence": "Minimum confidence",
    "needs_confirmation": "Waits for a word",
    "is_always_used": "In every prompt",
    "shape": "Shape",
    "rationale": "Why",
}
ORIGIN_WORDS = {
    Origin.USER_TYPED: "said by its person",
    Origin.USER_CONFIRMED: "confirmed by its person",
    Origin.MODEL_INFERRED: "concluded by the model",
    Origin.TOOL: "from a tool",
    Origin.IMPORTED: "imported",
    Origin.UNTRUSTED: "from other text",
}
STATUS_WORDS = {
    "pending": "waits for a word",
    "conflict": "does not fit another",
    "superseded": "former value",
}
TO_COME, IN_FORCE, WITHDRAWN, UNDONE = "To come", "Made", "Withdrawn", "Taken back"


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
    fading: Sequence[Fading]
    exempt: Held
    ages: charts.Chart | None
    samples: Sequence[SampleRow]
    sureness: Sureness | None
    unconfirmed: int | None
    standing: Standing | None
    is_run: bool

    @property
    def goes_first(self) -> Fading | None:
        return self.fading[0] if self.fading else None


@dataclass(frozen=True, slots=True)
class Past:
    """A change in the history."""

    id: UUID
    kind: Kind
    differences: Sequence[Difference]
    why: str
    who: str
    state: str
    decided_at: datetime
    applies_at: datetime
    ended_at: datetime | None
    ended_by: str
    shown: Sequence[Mapping[str, int]]
    hidden_rows: int
    deleted_rows: int
    touches_lifetime: bool

    @property
    def is_to_come(self) -> bool:
        return self.state == TO_COME

    @property
    def is_in_force(self) -> bool:
        return self.state == IN_FORCE

    @property
    def has_acted(self) -> bool:
        return self.state in {IN_FORCE, UNDONE}


@dataclass(frozen=True, slots=True)
class Undoing:
    """What taking the newest change of a kind back does; ``gone``: rows that it cannot bring back."""

    change_id: UUID
    label: str
    gone: int
    until: datetime | None


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Field by field, where they differ, in the order of the form."""
    return [
        Difference(NAMES[field], value_words(field, before[field]), value_words(field, after[field]))
        for field in NAMES
        if field in after and before.get(field) != after[field]
    ]


def value_words(field: str, value: Any) -> str:
    """A value of a rule as one says it."""
    if field in {"ttl_days", "half_life_days"}:
        return _days(value, never="for ever" if field == "ttl_days" else "none")
    if field == "min_confidence":
        return f"{round(value * 100)} %"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def effects(
    kind: Kind, after: Kind, *, reader_id: UUID, now: datetime, applies_at: datetime | None
) -> Effects:
    """What ``after`` would do instead of ``kind``, by its rows as they are."""
    is_run = kind.subject == Kind.Subject.RUN
    is_other_lifetime = kind.ttl_days != after.ttl_days
    return Effects(
        differences=differences(kind_changes.rule(kind), kind_changes.rule(after)),
        fading=lifetime_effects(kind, after.ttl_days, applies_at=applies_at) if is_other_lifetime else [],
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
    )


def lifetime_effects(kind: Kind, after: int | None, *, applies_at: datetime | None = None) -> list[Fading]:
    """Of memories and experiences by long-term memory, of records of runs by the scratchpad."""
    if kind.subject != Kind.Subject.RUN:
        return kind_changes.preview(kind, after=after, applies_at=applies_at)
    endings = record_ages.endings(
        before=kind.ttl_days, after=after, days=kind_effects.HORIZONS_DAYS, since=applies_at
    )
    return [
        Fading(days=each.days, rows=each.goes, users=each.users, kept_rows=each.stays) for each in endings
    ]


def age_chart(kind: Kind, after: int | None, *, now: datetime) -> charts.Chart | None:
    """How old its rows are, with the present and the drafted limit."""
    ages = kind_effects.ages(kind, limits=(kind.ttl_days, after), now=now)
    if not ages.counts:
        return None
    points = [charts.Point(_age(at, ages.width_days), count) for at, count in enumerate(ages.counts)]
    limits = (("Now", kind.ttl_days), ("Then", after))
    marks = [
        (f"{name}: {_days(days, never='for ever')}", (days + 1) / ages.width_days)
        for name, days in limits
        if days is not None
    ]
    total = sum(ages.counts)
    return charts.columns(
        "How long ago they were said or affirmed",
        points,
        tone="longterm",
        column="Age",
        marks=marks,
        about=f"{total:,} follow the lifetime of this kind; the oldest are {points[-1].label} old.",
    )


def past(change: KindChange) -> Past:
    return Past(
        id=change.id,
        kind=change.kind,
        differences=[
            row for row in differences(change.before, change.after) if row.name != NAMES["rationale"]
        ],
        why=change.after.get("rationale") or change.before.get("rationale") or "",
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
    )


def undoing(change: KindChange) -> Undoing:
    """Of the newest change that was made, whose values are still those of its kind."""
    kind = change.kind
    back = change.before.get("ttl_days", kind.ttl_days)
    now = next(iter(lifetime_effects(kind, back)), Fading(0, 0, 0, 0))
    if now.kept_rows and kind.subject == Kind.Subject.RUN:
        label = f"Undo: keep {counted(now.kept_rows, kind)}"
    elif now.kept_rows:
        label = f"Undo: bring {counted(now.kept_rows)} back"
    elif now.rows and kind.subject != Kind.Subject.RUN:
        label = f"Undo: hide {counted(now.rows)} again"
    else:
        label = "Undo: restore the rule"
    return Undoing(
        change_id=change.id, label=label, gone=change.deleted_rows, until=kind_changes.undo_until(change)
    )


def _sample(sample: Sample) -> SampleRow:
    return SampleRow(
        goes=sample.goes,
        age_days=sample.age_days,
        origin=ORIGIN_WORDS[Origin(sample.origin)],
        status=STATUS_WORDS.get(sample.status, ""),
        statement=sample.statement,
    )


def _state(change: KindChange) -> str:
    if change.undone_at:
        return UNDONE if change.applied_at else WITHDRAWN
    return IN_FORCE if change.applied_at else TO_COME


def _name(person: Any) -> str:
    return person.get_username() if person else "somebody who is gone"


def counted(rows: int, kind: Kind | None = None) -> str:
    """Of a kind, if it may be of records of runs."""
    if kind is not None and kind.subject == Kind.Subject.RUN:
        return f"{rows:,} {'record' if rows == 1 else 'records'}"
    return f"{rows:,} {'memory' if rows == 1 else 'memories'}"


def _days(days: int | None, *, never: str) -> str:
    if days is None:
        return never
    return f"{days:,} day{'' if days == 1 else 's'}" if days else "not at all"


def _age(at: int, width: int) -> str:
    first, last = at * width, (at + 1) * width - 1
    return f"{first:,} days" if first == last else f"{first:,}–{last:,} days"
