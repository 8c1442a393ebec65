"""A person's word about a memory: how sure it is afterwards, and that a wrong one is out of use at once."""

from uuid import uuid4

import pytest

from memoryapp.activity.models import Entry
from memoryapp.errors import InvalidInputError, NotFoundError, StaleVersionError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import WaitsForItsPersonError, give_feedback
from memoryapp.longterm.models import Feedback, Memory
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from
from tests.turns import post


def say(user, memory, verdict, **values):
    return give_feedback(user.id, memory.id, verdict, now=NOW, **values)


def test_what_is_wrong_is_out_of_use_at_once_and_stays_in_the_history(alice):
    memory = remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory

    wrong = say(alice, memory, Verdict.WRONG)

    assert live(alice) == []
    assert list(queries.memories(alice.id)) == []
    assert (wrong.status, wrong.superseded_by_id, wrong.valid_to) == ("superseded", None, NOW)
    assert wrong.confidence == pytest.approx(0.95 / 4)
    assert queries.versions(wrong)[0].reason == "set aside as wrong"


@pytest.mark.parametrize("again", ["I live in Lisbon", "The user lives in Lisbon"])
def test_old_text_does_not_teach_what_is_wrong_again_and_saying_it_anew_does(alice, again):
    source = message(alice, again)
    say(alice, remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory, Verdict.WRONG)

    old = remember_from(alice, source, again, said_at=NOW - DAY)
    new = remember_from(alice, message(alice, again), again, said_at=NOW + DAY)

    assert (old.outcome, new.outcome) == (Outcome.IGNORED, Outcome.ADDED)


def test_confirming_brings_it_back(alice):
    memory = remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory
    say(alice, memory, Verdict.WRONG)

    back = say(alice, memory, Verdict.CONFIRMED)

    assert live(alice) == ["I live in Lisbon"]
    assert (back.status, back.valid_to, back.superseded_at, back.affirmed_at) == ("active", None, None, NOW)
    assert back.confidence == 0.95


def test_it_comes_back_in_place_of_the_value_that_came_since(alice):
    memory = remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory
    say(alice, memory, Verdict.WRONG)
    porto = remember(alice, "I live in Porto").memory

    say(alice, memory, Verdict.CONFIRMED)

    assert live(alice) == ["I live in Lisbon"]
    assert queries.get_memory(alice.id, porto.id).superseded_by_id == memory.id


def test_what_a_wrong_value_had_replaced_holds_again(alice):
    faro = remember(alice, "I live in Faro", said_at=NOW - 9 * DAY).memory
    lisbon = remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory
    porto = remember(alice, "I moved to Porto").memory

    say(alice, porto, Verdict.WRONG)

    assert live(alice) == ["I live in Lisbon"]
    assert queries.get_memory(alice.id, faro.id).superseded_by_id == lisbon.id
    assert queries.get_memory(alice.id, porto.id).superseded_by_id is None


def test_a_false_replacement_is_turned_round_by_a_word_about_the_former_value(alice):
    number = remember(alice, "My number is 555 1234", key="phone", said_at=NOW - 2 * DAY).memory
    older = remember(alice, "My number is 555 9999", key="phone", said_at=NOW - 3 * DAY)
    broken = remember(alice, "The phone is broken", key="phone", said_at=NOW - DAY).memory

    back = say(alice, number, Verdict.CONFIRMED)

    assert older.outcome == Outcome.CONFLICT
    assert (back.status, back.superseded_by_id, back.valid_to) == ("active", None, None)
    assert live(alice) == ["My number is 555 1234"]
    assert queries.get_memory(alice.id, broken.id).superseded_by_id == number.id


def test_saying_wrong_twice_is_saying_it_once(alice):
    memory = remember(alice, "I live in Lisbon").memory
    first = say(alice, memory, Verdict.WRONG)

    assert say(alice, memory, Verdict.WRONG).confidence == first.confidence
    assert Feedback.objects.count() == 1


def test_a_word_about_a_reply_acts_again_after_the_opposite_was_said(alice):
    memory, turn = remember(alice, "I live in Lisbon").memory, post(alice, "Hello")

    for verdict, in_use in ((Verdict.WRONG, []), (Verdict.CONFIRMED, ["I live in Lisbon"])) * 2:
        say(alice, memory, verdict, turn_id=turn.id)

        assert live(alice) == in_use
        newest = Feedback.objects.order_by("-created_at", "-id").first()
        assert newest.verdict == verdict
    assert Feedback.objects.count() == 2


