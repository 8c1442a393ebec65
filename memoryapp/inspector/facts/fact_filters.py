"""Which facts are listed: what an address asks for, as rows, as chips to take off, and as other addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import Case, F, Func, IntegerField, Q, UUIDField, Value, When
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from memoryapp.context import recall
from memoryapp.context.considered import Considered
from memoryapp.inspector.posted import day_or_none, midnight, uuid_or_none
from memoryapp.longterm import queries
from memoryapp.longterm.models import MAX_DAYS, Kind, Memory, MemoryQuerySet
from memoryapp.longterm.presentation import ORIGIN_LABELS
from memoryapp.transcript import queries as transcript

MAX_DAYS_AHEAD: Final = MAX_DAYS + 366  # a date of its own may be as late as the end of that year
# Lower than the cutoff of a prompt (0.40): who looks through their own facts sees at a glance what does not answer.
# Of one-word searches over twenty facts ("pets", "city", "family") the right one reached 0.13 to 0.39, where it missed
# that cutoff, and the best for words without a meaning 0.12.
MAY_FIT_FROM: Final = 0.13
# A word or two say little to an embedder; with these before them they say what a question would. Of "home town" among
# 29 facts, ten that answer it reached 0.22 to 0.82 so, and 0.06 to 0.36 by themselves; hardly any of twenty words
# without a meaning reached both.
ASKED_ABOUT: Final = "about my {words}"
ASKED_ABOUT_FROM: Final = 0.2
ASKED_PLAINLY_FROM: Final = 0.05
SHORT_WORDS: Final = 2
MAY_FIT_SHOWN: Final = 5

STATUS_CHOICES: Final = {
    "waiting": gettext_lazy("To decide"),
    "pending": gettext_lazy("Unconfirmed"),
    "conflict": gettext_lazy("Does not fit"),
    "superseded": pgettext_lazy("a state", "Replaced"),
    "set_aside": gettext_lazy("Set aside as wrong"),
    "expired": pgettext_lazy("a state", "Expired"),
    "all": pgettext_lazy("facts of any state", "All"),
}
ORIGIN_CHOICES: Final = {origin.value: label for origin, label in ORIGIN_LABELS.items()}
CHANNEL_CHOICES: Final = {
    channel.value: format_lazy(gettext_lazy("Through {channel}"), channel=channel.label)
    for channel in Memory.Channel
}
USAGE_CHOICES: Final = {
    "never": gettext_lazy("Never used in a reply"),
    "used": gettext_lazy("Used in a reply"),
}
LIFETIME_CHOICES: Final = {
    "kept": gettext_lazy("Kept for ever"),
    "dated": gettext_lazy("With a date of its own"),
}
EXPIRES_CHOICES: Final = {
    "7": gettext_lazy("Within 7 days"),
    "30": gettext_lazy("Within 30 days"),
    "90": gettext_lazy("Within 90 days"),
}
SORT_CHOICES: Final = {
    "": gettext_lazy("Newest first"),
    "newest": gettext_lazy("Newest first"),
    "oldest": gettext_lazy("Oldest first"),
    "expires": gettext_lazy("Expiring first"),
    "used": gettext_lazy("Most used first"),
    "unsure": gettext_lazy("Least sure first"),
}
ORDERS: Final[Mapping[str, tuple[str, str]]] = {
    "": ("-recorded_at", "-id"),
    "newest": ("-recorded_at", "-id"),
    "oldest": ("recorded_at", "id"),
    "expires": ("fades_at", "id"),
    "used": ("-use_count", "-id"),
    "unsure": ("confidence", "id"),
}
WAITING_STATES: Final = ("waiting", "pending", "conflict")  # of which a list asks its person to decide
BEST_FIRST: Final = ("-nearness", "-id")  # of what was searched for, unless another order is asked for
CALM: Final = ("q", "kind", "status", "sort")  # always on the page; the rest is behind "More filters"
_FORMER_WORDS: Final = {"any": "all"}  # the API's word for it


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on. ``url``: the list without it."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class FactFilters:
    """The words of an address, each empty unless it says something that can be asked for.

    ``since`` and ``until`` are days, of which the whole is meant; ``sure_from`` and ``sure_to`` percents.
    """

    q: str = ""
    kind: str = ""
    status: str = ""
    origin: str = ""
    sort: str = ""
    group: str = ""
    sure_from: str = ""
    sure_to: str = ""
    since: str = ""
    until: str = ""
    conversation: str = ""
    usage: str = ""
    expires: str = ""
    channel: str = ""
    lifetime: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "FactFilters":
        """What cannot be asked for is left out, so that an old or mistyped address still shows a list."""
        given = {name: values.get(name, "").replace("\x00", "").strip()[:500] for name in _names()}
        given["status"] = _FORMER_WORDS.get(given["status"], given["status"])
        return cls(**{name: value for name, value in given.items() if _is_askable(name, value)})

    def query(self, **changes: str) -> str:
        """As an address has them: "?kind=event&sort=oldest", or nothing for none."""
        wanted = {name: getattr(self, name) for name in _names()} | changes
        query = urlencode({name: value for name, value in wanted.items() if value})
        return f"?{query}" if query else ""

    @property
    def url(self) -> str:
        """Of the list, to follow from it: an empty one would keep the filters that are on."""
        return self.query() or reverse("inspector:facts")

    @property
    def order(self) -> tuple[str, str]:
        return BEST_FIRST if self.q and not self.sort else ORDERS[self.sort]

    @property
    def sorts(self) -> Mapping[str, object]:
        """The orders to choose from, by their word in the address: what is searched for comes best match first."""
        if self.q:
            return {**SORT_CHOICES, "": gettext("Best match first")}
        return {word: label for word, label in SORT_CHOICES.items() if word != "newest"}

    def without(self, *names: str) -> "FactFilters":
        return replace(self, **dict.fromkeys(names, ""))

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out of the list of all that is in use."""
        return self.without("sort", "group") != FactFilters()

    @property
    def narrows_beside_words(self) -> bool:
        """Whether it leaves anything out of what a search of all that is in use finds."""
        return self.without("q").narrows

    @property
    def more_count(self) -> int:
        """How many filters are on that are not on the calm part of the page."""
        return sum(bool(getattr(self, name)) for name in _names() if name not in {*CALM, "group"})


