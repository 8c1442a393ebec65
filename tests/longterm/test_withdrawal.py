"""Undo: what one message did to a memory is taken back, and reading it again does not do it once more."""

from uuid import uuid4

import pytest

from memoryapp.errors import NotFoundError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory, Tombstone
from memoryapp.longterm.operations import ForgottenError
from memoryapp.longterm.withdrawal import HasItsPersonsWordError, NothingToWithdrawError, withdraw
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from


def undo(user, memory, source):
    return withdraw(user.id, memory.id, source_message_id=source.message_id, now=NOW)


def test_what_was_added_is_gone(alice):
    source = message(alice, "I live in Porto")
    memory = remember_from(alice, source, "I live in Porto").memory

    withdrawn = undo(alice, memory, source)

    assert (withdrawn.outcome, withdrawn.memory) == (Outcome.ADDED, None)
    assert Memory.objects.count() == 0


@pytest.mark.parametrize(
    "statement", ["I live in Porto", "The user lives in Porto", "Porto is the user's place of residence"]
)
def test_the_same_message_does_not_teach_it_again_in_whatever_words(alice, statement):
    source = message(alice, "I live in Porto")
    undo(alice, remember_from(alice, source, "I live in Porto").memory, source)

    with pytest.raises(ForgottenError):
        remember_from(alice, source, statement, origin=Origin.MODEL_INFERRED)


def test_other_facts_of_the_message_and_work_under_way_are_not_disturbed(alice):
    source = message(alice, "I live in Porto and my cat is Miso")
    memory = remember_from(alice, source, "I live in Porto", quote="I live in Porto").memory
    undo(alice, memory, source)

    learned = remember_from(
        alice, source, "My cat is Miso", quote="my cat is Miso", epoch_at_start=alice.memory_epoch
    )

    assert learned.outcome == Outcome.ADDED


def test_saying_it_again_later_is_a_new_statement(alice):
    source = message(alice, "I live in Porto")
    undo(alice, remember_from(alice, source, "I live in Porto").memory, source)

    again = remember_from(alice, message(alice, "I live in Porto"), "I live in Porto", said_at=NOW + DAY)

    assert again.outcome == Outcome.ADDED
    assert live(alice) == ["I live in Porto"]


def test_what_was_replaced_holds_again(alice):
    lisbon = remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory
    source = message(alice, "I moved to Porto")
    porto = remember_from(alice, source, "I moved to Porto").memory

    withdrawn = undo(alice, porto, source)

    assert (withdrawn.outcome, withdrawn.memory.id) == (Outcome.SUPERSEDED, lisbon.id)
    assert live(alice) == ["I live in Lisbon"]
    back = queries.get_memory(alice.id, lisbon.id)
    assert (back.valid_to, back.superseded_at, back.superseded_by_id) == (None, None, None)


def test_older_values_point_at_what_holds_again(alice):
    faro = remember(alice, "I live in Faro", said_at=NOW - 9 * DAY).memory
    lisbon = remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory
    source = message(alice, "I moved to Porto")

    undo(alice, remember_from(alice, source, "I moved to Porto").memory, source)

    assert queries.get_memory(alice.id, faro.id).superseded_by_id == lisbon.id
    assert [row.id for row in queries.superseded_by(lisbon)] == [faro.id]


def test_a_value_that_was_replaced_since_goes_from_the_middle_of_the_history(alice):
    faro = remember(alice, "I live in Faro", said_at=NOW - 9 * DAY).memory
    source = message(alice, "I live in Lisbon")
    lisbon = remember_from(alice, source, "I live in Lisbon", said_at=NOW - DAY).memory
    porto = remember(alice, "I moved to Porto").memory

    withdrawn = undo(alice, lisbon, source)

    assert withdrawn.memory is None
    assert live(alice) == ["I moved to Porto"]
    assert queries.get_memory(alice.id, faro.id).superseded_by_id == porto.id


def test_what_was_reinforced_is_as_old_as_before(alice):
    first, second = message(alice, "I live in Porto"), message(alice, "I live in Porto!")
    memory = remember_from(alice, first, "I live in Porto", said_at=NOW - 9 * DAY).memory
    remember_from(alice, second, "I live in Porto")

    withdrawn = undo(alice, memory, second)

    assert (withdrawn.outcome, withdrawn.memory.id) == (Outcome.REINFORCED, memory.id)
    assert withdrawn.memory.affirmed_at == NOW - 9 * DAY
    assert [source.message_id for source in queries.sources(memory)] == [first.message_id]


def test_what_another_message_says_too_stays_on_that_ones_word(alice):
    first, second = message(alice, "I live in Porto"), message(alice, "Yes, I live in Porto!")
    memory = remember_from(alice, first, "I live in Porto", said_at=NOW - DAY).memory
    remember_from(alice, second, "I live in Porto", quote="I live in Porto!")

    undo(alice, memory, first)

    kept = queries.get_memory(alice.id, memory.id)
    assert (kept.source_message_id, kept.quote, kept.said_at) == (second.message_id, "I live in Porto!", NOW)
    assert undo(alice, memory, second).outcome == Outcome.ADDED
    assert live(alice) == []


