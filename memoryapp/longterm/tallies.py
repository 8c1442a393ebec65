"""Counts of one person's memories, and what happened to them since a moment: for the overview."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import (
    BooleanField,
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Now, TruncWeek
from django.utils.text import Truncator
from django.utils.translation import gettext

from memoryapp.longterm.changed_kinds import is_changed_since, with_hidden_at
from memoryapp.longterm.models import Kind, Memory, MemoryQuerySet, MemoryVersion
from memoryapp.longterm.queries import WAITING, after_days, memories, statement_kinds

_LATER, _SOON, _ENDED, _LONG_OVER = "later", "soon", "ended", "long over"


@dataclass(frozen=True, slots=True)
class Standing:
    """Facts in use. ``by_kind``: in the order of the kinds, without those that have none. ``growth``: Monday → how many
    of them there were at the end of that week; the last is this week. ``learned``, ``ended``: as many as
    ``learned_since`` and ``expired_since`` list; ``ending``: as ``expiring_count`` says."""

    by_kind: list[tuple[Kind, int]]
    growth: list[tuple[date, int]]
    learned: int
    ended: int
    ending: int


@dataclass(frozen=True, slots=True)
class WaitingSource:
    """A conversation, or without one a channel, from which ``count`` memories wait."""

    conversation_id: UUID | None
    title: str
    channel: Memory.Channel
    count: int

    @property
    def name(self) -> str:
        """In an address."""
        return f"{self.channel}.{self.conversation_id}" if self.conversation_id else self.channel

    @property
    def label(self) -> str:
        """For its person: the title in quotation marks, or how it came."""
        if not self.title:
            return str(self.channel.label)
        return gettext("“{title}”").format(title=Truncator(self.title).chars(50))


def standing(
    user_id: UUID, *, now: datetime, time_zone: str, weeks: int, since: datetime, days: int
) -> Standing:
    """All of it in one reading of the index ``memory_ends``."""
    zone = ZoneInfo(time_zone)
    rows = Memory.objects.for_user(user_id).filter(status=Memory.Status.ACTIVE).with_expiry().order_by()
    keys = ("kind", "week", "is_new", "end")
    grouped = rows.annotate(
        week=TruncWeek("recorded_at", tzinfo=zone),
        is_new=ExpressionWrapper(_is_new(user_id, since), output_field=BooleanField()),
        end=_end(since=since, soon=after_days(days, now=now)),
    ).values_list(*keys)
    by_kind, by_week, by_end = Counter[int](), Counter[date](), Counter[str]()
    learned = 0
    for kind_id, start, is_new, end, n in grouped.annotate(n=Count("*")).values_list(*keys, "n"):
        by_end[end] += n
        if end in {_LATER, _SOON}:
            by_kind[kind_id] += n
            by_week[start.date()] += n
            learned += n if is_new else 0
    today = now.astimezone(zone).date()
    this_week = today - timedelta(days=today.weekday())
    mondays = [this_week - timedelta(weeks=back) for back in range(weeks - 1, -1, -1)]
    return Standing(
        by_kind=[(kind, by_kind[kind.pk]) for kind in statement_kinds() if kind.pk in by_kind],
        growth=[(monday, sum(n for start, n in by_week.items() if start <= monday)) for monday in mondays],
        learned=learned,
        # The index does not tell what a change of a lifetime hid; it is among what is long over by the new one.
        ended=expired_since(user_id, since).count() if by_end[_LONG_OVER] else by_end[_ENDED],
        ending=by_end[_SOON],
    )


def _end(*, since: datetime, soon: datetime) -> Case:
    """First what most rows are: an end is worked out anew for each comparison."""
    return Case(
        When(fades_at__gte=soon, then=Value(_LATER)),
        When(fades_at__gt=Now(), then=Value(_SOON)),
        When(fades_at__gt=since, then=Value(_ENDED)),
        When(fades_at=None, then=Value(_LATER)),
        default=Value(_LONG_OVER),
    )


def expiring_count(user_id: UUID, *, now: datetime, days: int) -> int:
    """How many ``queries.expiring_soon`` lists; asked for every page, of the rows that can end at all."""
    ending = Memory.objects.for_user(user_id).filter(status=Memory.Status.ACTIVE, is_kept=False)
    ending = ending.exclude(expires_at=None, kind__ttl_days=None).with_expiry()
    # First what most rows are not.
    return ending.filter(Q(fades_at__lt=after_days(days, now=now)) & Q(fades_at__gt=Now())).count()


def learned_since(user_id: UUID, since: datetime) -> MemoryQuerySet:
    """Live facts that are new since, newest first; not what their person wrote on the memory page."""
    return (
        Memory.objects.for_user(user_id)
        .live()
        .select_related("kind")
        .filter(_is_new(user_id, since))
        .defer("embedding", "terms")
        .order_by("-recorded_at", "-id")
    )


def _is_new(user_id: UUID, since: datetime) -> Q:
    former = Memory.objects.for_user(user_id).filter(status=Memory.Status.SUPERSEDED)
    replaced = former.filter(superseded_by=OuterRef("pk"), superseded_at__gt=since)
    return Q(recorded_at__gt=since) & ~Q(channel=Memory.Channel.INSPECTOR) & ~Q(Exists(replaced))


def replaced_since(user_id: UUID, since: datetime) -> QuerySet[Memory]:
    """Former values whose place another took since, with that other; not by their person's own hand."""
    by_hand = MemoryVersion.objects.filter(
        memory=OuterRef("superseded_by"),
        version__gt=1,
        changed_by=MemoryVersion.Author.USER,
        recorded_at__gt=since,
    )
    return (
        Memory.objects.for_user(user_id)
        .with_expiry()
        .select_related("kind", "superseded_by__kind")
        .defer("embedding", "terms", "superseded_by__embedding", "superseded_by__terms")
        .filter(status=Memory.Status.SUPERSEDED, superseded_at__gt=since)  # expects memory_list
        .filter(~Exists(by_hand), superseded_by__status=Memory.Status.ACTIVE)
        .filter(superseded_by__forgetting=None)
        .exclude(superseded_by__channel=Memory.Channel.INSPECTOR)
        .order_by("-superseded_at", "-id")
    )


