"""What was known at a moment of the past, as it was put then."""

import pytest

from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Kind, Memory, MemoryVersion
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, remember

THEN, LATER = NOW - 8 * DAY, NOW - 2 * DAY


def recorded(memory, moment):
    """As if it and its first version had been written then."""
    Memory.objects.filter(id=memory.id).update(recorded_at=moment)
    MemoryVersion.objects.filter(memory=memory, version=1).update(recorded_at=moment)
    return memory


def known(user, moment):
    return sorted(row.statement_then for row in queries.as_of(user.id, moment))


@pytest.fixture
def lisbon(alice):
    return recorded(remember(alice, "I live in Lisbon", said_at=NOW - 9 * DAY).memory, NOW - 9 * DAY)


def test_a_value_that_was_replaced_since_was_known_then_and_the_new_one_was_not(alice, lisbon):
    porto = remember(alice, "I live in Porto", said_at=NOW - 5 * DAY).memory
    recorded(porto, NOW - 5 * DAY)
    Memory.objects.filter(id=lisbon.id).update(superseded_at=NOW - 5 * DAY)

    assert known(alice, NOW - 10 * DAY) == []
    assert known(alice, THEN) == ["I live in Lisbon"]
    assert known(alice, NOW - 5 * DAY) == known(alice, LATER) == ["I live in Porto"]


def test_late_news_was_not_known_before_we_heard_it(alice, lisbon):
    remember(alice, "I moved to Porto", said_at=NOW - 6 * DAY)  # heard now

    assert known(alice, LATER) == ["I live in Lisbon"]


def test_it_is_put_in_the_words_kind_and_key_of_then(alice, lisbon):
    longterm.edit(
        alice.id, lisbon.id, version=1, now=NOW, statement="I like Porto", kind="identity", confidence=0.5
    )

    (row,) = queries.as_of(alice.id, LATER)

    assert (row.statement_then, row.kind_then, row.key_then) == ("I live in Lisbon", "event", "city")
    assert row.confidence_then == 0.95


def test_the_list_is_filtered_by_the_words_of_then(alice, lisbon):
    longterm.edit(alice.id, lisbon.id, version=1, now=NOW, statement="I like tea", kind="identity")

    def found(**filters):
        return [row.id for row in queries.memories(alice.id, known_at=LATER, **filters)]

    assert found(text="lisbon") == found(kind="event") == found(key="city") == [lisbon.id]
    assert found(text="tea") == found(kind="identity") == []


def test_what_waited_was_not_known_before_its_persons_word(alice):
    waiting = recorded(remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory, NOW - 9 * DAY)

    longterm.confirm(alice.id, waiting.id, version=1, now=NOW)
    MemoryVersion.objects.filter(version=2).update(recorded_at=NOW - 5 * DAY)

    assert known(alice, THEN) == []
    assert known(alice, LATER) == ["ACME is trusted"]


def test_what_was_rejected_was_never_known(alice):
    waiting = recorded(remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory, NOW - 9 * DAY)
    give_feedback(alice.id, waiting.id, Verdict.WRONG, now=NOW)

    assert known(alice, THEN) == []


def test_what_was_set_aside_since_was_known_then(alice, lisbon):
    give_feedback(alice.id, lisbon.id, Verdict.WRONG, now=NOW)

    assert known(alice, THEN) == ["I live in Lisbon"]
    assert known(alice, NOW) == []


def test_what_had_faded_was_not_known_any_more(alice, lisbon):
    Kind.objects.filter(slug="event").update(ttl_days=3)

    assert known(alice, THEN) == ["I live in Lisbon"]
    assert known(alice, LATER) == []


def test_the_forgotten_is_in_no_past(alice, lisbon):
    longterm.forget(alice.id, lisbon.id, now=NOW)

    assert known(alice, THEN) == []


def test_the_past_is_its_persons_own(bob, lisbon):
    assert known(bob, THEN) == []