@dataclass(frozen=True, slots=True)
class Found:
    """``rows``: what the filters find, each with its ``nearness``, 0 at most, where words were searched for.
    ``may_fit``: what may answer these words too, best first; not among ``rows``."""

    rows: MemoryQuerySet
    may_fit: MemoryQuerySet


def found(user_id: UUID, filters: FactFilters, *, now: datetime) -> Found:
    """By words or by meaning: what holds the text, then what answers it, best first."""
    fitting = _fitting(user_id, filters, now=now)
    if not filters.q:
        return Found(fitting, fitting.none())
    answers = _answers(user_id, filters.q, now=now)
    sure = [item.memory.id for item in answers if item.included]
    perhaps = [item.memory.id for item in answers if not item.included and _is_close(item)]
    holding = Q(statement__icontains=filters.q)
    is_short = len(filters.q.split()) <= SHORT_WORDS and len(perhaps) < MAY_FIT_SHOWN
    if is_short and not fitting.filter(holding).exists():
        about = _about(user_id, filters.q, answers, now=now)
        perhaps = [memory_id for memory_id in dict.fromkeys(about + perhaps) if memory_id not in sure]
    return Found(
        _ordered(fitting.filter(holding | Q(id__in=sure)), sure, holding=holding),
        _ordered(fitting.filter(id__in=perhaps).exclude(holding), perhaps, holding=holding).order_by(
            *BEST_FIRST
        ),
    )


def _answers(user_id: UUID, question: str, *, now: datetime) -> Sequence[Considered]:
    return recall.search(user_id, question, now=now, limit=recall.CANDIDATES, include=recall.FACTS_ALONE)


def _about(user_id: UUID, words: str, answers: Sequence[Considered], *, now: datetime) -> list[UUID]:
    """What may answer a word or two, best first. ``answers``: to the words alone."""
    near = {item.memory.id for item in answers if _is_close(item, at_least=ASKED_PLAINLY_FROM)}
    asked = _answers(user_id, ASKED_ABOUT.format(words=words), now=now)
    close = (item.memory.id for item in asked if _is_close(item, at_least=ASKED_ABOUT_FROM))
    return [memory_id for memory_id in close if memory_id in near]


def _is_close(item: Considered, *, at_least: float = MAY_FIT_FROM) -> bool:
    """By its meaning or a word: what has no vector and no word in common is like any other, and what was looked up
    is left out for its words alone."""
    is_compared = item.arms.get("cosine") is not None or bool(item.arms.get("overlap"))
    return is_compared and item.confidence is not None and item.confidence >= at_least


