"""What the page of the tiers shows of knobs and of their changes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext, gettext_noop, ngettext

from memoryapp.inspector.amounts import money_text
from memoryapp.tuning import queries
from memoryapp.tuning.knobs import TUNABLE, Knob, Tier, Value, number, shown
from memoryapp.tuning.models import Setting, SettingChange

TITLES = {
    Tier.SCRATCHPAD: (
        gettext_noop("Scratchpad"),
        gettext_noop("What one reply may use while it is worked out."),
    ),
    Tier.TRANSCRIPT: (
        gettext_noop("Transcript"),
        gettext_noop("How long conversations are kept, and when older messages are summarised."),
    ),
    Tier.LONGTERM: (
        gettext_noop("Long-term"),
        gettext_noop("What is recalled for a message, and how long a mistake can be undone."),
    ),
    Tier.MODEL: (gettext_noop("Model"), gettext_noop("Which models answer, and what they may take.")),
    Tier.BUDGET: (
        gettext_noop("Budgets"),
        gettext_noop("What each person may use in a day. When it is spent, replies wait for the next day."),
    ),
}
WITH_UNIT: Mapping[str, Callable[[int], str]] = {
    "days": lambda n: ngettext("{n} day", "{n} days", n),
    "hours": lambda n: ngettext("{n} hour", "{n} hours", n),
    "items": lambda n: ngettext("{n} item", "{n} items", n),
    "messages": lambda n: ngettext("{n} message", "{n} messages", n),
    "minutes": lambda n: ngettext("{n} minute", "{n} minutes", n),
    "seconds": lambda n: ngettext("{n} second", "{n} seconds", n),
    "steps": lambda n: ngettext("{n} step", "{n} steps", n),
    "tokens": lambda n: ngettext("{n} token", "{n} tokens", n),
}
# As they stand behind a field; those of one sort with a number are above.
UNITS = {
    "US dollars": gettext_noop("US dollars"),
    "days": gettext_noop("days"),
    "hours": gettext_noop("hours"),
    "items": gettext_noop("items"),
    "messages": gettext_noop("messages"),
    "minutes": gettext_noop("minutes"),
    "seconds": gettext_noop("seconds"),
    "steps": gettext_noop("steps"),
    "tokens": gettext_noop("tokens"),
}


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
    def unit(self) -> str:
        return gettext(UNITS.get(self.knob.unit, self.knob.unit))

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
        Group(tier, gettext(title), gettext(lead), [field for field in fields if field.knob.tier == tier])
        for tier, (title, lead) in TITLES.items()
    ]


def turned(before: Mapping[str, Value | None], after: Mapping[str, Value | None]) -> list[Turned]:
    return [
        Turned(gettext(knob.label), _or_default(knob, before[name]), _or_default(knob, value))
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
            change.changed_by.get_username() if change.changed_by else gettext("(no longer here)"),
            change.undone_by.get_username() if change.undone_by else "",
            can_undo=change.undone_at is None
            and all(now.get(name) == value for name, value in change.after.items()),
        )


def in_words(knob: Knob, value: Value) -> str:
    """With its unit: "60 %", "no limit", "16 steps"."""
    if isinstance(value, str):
        return value
    if value == 0 and knob.zero:
        return gettext(knob.zero)
    if knob.unit == "US dollars":
        return money_text(value)
    scaled = round(value * knob.scale, 6)
    if knob.unit not in WITH_UNIT:
        return f"{number(scaled)} {knob.unit}"
    return WITH_UNIT[knob.unit](1 if scaled == 1 else 2).format(n=number(scaled))


def _or_default(knob: Knob, value: Value | None) -> str:
    if value is not None:
        return in_words(knob, value)
    return gettext("{value} (default)").format(value=in_words(knob, knob.default))


def _range(knob: Knob) -> str:
    if knob.range is None:
        return ""
    least, most = knob.range
    return gettext("{least} to {most}").format(least=number(least), most=number(most))
