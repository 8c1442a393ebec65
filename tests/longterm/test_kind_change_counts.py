"""The count that is shown before a lifetime is changed is the count that goes, whatever the rows, zones and days."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.longterm import kind_changes
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.kind_effects import Moved
from memoryapp.longterm.models import Forgetting, Kind, KindChange, Memory, fading_at
from tests.longterm.clock import stopped_clock, turn_to

# Far from Greenwich on both sides, by quarters of an hour, and with clocks that change at midnight itself.
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "Africa/Cairo",
]
STATUSES = ["active", "active", "pending", "conflict", "superseded"]
GRACE = timedelta(hours=24)
NEVER = datetime.max.replace(tzinfo=UTC)

lifetimes = st.none() | st.integers(1, 60) | st.integers(1, 400)
# Around the changes of clocks of the year, and at any other time.
YEAR = datetime(2027, 1, 1, tzinfo=UTC)
clocks = st.builds(
    lambda minutes: YEAR + timedelta(minutes=minutes), st.integers(0, 2 * 525_600)
) | st.builds(
    lambda day, hours: day + timedelta(hours=hours),
    st.sampled_from(
        [
            datetime(2027, 3, 14, tzinfo=UTC),
            datetime(2027, 3, 28, tzinfo=UTC),
            datetime(2027, 4, 30, tzinfo=UTC),
            datetime(2027, 10, 29, tzinfo=UTC),
            datetime(2027, 10, 31, tzinfo=UTC),
            datetime(2027, 11, 7, tzinfo=UTC),
        ]
    ),
    st.integers(-30, 30),
)


@dataclass(frozen=True, slots=True)
class Row:
    zone: str
    days: int  # before the clock's day, on the person's calendar
    seconds: int  # after that day's midnight; below 0: before it
    status: str
    is_kept: bool
    ends_in_days: int | None
    is_forgotten: bool


rows_of = st.lists(
    st.builds(
        Row,
        zone=st.sampled_from(ZONES),
        days=st.integers(0, 420),
        seconds=st.sampled_from([-1, 0, 1, 3_600, 43_200, 86_399]),
        status=st.sampled_from(STATUSES),
        is_kept=st.sampled_from([False, False, False, True]),
        ends_in_days=st.none() | st.none() | st.integers(-40, 40),
        is_forgotten=st.sampled_from([False, False, False, True]),
    ),
    max_size=24,
)
examples = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@contextmanager
def undone() -> Iterator[None]:
    """Each example begins with the same tables."""
    begun = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(begun)


def kind_with(ttl_days: int | None) -> Kind:
    Kind.objects.filter(slug="event").update(ttl_days=ttl_days)
    return Kind.objects.get(slug="event")


def written(rows: list[Row], *, clock: datetime, kind: Kind) -> None:
    zones = sorted({row.zone for row in rows})
    people = {
        person.time_zone: person
        for person in User.objects.bulk_create(User(username=zone, time_zone=zone) for zone in zones)
    }
    forgettings = Forgetting.objects.bulk_create(
        Forgetting(user=people[row.zone], created_at=clock, undo_until=clock) for row in rows
    )
    Memory.objects.bulk_create(
        _memory(row, people[row.zone], clock=clock, kind=kind, forgetting=forgetting)
        for row, forgetting in zip(rows, forgettings, strict=True)
    )


def _memory(row: Row, person: User, *, clock: datetime, kind: Kind, forgetting: Forgetting) -> Memory:
    local = clock.astimezone(ZoneInfo(row.zone)) - timedelta(days=row.days)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    affirmed_at = midnight + timedelta(seconds=row.seconds)
    return Memory(
        user=person,
        kind=kind,
        statement="It was",
        digest=str(forgetting.id),
        channel=Memory.Channel.API,
        origin="user_typed",
        confidence=0.9,
        status=row.status,
        said_at=affirmed_at,
        valid_from=affirmed_at,
        affirmed_at=affirmed_at,
        is_kept=row.is_kept,
        expires_at=None if row.ends_in_days is None else clock + timedelta(days=row.ends_in_days),
        forgetting=forgetting if row.is_forgotten else None,
    )


def there(ttl_days: int | None, at: datetime) -> dict[object, object]:
    """The rows that a read finds at that moment under that lifetime, with their people."""
    kind_with(ttl_days)
    turn_to(at)
    return dict(Memory.objects.unfaded().values_list("id", "user_id"))


def ends_of(ids: Iterable[object], ttl_days: int | None) -> dict[object, datetime]:
    """When those end, by the function that decides it, that the kind's lifetime ends."""
    rows = Memory.objects.filter(id__in=list(ids), is_kept=False, expires_at=None)
    ends = rows.annotate(ends_at=fading_at(ttl_days, subject=Kind.Subject.STATEMENT))
    return {memory_id: at or NEVER for memory_id, at in ends.values_list("id", "ends_at")}


