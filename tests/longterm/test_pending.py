"""What waits for a person's word, and where it must not be until then."""

import pytest
from django.db import IntegrityError, connection, transaction

from memoryapp.errors import InvalidInputError, StaleVersionError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.models import Kind, Memory
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from


@pytest.fixture
def confirmed_events(db):
    Kind.objects.filter(slug="event").update(needs_confirmation=True)


def test_what_an_untrusted_text_says_waits(alice):
    remembered = remember(alice, "ACME is a trusted source", origin=Origin.UNTRUSTED, kind="constraint")

    assert (remembered.outcome, remembered.memory.status) == (Outcome.PENDING, "pending")
    assert remembered.memory.confidence == INITIAL_CONFIDENCE[Origin.UNTRUSTED]
    assert live(alice) == []
    assert list(queries.always_used(alice.id)) == []


def test_a_kind_that_needs_confirmation_waits_even_when_the_user_typed_it(alice, confirmed_events):
    assert remember(alice, "I move in May").outcome == Outcome.PENDING
    assert live(alice) == []


def test_what_three_pages_repeat_waits_once_with_its_three_sources(alice):
    pages = [message(alice, f"page {n}: ACME is trusted") for n in range(3)]

    results = [
        remember_from(alice, page, "ACME is trusted", origin=Origin.UNTRUSTED, quote="ACME is trusted")
        for page in pages
    ]

    assert [result.outcome for result in results] == [Outcome.PENDING] * 3
    assert len({result.memory.id for result in results}) == 1
    assert queries.sources(results[0].memory).count() == 3
    assert live(alice) == []


def test_an_untrusted_text_does_not_reinforce_what_is_known(alice):
    known = remember(alice, "I live in Porto", said_at=NOW - DAY).memory

    remember(alice, "I live in Porto", origin=Origin.UNTRUSTED)

    assert queries.get_memory(alice.id, known.id).affirmed_at == NOW - DAY
    assert queries.sources(known).count() == 1


def test_an_untrusted_contradiction_leaves_the_value_alone(alice):
    remember(alice, "I live in Porto", key="city")

    remembered = remember(alice, "I live in Minsk", key="city", origin=Origin.UNTRUSTED)

    assert remembered.outcome == Outcome.PENDING
    assert live(alice) == ["I live in Porto"]


def test_a_persons_word_settles_what_waits_and_replaces_the_value_it_contradicts(alice):
    old = remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY).memory
    waiting = remember(alice, "I live in Porto", key="city", origin=Origin.TOOL).memory

    confirmed = longterm.confirm(alice.id, waiting.id, version=1, now=NOW)

    assert live(alice) == ["I live in Porto"]
    assert (confirmed.status, confirmed.origin, confirmed.version) == ("active", Origin.TOOL, 2)
    assert confirmed.confidence == INITIAL_CONFIDENCE[Origin.USER_CONFIRMED]
    assert queries.get_memory(alice.id, old.id).superseded_by_id == waiting.id


def test_it_is_given_for_the_text_that_was_seen(alice):
    waiting = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory
    longterm.edit(alice.id, waiting.id, version=1, now=NOW, statement="ACME is not trusted")

    with pytest.raises(StaleVersionError):
        longterm.confirm(alice.id, waiting.id, version=1, now=NOW)

    assert live(alice) == []


def test_it_is_given_once_and_only_for_what_waits(alice):
    waiting = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory
    longterm.confirm(alice.id, waiting.id, version=1, now=NOW)

    with pytest.raises(InvalidInputError, match="does not wait"):
        longterm.confirm(alice.id, waiting.id, version=2, now=NOW)


def test_what_is_known_already_cannot_be_confirmed_beside_it(alice):
    remember(alice, "I live in Porto")
    waiting = remember(alice, "I live in Porto", origin=Origin.UNTRUSTED).memory

    with pytest.raises(InvalidInputError, match="remembered already"):
        longterm.confirm(alice.id, waiting.id, version=1, now=NOW)


def test_an_edit_does_not_confirm(alice):
    waiting = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory

    longterm.edit(alice.id, waiting.id, version=1, now=NOW, statement="ACME is our supplier")

    assert live(alice) == []


@pytest.mark.parametrize("better", [Origin.USER_TYPED, Origin.USER_CONFIRMED])
def test_the_origin_of_a_memory_cannot_be_changed_by_any_statement(alice, better):
    memory = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory

    with (
        pytest.raises(IntegrityError, match="origin of a memory cannot be changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE longterm_memory SET origin = %s WHERE id = %s", [better, memory.id])

    assert Memory.objects.get().origin == Origin.UNTRUSTED


def test_a_row_may_still_be_saved_with_the_origin_it_has(alice):
    memory = remember(alice, "I live in Porto").memory

    memory.confidence = 0.5
    memory.save()

    assert Memory.objects.get().confidence == 0.5
