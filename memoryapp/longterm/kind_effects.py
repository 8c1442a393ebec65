"""What the rule of a kind does to the rows of it: what would go, what stays anyway, how old it all is.

Counted is what the sweep deletes: what is in use, what waits for its person, and former values; what is being
forgotten is gone already. Numbers are of everybody's rows; words are shown to the person who asks, of their own.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import (
    Avg,
    Count,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    Max,
    Q,
    QuerySet,
    Sum,
    Value,
)
from django.db.models.functions import Extract, Length, Now

from memoryapp.longterm.models import Experience, Kind, Memory

HORIZONS_DAYS = (0, 7, 30)
SAMPLES = 10
BINS = 24
CHARS_PER_TOKEN = 4  # near enough for facts, which are a line each

Point = tuple[int | None, timedelta, datetime | None]  # a lifetime, at a time after a moment, or after now

# ``memory_fades_at`` turned round, as in search.py: asked once for each zone, moment and lifetime instead of for each
# of some hundred thousand rows. By ``moment`` a row is gone when it was affirmed before ``since``, the first instant of
# a day on its person's calendar. A midnight that clocks meet twice is the later one for ``memory_fades_at``, and the
# earlier one is where the day begins.
SINCE = """
WITH cut AS MATERIALIZED (
    SELECT zone.time_zone, point.n,
           CASE WHEN point.ttl IS NULL THEN '-infinity'
                WHEN ((midnight - interval '1 hour') AT TIME ZONE zone.time_zone)::date >= day
                THEN midnight - interval '1 hour'
                ELSE midnight END AS since
    FROM (SELECT DISTINCT time_zone FROM accounts_user) zone,
         unnest(%(ttls)s::int[], %(aheads)s::interval[], %(froms)s::timestamptz[])
             WITH ORDINALITY AS point(ttl, ahead, begins, n),
         LATERAL (SELECT coalesce(point.begins, statement_timestamp()) + point.ahead AS moment) at,
         LATERAL (SELECT (moment AT TIME ZONE zone.time_zone)::date AS today) local,
         LATERAL (SELECT CASE WHEN today::timestamp AT TIME ZONE zone.time_zone <= moment THEN today ELSE today - 1 END
                         - point.ttl AS day) last,
         LATERAL (SELECT day::timestamp AT TIME ZONE zone.time_zone AS midnight) first
)
"""
# Own dates and what is kept for ever are the same under every rule, so they are left out. Expects nothing of an index:
# a kind is a large part of the table.
FADING = """{since}, person AS MATERIALIZED (
    SELECT accounts_user.id, {columns} FROM accounts_user JOIN cut USING (time_zone) GROUP BY accounts_user.id
), per_person AS (
    SELECT kept.user_id, {counts}
    FROM {table} kept JOIN person ON person.id = kept.user_id
    WHERE kept.kind_id = %(kind_id)s AND kept.forgetting_id IS NULL AND {follows} AND kept.affirmed_at >= person.swept
    GROUP BY kept.user_id
)
SELECT {sums} FROM per_person
"""
COUNTS = """
count(*) FILTER (WHERE {goes}) AS rows_{n},
count(*) FILTER (WHERE {stays}) AS kept_{n},
count(*) FILTER (WHERE {put_off}) AS later_{n},
count(*) FILTER (WHERE {goes} AND {status} IN ('pending', 'conflict')) AS waiting_{n},
count(*) FILTER (WHERE {goes} AND {status} = 'superseded') AS former_{n}
"""
SUMS = """
coalesce(sum(rows_{n}), 0)::int, count(*) FILTER (WHERE rows_{n} > 0), coalesce(sum(kept_{n}), 0)::int,
coalesce(sum(waiting_{n}), 0)::int, coalesce(sum(former_{n}), 0)::int, coalesce(sum(later_{n}), 0)::int
"""
# Within a person's calendar the row that was affirmed first ends first, so that one row of each is asked for its ends.
MOVED = """{since}, person AS MATERIALIZED (
    SELECT accounts_user.id, time_zone, max(since) AS since FROM accounts_user JOIN cut USING (time_zone)
    GROUP BY accounts_user.id
), per_person AS (
    SELECT person.time_zone, count(*) AS rows, min(kept.affirmed_at) AS oldest
    FROM {table} kept JOIN person ON person.id = kept.user_id
    WHERE kept.kind_id = %(kind_id)s AND kept.forgetting_id IS NULL AND {follows} AND kept.affirmed_at >= person.since
    GROUP BY person.id, person.time_zone
)
SELECT coalesce(sum(rows), 0)::int, count(*),
       min(memory_fades_at(oldest, %(before)s::int, NULL::timestamptz, false, time_zone)),
       min(memory_fades_at(oldest, %(after)s::int, NULL::timestamptz, false, time_zone))
