"""Forgotten is forgotten: no row, no vector, no version; and no old text brings it back."""

import pytest

from memoryapp.errors import NotFoundError, StaleVersionError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import tombstones
from memoryapp.longterm.models import Memory, MemorySource, MemoryVersion, Tombstone
from memoryapp.longterm.operations import ForgottenError
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from

LATER = NOW + DAY


def forget(user, memory):
    longterm.forget(user.id, memory.id, now=NOW)


def test_forgetting_deletes_the_row_its_versions_and_its_sources(alice):
    memory = remember_from(alice, message(alice, "I live in Porto"), "I live in Porto").memory
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Braga")
    longterm.store_embedding(memory.id, version=2, embedding=[1.0, 0.0], model_id="m")

    forget(alice, memory)

    assert [model.objects.count() for model in (Memory, MemoryVersion, MemorySource)] == [0, 0, 0]


def test_former_values_of_the_same_key_go_with_it(alice):
    for day, city in enumerate(["Lisbon", "Faro", "Porto"]):
        current = remember(alice, f"I live in {city}", key="city", said_at=NOW - (9 - day) * DAY).memory

    forget(alice, current)

    assert Memory.objects.count() == 0


def test_what_is_left_behind_holds_no_text(alice):
    memory = remember(alice, "I live in Porto", key="city").memory

    forget(alice, memory)

    stones = Tombstone.objects.values()
    assert {stone["memory_id"] for stone in stones} == {memory.id}
    assert {stone["digest"] for stone in stones} == tombstones.digests(
        alice.forgetting_key, "I live in Porto"
    )
    assert "porto" not in str(list(stones)).lower()
    assert {(stone["expires_at"] - stone["created_at"]).days for stone in stones} == {365}


def test_the_same_words_of_two_people_leave_different_digests(alice, bob):
    for person in (alice, bob):
        forget(person, remember(person, "I live in Porto").memory)

    digests = list(Tombstone.objects.values_list("digest", flat=True))
    assert len(set(digests)) == len(digests) == 4


def test_forgetting_moves_the_epoch_of_that_person_only(alice, bob):
    forget(alice, remember(alice, "I live in Porto").memory)

    alice.refresh_from_db()
    bob.refresh_from_db()
    assert (alice.memory_epoch, bob.memory_epoch) == (1, 0)


@pytest.mark.parametrize(
    "said", ["I live in Porto", "i live in PORTO!", "I'm living in Porto now", "The user lives in Porto"]
)
def test_an_older_message_does_not_teach_it_again(alice, said):
    source = message(alice, said)
    forget(alice, remember_from(alice, source, "I live in Porto", said_at=NOW - DAY).memory)

    with pytest.raises(ForgottenError):
        remember_from(alice, source, said, said_at=NOW - DAY)

    assert live(alice) == []


LOOKALIKES = [
    "I live in \u0420\u043ert\u043e",
    "I l\u0456ve in P\u03bfrt\u0585",
    "I'm living in \uff30\u1d0frto now",
]


@pytest.mark.parametrize("said", LOOKALIKES)
def test_nor_does_one_in_letters_that_look_like_its_own(alice, said):
    forget(alice, remember(alice, "I live in Porto").memory)

    with pytest.raises(ForgottenError):
        remember_from(alice, message(alice, said), said, said_at=NOW - DAY)


@pytest.mark.parametrize("said", LOOKALIKES)
def test_nor_does_it_in_latin_letters_where_others_were_forgotten(alice, said):
    forget(alice, remember(alice, said).memory)

    with pytest.raises(ForgottenError):
        remember_from(alice, message(alice, "I live in Porto"), "I live in Porto", said_at=NOW - DAY)


def test_nor_does_an_older_wording_that_was_edited_away(alice):
    source = message(alice, "I live in Porto")
    memory = remember_from(alice, source, "I live in Porto", said_at=NOW - DAY).memory
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Braga")

    forget(alice, memory)

    with pytest.raises(ForgottenError):
        remember_from(alice, source, "I live in Porto", said_at=NOW - DAY)


