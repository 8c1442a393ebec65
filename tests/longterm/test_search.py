"""What a search for facts reads: exactly the person's live rows, whatever else there is."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import search
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.search import Found
from memoryapp.policies.terms import term_hash
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, remember

MODEL = "small"


def found(user: User, **values) -> Found:
    return search.facts(user.id, **{"embedding": None, "model_id": MODEL, **values})


def statements(user: User, **values) -> list[str]:
    by_id = dict(Memory.objects.values_list("id", "statement"))
    return sorted(by_id[memory_id] for memory_id in found(user, **values).ids)


def embed(memory: Memory, vector: list[float], *, model_id: str = MODEL) -> None:
    longterm.store_embedding(memory.id, version=memory.version, embedding=vector, model_id=model_id)


def test_a_fact_is_found_with_its_terms_as_soon_as_it_is_known(alice):
    remember(alice, "The umbrella is green")
    remember(alice, "I like tea")

    read = found(alice)

    own = np.split(read.facts.terms, np.cumsum(read.facts.counts)[:-1])
    by_statement = dict(zip(read.ids, own, strict=True))
    umbrella = Memory.objects.get(statement="The umbrella is green")
    assert term_hash("umbrella") in by_statement[umbrella.id]
    assert sum(term_hash("umbrella") in terms for terms in own) == 1
    assert np.isnan(read.facts.cosine).all()


def test_nobody_elses_facts_are_read(alice, bob):
    remember(alice, "I like tea")

    assert statements(bob) == []
    assert len(found(bob).facts.terms) == 0


def test_what_waits_for_its_persons_word_is_not_read(alice):
    remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED)

    assert statements(alice) == []


def test_what_was_replaced_is_not_read(alice):
    remember(alice, "I live in Lisbon", kind="identity", key="city", said_at=NOW - DAY)
    remember(alice, "I live in Porto", kind="identity", key="city")

    assert statements(alice) == ["I live in Porto"]


def test_what_is_not_sure_enough_for_its_kind_is_not_read(alice):
    memory = remember(alice, "I like tea").memory
    Kind.objects.filter(id=memory.kind_id).update(min_confidence=0.7)

    Memory.objects.filter(id=memory.id).update(confidence=0.69)
    assert statements(alice) == []

    Memory.objects.filter(id=memory.id).update(confidence=0.7)
    assert statements(alice) == ["I like tea"]


ZONES = ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York", "Africa/Cairo")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("ttl_days", [1, 30, None])
def test_the_end_of_a_lifetime_is_the_one_that_every_other_read_sees(alice, zone, ttl_days):
    """The search decides once per kind what the database's function decides per row: by the minute, around midnight."""
    User.objects.filter(id=alice.id).update(time_zone=zone)
    Kind.objects.filter(slug="event").update(ttl_days=ttl_days)
    today = datetime.now(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    for days in (0, 1, 2, 29, 30, 31, 32):
        for minutes in (-1, 0, 1):
            affirmed_at = (today - days * DAY + timedelta(minutes=minutes)).astimezone(UTC)
            memory = remember(alice, f"ticket {days} {minutes + 1}").memory
            Memory.objects.filter(id=memory.id).update(affirmed_at=affirmed_at)

    read = set(found(alice).ids)

    live = Memory.objects.for_user(alice.id).live()
    assert read == set(live.values_list("id", flat=True))
    assert ttl_days is None or 0 < len(read) < 21


def test_a_persons_own_choice_goes_before_the_lifetime_of_the_kind(alice):
    Kind.objects.filter(slug="event").update(ttl_days=1)
    for statement, values in {
        "kept": {"is_kept": True, "affirmed_at": NOW - 400 * DAY},
        "later": {"expires_at": timezone.now() + DAY, "affirmed_at": NOW - 400 * DAY},
        "over": {"expires_at": timezone.now() - DAY, "affirmed_at": NOW},
        "faded": {"affirmed_at": NOW - 400 * DAY},
        "fresh": {"affirmed_at": NOW},
    }.items():
        memory = remember(alice, f"ticket {statement}").memory
        Memory.objects.filter(id=memory.id).update(**values)

    assert statements(alice) == ["ticket fresh", "ticket kept", "ticket later"]


def test_similarity_is_the_inner_product_with_the_question(alice):
    embed(remember(alice, "I like tea").memory, [0.6, 0.8])

    (similarity,) = found(alice, embedding=[1.0, 0.5]).facts.cosine

    assert similarity == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    "asked", [{"embedding": [1.0, 0.0], "model_id": "large"}, {"embedding": [1.0, 0.0, 0.0]}]
)
def test_vectors_of_another_model_or_length_are_not_compared(alice, asked):
    embed(remember(alice, "I like tea").memory, [1.0, 0.0])

    assert np.isnan(found(alice, **asked).facts.cosine).all()


def test_a_changed_fact_is_found_by_its_new_words_and_loses_the_old_vector(alice):
    memory = remember(alice, "I like tea").memory
    embed(memory, [1.0, 0.0])

    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I like umbrellas")

    read = found(alice, embedding=[1.0, 0.0])
    assert term_hash("umbrella") in read.facts.terms
    assert term_hash("tea") not in read.facts.terms
    assert np.isnan(read.facts.cosine).all()


def test_of_a_small_user_among_many_rows_of_others_all_are_read(alice, bob):
    for number in range(60):
        remember(bob, f"ticket {number}")
    for number in range(10):
        embed(remember(alice, f"ticket {number}").memory, [1.0, 0.0])

    read = found(alice, embedding=[1.0, 0.0])

    assert len(read.ids) == 10
    assert not np.isnan(read.facts.cosine).any()


def test_one_statement_reads_it_all(alice, django_assert_num_queries):
    for number in range(5):
        remember(alice, f"ticket {number}")

    with django_assert_num_queries(1):
        read = found(alice)

    assert len(read.ids) == 5


# --- what was known then


@pytest.fixture
def then(alice) -> datetime:
    """A moment at which alice liked tea and lived in Lisbon, and had said nothing of cake."""
    memory = remember(alice, "I like tea", kind="preference").memory
    embed(memory, [1.0, 0.0])
    city = remember(alice, "I live in Lisbon", kind="identity", key="city", said_at=NOW - DAY).memory
    embed(city, [0.0, 1.0])
    moment = clock()
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I like umbrellas")
    remember(alice, "I live in Porto", kind="identity", key="city")
    remember(alice, "I like cake", kind="preference")
    return moment


def clock() -> datetime:
    """The database's, between what was written and what will be."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def test_a_search_of_the_past_reads_what_was_known_in_the_words_of_then(alice, then):
    read = found(alice, as_of=then)

    terms = set(read.facts.terms.tolist())
    assert len(read.ids) == 2
    assert {term_hash("tea"), term_hash("lisbon")} <= terms
    assert not {term_hash("umbrella"), term_hash("porto"), term_hash("cake")} & terms


def test_in_the_past_a_vector_counts_only_for_the_words_that_it_was_made_of(alice, then):
    read = found(alice, as_of=then, embedding=[0.0, 1.0])

    by_statement = dict(zip(statements_of(read), read.facts.cosine.tolist(), strict=True))
    assert by_statement["I live in Lisbon"] == pytest.approx(1.0, abs=1e-3)
    assert np.isnan(by_statement["I like umbrellas"])  # "I like tea", then


def statements_of(read: Found) -> list[str]:
    by_id = dict(Memory.objects.values_list("id", "statement"))
    return [by_id[memory_id] for memory_id in read.ids]
