"""How long the record of a run stays: what its person says wins over the rule, and each word of theirs is noted."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memoryapp.activity import queries as activity
from memoryapp.lifecycle.tasks import after_turn, sweep
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import records
from memoryapp.scratchpad.models import Run
from memoryapp.scratchpad.records import Keeping
from tests.inspector.working import Working, kept_for
from tests.turns import post

pytestmark = pytest.mark.usefixtures("nudges")


def ended(user, *, days_ago: float = 0) -> Run:
    turn = post(user, "Plan the trip")
    run = scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal="Plan the trip", attempt=1)
    scratchpad.close_run(turn.id, attempt=1, status=Run.Status.COMPLETED)
    Run.objects.filter(id=run.id).update(finished_at=timezone.now() - timedelta(days=days_ago))
    return Run.objects.get(id=run.id)


def keep(run: Run, keeping: Keeping, *, rule_days: int | None = 1) -> Run:
    records.keep(run.user_id, [run.id], keeping, rule_days=rule_days, now=timezone.now())
    return Run.objects.get(id=run.id)


def test_a_week_more_is_counted_from_when_the_record_would_go(alice):
    run = ended(alice)

    once = keep(run, Keeping.LONGER)
    twice = keep(once, Keeping.LONGER)

    assert once.kept_until == run.finished_at + timedelta(days=1 + 7)
    assert twice.kept_until == run.finished_at + timedelta(days=1 + 14)


@pytest.mark.parametrize(("keeping", "stays"), [(Keeping.LONGER, True), (Keeping.FOR_EVER, True)])
def test_the_sweep_leaves_what_its_person_keeps(alice, keeping, stays):
    keep(ended(alice), keeping)
    Run.objects.update(finished_at=timezone.now() - timedelta(days=3))

    dropped = records.drop_old(older_than_days=1)

    assert (dropped, Run.objects.exists()) == (0, stays)


def test_as_the_rule_says_takes_the_word_back(alice):
    run = ended(alice, days_ago=3)
    keep(run, Keeping.FOR_EVER)
    keep(run, Keeping.BY_RULE)

    assert records.drop_old(older_than_days=1) == 1


def test_what_was_kept_goes_when_that_time_is_over(alice):
    run = keep(ended(alice, days_ago=3), Keeping.LONGER)
    Run.objects.filter(id=run.id).update(kept_until=timezone.now())

    assert records.drop_old(older_than_days=1) == 1


def test_where_no_records_are_kept_one_that_is_kept_while_it_runs_outlives_its_turn(alice):
    kept_for(0)
    kept, other = Working(alice), Working(alice, "Write a poem")
    records.keep(alice.id, [kept.run.id], Keeping.LONGER, rule_days=0, now=timezone.now())
    for at_work in (kept, other):
        at_work.end()
        after_turn(str(at_work.claim.turn_id))

    sweep()

    assert list(Run.objects.values_list("id", flat=True)) == [kept.run.id]


def test_keeping_and_deleting_are_noted_once_each(alice):
    runs = [ended(alice), ended(alice)]
    ids = [run.id for run in runs]

    records.keep(alice.id, ids, Keeping.LONGER, rule_days=1, now=timezone.now())
    records.delete(alice.id, ids)

    noted = activity.entries(alice.id).order_by("recorded_at", "id").values_list("verb", "tier", "rows")
    assert list(noted)[-2:] == [("lifetime", "scratchpad", 2), ("deleted", "scratchpad", 2)]


def test_a_run_at_the_end_of_time_has_a_moment_when_its_record_goes(alice):
    run = ended(alice)
    run.finished_at = datetime(9999, 12, 31, tzinfo=UTC)
    run.save(update_fields=["finished_at"])

    assert records.goes_at(run, rule_days=30) == records.LAST
    assert keep(run, Keeping.LONGER).kept_until == records.LAST
