"""When a memory fades: decided by the query, at the local midnight of its person, whether or not a sweep ran."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection

from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Kind, Memory
from memoryapp.policies.feedback import Verdict
from tests.longterm.saying import DAY, NOW, live, remember

FADES_AT = "SELECT memory_fades_at(%s, %s, NULL, false, %s)"


def fades_at(affirmed_at: datetime, ttl_days: int, zone: str) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(FADES_AT, [affirmed_at, ttl_days, zone])
        return cursor.fetchone()[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"]
)
@pytest.mark.parametrize(
    "day",
    # The nights before, of and after every clock change in Berlin and New York, a leap day and a year's end.
    [
        date(2027, 3, 27),
        date(2027, 3, 28),
        date(2027, 10, 30),
        date(2027, 10, 31),
        date(2027, 3, 13),
        date(2027, 3, 14),
        date(2027, 11, 6),
        date(2027, 11, 7),
        date(2028, 2, 28),
        date(2028, 2, 29),
        date(2027, 12, 31),
        date(2028, 1, 1),
    ],
)
def test_a_lifetime_ends_at_the_midnight_after_its_last_day(zone, day):
    local = ZoneInfo(zone)
    for hour in (time(0, 0), time(12, 30), time(23, 59)):
        for ttl_days in (1, 30):
            affirmed_at = datetime.combine(day, hour, tzinfo=local).astimezone(UTC)

            midnight = datetime.combine(day + timedelta(days=ttl_days + 1), time(0), tzinfo=local)
            assert fades_at(affirmed_at, ttl_days, zone) == midnight


def age(memory: Memory, days: int) -> None:
    """Make it ``days`` older than it is; only a test may."""
    Memory.objects.filter(id=memory.id).update(affirmed_at=memory.affirmed_at - days * DAY)


@pytest.mark.parametrize(
    ("kind", "ttl_days"),
    [
        ("contact_preference", 365),
        ("preference", 365),
        ("decision", 180),
        ("event", 180),
        ("ticket", 30),
        ("session", 1),
    ],
)
def test_each_kind_has_its_own_lifetime(alice, kind, ttl_days):
    memory = remember(alice, "It is so", kind=kind).memory

    age(memory, ttl_days)
    assert live(alice) == ["It is so"]

    age(memory, ttl_days + 2)
    assert live(alice) == []


@pytest.mark.parametrize("kind", ["identity", "constraint"])
def test_some_kinds_never_fade(alice, kind):
    age(remember(alice, "It is so", kind=kind).memory, 20_000)

    assert live(alice) == ["It is so"]


def test_a_faded_row_is_read_by_nothing_although_no_sweep_ran(alice):
    memory = remember(alice, "order 77", kind="ticket", key="order").memory
    age(memory, 60)

    assert live(alice) == []
    assert list(queries.memories(alice.id)) == []
    assert queries.by_ids(alice.id, [memory.id]) == {}
    assert queries.count(alice.id) == 0
    assert [row.id for row in queries.memories(alice.id, status="expired")] == [memory.id]


def test_reading_does_not_renew(alice):
    memory = remember(alice, "order 77", kind="ticket", said_at=NOW - 20 * DAY).memory

    queries.get_memory(alice.id, memory.id)
    list(queries.memories(alice.id))

    assert queries.get_memory(alice.id, memory.id).affirmed_at == NOW - 20 * DAY


@pytest.mark.parametrize(
    "renew",
    [
        lambda user, memory: remember(user, memory.statement, kind="ticket"),
        lambda user, memory: give_feedback(user.id, memory.id, Verdict.CONFIRMED, now=NOW),
        lambda user, memory: longterm.edit(user.id, memory.id, version=1, now=NOW, confidence=0.5),
    ],
    ids=["saying it again", "affirming", "editing"],
)
def test_the_lifetime_starts_again_when_a_person(alice, renew):
    memory = remember(alice, "order 77", kind="ticket", said_at=NOW - 20 * DAY).memory
    before = queries.get_memory(alice.id, memory.id).fades_at

    renew(alice, memory)

    assert queries.get_memory(alice.id, memory.id).fades_at == before + 20 * DAY


def test_a_changed_policy_acts_at_once_in_both_directions(alice):
    memory = remember(alice, "order 77", kind="ticket", said_at=NOW - 20 * DAY).memory

    Kind.objects.filter(slug="ticket").update(ttl_days=7)
    assert live(alice) == []

    Kind.objects.filter(slug="ticket").update(ttl_days=None)
    assert live(alice) == ["order 77"]
    assert queries.get_memory(alice.id, memory.id).fades_at is None


def test_one_may_be_kept_for_ever_until_it_is_not(alice):
    memory = remember(alice, "order 77", kind="ticket", said_at=NOW - 60 * DAY).memory

    Memory.objects.update(is_kept=True)
    kept = queries.get_memory(alice.id, memory.id)
    assert (kept.fades_at, live(alice)) == (None, ["order 77"])

    Memory.objects.update(is_kept=False)
    assert live(alice) == []


@pytest.mark.parametrize(("ends", "is_live"), [(NOW + DAY, True), (NOW - DAY, False)])
def test_one_may_have_an_end_of_its_own(alice, ends, is_live):
    memory = remember(alice, "I am Anna", kind="identity").memory

    Memory.objects.update(expires_at=ends)

    assert queries.get_memory(alice.id, memory.id).fades_at == ends
    assert bool(live(alice)) is is_live


def test_the_zone_of_the_person_decides(alice, bob):
    alice.time_zone, bob.time_zone = "Pacific/Kiritimati", "Pacific/Pago_Pago"  # a day and an hour apart
    alice.save()
    bob.save()

    ends = [
        queries.get_memory(user.id, remember(user, "order 77", kind="ticket").memory.id).fades_at
        for user in (alice, bob)
    ]

    local = [end.astimezone(ZoneInfo(user.time_zone)) for end, user in zip(ends, (alice, bob), strict=True)]
    assert [(moment.hour, moment.minute) for moment in local] == [(0, 0), (0, 0)]
    assert ends[0] != ends[1]


def test_the_sweep_deletes_what_has_faded_and_nothing_else(alice, bob):
    age(remember(alice, "order 77", kind="ticket").memory, 60)
    age(remember(bob, "the session", kind="session").memory, 60)
    age(remember(alice, "I am Anna", kind="identity").memory, 60)
    remember(alice, "order 78", kind="ticket")

    assert longterm.delete_faded() == 2
    assert set(Memory.objects.values_list("statement", flat=True)) == {"I am Anna", "order 78"}
    assert longterm.delete_faded() == 0


def test_a_faded_statement_can_be_learned_anew(alice):
    age(remember(alice, "order 77", kind="ticket", key="order").memory, 60)

    remember(alice, "order 77", kind="ticket", key="order")

    assert live(alice) == ["order 77"]
    assert Memory.objects.count() == 1


def test_what_expires_soon_is_listed_by_its_end(alice):
    for days in (25, 28, 10):
        remember(alice, f"{days} days ago", kind="ticket", said_at=NOW - days * DAY)

    soon = queries.expiring_soon(alice.id, now=NOW, days=7)

    assert [memory.statement for memory in soon] == ["28 days ago", "25 days ago"]
