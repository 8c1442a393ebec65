"""A run that taught something becomes an experience, once, and fades like anything else."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.tasks import after_turn, sweep
from memoryapp.longterm import queries
from memoryapp.longterm.models import Experience, Kind
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Run, Step
from memoryapp.scratchpad.operations import StepRecord
from memoryapp.scratchpad.pad import Failure, Pad
from memoryapp.transcript.models import Turn
from tests.turns import post, start

OK, ERROR = Step.Status.OK, Step.Status.ERROR


def finished_run(
    user, *statuses: Step.Status, status=Run.Status.COMPLETED, origins=(), save_memory=True, goal="Plan it"
) -> Turn:
    turn = post(user, goal, start(user, save_memory=save_memory))
    run = scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal=goal, attempt=1)
    pad = Pad(goal=goal)
    for number, outcome in enumerate(statuses):
        failure = Failure(f"call {number}", "no such page")
        pad = pad.with_done(f"step {number}") if outcome == OK else pad.with_failure(failure)
        record = StepRecord(
            tool_use_id=f"toolu_{number}",
            action=["calculate", "recall"][number % 2],
            arguments={},
            observation="",
            status=outcome,
            tokens=1,
            duration_ms=1,
            origin=origins[number] if origins else "user_typed",
        )
        scratchpad.record_step(run, record, pad=pad, attempt=1)
    if status != Run.Status.RUNNING:
        scratchpad.close_run(turn.id, attempt=1, status=status)
    return turn


def promote(turn: Turn) -> None:
    after_turn(str(turn.id))


def test_a_run_of_several_steps_becomes_an_experience(alice):
    turn = finished_run(alice, OK, ERROR, OK)

    promote(turn)

    (experience,) = queries.experiences(alice.id)
    assert (experience.goal, experience.outcome, experience.tools) == (
        "Plan it",
        "succeeded",
        ["calculate", "recall"],
    )
    assert (experience.worked, experience.avoid) == ("step 0\nstep 2", "call 1: no such page")
    assert (experience.source_run.turn_id, experience.kind.slug) == (turn.id, "experience")


@pytest.mark.parametrize(
    ("statuses", "status", "teaches"),
    [
        ([], Run.Status.COMPLETED, False),
        ([OK], Run.Status.COMPLETED, False),
        ([OK, OK], Run.Status.COMPLETED, False),
        ([ERROR], Run.Status.COMPLETED, False),
        ([OK, ERROR], Run.Status.COMPLETED, False),
        ([ERROR, OK], Run.Status.COMPLETED, True),
        ([ERROR, OK], Run.Status.FAILED, False),
        ([OK, OK, OK], Run.Status.FAILED, True),
        ([OK, OK, OK], Run.Status.RUNNING, False),
    ],
)
def test_what_is_worth_learning(alice, statuses, status, teaches):
    promote(finished_run(alice, *statuses, status=status))

    assert queries.experiences(alice.id).exists() is teaches


def test_a_failed_run_is_learned_as_a_failure(alice):
    promote(finished_run(alice, OK, OK, ERROR, status=Run.Status.FAILED))

    assert queries.experiences(alice.id).get().outcome == "failed"


def test_it_is_as_trusted_as_the_least_trusted_step(alice):
    promote(finished_run(alice, OK, OK, OK, origins=["user_typed", "untrusted", "tool"]))

    assert queries.experiences(alice.id).get().origin == "untrusted"


def test_it_is_never_more_than_an_inference(alice):
    promote(finished_run(alice, OK, OK, OK))

    assert queries.experiences(alice.id).get().origin == "model_inferred"


def test_a_conversation_that_saves_nothing_teaches_nothing(alice):
    promote(finished_run(alice, OK, OK, OK, save_memory=False))

    assert Experience.objects.count() == 0


def test_a_run_teaches_once_however_often_the_task_runs(alice):
    turn = finished_run(alice, OK, OK, OK)

    for _ in range(2):
        promote(turn)

    assert Experience.objects.count() == 1


def test_a_turn_that_was_deleted_meanwhile_is_no_error(db):
    after_turn(str(uuid4()))

    assert LifecycleRun.objects.count() == 0


def test_the_log_says_that_it_happened_but_not_what(alice):
    turn = finished_run(alice, OK, OK, OK, goal="Plan my holiday")

    promote(turn)

    run = LifecycleRun.objects.get()
    assert (run.job, run.user_id, run.subject_id, run.rows) == ("promotion", alice.id, turn.id, 1)
    assert "holiday" not in str(LifecycleRun.objects.values())


def test_bob_sees_none_of_alices_experiences(alice, bob):
    promote(finished_run(alice, OK, OK, OK))

    assert list(queries.experiences(bob.id)) == []


def test_an_experience_fades_with_its_kind_and_the_sweep_deletes_it(alice):
    promote(finished_run(alice, OK, OK, OK))
    Experience.objects.update(affirmed_at=timezone.now() - timedelta(days=20))
    assert queries.experiences(alice.id).exists()

    Kind.objects.filter(slug="experience").update(ttl_days=7)
    assert not queries.experiences(alice.id).exists()

    sweep()
    assert Experience.objects.count() == 0


def test_the_sweep_drops_run_records_after_the_time_that_the_policy_gives_them(alice):
    finished_run(alice, OK)
    Run.objects.update(finished_at=timezone.now() - timedelta(days=3))
    Kind.objects.filter(slug="scratchpad").update(ttl_days=7)
    sweep()
    assert Run.objects.count() == 1

    Kind.objects.filter(slug="scratchpad").update(ttl_days=2)
    sweep()

    assert Run.objects.count() == 0


def test_run_records_are_kept_for_ever_when_the_policy_says_so(alice):
    finished_run(alice, OK)
    Run.objects.update(finished_at=timezone.now() - timedelta(days=3_000))
    Kind.objects.filter(slug="scratchpad").update(ttl_days=None)

    sweep()

    assert Run.objects.count() == 1
