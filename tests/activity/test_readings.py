"""What programs were given of a person's memory, and when."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from memoryapp.acting import Actor, acting_as
from memoryapp.activity import operations, queries
from memoryapp.activity.models import Entry, Reading, Verb
from memoryapp.longterm import operations as longterm
from tests.longterm.saying import remember

NOW = datetime(2026, 11, 30, 9, 0, 30, tzinfo=UTC)
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]


def read(user, *memories, name="laptop", now=NOW) -> None:
    with acting_as(Actor.PROGRAM, name):
        operations.note_program_reads(user.id, [memory.id for memory in memories], now=now)


def noted(memory) -> list[tuple[str, str, int]]:
    return [
        (row.reader, row.reader_name, row.times) for row in queries.readings_of(memory.user_id, memory.id)
    ]


def reads() -> list[tuple[str, int]]:
    rows = Entry.objects.filter(verb=Verb.READ).order_by("recorded_at", "id")
    return [(entry.actor_name, entry.rows) for entry in rows]


@pytest.mark.parametrize("path", ["", "/{id}", "/{id}/versions", "?as_of={now}"])
def test_a_program_that_reads_a_memory_is_noted(api, alice, path):
    memory = remember(alice, "I like figs").memory

    response = api.get(f"/api/v1/memories{path.format(id=memory.id, now=quote(timezone.now().isoformat()))}")

    assert response.status_code == 200
    assert noted(memory) == [("program", "tests", 1)]
    assert reads() == [("tests", 1)]


def test_a_search_notes_what_it_returned_alone(api, alice):
    found, other = (remember(alice, said).memory for said in ("I like figs", "I live in Lisbon"))

    api.post(
        "/api/v1/memories/search",
        {"query": "figs", "include": ["facts"], "limit": 1},
        content_type="application/json",
    )

    assert noted(found) == [("program", "tests", 1)]
    assert noted(other) == []


def test_the_person_reading_their_own_is_not_noted(browser, alice):
    memory = remember(alice, "I like figs").memory

    for path in ("/api/v1/memories", f"/api/v1/memories/{memory.id}", f"/memory/facts/{memory.id}/"):
        assert browser.get(path).status_code == 200

    assert not Reading.objects.exists()
    assert reads() == []


def test_another_persons_program_reads_nothing(bobs_api, alice):
    memory = remember(alice, "I like figs").memory

    assert bobs_api.get(f"/api/v1/memories/{memory.id}").status_code == 404

    assert not Reading.objects.exists()


def test_reads_of_a_day_are_one_row_per_memory_and_reader(alice):
    memory = remember(alice, "I like figs").memory

    for now in (NOW, NOW, NOW + timedelta(days=1)):
        read(alice, memory, now=now)
    read(alice, memory, name="phone")

    assert sorted(noted(memory)) == [
        ("program", "laptop", 1),
        ("program", "laptop", 2),
        ("program", "phone", 1),
    ]


def test_the_log_has_one_entry_for_all_that_a_program_reads_in_a_minute(alice):
    figs, tea = (remember(alice, said).memory for said in ("I like figs", "I drink tea"))
    now = timezone.now()

    read(alice, figs, now=now)
    read(alice, figs, tea, now=now)
    read(alice, tea, name="phone", now=now)

    assert reads() == [("laptop", 3), ("phone", 1)]


def test_a_memory_that_was_deleted_since_is_passed_over(alice):
    figs, tea = (remember(alice, said).memory for said in ("I like figs", "I drink tea"))
    longterm.forget(alice.id, figs.id, now=timezone.now())

    read(alice, figs, tea)

    assert noted(tea) == [("program", "laptop", 1)]
    assert not Reading.objects.exclude(memory=tea).exists()


def test_readers_are_counted_by_day(alice, bob):
    memory = remember(alice, "I like figs").memory
    read(alice, memory, now=NOW)
    read(alice, memory, now=NOW - timedelta(days=27))
    read(alice, memory, now=NOW - timedelta(days=28))
    read(alice, memory, name="phone", now=NOW)

    found = queries.readers_by_day(alice.id, days=28, today=NOW.date())

    assert [(row.name, row.day, row.times) for row in found] == [
        ("laptop", NOW.date() - timedelta(days=27), 1),
        ("laptop", NOW.date(), 1),
        ("phone", NOW.date(), 1),
    ]
    assert queries.readers_by_day(bob.id, days=28, today=NOW.date()) == []


def test_old_entries_and_readings_are_dropped(alice):
    memory = remember(alice, "I like figs").memory
    read(alice, memory, now=timezone.now())
    read(alice, memory, now=timezone.now() - timedelta(days=31))
    Entry.objects.update(recorded_at=timezone.now() - timedelta(days=31))
    read(alice, memory, now=timezone.now())

    assert operations.drop_old(older_than_days=30) >= 1

    assert reads() == [("laptop", 1)]
    assert [row.times for row in queries.readings_of(alice.id, memory.id)] == [2]