FROM per_person
"""
# What is in use of each kind. A person's limits lie in the order of the kinds that are given: joined row by row, they
# would be looked for in every zone.
HELD = """{since}, person AS MATERIALIZED (
    SELECT accounts_user.id, array_agg(since ORDER BY n) AS limits FROM accounts_user JOIN cut USING (time_zone)
    GROUP BY accounts_user.id
), per_person AS (
    SELECT kept.kind_id, kept.user_id, count(*) AS rows,
           count(*) FILTER (WHERE {is_kept}) AS kept, count(*) FILTER (WHERE {is_dated}) AS dated
    FROM {table} kept JOIN person ON person.id = kept.user_id
    WHERE {status} = 'active' AND kept.forgetting_id IS NULL AND kept.kind_id = ANY (%(kind_ids)s::bigint[])
      AND (%(user_id)s::uuid IS NULL OR kept.user_id = %(user_id)s::uuid)
      AND ({is_kept} OR {ends_later} OR ({follows}
           AND kept.affirmed_at >= person.limits[array_position(%(kind_ids)s::bigint[], kept.kind_id)]))
    GROUP BY kept.kind_id, kept.user_id
)
SELECT kind_id, sum(rows)::int, count(*), sum(kept)::int, sum(dated)::int FROM per_person GROUP BY kind_id
"""
# The oldest that are there by the longer lifetime now and gone by the shorter one at a later moment: found in the
# index, and only then read. Other people's words are not selected.
SAMPLES_OF = """{since}, person AS MATERIALIZED (
    SELECT accounts_user.id, min(since) AS first, max(since) AS last FROM accounts_user JOIN cut USING (time_zone)
    GROUP BY accounts_user.id
), oldest AS MATERIALIZED (
    SELECT kept.id
    FROM {table} kept JOIN person ON person.id = kept.user_id
    WHERE kept.kind_id = %(kind_id)s AND kept.forgetting_id IS NULL AND {follows}
      AND kept.affirmed_at >= person.first AND kept.affirmed_at < person.last
    ORDER BY kept.affirmed_at, kept.id
    LIMIT %(limit)s
)
SELECT kept.affirmed_at, kept.origin, {status}, CASE WHEN kept.user_id = %(reader_id)s THEN kept.{words} ELSE '' END
FROM oldest JOIN {table} kept USING (id)
ORDER BY kept.affirmed_at, kept.id
"""
MEMORIES = {
    "since": SINCE,
    "table": "longterm_memory",
    "status": "kept.status",
    "follows": "NOT kept.is_kept AND kept.expires_at IS NULL",
    "is_kept": "kept.is_kept",
    "is_dated": "NOT kept.is_kept AND kept.expires_at IS NOT NULL",
    "ends_later": "kept.expires_at > statement_timestamp()",
    "words": "statement",
}
EXPERIENCES = {
    "since": SINCE,
    "table": "longterm_experience",
    "status": "'active'",
    "follows": "true",
    "is_kept": "false",
    "is_dated": "false",
    "ends_later": "false",
    "words": "goal",
}


@dataclass(frozen=True, slots=True)
class Fading:
    """What a changed lifetime has done ``days`` days after it began to act.

    ``rows`` of ``users`` people are gone that would still be there under the present one; ``kept_rows`` are still there
    that would be gone. ``waiting`` and ``former`` are those of ``rows`` that were not in use. ``later``: rows there
    whose end it has put off, be it still to come.
    """

    days: int
    rows: int
    users: int
    kept_rows: int
    waiting: int = 0
    former: int = 0
    later: int = 0


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows that are there under both lifetimes and get another end, of how many people; the first end of any of them
    under the present lifetime and under the other, None: never."""

    rows: int = 0
    users: int = 0
    ended_at: datetime | None = None
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What there is of a kind, of one person or of all: rows in use, those kept for ever, those with their own date."""

    rows: int = 0
    users: int = 0
    kept: int = 0
    dated: int = 0


@dataclass(frozen=True, slots=True)
class Ages:
    """Rows by days since they were affirmed: ``counts[n]`` are ``n * width_days`` to below the next."""

    width_days: int
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Sureness:
    """Of what is in use: how much another minimum of confidence takes out of recall, and how much comes back."""

    drops: int
    drops_users: int
    returns: int
    returns_users: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What a prompt holds of a kind that is always used."""

    people: int
    most_rows: int
    mean_rows: float
    most_tokens: int
    mean_tokens: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One row, by days since it was affirmed. ``statement`` is empty unless it is the reader's own."""

    age_days: int
    origin: str
    status: str
    statement: str
    goes: bool


