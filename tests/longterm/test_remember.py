"""What becomes of a statement: added, reinforced, or refused."""

import pytest
from django.db.models import ProtectedError
from django.utils import translation

from memoryapp.errors import InvalidInputError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.operations import (
    ForgottenError,
    MemoryFullError,
    QuoteNotFoundError,
    SecretRefusedError,
)
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from


def test_the_kinds_of_a_new_installation_say_why_they_last_as_long_as_they_do(db):
    kinds = {kind.slug: kind.ttl_days for kind in queries.kinds()}

    assert kinds == {
        "identity": None,
        "constraint": None,
        "contact_preference": 365,
        "preference": 365,
        "decision": 180,
        "event": 180,
        "ticket": 30,
        "session": 1,
        "experience": 180,
        "scratchpad": 1,
    }
    assert all(kind.rationale for kind in queries.kinds())


def test_a_new_statement_is_kept_with_where_it_came_from(alice):
    source = message(alice, "By the way, I live in Porto.")

    remembered = remember_from(alice, source, "I live in Porto", key="city", quote="I live in Porto")

    memory = remembered.memory
    assert remembered.outcome == Outcome.ADDED
    assert (memory.statement, memory.key, memory.kind.slug) == ("I live in Porto", "city", "event")
    assert (memory.origin, memory.channel, memory.status) == ("user_typed", "chat", "active")
    assert memory.confidence == INITIAL_CONFIDENCE[Origin.USER_TYPED]
    assert (memory.quote, memory.source_message_id) == ("I live in Porto", source.message_id)
    assert memory.said_at == memory.valid_from == memory.affirmed_at == NOW
    assert memory.valid_to is None
    assert [said.message_id for said in queries.sources(memory)] == [source.message_id]


def test_a_new_statement_is_version_one(alice):
    memory = remember(alice, "I live in Porto").memory

    (version,) = queries.versions(memory)
    assert (version.version, version.statement, version.changed_by) == (1, "I live in Porto", "user")


@pytest.mark.parametrize("again", ["I live in Porto", "i LIVE in porto!", "  I live — in Porto. "])
def test_the_same_statement_is_reinforced_not_repeated(alice, again):
    first = remember(alice, "I live in Porto", said_at=NOW - DAY).memory

    second = remember(alice, again)

    assert (second.outcome, second.memory.id) == (Outcome.REINFORCED, first.id)
    assert second.memory.affirmed_at == NOW
    assert live(alice) == ["I live in Porto"]


def test_reinforcing_notes_the_second_place_where_it_was_said(alice):
    first, second = message(alice, "I live in Porto"), message(alice, "As I said, I live in Porto")
    remember_from(alice, first, "I live in Porto")

    memory = remember_from(alice, second, "I live in Porto").memory

    assert {said.message_id for said in queries.sources(memory)} == {first.message_id, second.message_id}


def test_the_same_message_read_twice_changes_nothing(alice):
    source = message(alice, "I live in Porto")
    remember_from(alice, source, "I live in Porto")
    before = Memory.objects.values().get()

    again = remember_from(alice, source, "I live in Porto")

    assert again.outcome == Outcome.REINFORCED
    assert Memory.objects.values().get() == before
    assert queries.sources(again.memory).count() == queries.versions(again.memory).count() == 1


def test_an_older_message_does_not_make_a_memory_look_older(alice):
    memory = remember(alice, "I live in Porto").memory

    remember(alice, "I live in Porto", said_at=NOW - 9 * DAY)

    assert queries.get_memory(alice.id, memory.id).affirmed_at == NOW


def test_statements_that_differ_in_a_number_stay_two(alice):
    remember(alice, "invoice 1041 paid")
    remember(alice, "invoice 1042 paid")

    assert live(alice) == ["invoice 1041 paid", "invoice 1042 paid"]


def test_names_in_another_script_stay_apart(alice):
    remember(alice, "李雷")
    remember(alice, "韩梅梅")

    assert len(live(alice)) == 2


