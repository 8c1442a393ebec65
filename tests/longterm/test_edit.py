"""A person corrects, affirms and keeps; everything about it is versioned, and nobody else can."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from memoryapp.errors import InvalidInputError, NotFoundError, StaleVersionError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.operations import SecretRefusedError
from memoryapp.policies import dates
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, remember


def test_a_correction_is_a_new_version_and_starts_the_lifetime_again(alice):
    memory = remember(alice, "I live in Lisbon", said_at=NOW - 9 * DAY).memory

    edited = longterm.edit(
        alice.id,
        memory.id,
        version=1,
        now=NOW,
        statement="I live in Porto",
        kind="identity",
        key="city",
        confidence=0.5,
    )

    assert (edited.statement, edited.kind.slug, edited.key, edited.confidence) == (
        "I live in Porto",
        "identity",
        "city",
        0.5,
    )
    assert (edited.version, edited.affirmed_at) == (2, NOW)
    assert [(v.version, v.statement, v.changed_by, v.reason) for v in queries.versions(edited)] == [
        (2, "I live in Porto", "user", "edited"),
        (1, "I live in Lisbon", "user", "first said, through a program"),
    ]


def test_what_is_not_mentioned_stays(alice):
    memory = remember(alice, "I live in Porto", key="city").memory

    edited = longterm.edit(alice.id, memory.id, version=1, now=NOW, confidence=0.5)

    assert (edited.statement, edited.key, edited.kind.slug) == ("I live in Porto", "city", "event")


def test_an_edit_does_not_make_the_origin_better(alice):
    memory = remember(alice, "I live in Lisbon", origin=Origin.TOOL).memory

    assert longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="Porto").origin == Origin.TOOL


def test_the_second_of_two_editors_learns_that_it_changed(alice):
    memory = remember(alice, "I live in Lisbon").memory
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Porto")

    with pytest.raises(StaleVersionError) as stale:
        longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Braga")

    assert stale.value.details == {"version": 2}
    assert live(alice) == ["I live in Porto"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"statement": "I live in porto!"}, "already says this"),
        ({"key": "city"}, "already says this or has this key"),
        ({"statement": " "}, "Write what"),
        ({"statement": "x" * 2_001}, "at most"),
        ({"kind": "nonsense"}, "Known kinds"),
        ({"key": "Two words"}, "A key is"),
        ({"confidence": 1.1}, "between 0 and 1"),
        ({"confidence": float("nan")}, "between 0 and 1"),
    ],
)
def test_an_edit_that_cannot_be_kept_changes_nothing(alice, change, why):
    remember(alice, "I live in Porto", key="city")
    memory = remember(alice, "I work in Braga").memory

    with pytest.raises(InvalidInputError, match=why):
        longterm.edit(alice.id, memory.id, version=1, now=NOW, **change)

    unchanged = queries.get_memory(alice.id, memory.id)
    assert (unchanged.statement, unchanged.key, unchanged.version) == ("I work in Braga", "", 1)


def test_a_secret_cannot_be_edited_in(alice):
    memory = remember(alice, "I have a router").memory

    with pytest.raises(SecretRefusedError):
        longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="the password is hunter2")


def test_new_words_need_a_new_vector_and_the_same_words_keep_theirs(alice):
    memory = remember(alice, "I live in Lisbon").memory
    longterm.store_embedding(memory.id, version=1, embedding=[1.0, 0.0], model_id="m")

    kept = longterm.edit(alice.id, memory.id, version=1, now=NOW, confidence=0.5)
    changed = longterm.edit(alice.id, memory.id, version=2, now=NOW, statement="I live in Porto")

    assert kept.embedding_model == "m"
    assert (changed.embedding, changed.embedding_model) == (None, "")
    assert list(queries.not_embedded("m")) == [changed]


def test_a_vector_of_words_that_changed_meanwhile_is_dropped(alice):
    memory = remember(alice, "I live in Lisbon").memory
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Porto")

    assert not longterm.store_embedding(memory.id, version=1, embedding=[1.0], model_id="m")
    assert queries.get_memory(alice.id, memory.id).embedding is None


def test_an_edited_memory_is_reinforced_by_its_new_words(alice):
    memory = remember(alice, "I live in Lisbon").memory
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Porto")

    assert remember(alice, "I live in Porto").memory.id == memory.id


def refused_to(user):
    """Everything that can be done to one memory, done by ``user``."""
    return [
        lambda memory: queries.get_memory(user.id, memory.id),
        lambda memory: longterm.edit(user.id, memory.id, version=1, now=NOW, statement="Mine"),
        lambda memory: longterm.confirm(user.id, memory.id, version=1, now=NOW),
        lambda memory: give_feedback(user.id, memory.id, Verdict.CONFIRMED, now=NOW),
        lambda memory: longterm.forget(user.id, memory.id, now=NOW),
    ]


def test_bob_can_do_nothing_with_alices_memory_and_cannot_tell_that_it_exists(alice, bob):
    memory = remember(alice, "I live in Porto").memory
    before = queries.get_memory(alice.id, memory.id).__dict__ | {"_state": None}

    messages = set()
    for attempt in refused_to(bob):
        for target in (memory, type(memory)(id=uuid4())):
            with pytest.raises(NotFoundError) as refused:
                attempt(target)
            messages.add(str(refused.value))

    assert messages == {"There is no such memory."}
    assert queries.get_memory(alice.id, memory.id).__dict__ | {"_state": None} == before


def test_bob_sees_none_of_alices_memories_in_any_list(alice, bob):
    remember(alice, "I live in Lisbon", key="city", kind="identity", said_at=NOW - DAY)
    memory = remember(alice, "I live in Porto", key="city", kind="identity").memory
    remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED)

    assert list(queries.memories(bob.id, status="any")) == []
    assert list(queries.always_used(bob.id)) == []
    assert queries.by_ids(bob.id, [memory.id]) == {}
    assert list(queries.expiring_soon(bob.id, now=NOW, days=9_999)) == []
    assert queries.count(bob.id) == 0


def test_the_time_in_which_it_held_follows_the_words_that_gave_it(alice):
    memory = remember(alice, "I worked at Acme from 2019 to 2020").memory

    later = longterm.edit(
        alice.id, memory.id, version=1, now=NOW, statement="I worked at Acme from 2019 to 2021"
    )
    years = later.valid_from.year, later.valid_to.year
    bare = longterm.edit(alice.id, memory.id, version=2, now=NOW, statement="I worked at Acme")

    assert years == (2019, 2022)
    assert (bare.valid_from, bare.valid_to) == (bare.said_at, None)


class TestTheDayThatItTellsOf:
    def edited(self, memory, statement):
        memory.refresh_from_db()
        edited = longterm.edit(
            memory.user_id, memory.id, version=memory.version, now=NOW, statement=statement
        )
        return edited.happened_at

    def test_follows_the_words_and_goes_with_them(self, alice):
        told_of = datetime(2015, 1, 1, tzinfo=UTC)
        memory = remember(alice, "I am vegetarian since 2015", happened_at=told_of).memory

        assert self.edited(memory, "I am vegetarian since 2012") == datetime(2012, 1, 1, tzinfo=UTC)
        assert self.edited(memory, "I am vegetarian") is None

    def test_stays_where_neither_words_name_one(self, alice):
        told_of = NOW - 30 * DAY
        memory = remember(
            alice, "I moved to Porto", happened_at=told_of, quote="I moved to Porto yesterday"
        ).memory

        assert self.edited(memory, "I moved to Faro") == told_of

    def test_is_counted_from_when_the_words_were_written(self, alice):
        said_at = NOW - 30 * DAY
        told_of = dates.happened("yesterday", said_at=said_at, time_zone=alice.time_zone)
        memory = remember(alice, "I moved yesterday", said_at=said_at, happened_at=told_of).memory

        corrected = self.edited(memory, "I moved two days ago")

        assert corrected == dates.happened("two days ago", said_at=NOW, time_zone=alice.time_zone)
        assert self.edited(memory, "I moved yesterday") == told_of  # as it said before


def test_corrected_words_take_the_place_of_what_they_do_not_fit(alice):
    etown = remember(alice, "I live in Etown", said_at=NOW - DAY).memory
    other = remember(alice, "I own a car", said_at=NOW - DAY).memory

    edited = longterm.edit(alice.id, other.id, version=1, now=NOW, statement="I live in Zurich")

    assert edited.key == "city"
    assert live(alice) == ["I live in Zurich"]
    assert queries.get_memory(alice.id, etown.id).superseded_by_id == other.id


def test_corrected_words_take_the_place_of_what_they_deny(alice):
    remember(alice, "I like tea", said_at=NOW - DAY)
    other = remember(alice, "I own a car", said_at=NOW - DAY).memory

    longterm.edit(alice.id, other.id, version=1, now=NOW, statement="I hate tea")

    assert live(alice) == ["I hate tea"]


def test_a_correction_leaves_what_its_person_said_is_true_beside_it(alice):
    remember(alice, "I live in Lisbon")
    waiting = remember(alice, "I live in Porto", origin=Origin.UNTRUSTED).memory
    porto = longterm.confirm(alice.id, waiting.id, version=1, now=NOW, is_beside=True)

    longterm.edit(alice.id, porto.id, version=porto.version, now=NOW, statement="I live in Oporto")

    assert live(alice) == ["I live in Lisbon", "I live in Oporto"]


def test_what_waits_replaces_nothing_by_being_corrected(alice):
    remember(alice, "I live in Lisbon")
    waiting = remember(alice, "I own a car", origin=Origin.UNTRUSTED).memory

    longterm.edit(alice.id, waiting.id, version=1, now=NOW, statement="I live in Porto")

    assert live(alice) == ["I live in Lisbon"]
