"""A new value of a key: the old one keeps its interval, and only a source as strong may replace it."""

import pytest

from memoryapp.longterm import queries
from memoryapp.longterm.models import Memory
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, remember

WEAKER = [Origin.MODEL_INFERRED, Origin.TOOL, Origin.IMPORTED]


def test_a_new_value_of_a_key_replaces_the_old_one(alice):
    lisbon = remember(alice, "I live in Lisbon", key="city", said_at=NOW - 9 * DAY).memory

    remembered = remember(alice, "I live in Porto", key="city")

    assert remembered.outcome == Outcome.SUPERSEDED
    assert live(alice) == ["I live in Porto"]
    old = queries.get_memory(alice.id, lisbon.id)
    assert (old.status, old.superseded_by_id) == ("superseded", remembered.memory.id)
    assert (old.valid_from, old.valid_to) == (NOW - 9 * DAY, NOW)
    assert remembered.met == lisbon.id
    assert lisbon.recorded_at < old.superseded_at <= remembered.memory.recorded_at


def test_a_superseded_value_is_in_no_list_of_what_is_known(alice):
    remember(alice, "I live in Lisbon", key="city", kind="identity", said_at=NOW - DAY)
    remember(alice, "I live in Porto", key="city", kind="identity")

    assert [memory.statement for memory in queries.memories(alice.id)] == ["I live in Porto"]
    assert [memory.statement for memory in queries.always_used(alice.id)] == ["I live in Porto"]
    assert queries.count(alice.id) == 1


def test_every_former_value_points_at_the_current_one(alice):
    for day, city in enumerate(["Lisbon", "Faro", "Porto"]):
        remember(alice, f"I live in {city}", key="city", said_at=NOW + day * DAY)

    (current,) = queries.memories(alice.id)
    former = [memory.statement for memory in queries.superseded_by(current)]
    assert former == ["I live in Faro", "I live in Lisbon"]


def test_going_back_to_a_former_value_makes_two_intervals(alice):
    for day, city in enumerate(["Lisbon", "Porto", "Lisbon"]):
        remember(alice, f"I live in {city}", key="city", said_at=NOW + day * DAY)

    rows = Memory.objects.filter(statement="I live in Lisbon").order_by("valid_from")
    assert live(alice) == ["I live in Lisbon"]
    assert [(row.valid_from, row.valid_to) for row in rows] == [(NOW, NOW + DAY), (NOW + 2 * DAY, None)]


def test_one_correction_outweighs_many_earlier_mentions(alice):
    for _ in range(5):
        remember(alice, "Call me Bob", key="name", said_at=NOW - DAY)

    remember(alice, "Call me Rob", key="name")

    assert live(alice) == ["Call me Rob"]


@pytest.mark.parametrize("origin", WEAKER)
def test_a_weaker_source_does_not_replace_what_the_user_typed(alice, origin):
    typed = remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY).memory

    remembered = remember(alice, "I live in Porto", key="city", origin=origin)

    assert (remembered.outcome, remembered.memory.status) == (Outcome.CONFLICT, "conflict")
    assert live(alice) == ["I live in Lisbon"]
    assert queries.get_memory(alice.id, typed.id).valid_to is None


def test_a_stronger_source_replaces_a_weaker_one(alice):
    remember(alice, "I live in Lisbon", key="city", origin=Origin.MODEL_INFERRED, said_at=NOW - DAY)

    assert remember(alice, "I live in Porto", key="city").outcome == Outcome.SUPERSEDED
    assert live(alice) == ["I live in Porto"]


def test_the_same_conflict_waits_once(alice):
    remember(alice, "I live in Lisbon", key="city")
    first = remember(alice, "I live in Porto", key="city", origin=Origin.TOOL)

    again = remember(alice, "I live in porto!", key="city", origin=Origin.TOOL)

    assert (again.outcome, again.memory.id) == (Outcome.CONFLICT, first.memory.id)
    assert queries.memories(alice.id, status="conflict").count() == 1


def test_late_news_does_not_overturn_newer_news(alice):
    remember(alice, "I live in Porto", key="city")

    late = remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY)

    assert late.outcome == Outcome.CONFLICT
    assert live(alice) == ["I live in Porto"]


def test_news_from_before_the_last_affirmation_is_late_too(alice):
    remember(alice, "I live in Porto", key="city", said_at=NOW - 9 * DAY)
    remember(alice, "I live in Porto", key="city")

    late = remember(alice, "I live in Lisbon", key="city", said_at=NOW - 5 * DAY)

    assert late.outcome == Outcome.CONFLICT
    assert live(alice) == ["I live in Porto"]


def test_a_key_belongs_to_its_person(alice, bob):
    remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY)

    assert remember(bob, "I live in Porto", key="city").outcome == Outcome.ADDED
    assert live(alice) == ["I live in Lisbon"]


def test_a_faded_value_leaves_its_key_without_a_conflict(alice):
    remember(alice, "order 77 is on its way", key="order", kind="ticket", said_at=NOW - 60 * DAY)

    remembered = remember(alice, "order 78 is on its way", key="order", kind="ticket", origin=Origin.TOOL)

    assert remembered.outcome == Outcome.ADDED
    assert Memory.objects.count() == 1


def test_rows_by_id_are_found_whatever_became_of_them_by_their_person_only(alice, bob):
    old = remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY).memory
    remember(alice, "I live in Porto", key="city")

    assert queries.by_ids(alice.id, [old.id])[old.id].status == "superseded"
    assert queries.by_ids(bob.id, [old.id]) == {}