def fading(
    kind: Kind,
    *,
    before: int | None,
    after: int | None,
    days: Sequence[int] = HORIZONS_DAYS,
    since: datetime | None = None,
    swept_until: datetime | None = None,
) -> list[Fading]:
    """What a lifetime of ``after`` instead of ``before`` days does; by the database's clock, or from ``since`` on.

    ``swept_until``: what ended before that under the present rule will be deleted before the other one acts.
    """
    if before == after:
        return [Fading(n, 0, 0, 0) for n in days]
    points = [
        *((before, timedelta(days=n), since) for n in days),
        *((after, timedelta(days=n), since) for n in days),
        (before if swept_until else None, timedelta(0), swept_until),
    ]
    found = _rows(_fading_sql(_table_of(kind), len(days)), points, kind_id=kind.id)[0]
    return [Fading(n, *found[6 * at : 6 * at + 6]) for at, n in enumerate(days)]


def is_shorter(before: int | None, after: int | None) -> bool:
    """Of two lifetimes that differ: whether ``after`` ends rows earlier."""
    return before is None or (after is not None and after < before)


def horizons(after: int | None) -> tuple[int, ...]:
    """Days to look ahead: a longer lifetime shows what it keeps only at its end."""
    if after is None or after <= HORIZONS_DAYS[-1]:
        return HORIZONS_DAYS
    return (*HORIZONS_DAYS, after)


def moved(kind: Kind, *, before: int | None, after: int | None, since: datetime | None = None) -> Moved:
    """What a lifetime of ``after`` instead of ``before`` days gives another end; otherwise as ``fading``."""
    if before == after:
        return Moved()
    points = [(lifetime, timedelta(0), since) for lifetime in (before, after)]
    sql = MOVED.format(**_table_of(kind))
    return Moved(*_rows(sql, points, kind_id=kind.id, before=before, after=after)[0])


def held(user_id: UUID | None = None, *, kind_id: int | None = None) -> dict[int, Held]:
    """Kind id → what there is of it, of this person or of everybody; of one kind or of all."""
    asked = Kind.objects.order_by("id") if kind_id is None else Kind.objects.filter(id=kind_id)
    kinds = list(asked.values_list("id", "ttl_days"))
    points = [(ttl_days, timedelta(0), None) for _, ttl_days in kinds]
    values = {"user_id": user_id, "kind_ids": [kind_id for kind_id, _ in kinds]}
    return {
        kind_id: Held(*counted)
        for what in (MEMORIES, EXPERIENCES)
        for kind_id, *counted in _rows(HELD.format(**what), points, **values)
    }


def exempt(kind: Kind) -> Held:
    """What no lifetime of the kind touches: rows kept for ever, and rows with a date of their own."""
    if kind.subject != Kind.Subject.STATEMENT:
        return Held()
    own = Memory.objects.filter(Q(is_kept=True) | Q(expires_at__gt=Now()), kind=kind)
    counted = own.aggregate(
        rows=Count("id"),
        users=Count("user_id", distinct=True),
        kept=Count("id", filter=Q(is_kept=True)),
        dated=Count("id", filter=Q(is_kept=False)),
    )
    return Held(**counted)