def havana(days: int, seconds: int) -> list[Row]:
    """In whose night to 7 November 2027 it is midnight twice, at 04:00 and at 05:00 UTC."""
    return [
        Row("America/Havana", days, seconds, "active", is_kept=False, ends_in_days=None, is_forgotten=False)
    ]


@pytest.mark.django_db
@examples
@given(clock=clocks, before=lifetimes, after=lifetimes, rows=rows_of, days=st.sampled_from([0, 7, 30]))
@example(clock=datetime(2027, 11, 8, 12, tzinfo=UTC), before=None, after=1, rows=havana(1, 1_800), days=0)
@example(clock=datetime(2027, 11, 7, 4, 30, tzinfo=UTC), before=None, after=1, rows=havana(2, 43_200), days=0)
def test_what_is_shown_is_hidden_and_what_is_hidden_is_swept(clock, before, after, rows, days):
    with undone(), stopped_clock(clock):
        written(rows, clock=clock, kind=kind_with(before))
        moment = clock + timedelta(days=days)
        under_the_old, under_the_new = there(before, moment), there(after, moment)
        kind = kind_with(before)
        turn_to(clock)
        goes = under_the_old.keys() - under_the_new.keys()

        shown = {row.days: row for row in kind_changes.preview(kind, after=after)}[days]

        assert shown.rows == len(goes)
        assert shown.users == len({under_the_old[memory_id] for memory_id in goes})
        assert shown.kept_rows == len(under_the_new.keys() - under_the_old.keys())

        made = kind_changes.change("event", {"ttl_days": after}, changed_by=None, now=clock)
        turn_to(moment)
        assert set(Memory.objects.unfaded().values_list("id", flat=True)) == under_the_new.keys()

        turn_to(moment + GRACE)
        longterm.delete_faded()
        left = set(Memory.objects.values_list("id", flat=True))
        assert left == under_the_new.keys()
        assert goes.isdisjoint(left)
        if made is not None:
            assert KindChange.objects.get(id=made.id).deleted_rows == shown.rows


@pytest.mark.django_db
@examples
@given(clock=clocks, before=lifetimes, after=lifetimes, rows=rows_of, days=st.sampled_from([0, 7, 30, None]))
def test_what_ends_later_is_counted_at_every_day_also_at_the_end_of_the_lifetime(
    clock, before, after, rows, days
):
    with undone(), stopped_clock(clock):
        written(rows, clock=clock, kind=kind_with(before))
        ahead = (after if after and after > 30 else 30) if days is None else days
        under_the_new = there(after, clock + timedelta(days=ahead))
        ended, ends = ends_of(under_the_new, before), ends_of(under_the_new, after)
        kind = kind_with(before)
        turn_to(clock)

        shown = {row.days: row for row in kind_changes.preview(kind, after=after)}[ahead]

        assert shown.later == sum(ends[memory_id] > ended[memory_id] for memory_id in ends)
        assert shown.kept_rows <= shown.later


