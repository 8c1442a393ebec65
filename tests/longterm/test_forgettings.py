"""Forgetting with second thoughts: out of every read at once, back as it was or gone for good some minutes later."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryapp.activity.models import Entry
from memoryapp.errors import NotFoundError, StaleVersionError
from memoryapp.longterm import experience_queries, experiences, forgettings, queries
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.forgettings import TooLateError, UndoneAlreadyError
from memoryapp.longterm.models import Experience, Forgetting, Memory, MemorySource, MemoryVersion, Tombstone
from memoryapp.longterm.operations import ForgottenError
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import operations as scratchpad
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from
from tests.turns import post

MINUTE = timedelta(minutes=1)


def forget(user, *memories, **options) -> Forgetting:
    now = options.pop("now", NOW)
    return forgettings.forget(user.id, [memory.id for memory in memories], now=now, **options)


def undo(user, act: Forgetting, *, now=NOW) -> forgettings.Undone:
    return forgettings.undo(user.id, act.id, now=now)


def learn(user, *, goal: str = "Plan a trip", worked: str = "the train", **values) -> Experience:
    """From a run of its own."""
    user.refresh_from_db()
    turn = post(user, goal)
    run = scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal=goal, attempt=1)
    lesson = Lesson(goal=goal, tools=(), worked=worked, avoid="", origin=Origin.MODEL_INFERRED, **values)
    learned = experiences.record(
        user.id, lesson, run_id=run.id, epoch_at_start=user.memory_epoch, now=timezone.now()
    )
    assert learned
    return learned


class TestForgetting:
    def test_many_go_at_once_with_their_former_values_and_what_waits_in_the_same_words(self, alice):
        remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY)
        city = remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory
        remember(alice, "I like figs", origin=Origin.UNTRUSTED)
        figs = remember(alice, "I like figs").memory
        remember(alice, "I own a boat")

        act = forget(alice, city, figs)

        left = queries.memories(alice.id, status="any")
        assert [memory.statement for memory in left] == ["I own a boat"]
        assert (act.memories_count, act.undo_until) == (2, NOW + 10 * MINUTE)

    def test_others_ids_are_not_there(self, alice, bob):
        mine, theirs = remember(alice, "I like figs").memory, remember(bob, "I like plums").memory

        act = forget(alice, mine, theirs)

        assert act.memories_count == 1
        assert live(bob) == ["I like plums"]
        with pytest.raises(NotFoundError):
            forget(alice, theirs)

    def test_one_that_changed_since_it_was_read_keeps_all_of_them(self, alice):
        figs, boat = remember(alice, "I like figs").memory, remember(alice, "I own a boat").memory
        longterm.edit(alice.id, figs.id, version=1, now=NOW, statement="I like plums")

        with pytest.raises(StaleVersionError) as stale:
            forget(alice, figs, boat, versions={figs.id: 1, boat.id: 1})

        assert stale.value.details == {"version": 2}
        assert live(alice) == ["I like plums", "I own a boat"]

    def test_twice_says_that_there_is_nothing(self, alice):
        figs = remember(alice, "I like figs").memory
        forget(alice, figs)

        with pytest.raises(NotFoundError):
            forget(alice, figs)

    def test_old_text_does_not_teach_it_again_and_running_work_may_not_write(self, alice):
        source = message(alice, "I live in Porto")
        city = remember_from(alice, source, "I live in Porto", said_at=NOW - DAY).memory

        forget(alice, city)

        with pytest.raises(ForgottenError):
            remember_from(alice, source, "I live in Porto", said_at=NOW - DAY)
        with pytest.raises(ForgottenError):
            remember(alice, "I own a boat", epoch_at_start=alice.memory_epoch)
        assert live(alice) == []

    @pytest.mark.parametrize("minutes", ["0", "10"])
    def test_final_deletes_at_once_and_so_does_a_window_of_no_minutes(self, alice, configure, minutes):
        configure(STRATA_UNDO_MINUTES=minutes)
        figs = remember(alice, "I like figs").memory

        act = forget(alice, figs, is_final=minutes != "0")

        assert act.finished_at == NOW
        assert [model.objects.count() for model in (MemoryVersion, MemorySource)] == [0, 0]
        assert not Memory.everything.exists()
        with pytest.raises(TooLateError):
            undo(alice, act)

    def test_the_window_is_a_setting(self, alice, configure):
        configure(STRATA_UNDO_MINUTES="3")

        assert forget(alice, remember(alice, "I like figs").memory).undo_until == NOW + 3 * MINUTE

    def test_final_also_deletes_former_values_that_were_being_forgotten(self, alice):
        former = remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY).memory
        city = remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory
        act = forget(alice, former)

        longterm.forget(alice.id, city.id, now=NOW)

        assert not Memory.everything.exists()
        assert undo(alice, act).memories == 0


class TestUndoing:
    def test_everything_is_as_it_was(self, alice):
        source = message(alice, "I live in Porto")
        remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY)
        city = remember_from(alice, source, "I live in Porto", key="city", said_at=NOW - DAY).memory
        longterm.store_embedding(city.id, version=1, embedding=[1.0, 0.0], model_id="m")
        before = list(Memory.objects.order_by("id").values())

        undone = undo(alice, forget(alice, city))

        assert undone == forgettings.Undone(memories=1, experiences=0, kept_away=0)
        assert list(Memory.objects.order_by("id").values()) == before
        assert (MemorySource.objects.count(), Tombstone.objects.count()) == (2, 0)
        assert remember_from(alice, source, "I live in Porto").outcome == Outcome.REINFORCED

    def test_two_forgettings_are_undone_each_for_itself(self, alice):
        figs, boat = remember(alice, "I like figs").memory, remember(alice, "I own a boat").memory
        first, second = forget(alice, figs), forget(alice, boat)

        undo(alice, second)
        assert live(alice) == ["I own a boat"]

        undo(alice, first)
        assert live(alice) == ["I like figs", "I own a boat"]

    @pytest.mark.parametrize(
        ("again", "key"), [("I live in Porto", ""), ("I live in Braga", "city"), ("I moved to Braga", "")]
    )
    def test_what_was_said_since_stays_in_its_place(self, alice, again, key):
        remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY)
        city = remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory
        figs = remember(alice, "I like figs").memory
        act = forget(alice, city, figs)
        remember(alice, again, key=key, said_at=NOW + MINUTE)

        undone = undo(alice, act, now=NOW + 2 * MINUTE)

        assert (undone.memories, undone.kept_away) == (1, 1)
        assert live(alice) == sorted(["I like figs", again])
        assert not Memory.everything.exclude(forgetting=None).exists()

    def test_whose_place_is_taken_is_asked_once_and_not_once_for_every_row(self, alice):
        act = forget(alice, remember(alice, "I like figs").memory)

        with CaptureQueriesContext(connection) as captured:
            undo(alice, act)

        (asked,) = [
            query["sql"] for query in captured if '"digest" IN (SELECT' in query["sql"].split("DELETE")[0]
        ]
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN " + asked)
            plan = "\n".join(line for (line,) in cursor.fetchall())

        assert plan.count("(hashed SubPlan") == 3

    def test_what_stays_away_is_not_learned_from_old_text_either(self, alice):
        city = remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory
        act = forget(alice, city)
        remember(alice, "I live in Braga", key="city", said_at=NOW + MINUTE)

        undo(alice, act)

        with pytest.raises(ForgottenError):
            remember(alice, "I live in Porto", key="city", said_at=NOW - DAY)

    def test_both_of_two_that_stood_side_by_side_come_back(self, alice):
        lisbon = remember(alice, "I live in Lisbon", said_at=NOW - 2 * DAY).memory
        porto = remember(alice, "I live in Porto", origin=Origin.UNTRUSTED, said_at=NOW - DAY).memory
        longterm.confirm(alice.id, porto.id, version=1, now=NOW, is_beside=True)
        act = forget(alice, lisbon, now=timezone.now())

        undo(alice, act)

        assert live(alice) == ["I live in Lisbon", "I live in Porto"]

    def test_a_former_value_does_not_come_back_without_what_replaced_it(self, alice):
        former = remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY).memory
        city = remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory
        first, second = forget(alice, former), forget(alice, city)

        undone = undo(alice, first)
        assert (undone.memories, undone.kept_away) == (0, 1)
        assert not Memory.objects.exists()

        undo(alice, second)
        assert live(alice) == ["I live in Porto"]
        assert [row.id for row in queries.superseded_by(city)] == [former.id]

    def test_a_former_value_follows_what_has_replaced_its_successor_meanwhile(self, alice):
        former = remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY).memory
        remember(alice, "I live in Porto", key="city", said_at=NOW - DAY)
        act = forget(alice, former)
        city = remember(alice, "I live in Braga", key="city").memory

        undo(alice, act)

        assert queries.get_memory(alice.id, former.id).superseded_by_id == city.id

    def test_late_is_too_late_whether_or_not_a_sweep_ran(self, alice):
        alice.time_zone = "Asia/Kathmandu"  # 5:45 ahead
        alice.save()
        act = forget(
            alice, remember(alice, "I like figs").memory, now=NOW.replace(hour=12, minute=0, second=0)
        )

        with pytest.raises(TooLateError, match=r"It was deleted for good at 17:55\."):
            undo(alice, act, now=act.undo_until)

        assert live(alice) == []

    def test_a_second_time_says_so(self, alice):
        act = forget(alice, remember(alice, "I like figs").memory)
        undo(alice, act)

        with pytest.raises(UndoneAlreadyError):
            undo(alice, act)
        with pytest.raises(UndoneAlreadyError):
            forgettings.finish(alice.id, act.id)

        assert live(alice) == ["I like figs"]

    def test_bob_cannot_answer_for_alice(self, alice, bob):
        act = forget(alice, remember(alice, "I like figs").memory)

        for user_id, forgetting_id in ((bob.id, act.id), (alice.id, uuid4())):
            with pytest.raises(NotFoundError):
                forgettings.undo(user_id, forgetting_id, now=NOW)
            with pytest.raises(NotFoundError):
                forgettings.finish(user_id, forgetting_id)

        assert list(forgettings.open_forgettings(bob.id)) == []
        assert undo(alice, act).memories == 1


class TestFinishing:
    def test_now_deletes_for_good_and_only_that(self, alice):
        figs, boat = remember(alice, "I like figs").memory, remember(alice, "I own a boat").memory
        first, second = forget(alice, figs, now=timezone.now()), forget(alice, boat, now=timezone.now())

        forgettings.finish(alice.id, first.id)
        forgettings.finish(alice.id, first.id)

        assert [row.id for row in Memory.everything.all()] == [boat.id]
        assert list(forgettings.open_forgettings(alice.id)) == [second]
        with pytest.raises(TooLateError):
            undo(alice, first)

    def test_the_sweep_finishes_what_is_due(self, alice, bob):
        due = timezone.now() - 11 * MINUTE
        remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY)
        forget(alice, remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory, now=due)
        undo(bob, forget(bob, remember(bob, "I like figs").memory, now=due), now=due)
        boat = remember(bob, "I own a boat").memory
        forget(bob, boat, now=timezone.now())

        rows = forgettings.finish_due()

        assert rows == 2
        assert not Memory.everything.filter(user=alice).exists()
        assert Memory.everything.filter(user=bob).count() == 2
        assert forgettings.finish_due() == 0

    def test_a_former_value_that_was_being_forgotten_goes_with_what_replaced_it(self, alice):
        former = remember(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY).memory
        city = remember(alice, "I live in Porto", key="city", said_at=NOW - DAY).memory
        forget(alice, former, now=timezone.now())
        act = forget(alice, city, now=timezone.now())

        forgettings.finish(alice.id, act.id)

        assert not Memory.everything.exists()

    def test_what_is_open_is_listed_newest_first(self, alice):
        facts = [remember(alice, text).memory for text in ("I like figs", "I own a boat", "I keep bees")]
        now = timezone.now()
        acts = [
            forget(alice, fact, now=now - age * MINUTE) for age, fact in zip((11, 5, 2), facts, strict=True)
        ]

        assert list(forgettings.open_forgettings(alice.id)) == [acts[2], acts[1]]


class TestExperiences:
    def test_one_goes_and_comes_back(self, alice, bob):
        mine, theirs = learn(alice), learn(bob)

        act = forgettings.forget_experiences(alice.id, [mine.id, theirs.id], now=NOW)
        assert list(experience_queries.unfaded(alice.id)) == []
        assert list(experience_queries.unfaded(bob.id)) == [theirs]

        undone = undo(alice, act)
        assert undone == forgettings.Undone(memories=0, experiences=1, kept_away=0)
        assert list(experience_queries.unfaded(alice.id)) == [mine]

    def test_or_is_deleted(self, alice):
        act = forgettings.forget_experiences(alice.id, [learn(alice).id], now=timezone.now())

        forgettings.finish(alice.id, act.id)

        assert not Experience.everything.exists()

    def test_another_persons_is_not_there(self, alice, bob):
        theirs = learn(bob)

        with pytest.raises(NotFoundError):
            forgettings.forget_experiences(alice.id, [theirs.id], now=NOW)

    def test_what_was_learned_from_a_memory_goes_and_comes_back_with_it(self, alice):
        figs = remember(alice, "I like figs").memory
        learn(alice, worked="I like figs, so the market")
        learn(alice, goal="Shop", worked="the market", memory_ids=frozenset([figs.id]))
        learn(alice, goal="Sail", worked="the boat")

        act = forget(alice, figs)
        assert [row.goal for row in experience_queries.unfaded(alice.id)] == ["Sail"]
        assert (act.memories_count, act.experiences_count) == (1, 2)

        assert undo(alice, act).experiences == 2
        assert experience_queries.unfaded(alice.id).count() == 3

    def test_one_that_was_forgotten_before_does_not_come_back_with_words_of_a_memory_that_is(self, alice):
        figs = remember(alice, "I like figs").memory
        lesson = learn(alice, worked="I like figs, so the market")
        first = forgettings.forget_experiences(alice.id, [lesson.id], now=NOW)
        second = forget(alice, figs)

        undo(alice, first)
        undo(alice, second)

        assert not Experience.everything.exists()
        assert live(alice) == ["I like figs"]


def test_each_act_is_noted_once(alice):
    facts = [remember(alice, text).memory for text in ("I like figs", "I own a boat", "I keep bees")]
    Entry.objects.all().delete()

    undo(alice, forget(alice, facts[0]))
    forgettings.finish(alice.id, forget(alice, *facts, now=timezone.now()).id)

    noted = Entry.objects.order_by("recorded_at", "id").values_list("verb", "rows", "subject_id")
    assert list(noted) == [
        ("forgot", 1, facts[0].id),
        ("restored", 1, None),
        ("forgot", 3, None),
        ("deleted", 3, None),
    ]


def test_a_thousand_take_as_many_statements_as_thirty(alice, django_assert_num_queries):
    few = [remember(alice, f"Fact {number} of few").memory for number in range(30)]
    many = many_of(alice, 1_000)
    statements = []

    for facts in (few, many):
        with django_assert_num_queries(10_000, exact=False) as counted:
            act = forget(alice, *facts)
        forgotten = len(counted)
        with django_assert_num_queries(10_000, exact=False) as counted:
            undo(alice, act)
        statements.append((forgotten, len(counted)))

    assert statements[0] == statements[1]
    assert queries.count(alice.id) == 1_030


def many_of(user, count: int) -> list[Memory]:
    """As many unkeyed facts, each with its version and a source, made in a few statements."""
    remember(user, "Fact of a thousand")
    model = Memory.objects.get(statement="Fact of a thousand")
    version, source = MemoryVersion.objects.get(memory=model), MemorySource.objects.get(memory=model)
    rows = []
    for number in range(count - 1):
        row = Memory.objects.get(id=model.id) if number == 0 else copied(model)
        row.pk, row.statement, row.digest = uuid4(), f"Fact {number} of a thousand", f"{number:064}"
        rows.append(row)
    Memory.objects.bulk_create(rows)
    for part in (version, source):
        copies = []
        for row in rows:
            copy = copied(part)
            copy.pk, copy.memory_id = uuid4(), row.pk
            copies.append(copy)
        type(part).objects.bulk_create(copies)
    return [model, *rows]


def copied(row):
    fields = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return type(row)(**fields)