def test_two_people_may_say_the_same(alice, bob):
    remember(alice, "I live in Porto", key="city")

    assert remember(bob, "I live in Porto", key="city").outcome == Outcome.ADDED
    assert live(alice) == live(bob) == ["I live in Porto"]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("", "Write what"),
        ("  \n\t ", "Write what"),
        ("?!…", "Write what"),
        ("\u200b\u202e", "Write what"),
        ("half \ud83d a character", "not text"),
        ("x" * 2_001, "at most 2,000 characters"),
    ],
)
def test_what_is_no_statement_is_refused_with_what_to_do(alice, statement, why):
    with pytest.raises(InvalidInputError, match=why):
        remember(alice, statement)

    assert live(alice) == []


def test_white_space_and_nul_are_cleaned_away(alice):
    assert remember(alice, " I live\x00\n in\tPorto ").memory.statement == "I live in Porto"


@pytest.mark.parametrize("key", ["Two words", "a..b", ".a", "a.", "käse", "a-b", "x" * 101, "a\x00"])
def test_a_key_that_is_no_key_is_refused(alice, key):
    with pytest.raises(InvalidInputError, match="A key is"):
        remember(alice, "I live in Porto", key=key)


def test_a_key_is_lower_case(alice):
    assert remember(alice, "I live in Porto", key=" Home.City ").memory.key == "home.city"


@pytest.mark.parametrize("kind", ["nonsense", "experience", "scratchpad", "", "fact' OR 1=1"])
def test_a_kind_that_no_statement_can_have_is_refused_with_the_ones_there_are(alice, kind):
    with pytest.raises(InvalidInputError, match="Known kinds: identity, constraint"):
        remember(alice, "I live in Porto", kind=kind)


@pytest.mark.parametrize("where", ["statement", "quote"])
def test_a_secret_is_refused_and_named_but_not_repeated(alice, where):
    said = "my wifi password is hunter2"
    values = {"statement": said} if where == "statement" else {"statement": "I have a router", "quote": said}

    with pytest.raises(SecretRefusedError) as refused:
        remember(alice, values.pop("statement"), **values)

    assert refused.value.details == {"found": "a password"}
    assert "hunter2" not in str(refused.value)
    assert Memory.objects.count() == 0


@pytest.mark.parametrize("quote", ["I live in Lisbon", "i live in porto", "", " "])
def test_a_quote_must_stand_in_its_message_word_for_word(alice, quote):
    source = message(alice, "I live in Porto")

    with pytest.raises(QuoteNotFoundError):
        remember_from(alice, source, "I live in Porto", quote=quote)

    assert live(alice) == []


def test_work_that_began_before_a_forgetting_may_not_write(alice):
    epoch = alice.memory_epoch
    longterm.forget(alice.id, remember(alice, "My cat is Miso").memory.id, now=NOW)

    with pytest.raises(ForgottenError, match="Say it again"):
        remember(alice, "I live in Porto", epoch_at_start=epoch)

    assert live(alice) == []


def test_work_that_began_after_it_may(alice):
    longterm.forget(alice.id, remember(alice, "My cat is Miso").memory.id, now=NOW)
    alice.refresh_from_db()

    assert remember(alice, "I live in Porto", epoch_at_start=alice.memory_epoch).outcome == Outcome.ADDED


def test_a_full_memory_refuses_more_and_says_what_to_do(alice, bob, configure):
    configure(STRATA_MEMORIES_PER_USER="100")
    for number in range(100):
        remember(alice, f"ticket {number}")

    with pytest.raises(MemoryFullError, match="Forget some") as full:
        remember(alice, "one more")

    assert full.value.details == {"limit": 100}
    assert remember(alice, "ticket 7").outcome == Outcome.REINFORCED
    assert remember(bob, "one more").outcome == Outcome.ADDED


def test_fifty_statements_about_one_subject_stay_fifty(alice):
    for number in range(50):
        remember(alice, f"Anna has read chapter {number} of the book about the history of tea")

    assert len(live(alice)) == 50


def test_a_kind_used_by_memories_cannot_be_deleted(alice):
    remember(alice, "I live in Porto")

    with pytest.raises(ProtectedError):
        Kind.objects.get(slug="event").delete()


def test_what_is_written_down_is_in_one_language_whoever_remembers(alice):
    with translation.override("de"):
        memory = remember(alice, "I like figs").memory

    assert queries.versions(memory)[0].reason == "first said, through a program"