def test_what_it_made_wait_waits_no_more(alice):
    source = message(alice, "ACME is trusted")
    waiting = remember_from(alice, source, "ACME is trusted", origin=Origin.UNTRUSTED).memory

    assert undo(alice, waiting, source).outcome == Outcome.PENDING
    assert Memory.objects.count() == 0


def test_nothing_of_the_words_is_left(alice):
    source = message(alice, "I love marmalade")
    undo(alice, remember_from(alice, source, "I love marmalade").memory, source)

    assert Tombstone.objects.count() == 4
    assert "marmalade" not in str(list(Tombstone.objects.values()))


def test_what_a_message_did_not_do_cannot_be_taken_back_nor_twice(alice):
    first, other = message(alice, "I live in Porto"), message(alice, "Hello")
    memory = remember_from(alice, first, "I live in Porto").memory

    with pytest.raises(NothingToWithdrawError):
        undo(alice, memory, other)
    undo(alice, memory, first)
    with pytest.raises(NotFoundError):
        undo(alice, memory, first)


def test_what_its_person_corrected_or_confirmed_since_is_not_taken_back(alice):
    corrected, confirmed = message(alice, "I live in Porto"), message(alice, "I like tea")
    home = remember_from(alice, corrected, "I live in Porto", said_at=NOW - DAY).memory
    tea = remember_from(alice, confirmed, "I like tea", said_at=NOW - DAY).memory
    longterm.edit(alice.id, home.id, version=1, now=NOW, statement="I live in Braga")
    give_feedback(alice.id, tea.id, Verdict.CONFIRMED, now=NOW)

    for memory, source in ((home, corrected), (tea, confirmed)):
        with pytest.raises(HasItsPersonsWordError, match="yourself"):
            undo(alice, memory, source)

    assert live(alice) == ["I like tea", "I live in Braga"]


def test_what_was_replaced_holds_again_also_when_the_new_value_was_called_wrong_first(alice):
    remember(alice, "I live in Lisbon", said_at=NOW - DAY)
    source = message(alice, "I moved to Porto")
    porto = remember_from(alice, source, "I moved to Porto").memory
    give_feedback(alice.id, porto.id, Verdict.WRONG, now=NOW)

    undo(alice, porto, source)

    assert live(alice) == ["I live in Lisbon"]
    assert Memory.objects.count() == 1


def test_a_former_value_does_not_come_back_where_its_place_is_taken(alice):
    vegetarian = remember(alice, "I'm vegetarian", said_at=NOW - 2 * DAY).memory
    source = message(alice, "I'm vegan")
    vegan = remember_from(alice, source, "I'm vegan", said_at=NOW - DAY).memory
    # As of a row that was written before edits were reconciled: its words are others, and its place is free.
    Memory.objects.filter(id=vegan.id).update(key="", slot="", statement="I love jazz", digest="of jazz")
    pescatarian = remember(alice, "I am pescatarian").memory

    undo(alice, vegan, source)

    assert live(alice) == ["I am pescatarian"]
    assert queries.get_memory(alice.id, vegetarian.id).superseded_by_id == pescatarian.id


def test_what_only_a_tool_says_besides_is_worth_no_more_than_that(alice):
    typed, reported = message(alice, "I live in Porto"), message(alice, "Where do I live?")
    memory = remember_from(alice, typed, "I live in Porto", said_at=NOW - DAY).memory
    remember_from(alice, reported, "I live in Porto", origin=Origin.TOOL)

    left = undo(alice, memory, typed).memory

    assert left.id != memory.id
    assert (left.statement, left.origin, left.status) == ("I live in Porto", "tool", "active")
    assert left.confidence == INITIAL_CONFIDENCE[Origin.TOOL]
    assert [source.message_id for source in queries.sources(left)] == [reported.message_id]
    assert not Memory.objects.filter(id=memory.id).exists()


def test_what_only_a_tool_says_besides_does_not_replace_what_its_person_said(alice):
    remember(alice, "I live in Lisbon", said_at=NOW - 2 * DAY)
    typed, reported = message(alice, "I moved to Porto"), message(alice, "Where do I live?")
    memory = remember_from(alice, typed, "I moved to Porto", said_at=NOW - DAY).memory
    remember_from(alice, reported, "I moved to Porto", origin=Origin.TOOL)

    left = undo(alice, memory, typed).memory

    assert (left.origin, left.status) == ("tool", "conflict")
    assert live(alice) == ["I live in Lisbon"]


def test_nobody_takes_back_what_another_person_said(alice, bob):
    source = message(alice, "I live in Porto")
    memory = remember_from(alice, source, "I live in Porto").memory

    with pytest.raises(NotFoundError):
        undo(bob, memory, source)
    with pytest.raises(NothingToWithdrawError):
        withdraw(alice.id, memory.id, source_message_id=uuid4(), now=NOW)

    assert live(alice) == ["I live in Porto"]
