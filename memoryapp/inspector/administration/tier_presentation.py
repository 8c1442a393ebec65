"""What the page of the tiers shows of knobs and of their changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryapp.tuning import queries
from memoryapp.tuning.knobs import TUNABLE, Knob, Tier, Value, shown
from memoryapp.tuning.models import Setting, SettingChange

TITLES = {
    Tier.SCRATCHPAD: ("Scratchpad", "What one reply may use while it is worked out."),
    Tier.TRANSCRIPT: (
        "Transcript",
        "How long conversations are kept, and when older messages are summarised.",
    ),
    Tier.LONGTERM: ("Long-term", "What is recalled for a message, and how long a mistake can be undone."),
    Tier.MODEL: ("Model", "Which models answer, and what they may take."),
    Tier.BUDGET: (
        "Budgets",
        "What each person may use in a day. When it is spent, replies wait for the next day.",
    ),
}
GONE = "(no longer here)"


@dataclass(frozen=True, slots=True)
class Field:
    """A knob in the form. ``written``: what stands in it; ``was``: what stood there when the page was made."""

    knob: Knob
    written: str
    was: str
    default: str
    range: str
    is_fixed: bool
    setting: Setting | None
    problem: str

    @property
    def is_text(self) -> bool:
        return isinstance(self.knob.default, str)


@dataclass(frozen=True, slots=True)
class Group:
    tier: Tier
    title: str
    lead: str
    fields: Sequence[Field]


@dataclass(frozen=True, slots=True)
class Turned:
    """One knob of a change, in words."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangeRow:
    change: SettingChange
    turned: Sequence[Turned]
    by: str
    undone_by: str
    can_undo: bool

    @property
    def at(self) -> datetime:
        return self.change.changed_at


def groups(*, written: Mapping[str, str], problems: Mapping[str, str]) -> list[Group]:
    """All knobs by tier; ``written`` wins over what is in force."""
    conf, fixed, settings = queries.conf(), queries.fixed(), queries.settings()
    fields = [
        Field(
            knob=knob,
            written=written.get(name, was),
            was=was,
            default=in_words(knob, knob.default),
            range=_range(knob),
            is_fixed=name in fixed,
            setting=None if name in fixed else settings.get(name),
            problem=problems.get(name, ""),
        )
        for name, knob in TUNABLE.items()
        for was in [shown(knob, getattr(conf, name))]
    ]
    return [
        Group(tier, *TITLES[tier], [field for field in fields if field.knob.tier == tier]) for tier in Tier
    ]


def turned(before: Mapping[str, Value | None], after: Mapping[str, Value | None]) -> list[Turned]:
    return [
        Turned(knob.label, _or_default(knob, before[name]), _or_default(knob, value))
        for name, value in after.items()
        if (knob := TUNABLE.get(name))
    ]


def change_rows(changes: Sequence[SettingChange]) -> Iterator[ChangeRow]:
    """What each set, and whether all of it is still as it set it, so that it can be undone."""
    now = {name: row.value for name, row in queries.settings().items()}
    for change in changes:
        yield ChangeRow(
            change,
            turned(change.before, change.after),
            change.changed_by.get_username() if change.changed_by else GONE,
            change.undone_by.get_username() if change.undone_by else "",
            can_undo=change.undone_at is None
            and all(now.get(name) == value for name, value in change.after.items()),
        )


def in_words(knob: Knob, value: Value) -> str:
    """With its unit: "60 %", "no limit", "16 steps"."""
    if isinstance(value, str):
        return value
    if value == 0 and knob.zero:
        return knob.zero
    if knob.unit == "US dollars":
        return f"${value:,.2f}"
    number = round(value * knob.scale, 6)
    text = f"{number:,.15g}" if number == int(number) else f"{number:,.6g}"
    unit = knob.unit.removesuffix("s") if number == 1 else knob.unit
    return f"{text} {unit}"


def _or_default(knob: Knob, value: Value | None) -> str:
    return f"{in_words(knob, knob.default)} (default)" if value is None else in_words(knob, value)


def _range(knob: Knob) -> str:
    if knob.range is None:
        return ""
    least, most = knob.range
    return f"{least:,.15g} to {most:,.15g}"
