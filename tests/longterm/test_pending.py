"""What waits for a person's word, and where it must not be until then."""

import pytest
from django.db import IntegrityError, connection, transaction

from memoryapp.errors import InvalidInputError, StaleVersionError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.operations import PendingFullError
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

    remembered = remember(alice, "I'm living in Porto", origin=Origin.UNTRUSTED)

    assert (remembered.outcome, remembered.met) == (Outcome.IGNORED, known.id)
    assert Memory.objects.count() == 1
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
    waiting = remember(alice, "I live in Porto", origin=Origin.UNTRUSTED).memory
    remember(alice, "I live in Porto")

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


def test_a_persons_word_also_replaces_what_only_words_contradict(alice):
    remember(alice, "I love olives", said_at=NOW - DAY)
    waiting = remember(alice, "I hate olives", origin=Origin.TOOL).memory

    longterm.confirm(alice.id, waiting.id, version=1, now=NOW)

    assert live(alice) == ["I hate olives"]


def test_what_a_person_confirmed_is_not_replaced_by_a_tool(alice):
    waiting = remember(alice, "The office is in Porto", key="office", origin=Origin.UNTRUSTED).memory
    longterm.confirm(alice.id, waiting.id, version=1, now=NOW - DAY)

    remembered = remember(alice, "The office is in Braga", key="office", origin=Origin.TOOL)

    assert remembered.outcome == Outcome.CONFLICT
    assert live(alice) == ["The office is in Porto"]


def test_a_flood_of_what_waits_ends_at_its_limit_and_says_what_to_do(alice, bob, configure):
    configure(STRATA_PENDING_PER_DAY="3")
    for number in range(3):
        remember(alice, f"ACME has {number} partners", origin=Origin.UNTRUSTED)

    with pytest.raises(PendingFullError, match="Settle some on the Memory page") as full:
        remember(alice, "ACME has 4 partners", origin=Origin.UNTRUSTED)

    assert full.value.details == {"limit": 3}
    assert remember(alice, "ACME has 2 partners", origin=Origin.UNTRUSTED).outcome == Outcome.PENDING
    assert remember(alice, "I like tea").outcome == Outcome.ADDED
    assert remember(bob, "ACME has 4 partners", origin=Origin.UNTRUSTED).outcome == Outcome.PENDING


def test_what_waited_yesterday_does_not_count_today(alice, configure):
    configure(STRATA_PENDING_PER_DAY="1")
    remember(alice, "ACME has 2 partners", origin=Origin.UNTRUSTED)
    Memory.objects.update(recorded_at=NOW - 2 * DAY)

    assert remember(alice, "ACME has 3 partners", origin=Origin.UNTRUSTED).outcome == Outcome.PENDING


def test_the_quota_counts_what_is_there_for_its_person_only(alice, bob):
    remember(alice, "I like tea")
    remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED)
    remember(bob, "I like coffee")

    quota = queries.quota(alice.id)

    assert (quota.used, quota.waiting, quota.pending_today) == (2, 1, 1)
    assert (quota.limit, quota.pending_limit) == (20_000, 50)