def test_nor_does_a_former_value_come_back_in_its_place(alice):
    source = message(alice, "I live in Lisbon")
    remember_from(alice, source, "I live in Lisbon", key="city", said_at=NOW - 9 * DAY)
    forget(alice, remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory)

    with pytest.raises(ForgottenError):
        remember_from(alice, source, "I live in Lisbon", key="city", said_at=NOW - 9 * DAY)


def test_nor_does_an_import_of_an_old_export(alice):
    forget(alice, remember(alice, "I live in Porto").memory)

    with pytest.raises(ForgottenError):
        remember(alice, "I live in Porto", origin=Origin.IMPORTED, said_at=LATER, channel="import")


def test_saying_it_again_later_is_a_new_statement(alice):
    forget(alice, remember(alice, "I live in Porto").memory)

    again = remember_from(alice, message(alice, "I live in Porto!"), "I live in Porto", said_at=LATER)

    assert again.outcome == Outcome.ADDED
    assert Tombstone.objects.count() == 0


def test_saying_it_again_counts_however_tainted_the_prompt_was(alice):
    forget(alice, remember(alice, "I live in Porto").memory)
    source = message(alice, "I live in Porto")

    again = remember_from(alice, source, "I live in Porto", said_at=LATER, origin=Origin.MODEL_INFERRED)

    assert again.outcome == Outcome.ADDED


def test_a_model_that_quotes_something_new_for_something_forgotten_is_refused(alice):
    forget(alice, remember(alice, "I live in Porto").memory)
    source = message(alice, "Do you know where I live?")

    with pytest.raises(ForgottenError):
        remember_from(alice, source, "I live in Porto", said_at=LATER, origin=Origin.MODEL_INFERRED)


def test_what_was_forgotten_twice_can_still_be_said_again(alice):
    for day in range(2):
        memory = remember(alice, "I live in Porto", said_at=NOW + day * DAY).memory
        longterm.forget(alice.id, memory.id, now=NOW + day * DAY)
    remember(alice, "I live in Porto", said_at=NOW + 2 * DAY)

    assert remember(alice, "I live in Porto", said_at=NOW - DAY).outcome == Outcome.REINFORCED


def test_another_fact_about_the_same_subject_is_not_blocked(alice):
    forget(alice, remember(alice, "I live in Porto", key="city").memory)

    assert remember(alice, "I work in Porto", said_at=NOW - DAY).outcome == Outcome.ADDED
    assert remember(alice, "I live in Braga", key="city", said_at=NOW - DAY).outcome == Outcome.ADDED


def test_a_tombstone_is_enforced_for_its_time_only(alice):
    forget(alice, remember(alice, "I live in Porto", said_at=NOW - 800 * DAY, kind="identity").memory)
    Tombstone.objects.update(expires_at=NOW - DAY)

    assert remember(alice, "I live in Porto", said_at=NOW - DAY).outcome == Outcome.ADDED


def test_forgetting_also_drops_what_waits_with_the_same_words(alice):
    remember(alice, "I live in Porto", origin=Origin.UNTRUSTED)
    memory = remember(alice, "I live in Porto").memory

    forget(alice, memory)

    assert Memory.objects.count() == 0


def test_dropping_what_waits_leaves_what_is_known(alice):
    waiting = remember(alice, "I live in Porto", origin=Origin.UNTRUSTED).memory
    remember(alice, "I live in Porto")

    forget(alice, waiting)

    assert live(alice) == ["I live in Porto"]


def test_neighbours_are_untouched(alice, bob):
    memory = remember(alice, "I live in Porto", key="city").memory
    remember(alice, "I live in Portofino in summer")
    remember(bob, "I live in Porto", key="city")

    forget(alice, memory)

    assert live(alice) == ["I live in Portofino in summer"]
    assert live(bob) == ["I live in Porto"]


def test_forgetting_what_changed_since_it_was_shown_is_refused(alice):
    memory = remember(alice, "I live in Porto").memory
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Braga")

    with pytest.raises(StaleVersionError) as stale:
        longterm.forget(alice.id, memory.id, now=NOW, version=1)

    assert stale.value.details == {"version": 2}
    assert live(alice) == ["I live in Braga"]


def test_forgetting_twice_says_that_there_is_nothing(alice):
    memory = remember(alice, "I live in Porto").memory
    forget(alice, memory)

    with pytest.raises(NotFoundError):
        forget(alice, memory)