def test_confirming_affirms_and_makes_surer(alice):
    memory = remember(alice, "I live in Lisbon", said_at=NOW - 9 * DAY, origin=Origin.MODEL_INFERRED).memory

    confirmed = say(alice, memory, Verdict.CONFIRMED)

    assert (confirmed.affirmed_at, confirmed.confidence, confirmed.version) == (NOW, 0.95, 1)


def test_not_relevant_counts_once_per_reply(alice):
    memory = remember(alice, "I live in Lisbon").memory
    first, second = post(alice, "Hello"), post(alice, "Hello again")

    for turn in (first, first, second):
        judged = say(alice, memory, Verdict.NOT_RELEVANT, turn_id=turn.id)

    assert judged.confidence == pytest.approx(0.95**3)
    assert list(Feedback.objects.values_list("turn", flat=True).order_by("created_at")) == [
        first.id,
        second.id,
    ]
    assert live(alice) == ["I live in Lisbon"]
    noted = Entry.objects.filter(verb="unhelpful").values_list("subject_id", flat=True)
    assert list(noted) == [memory.id, memory.id]


def test_a_correction_is_noted_and_makes_it_as_sure_as_what_is_typed(alice):
    memory = remember(alice, "I live in Lisbon", origin=Origin.MODEL_INFERRED).memory

    edited = longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Porto")

    said = Feedback.objects.get()
    assert (said.verdict, said.confidence_before, said.confidence_after) == ("corrected", 0.75, 0.95)
    assert edited.confidence == 0.95


def test_correcting_what_waits_does_not_make_it_surer(alice):
    waiting = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory

    edited = longterm.edit(alice.id, waiting.id, version=1, now=NOW, statement="ACME is known")

    assert edited.confidence == 0.3
    assert not Feedback.objects.exists()


def test_what_waits_is_not_confirmed_by_feedback_and_may_be_set_aside(alice):
    waiting = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory

    with pytest.raises(WaitsForItsPersonError):
        say(alice, waiting, Verdict.CONFIRMED)
    with pytest.raises(InvalidInputError, match="in no reply"):
        say(alice, waiting, Verdict.NOT_RELEVANT)
    say(alice, waiting, Verdict.WRONG)

    again = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED, said_at=NOW - DAY)
    assert again.outcome == Outcome.IGNORED
    assert queries.memories(alice.id, status="waiting").count() == 0


def test_of_what_was_set_aside_unconfirmed_feedback_makes_no_memory(alice):
    waiting = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory
    say(alice, waiting, Verdict.WRONG)

    with pytest.raises(WaitsForItsPersonError):
        say(alice, waiting, Verdict.CONFIRMED)

    assert live(alice) == []


def test_of_a_replaced_memory_there_is_nothing_else_to_say(alice):
    old = remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory
    remember(alice, "I live in Porto")

    for verdict in (Verdict.WRONG, Verdict.NOT_RELEVANT):
        with pytest.raises(InvalidInputError, match="replaced"):
            say(alice, old, verdict)


def test_a_correction_needs_words(alice):
    memory = remember(alice, "I live in Lisbon").memory

    with pytest.raises(InvalidInputError, match="new words"):
        say(alice, memory, Verdict.CORRECTED)


def test_it_can_be_bound_to_what_was_seen(alice):
    memory = remember(alice, "I live in Lisbon").memory
    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I live in Porto")

    with pytest.raises(StaleVersionError):
        say(alice, memory, Verdict.WRONG, version=1)


def test_nobody_speaks_of_another_persons_memory_or_turn(alice, bob):
    memory = remember(alice, "I live in Lisbon").memory
    turn = post(bob, "Hello")

    with pytest.raises(NotFoundError):
        say(bob, memory, Verdict.WRONG)
    for foreign in (turn.id, uuid4()):
        with pytest.raises(NotFoundError, match="no such turn"):
            say(alice, memory, Verdict.NOT_RELEVANT, turn_id=foreign)

    assert Memory.objects.get().confidence == 0.95
    assert not Feedback.objects.exists()
