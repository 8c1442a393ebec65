"""Runs, steps and checkpoints: one owner at a time, every tool call once, nothing from one run in another."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.policies.limits import Limits
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries, records, timeline
from memoryapp.scratchpad.models import Checkpoint, Run, Step
from memoryapp.scratchpad.operations import FencedOffError, Spending, StepRecord
from memoryapp.scratchpad.pad import Pad, from_json
from memoryapp.scratchpad.records import Keeping
from memoryapp.transcript import conversations
from tests.turns import COMMITTED, at_once, post

LIMITS = Limits(model_calls=20, tokens=5_000, seconds=60)
DELTA = [{"role": "user", "blocks": [{"type": "text", "text": "hi"}]}]


def open_run(user, turn=None, *, attempt=1) -> Run:
    turn = turn or post(user, "Plan the trip")
    return scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal="Plan the trip", attempt=attempt)


def record(
    run: Run, tool_use_id: str, *, attempt=1, observation="4", pad: Pad | None = None, **values
) -> Step:
    step = StepRecord(
        **{
            "tool_use_id": tool_use_id,
            "action": "calculate",
            "arguments": {"expression": "2+2"},
            "observation": observation,
            "status": Step.Status.OK,
            "tokens": 1,
            "duration_ms": 2,
            "origin": "tool",
            **values,
        }
    )
    return scratchpad.record_step(run, step, pad=pad or Pad(goal=run.goal), attempt=attempt)


def keep(run: Run, number: int, *, attempt=1, delta=DELTA, usage=None, taint="user_typed") -> None:
    pad = Pad(goal=run.goal).with_done(f"round {number}")
    scratchpad.checkpoint(
        run, number=number, delta=delta, pad=pad, taint=taint, spending=Spending(usage), attempt=attempt
    )


def test_a_new_run_starts_with_its_goal_and_nothing_else(alice):
    run = open_run(alice)

    assert (run.status, run.attempt, run.goal) == ("running", 1, "Plan the trip")
    assert from_json(run.pad) == Pad(goal="Plan the trip")
    assert queries.checkpoints(run) == []


def test_a_later_attempt_takes_over_the_run_as_it_stands(alice):
    run = open_run(alice)
    record(run, "a")
    keep(run, 0)

    again = open_run(alice, run.turn, attempt=2)

    assert (again.id, again.attempt) == (run.id, 2)
    assert [step.tool_use_id for step in queries.steps(again)] == ["a"]
    assert [(entry.number, entry.delta) for entry in queries.checkpoints(again)] == [(0, DELTA)]
    assert from_json(again.pad).done == ("round 0",)


@pytest.mark.parametrize(
    "write",
    [
        lambda run: record(run, "b"),
        lambda run: keep(run, 1),
        lambda run: open_run(run.user, run.turn, attempt=1),
        lambda run: scratchpad.go_on(run, attempt=1, limits=LIMITS),
    ],
    ids=["step", "checkpoint", "open", "go on"],
)
def test_an_attempt_that_lost_its_turn_writes_nothing(alice, write):
    run = open_run(alice)
    record(run, "a")
    keep(run, 0)
    open_run(alice, run.turn, attempt=2)

    with pytest.raises(FencedOffError):
        write(run)

    assert (Step.objects.count(), Checkpoint.objects.count()) == (1, 1)
    assert Run.objects.get().attempt == 2


def test_a_run_that_is_over_takes_no_more_steps(alice):
    run = open_run(alice)
    scratchpad.close_run(run.turn_id, attempt=1, status=Run.Status.COMPLETED)

    with pytest.raises(FencedOffError):
        record(run, "a")


def test_closing_by_an_attempt_that_lost_its_turn_does_nothing(alice):
    run = open_run(alice)
    open_run(alice, run.turn, attempt=2)

    scratchpad.close_run(run.turn_id, attempt=1, status=Run.Status.FAILED)

    assert Run.objects.get().status == "running"


def test_a_tool_call_is_recorded_once_and_keeps_its_first_result(alice):
    run = open_run(alice)
    first = record(run, "a", observation="4")

    second = record(run, "a", observation="5")

    assert (second.id, second.observation) == (first.id, "4")
    assert Step.objects.count() == 1


def test_steps_are_numbered_in_order(alice):
    run = open_run(alice)
    for name in "abc":
        record(run, name)

    assert [(step.number, step.tool_use_id) for step in queries.steps(run)] == [(1, "a"), (2, "b"), (3, "c")]


def test_the_pad_is_kept_with_the_step(alice):
    run = open_run(alice)

    record(run, "a", pad=Pad(goal=run.goal).with_done("added"))

    assert from_json(Run.objects.get().pad).done == ("added",)


def test_a_long_observation_is_cut_and_says_so(alice):
    step = record(open_run(alice), "a", observation="x" * 205_000)

    assert step.observation == "x" * 200_000 + "\n… 5,000 characters more were dropped."


def test_an_observation_may_hold_anything(alice):
    step = record(open_run(alice), "a", observation="\x00🍵</scratchpad>\u2028")

    assert Step.objects.get(id=step.id).observation == "🍵</scratchpad>\u2028"


def test_checkpoints_come_back_in_order_with_the_taint_of_each(alice):
    run = open_run(alice)
    for number, taint in enumerate(["user_typed", "tool", "untrusted"]):
        keep(run, number, taint=taint, delta=[{"role": "user", "n": number}])

    recorded = queries.checkpoints(run)

    assert [(entry.number, entry.taint, entry.delta) for entry in recorded] == [
        (0, "user_typed", [{"role": "user", "n": 0}]),
        (1, "tool", [{"role": "user", "n": 1}]),
        (2, "untrusted", [{"role": "user", "n": 2}]),
    ]


def test_a_checkpoint_written_twice_stands_and_counts_once(alice):
    run = open_run(alice)
    usage = Usage(input_tokens=10, output_tokens=3, cache_read_tokens=100)

    keep(run, 1, usage=usage)
    keep(run, 1, usage=usage, delta=[])

    run.refresh_from_db()
    assert (run.model_calls, run.input_tokens, run.output_tokens) == (1, 110, 3)
    assert queries.checkpoints(run)[0].delta == DELTA


def test_a_checkpoint_is_a_delta_so_that_storage_grows_with_the_steps(alice):
    run = open_run(alice)
    for number in range(20):
        keep(run, number)

    assert {len(entry.delta) for entry in queries.checkpoints(run)} == {1}


def test_a_finished_run_counts_its_last_call(alice):
    run = open_run(alice)
    keep(run, 1, usage=Usage(input_tokens=10, output_tokens=3))

    usage = Usage(input_tokens=5, output_tokens=2)
    scratchpad.close_run(run.turn_id, attempt=1, status=Run.Status.COMPLETED, spending=Spending(usage))

    run.refresh_from_db()
    assert (run.status, run.model_calls, run.input_tokens, run.output_tokens) == ("completed", 2, 15, 5)
    assert run.finished_at


def test_a_run_that_a_person_lets_go_on_keeps_its_steps_and_is_judged_anew(alice):
    run = open_run(alice)
    record(run, "a")
    keep(run, 0)

    scratchpad.go_on(run, attempt=1, limits=LIMITS)

    run.refresh_from_db()
    assert ([step.tool_use_id for step in queries.steps(run)], run.judged_from) == (["a"], 1)
    assert run.limits == LIMITS.to_json()


def test_a_run_without_steps_starts_over_when_a_person_lets_it_go_on(alice):
    run = open_run(alice)
    keep(run, 0)

    scratchpad.go_on(run, attempt=1, limits=LIMITS)

    run.refresh_from_db()
    assert queries.checkpoints(run) == []
    assert from_json(run.pad) == Pad(goal="Plan the trip")


def test_nothing_of_one_run_enters_another(alice):
    first = open_run(alice)
    record(first, "a")
    keep(first, 0)
    scratchpad.close_run(first.turn_id, attempt=1, status=Run.Status.COMPLETED)

    second = open_run(alice, post(alice, "Plan the trip", first.turn.conversation))

    assert from_json(second.pad) == Pad(goal="Plan the trip")
    assert (list(queries.steps(second)), queries.checkpoints(second)) == ([], [])
    assert record(second, "a").number == 1


def test_bob_reads_and_deletes_nothing_of_alices_runs(alice, bob):
    run = open_run(alice)
    record(run, "a")
    scratchpad.close_run(run.turn_id, attempt=1, status=Run.Status.COMPLETED)

    for run_id in (run.id, uuid4()):
        with pytest.raises(NotFoundError):
            timeline.recorded_run(bob.id, run_id)
    assert records.delete(bob.id, [run.id]) == 0
    assert records.keep(bob.id, [run.id], Keeping.FOR_EVER, rule_days=1, now=timezone.now()) == 0
    assert list(queries.runs(bob.id)) == list(queries.steps_of_turns(bob.id, [run.turn_id])) == []
    assert queries.run_of_turn(bob.id, run.turn_id) is None
    assert queries.run_ids_of_turns(bob.id, [run.turn_id]) == {}
    assert queries.count(bob.id) == 0


def test_a_record_can_be_deleted_once_the_run_is_over(alice):
    run = open_run(alice)
    while_running = records.delete(alice.id, [run.id])
    scratchpad.close_run(run.turn_id, attempt=1, status=Run.Status.FAILED)

    afterwards = records.delete(alice.id, [run.id])

    assert (while_running, afterwards, queries.count(alice.id)) == (0, 1, 0)


def test_records_older_than_their_time_are_dropped_and_running_ones_never(alice):
    old, young, running = (open_run(alice) for _ in range(3))
    for run, days in ((old, 3), (young, 0.5)):
        record(run, "a")
        scratchpad.close_run(run.turn_id, attempt=1, status=Run.Status.COMPLETED)
        Run.objects.filter(id=run.id).update(finished_at=timezone.now() - timedelta(days=days))
    Run.objects.filter(id=running.id).update(started_at=timezone.now() - timedelta(days=9))

    assert records.drop_old(older_than_days=1) == 1
    assert set(Run.objects.values_list("id", flat=True)) == {young.id, running.id}
    assert Step.objects.count() == 1


@COMMITTED
@pytest.mark.usefixtures("nudges")
def test_of_eight_recordings_of_one_call_at_once_one_counts(alice):
    run = open_run(alice)

    steps = at_once(8, lambda n: record(run, "a", observation=str(n)))

    assert len({step.id for step in steps}) == 1
    assert len({step.observation for step in steps}) == 1


@COMMITTED
@pytest.mark.usefixtures("nudges")
def test_eight_calls_recorded_at_once_get_eight_numbers(alice):
    run = open_run(alice)

    at_once(8, lambda n: record(run, f"call {n}"))

    assert [step.number for step in queries.steps(run)] == list(range(1, 9))


@COMMITTED
@pytest.mark.usefixtures("nudges")
def test_of_two_attempts_at_once_only_the_later_goes_on(alice):
    turn = post(alice, "Plan the trip")
    open_run(alice, turn)

    def work(n: int) -> bool:
        attempt = n + 1
        try:
            record(open_run(alice, turn, attempt=attempt), f"call {n}", attempt=attempt)
        except FencedOffError:
            return False
        return True

    went_on = at_once(8, work)

    assert went_on[-1]
    assert Run.objects.get().attempt == 8


def test_the_runs_of_a_deleted_conversation_are_nowhere_until_it_is_brought_back(alice):
    turn = post(alice, "My secret plan")
    run = scratchpad.open_run(user_id=alice.id, turn_id=turn.id, goal="My secret plan", attempt=1)

    conversations.delete_conversation(alice.id, turn.conversation_id)
    hidden = [queries.run_of_turn(alice.id, turn.id), list(queries.runs(alice.id)), queries.count(alice.id)]
    conversations.restore_conversation(alice.id, turn.conversation_id)

    assert hidden == [None, [], 0]
    assert queries.run_of_turn(alice.id, turn.id) == run