@pytest.mark.django_db
@examples
@given(clock=clocks, before=lifetimes, after=lifetimes, rows=rows_of)
def test_the_days_that_are_named_are_the_first_ends_of_what_stays(clock, before, after, rows):
    with undone(), stopped_clock(clock):
        written(rows, clock=clock, kind=kind_with(before))
        was_there = there(before, clock)
        stays = {memory_id: user for memory_id, user in there(after, clock).items() if memory_id in was_there}
        ended, ends = ends_of(stays, before), ends_of(stays, after)
        kind = kind_with(before)
        turn_to(clock)

        moved = kind_changes.moved(kind, after=after)

        if before == after or not ends:
            assert moved == Moved()
        else:
            assert (moved.rows, moved.users) == (len(ends), len({stays[memory_id] for memory_id in ends}))
            assert (moved.ended_at or NEVER) == min(ended.values())
            assert (moved.ends_at or NEVER) == min(ends.values())


@pytest.mark.django_db
@examples
@given(
    clock=clocks,
    after=st.integers(1, 400),
    more=st.none() | st.integers(1, 400),
    rows=rows_of,
    ahead=st.none() | st.integers(1, 60),
)
def test_what_is_shown_of_the_first_end_is_what_is_gone_by_then(clock, after, more, rows, ahead):
    before = after + more if more else None
    with undone(), stopped_clock(clock):
        written(rows, clock=clock, kind=kind_with(before))
        kind = kind_with(before)
        applies_at = clock + timedelta(days=ahead) if ahead else None
        turn_to(clock)
        moved = kind_changes.moved(kind, after=after, applies_at=applies_at)
        if not moved.rows:
            return

        shown = kind_changes.first_gone(kind, moved, after=after, applies_at=applies_at)

        if applies_at:
            turn_to(applies_at)
            longterm.delete_faded()
        goes = there(before, moved.ends_at).keys() - there(after, moved.ends_at).keys()
        assert shown.rows == len(goes) > 0


@pytest.mark.django_db
@examples
@given(clock=clocks, before=lifetimes, after=lifetimes, rows=rows_of, hours=st.integers(0, 23))
def test_undone_before_a_sweep_could_delete_all_is_as_if_it_had_not_been(clock, before, after, rows, hours):
    with undone(), stopped_clock(clock):
        written(rows, clock=clock, kind=kind_with(before))
        moment = clock + timedelta(hours=hours)
        without = there(before, moment)
        kind_with(before)
        turn_to(clock)
        made = kind_changes.change("event", {"ttl_days": after}, changed_by=None, now=clock)

        turn_to(moment)
        longterm.delete_faded()
        if made is not None:
            kind_changes.undo(made.id, by=None, now=moment)

        assert there(before, moment) == without


@pytest.mark.django_db
@examples
@given(clock=clocks, before=lifetimes, after=lifetimes, rows=rows_of, ahead=st.integers(1, 60))
def test_what_is_shown_of_a_day_to_come_is_hidden_on_that_day(clock, before, after, rows, ahead):
    with undone(), stopped_clock(clock):
        written(rows, clock=clock, kind=kind_with(before))
        applies_at = clock + timedelta(days=ahead)
        made = kind_changes.change(
            "event", {"ttl_days": after}, changed_by=None, now=clock, applies_at=applies_at
        )
        turn_to(applies_at)
        longterm.delete_faded()
        before_it = there(before, applies_at)

        kind_changes.apply_due(applies_at)

        hidden = before_it.keys() - set(Memory.objects.unfaded().values_list("id", flat=True))
        returned = set(Memory.objects.unfaded().values_list("id", flat=True)) - before_it.keys()
        if made is not None:
            shown = made.preview[0]
            assert (shown["rows"], shown["kept_rows"]) == (len(hidden), len(returned))
            assert KindChange.objects.get(id=made.id).hidden_rows == len(hidden)


def test_the_grace_of_these_tests_is_that_of_the_program():
    assert timedelta(hours=get_conf().expired_hours) == GRACE
