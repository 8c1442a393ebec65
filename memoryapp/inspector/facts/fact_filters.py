"""Which facts are listed: what an address asks for, as rows, as chips to take off, and as other addresses."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from memoryapp.context import recall
from memoryapp.inspector.posted import day_or_none, midnight, uuid_or_none
from memoryapp.longterm import queries
from memoryapp.longterm.models import Kind, Memory, MemoryQuerySet
from memoryapp.longterm.presentation import ORIGIN_LABELS
from memoryapp.transcript import queries as transcript

FACTS_ALONE: tuple[recall.Arm, ...] = ("facts",)
MAX_DAYS: Final = 36_500

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
    "oldest": gettext_lazy("Oldest first"),
    "expires": gettext_lazy("Expiring first"),
    "used": gettext_lazy("Most used first"),
    "unsure": gettext_lazy("Least sure first"),
}
ORDERS: Final[Mapping[str, tuple[str, str]]] = {
    "": ("-recorded_at", "-id"),
    "oldest": ("recorded_at", "id"),
    "expires": ("fades_at", "id"),
    "used": ("-use_count", "-id"),
    "unsure": ("confidence", "id"),
}
WAITING_STATES: Final = ("waiting", "pending", "conflict")  # of which a list asks its person to decide
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

    def without(self, *names: str) -> "FactFilters":
        return replace(self, **dict.fromkeys(names, ""))

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out of the list of all that is in use."""
        return self.without("sort", "group") != FactFilters()

    @property
    def more_count(self) -> int:
        """How many filters are on that are not on the calm part of the page."""
        return sum(bool(getattr(self, name)) for name in _names() if name not in {*CALM, "group"})


def rows(user_id: UUID, filters: FactFilters, *, now: datetime) -> MemoryQuerySet:
    """By words or by meaning: what holds the text, and what answers it."""
    status = {"": "active", "all": "any", "superseded": "replaced"}.get(filters.status, filters.status)
    found = queries.memories(
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
        expires_before=now + timedelta(days=int(filters.expires)) if filters.expires else None,
    )
    if filters.sort == "expires":
        found = found.exclude(Q(fades_at=None))
    if not filters.q:
        return found
    answers = recall.search(user_id, filters.q, now=now, limit=recall.CANDIDATES, include=FACTS_ALONE)
    ids = [item.memory.id for item in answers if item.included]
    return found.filter(Q(statement__icontains=filters.q) | Q(id__in=ids))


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
            return _is_number(value, at_most=MAX_DAYS)
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
