"""What the overview shows: each tier's holdings, what happened since the last visit, and how it grows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.translation import gettext, gettext_lazy

from memoryapp.inspector import charts
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.charts import Chart, Point
from memoryapp.inspector.presentation import kept_text
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.presentation import expires_text, last_day, last_moment, left_text

KINDS_SHOWN = 8
TIER_LABELS = {
    "scratchpad": gettext_lazy("Scratchpad"),
    "transcript": gettext_lazy("Transcript"),
    "longterm": gettext_lazy("Long-term"),
}


@dataclass(frozen=True, slots=True)
class NewsRow:
    """One thing that happened, with the button that takes it back.

    ``before``: what it said until then. ``version``: of ``memory_id``, which ``revert`` of the overview acts on.
    ``is_hidden``: it has expired by a change of its kind's lifetime.
    """

    memory_id: UUID
    statement: str
    url: str
    kind_label: str
    at: datetime
    version: int
    before: str = ""
    expires_text: str = ""
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """``since`` None: of a first visit, when everything is new. ``deleted``: expired ones that are gone for good."""

    since: datetime | None
    learned: Sequence[NewsRow]
    learned_count: int
    changed: Sequence[NewsRow]
    changed_count: int
    expired: Sequence[NewsRow]
    expired_count: int
    deleted: int

    @property
    def is_nothing(self) -> bool:
        return not (self.learned_count or self.changed_count or self.expired_count or self.deleted)


def learned_row(memory: Memory, *, now: datetime) -> NewsRow:
    return NewsRow(
        memory_id=memory.id,
        statement=memory.statement,
        url=_url(memory.id),
        kind_label=gettext(memory.kind.label),
        at=memory.recorded_at,
        version=memory.version,
        expires_text=kept_text(memory, now=now),
    )


def changed_row(former: Memory) -> NewsRow:
    """``former`` comes with what replaced it; taking it back is its coming back into use."""
    current = former.superseded_by
    assert current
    assert former.superseded_at
    return NewsRow(
        memory_id=former.id,
        statement=current.statement,
        url=_url(current.id),
        kind_label=gettext(current.kind.label),
        at=former.superseded_at,
        version=former.version,
        before=former.statement,
    )


def expired_row(memory: Memory) -> NewsRow:
    ended_at: datetime = memory.fades_at  # type: ignore[attr-defined]  # annotated by the query
    hidden_at: datetime | None = getattr(memory, "hidden_at", None)
    return NewsRow(
        memory_id=memory.id,
        statement=memory.statement,
        url=_url(memory.id),
        kind_label=gettext(memory.kind.label),
        at=hidden_at or ended_at,
        version=memory.version,
        is_hidden=hidden_at is not None,
    )


def kinds_chart(counted: Sequence[tuple[Kind, int]]) -> Chart:
    """The largest kinds, each linked to its facts; the rest as one bar."""
    by_size = sorted(counted, key=lambda pair: -pair[1])
    shown = [_kind_point(kind, n) for kind, n in by_size[:KINDS_SHOWN]]
    rest = sum(n for _, n in by_size[KINDS_SHOWN:])
    points = [*shown, *([Point(gettext("Other kinds"), rest)] if rest else [])]
    return charts.bars(gettext("Facts of each kind"), points, tone="longterm", column=gettext("Kind"))


def growth_chart(weeks: Sequence[tuple[date, int]]) -> Chart:
    title = gettext("Facts in use at the end of the week")
    return charts.line(title, _weekly(weeks), tone="longterm", column=gettext("Week of"))


def recalls_chart(weeks: Sequence[tuple[date, int]]) -> Chart:
    total = sum(n for _, n in weeks)
    about = gettext("{n} times in {weeks} weeks.").format(n=count_text(total), weeks=len(weeks))
    title, column = gettext("How often a reply was given a memory"), gettext("Week of")
    return charts.columns(title, _weekly(weeks), tone="longterm", column=column, about=about)


def storage_chart(held: dict[str, int]) -> Chart:
    points = [
        Point(str(TIER_LABELS[tier]), size, filesizeformat(size), tone=tier) for tier, size in held.items()
    ]
    return charts.stacked(gettext("Storage"), points, column=gettext("Memory"))


def quota_chart(used: int, limit: int) -> Chart:
    """As far as it goes: of people with few facts the bar is nearly empty, and that is what it says."""
    taken = {"used": count_text(used), "limit": count_text(limit)}
    shown = gettext("{used} of {limit}").format(**taken)
    about = gettext("{used} of {limit} places, {share}.").format(**taken, share=f"{used / max(limit, 1):.0%}")
    points = [Point(gettext("Places taken"), used, shown, tone="longterm")]
    return charts.stacked(gettext("Room in long-term memory"), points, whole=limit, about=about)


def _weekly(weeks: Sequence[tuple[date, int]]) -> list[Point]:
    return [Point(date_format(monday, gettext("j M")), n) for monday, n in weeks]


def _kind_point(kind: Kind, n: int) -> Point:
    return Point(gettext(kind.label), n, url=f"{reverse('inspector:facts')}?{urlencode({'kind': kind.slug})}")


def _url(memory_id: UUID) -> str:
    return reverse("inspector:fact", args=[memory_id])


@dataclass(frozen=True, slots=True)
class EndingRow:
    """A fact that expires. ``ends_at``: its last moment; ``left``: how long it has, in words; ``expires_text``: until
    which day; ``extends_to``: its last day if it were extended now, None where that moves nothing."""

    memory_id: UUID
    statement: str
    url: str
    kind_label: str
    said_at: datetime
    ends_at: datetime
    left: str
    expires_text: str
    extends_to: date | None


@dataclass(frozen=True, slots=True)
class EndingDay:
    """The last day on which its facts are remembered."""

    name: str
    date: date
    rows: list[EndingRow]


def by_day(
    memories: Sequence[Memory], *, extended: Mapping[UUID, datetime], now: datetime
) -> list[EndingDay]:
    """``memories`` come with ``fades_at``, in its order; one that ends at midnight is there the whole day before.
    ``extended``: when those would expire that can be extended."""
    days: list[EndingDay] = []
    for memory in memories:
        row = ending_row(memory, extended=extended, now=now)
        day = row.ends_at.date()
        if not days or days[-1].date != day:
            days.append(EndingDay(_day_name(day, now=now), day, []))
        days[-1].rows.append(row)
    return days


def ending_row(memory: Memory, *, extended: Mapping[UUID, datetime], now: datetime) -> EndingRow:
    """As ``by_day``."""
    ends_at: datetime = memory.fades_at  # type: ignore[attr-defined]  # annotated by the query
    return EndingRow(
        memory_id=memory.id,
        statement=memory.statement,
        url=_url(memory.id),
        kind_label=gettext(memory.kind.label),
        said_at=memory.said_at,
        ends_at=last_moment(ends_at),
        left=left_text(ends_at, now=now),
        expires_text=expires_text(ends_at, now=now),
        extends_to=last_day(extended[memory.id]) if memory.id in extended else None,
    )


def _day_name(day: date, *, now: datetime) -> str:
    away = (day - timezone.localdate(now)).days
    if away in {0, 1}:
        return gettext("Today") if away == 0 else gettext("Tomorrow")
    return date_format(day, gettext("l, j F"))