def _ordered(rows: MemoryQuerySet, ids: Sequence[UUID], *, holding: Q) -> MemoryQuerySet:
    """``ids``: of what answers, best first. What holds the very words is nearer than any of them."""
    answers = Value(list(ids), output_field=ArrayField(UUIDField()))
    place = Func(answers, F("id"), function="array_position", output_field=IntegerField())
    return rows.annotate(nearness=Case(When(holding, then=0), default=-place))


def rows(user_id: UUID, filters: FactFilters, *, now: datetime) -> MemoryQuerySet:
    """Those of ``found`` that one can be sure of."""
    return found(user_id, filters, now=now).rows


def _fitting(user_id: UUID, filters: FactFilters, *, now: datetime) -> MemoryQuerySet:
    """Whatever the words that are searched for."""
    status = {"": "active", "all": "any", "superseded": "replaced"}.get(filters.status, filters.status)
    fitting = queries.memories(
        user_id,
        kind=filters.kind,
        origin=filters.origin,
        status=status,
        channel=filters.channel,
        usage=filters.usage,
        lifetime=filters.lifetime,
        min_confidence=_share(filters.sure_from, down_by=0.005),
        max_confidence=_share(filters.sure_to, down_by=-0.00499),
        conversation_id=uuid_or_none(filters.conversation),
        said_after=midnight(filters.since),
        said_before=midnight(filters.until, days_later=1),
        expires_before=queries.after_days(int(filters.expires), now=now) if filters.expires else None,
    )
    if filters.sort == "expires":
        fitting = fitting.exclude(Q(fades_at=None))
    return fitting


def chips(user_id: UUID, filters: FactFilters, *, kinds: list[Kind]) -> list[Chip]:
    """One per filter that is on, in the order of the form."""
    texts = {
        "q": f"“{filters.q}”",
        "kind": _kind_label(filters.kind, kinds),
        "status": STATUS_CHOICES.get(filters.status, ""),
        "origin": ORIGIN_CHOICES.get(filters.origin, ""),
        "sure_from": gettext("At least {percent} % sure").format(percent=filters.sure_from),
        "sure_to": gettext("At most {percent} % sure").format(percent=filters.sure_to),
        "since": gettext("Said from {day}").format(day=_day_text(filters.since)),
        "until": gettext("Said until {day}").format(day=_day_text(filters.until)),
        "conversation": _said_in(user_id, filters.conversation) if filters.conversation else "",
        "usage": USAGE_CHOICES.get(filters.usage, ""),
        "expires": gettext("Expires within {days} days").format(days=filters.expires),
        "channel": CHANNEL_CHOICES.get(filters.channel, ""),
        "lifetime": LIFETIME_CHOICES.get(filters.lifetime, ""),
    }
    return [
        Chip(str(text), filters.without(name).url) for name, text in texts.items() if getattr(filters, name)
    ]


def _names() -> list[str]:
    return [column.name for column in fields(FactFilters)]


def _is_askable(name: str, value: str) -> bool:
    choices: Mapping[str, Mapping[str, object]] = {
        "status": STATUS_CHOICES,
        "origin": ORIGIN_CHOICES,
        "channel": CHANNEL_CHOICES,
        "usage": USAGE_CHOICES,
        "lifetime": LIFETIME_CHOICES,
        "sort": SORT_CHOICES,
        "group": {"kind": ""},
    }
    if name in choices:
        return value in choices[name]
    match name:
        case "sure_from" | "sure_to":
            return _is_number(value, at_most=100)
        case "expires":
            return _is_number(value, at_most=MAX_DAYS_AHEAD)
        case "since" | "until":
            return midnight(value) is not None
        case "conversation":
            return uuid_or_none(value) is not None
    return True


def _is_number(value: str, *, at_most: int) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 6 and int(value) <= at_most


def _share(percent: str, *, down_by: float) -> float | None:
    """Of a percentage as pages show it, which is rounded: 75 stands for 0.745 up to 0.755."""
    return min(1.0, max(0.0, int(percent) / 100 - down_by)) if percent else None


def _day_text(day: str) -> str:
    begins: date | None = day_or_none(day)
    return date_format(begins, gettext("j M Y")) if begins else ""


def _kind_label(slug: str, kinds: list[Kind]) -> str:
    return next((gettext(kind.label) for kind in kinds if kind.slug == slug), slug)


def _said_in(user_id: UUID, conversation_id: str) -> str:
    title = (
        transcript.conversations(user_id).filter(id=conversation_id).values_list("title", flat=True).first()
    )
    if title is None:
        return gettext("From “a conversation that is gone”")
    return gettext("From “{title}”").format(title=title or gettext("New chat"))
