"""Many writers at once, each with a connection of its own."""

from datetime import timedelta
from uuid import UUID

import pytest

from memoryapp.errors import InvalidInputError, NotFoundError, StaleVersionError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Feedback, Memory
from memoryapp.longterm.operations import ForgottenError
from memoryapp.longterm.withdrawal import withdraw
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.reconciliation import Outcome
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from
from tests.turns import COMMITTED, at_once, post

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]
WRITERS = 8


def test_of_eight_values_of_one_key_one_is_live_and_none_is_lost(alice):
    results = at_once(WRITERS, lambda n: remember(alice, f"I live in city {n}", key="city"))

    statements = set(Memory.objects.values_list("statement", flat=True))
    (current,) = Memory.objects.filter(status="active")
    assert statements == {f"I live in city {n}" for n in range(WRITERS)}
    assert [result.outcome for result in results].count(Outcome.ADDED) == 1
    assert set(Memory.objects.filter(status="superseded").values_list("superseded_by", flat=True)) == {
        current.id
    }


def test_eight_times_the_same_statement_is_one_row_with_eight_sources(alice):
    sources = [message(alice, f"I live in Porto, {n}") for n in range(WRITERS)]

    results = at_once(WRITERS, lambda n: remember_from(alice, sources[n], "I live in Porto"))

    (memory,) = Memory.objects.all()
    outcomes = [result.outcome for result in results]
    assert (outcomes.count(Outcome.ADDED), outcomes.count(Outcome.REINFORCED)) == (1, WRITERS - 1)
    assert queries.sources(memory).count() == WRITERS


def test_the_same_message_read_by_eight_workers_counts_once(alice):
    source = message(alice, "I live in Porto")

    at_once(WRITERS, lambda _: remember_from(alice, source, "I live in Porto"))

    (memory,) = Memory.objects.all()
    assert queries.sources(memory).count() == 1


def test_writers_of_two_people_do_not_disturb_each_other(alice, bob):
    people = [alice, bob] * (WRITERS // 2)

    at_once(WRITERS, lambda n: remember(people[n], "I live in Porto", key="city"))

    assert live(alice) == live(bob) == ["I live in Porto"]


def test_of_eight_editors_of_one_version_one_wins_and_seven_are_told(alice):
    memory = remember(alice, "I live in Lisbon").memory

    def edit(n: int) -> bool:
        try:
            longterm.edit(alice.id, memory.id, version=1, now=NOW, statement=f"I live in city {n}")
        except StaleVersionError:
            return False
        return True

    assert sorted(at_once(WRITERS, edit)) == [False] * 7 + [True]
    assert queries.versions(memory).count() == 2


def test_eight_edits_to_the_same_words_leave_one(alice):
    memories = [remember(alice, f"I live in city {n}").memory for n in range(WRITERS)]

    def edit(n: int) -> bool:
        try:
            longterm.edit(alice.id, memories[n].id, version=1, now=NOW, statement="I live in Porto")
        except InvalidInputError:
            return False
        return True

    assert sorted(at_once(WRITERS, edit)) == [False] * 7 + [True]
    assert live(alice).count("I live in Porto") == 1


def test_forgetting_beside_writers_leaves_nothing_that_began_before_it(alice):
    source = message(alice, "I live in Porto")
    memory = remember_from(alice, source, "I live in Porto", said_at=NOW - DAY).memory

    def forget_or_learn(n: int) -> None:
        try:
            if n == 0:
                longterm.forget(alice.id, memory.id, now=NOW)
            else:
                remember_from(alice, source, "I live in Porto", said_at=NOW - DAY, epoch_at_start=0)
        except ForgottenError:
            pass

    at_once(WRITERS, forget_or_learn)

    assert live(alice) == []


def test_of_two_forgettings_at_once_one_happens(alice):
    memory = remember(alice, "I live in Porto").memory

    def forget(_: int) -> UUID | None:
        try:
            longterm.forget(alice.id, memory.id, now=NOW)
        except NotFoundError:
            return None
        return memory.id

    assert sorted(at_once(2, forget), key=str) == [memory.id, None]


def test_affirming_correcting_and_forgetting_at_once_never_block_each_other_for_ever(alice):
    sources = [message(alice, f"I live in Porto, {n}") for n in range(WRITERS)]
    memory = remember(alice, "I live in Porto", said_at=NOW - 9 * DAY).memory

    def work(n: int) -> None:
        for round_number in range(5):
            try:
                if n % 4 == 0:
                    version = Memory.objects.filter(id=memory.id).values_list("version", flat=True).first()
                    longterm.edit(alice.id, memory.id, version=version or 0, now=NOW, confidence=n / 10)
                elif n == 1 and round_number == 4:
                    longterm.forget(alice.id, memory.id, now=NOW)
                else:
                    said_at = NOW - DAY + timedelta(seconds=n + 10 * round_number)
                    remember_from(alice, sources[n], "I live in Porto", said_at=said_at)
            except (StaleVersionError, NotFoundError, ForgottenError):
                pass

    at_once(WRITERS, work)

    assert live(alice) == []


def test_of_eight_cities_said_at_once_without_a_key_one_is_live_and_none_is_lost(alice):
    at_once(WRITERS, lambda n: remember(alice, f"I live in Town{n}"))

    assert len(live(alice)) == 1
    assert Memory.objects.filter(status="superseded").count() == WRITERS - 1


def test_eight_wordings_of_one_fact_at_once_are_one_row(alice):
    wordings = ["I don't eat meat", "I do not eat meat", "The user doesn't eat meat", "I no longer eat meat"]

    results = at_once(WRITERS, lambda n: remember(alice, wordings[n % 4]))

    assert Memory.objects.count() == 1
    assert [result.outcome for result in results].count(Outcome.ADDED) == 1


def test_love_and_hate_at_once_leave_one_of_them(alice):
    at_once(2, lambda n: remember(alice, ["I love olives", "I hate olives"][n]))

    assert len(live(alice)) == 1


def test_of_eight_undoings_at_once_one_happens(alice):
    source = message(alice, "I live in Porto")
    memory = remember_from(alice, source, "I live in Porto").memory

    def undo(_: int) -> bool:
        try:
            withdraw(alice.id, memory.id, source_message_id=source.message_id, now=NOW)
        except NotFoundError:
            return False
        return True

    assert sorted(at_once(WRITERS, undo)) == [False] * 7 + [True]


def test_the_same_word_about_one_reply_from_eight_tabs_counts_once(alice):
    memory = remember(alice, "I live in Porto").memory
    turn = post(alice, "Hello")

    at_once(
        WRITERS,
        lambda _: give_feedback(alice.id, memory.id, Verdict.NOT_RELEVANT, now=NOW, turn_id=turn.id),
    )

    assert Feedback.objects.count() == 1
    assert Memory.objects.get().confidence == pytest.approx(0.95 * 0.95)