def expired_since(user_id: UUID, since: datetime) -> MemoryQuerySet:
    """What has gone out of use since and is still there, so that its person can bring it back; the last to go first.

    By its end, or by a change of its kind's lifetime (``hidden_at``), by which it may have ended long before.
    """
    rows = memories(user_id, status="expired").defer("embedding", "terms")
    if not is_changed_since(since):
        return rows.filter(Q(fades_at__gt=since)).order_by(F("fades_at").desc(), "-id")
    hidden = with_hidden_at(rows).filter(Q(fades_at__gt=since) | Q(hidden_at__gt=since))
    return hidden.order_by(Coalesce("hidden_at", "fades_at").desc(), "-id")


def expired(user_id: UUID) -> MemoryQuerySet:
    """What has ended and is still there, with ``hidden_at``; the last to go out of use first."""
    rows = with_hidden_at(memories(user_id, status="expired"))
    return rows.order_by(Coalesce("hidden_at", "fades_at").desc(), "-id")


def waiting_sources(user_id: UUID) -> list[WaitingSource]:
    """Where what waits for its person's word came from, and how much from each; the most first."""
    rows = Memory.objects.for_user(user_id).unfaded().filter(status__in=WAITING).order_by()
    talk = "source_message__turn__conversation"
    counted = rows.values_list(talk, f"{talk}__title", "channel").annotate(n=Count("id"))
    found = [
        WaitingSource(talk_id, title or "", Memory.Channel(channel), n)
        for talk_id, title, channel, n in counted.values_list(talk, f"{talk}__title", "channel", "n")
    ]
    return sorted(
        found, key=lambda source: (-source.count, source.title, source.channel, str(source.conversation_id))
    )


def by_source(user_id: UUID) -> list[tuple[str, str, int]]:
    """Channel, the program's name where one wrote, and how many facts are there from it; the most first."""
    rows = (
        Memory.objects.for_user(user_id).order_by().values_list("channel", "program").annotate(n=Count("id"))
    )
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def waiting(user_id: UUID, *, source: WaitingSource | None = None) -> MemoryQuerySet:
    """What waits for its person's word, of one source or of all."""
    rows = Memory.objects.for_user(user_id).unfaded().filter(status__in=WAITING).select_related("kind")
    if source is None:
        return rows
    return rows.filter(source_message__turn__conversation=source.conversation_id, channel=source.channel)