def ages(kind: Kind, *, limits: Iterable[int | None], now: datetime) -> Ages:
    """Of what follows the kind's lifetime, as far as the oldest row and the limits."""
    age = ExpressionWrapper(
        Value(now, output_field=DateTimeField()) - F("affirmed_at"), output_field=DurationField()
    )
    by_day = _following(kind).order_by().annotate(day=Extract(age, "day")).values_list("day")
    counted: Counter[int] = Counter()
    for day, count in by_day.annotate(rows=Count("*")):
        counted[max(0, int(day))] += count  # what is dated ahead is new
    if not counted:
        return Ages(1, ())
    span = 1 + max(BINS // 4 - 1, *counted, *(limit for limit in limits if limit is not None))
    width = ceil(span / BINS)
    counts = [0] * ceil(span / width)
    for day, count in counted.items():
        counts[day // width] += count
    return Ages(width, counts)


def sureness(kind: Kind, *, after: float) -> Sureness:
    before = kind.min_confidence
    drops = Q(confidence__gte=before, confidence__lt=after)
    returns = Q(confidence__lt=before, confidence__gte=after)
    counted = _in_use(kind).aggregate(
        drops=Count("id", filter=drops),
        drops_users=Count("user_id", filter=drops, distinct=True),
        returns=Count("id", filter=returns),
        returns_users=Count("user_id", filter=returns, distinct=True),
    )
    return Sureness(**counted)


def unconfirmed(kind: Kind) -> int:
    """Rows that nobody has confirmed and that would go out of use: experiences alone are asked each time."""
    if kind.subject != Kind.Subject.EXPERIENCE:
        return 0
    return Experience.objects.filter(kind=kind, confirmed_at=None).unfaded().count()


def standing(kind: Kind, *, min_confidence: float) -> Standing:
    """What being always used costs, person by person."""
    if kind.subject != Kind.Subject.STATEMENT:
        return Standing(0, 0, 0, 0, 0)
    per_person = (
        _in_use(kind)
        .filter(confidence__gte=min_confidence)
        .values("user_id")
        .annotate(rows=Count("id"), chars=Sum(Length("statement")))
    )
    counted = per_person.aggregate(
        people=Count("user_id"),
        most_rows=Max("rows", default=0),
        mean_rows=Avg("rows", default=0.0),
        most_chars=Max("chars", default=0),
        mean_chars=Avg("chars", default=0.0),
    )
    return Standing(
        people=counted["people"],
        most_rows=counted["most_rows"],
        mean_rows=float(counted["mean_rows"]),
        most_tokens=ceil(counted["most_chars"] / CHARS_PER_TOKEN),
        mean_tokens=ceil(float(counted["mean_chars"]) / CHARS_PER_TOKEN),
    )


def samples(kind: Kind, *, after: int | None, reader_id: UUID, now: datetime) -> list[Sample]:
    """Rows that end within 30 days by one of the two lifetimes, and later by the other; oldest first.

    Words are the reader's own: other people's do not leave the database.
    """
    ahead = timedelta(days=HORIZONS_DAYS[-1])
    goes = is_shorter(kind.ttl_days, after)
    shorter, longer = (after, kind.ttl_days) if goes else (kind.ttl_days, after)
    found = _rows(
        SAMPLES_OF.format(**_table_of(kind)),
        [(longer, timedelta(0), None), (shorter, ahead, None)],
        kind_id=kind.id,
        reader_id=reader_id,
        limit=SAMPLES,
    )
    return [
        Sample((now - affirmed_at).days, origin, status, words, goes=goes)
        for affirmed_at, origin, status, words in found
    ]


def _rows(sql: str, points: Sequence[Point], **values: Any) -> list[tuple[Any, ...]]:
    ttls, aheads, froms = zip(*points, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(sql, {"ttls": list(ttls), "aheads": list(aheads), "froms": list(froms), **values})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _fading_sql(what: Mapping[str, str], horizons: int) -> str:
    """Counts of each horizon side by side; its points are those before, those after, and what is swept by then."""
    columns = [f"max(since) FILTER (WHERE n = {n}) AS s{n}" for n in range(1, 2 * horizons + 1)]
    columns.append(f"max(since) FILTER (WHERE n = {2 * horizons + 1}) AS swept")
    counts = [
        COUNTS.format(
            n=n,
            goes=f"kept.affirmed_at >= person.s{n} AND kept.affirmed_at < person.s{n + horizons}",
            stays=f"kept.affirmed_at >= person.s{n + horizons} AND kept.affirmed_at < person.s{n}",
            put_off=f"kept.affirmed_at >= person.s{n + horizons} AND person.s{n + horizons} < person.s{n}",
            status=what["status"],
        )
        for n in range(1, horizons + 1)
    ]
    sums = [SUMS.format(n=n) for n in range(1, horizons + 1)]
    return FADING.format(columns=", ".join(columns), counts=",".join(counts), sums=",".join(sums), **what)


def _table_of(kind: Kind) -> Mapping[str, str]:
    return EXPERIENCES if kind.subject == Kind.Subject.EXPERIENCE else MEMORIES


def _following(kind: Kind) -> QuerySet[Any]:
    """The rows that the kind's lifetime decides about."""
    if kind.subject == Kind.Subject.EXPERIENCE:
        return Experience.objects.filter(kind=kind)
    return Memory.objects.filter(kind=kind, is_kept=False, expires_at=None)


def _in_use(kind: Kind) -> QuerySet[Any]:
    if kind.subject == Kind.Subject.EXPERIENCE:
        return Experience.objects.filter(kind=kind).unfaded()
    return Memory.objects.filter(kind=kind).live()
