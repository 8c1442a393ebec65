"""Kinds as staff change them: at once, within bounds, and after a look at what it will do."""

import pytest

from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.longterm import kinds, queries
from memoryapp.longterm.kinds import Fading, KindInUseError
from memoryapp.longterm.models import Kind
from tests.longterm.saying import DAY, NOW, live, remember


def test_a_shorter_lifetime_hides_at_once_what_is_older(alice):
    remember(alice, "The exam is over", said_at=NOW - 40 * DAY)

    kinds.change("event", ttl_days=30, rationale="A month is enough.")

    assert live(alice) == []
    assert queries.get_kind("event").rationale == "A month is enough."


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ttl_days": 0}, "ttl_days"),
        ({"ttl_days": -1}, "ttl_days"),
        ({"ttl_days": 36_501}, "ttl_days"),
        ({"half_life_days": 0}, "half_life_days"),
        ({"min_confidence": 1.5}, "kind_min_confidence_range"),
        ({"label": ""}, "label"),
        ({"rationale": ""}, "rationale"),
        ({"shape": "round"}, "shape"),
    ],
)
def test_what_a_kind_cannot_be_is_refused_and_changes_nothing(db, change, why):
    before = Kind.objects.filter(slug="event").values().get()

    with pytest.raises(InvalidInputError, match=why):
        kinds.change("event", **change)

    assert Kind.objects.filter(slug="event").values().get() == before


def test_a_new_kind_can_be_used_and_deleted_while_nothing_is_of_it(alice):
    kinds.add(slug="pet", label="Pets", rationale="They are family.")
    memory = remember(alice, "My cat is Miso", kind="pet").memory

    with pytest.raises(KindInUseError, match="1 memories") as used:
        kinds.delete("pet")
    memory.delete()
    kinds.delete("pet")

    assert used.value.details == {"memories": 1}
    assert not Kind.objects.filter(slug="pet").exists()


@pytest.mark.parametrize("slug", ["experience", "scratchpad"])
def test_the_rules_that_the_program_needs_stay(db, slug):
    with pytest.raises(InvalidInputError, match="need their rule"):
        kinds.delete(slug)


def test_a_slug_is_taken_once(db):
    with pytest.raises(InvalidInputError, match="slug"):
        kinds.add(slug="event", label="Again", rationale="No.")


@pytest.mark.parametrize("act", [kinds.delete, kinds.change, lambda slug: kinds.preview(slug, ttl_days=1)])
def test_an_unknown_kind_is_not_found(db, act):
    with pytest.raises(NotFoundError):
        act("nonsense")


def test_a_preview_counts_rows_and_people_now_in_a_week_and_in_a_month(alice, bob):
    for person, age in ((alice, 100), (alice, 50), (alice, 40), (bob, 2)):
        remember(person, f"It was {age} days ago", said_at=NOW - age * DAY)
    remember(alice, "Kept anyway", said_at=NOW - 100 * DAY, kind="identity")

    assert kinds.preview("event", ttl_days=45) == [
        Fading(days=0, rows=2, users=1, kept_rows=0),
        Fading(days=7, rows=3, users=1, kept_rows=0),
        Fading(days=30, rows=3, users=1, kept_rows=0),
    ]
    assert queries.get_kind("event").ttl_days == 180


def test_a_preview_of_a_longer_lifetime_counts_what_stays(alice):
    remember(alice, "Nearly over", said_at=NOW - 170 * DAY)

    counted = [(fading.rows, fading.kept_rows) for fading in kinds.preview("event", ttl_days=None)]

    assert counted == [(0, 0), (0, 0), (0, 1)]


def test_what_its_person_keeps_is_in_no_preview(alice):
    memory = remember(alice, "Kept", said_at=NOW - 100 * DAY).memory
    memory.is_kept = True
    memory.save()

    assert {fading.rows for fading in kinds.preview("event", ttl_days=1)} == {0}


def test_experiences_have_a_preview_and_records_of_runs_do_not(db):
    assert {fading.rows for fading in kinds.preview("experience", ttl_days=1)} == {0}
    with pytest.raises(InvalidInputError, match="nothing to preview"):
        kinds.preview("scratchpad", ttl_days=2)
