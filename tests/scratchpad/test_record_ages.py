"""How many records of runs another lifetime would end: counted for the rules, across people."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.scratchpad import record_ages, records
from memoryapp.scratchpad.models import Run
from memoryapp.scratchpad.record_ages import Ending
from memoryapp.transcript import conversations
from tests.world import finished_turn

HORIZONS = (0, 7, 30)


@pytest.fixture
def runs(alice, bob):
    """Of alice one that ended ten days ago, of bob one that ended just now."""
    made = [_run_of(person) for person in (alice, bob)]
    Run.objects.filter(id=made[0].id).update(finished_at=timezone.now() - timedelta(days=10))
    return made


def _run_of(person) -> Run:
    conversation = conversations.start_conversation(person, now=timezone.now())
    return finished_turn(person, conversation.id, text="Go", reply="Gone").run


def test_a_shorter_lifetime_ends_what_is_older_now_and_the_rest_in_its_time(runs):
    assert record_ages.endings(before=None, after=5, days=HORIZONS) == [
        Ending(days=0, goes=1, users=1, stays=0),
        Ending(days=7, goes=2, users=2, stays=0),
        Ending(days=30, goes=2, users=2, stays=0),
    ]


def test_a_longer_lifetime_keeps_what_would_go(runs):
    counted = [(row.goes, row.stays) for row in record_ages.endings(before=12, after=20, days=HORIZONS)]

    assert counted == [(0, 0), (0, 1), (0, 0)]


def test_a_longer_lifetime_puts_the_end_of_all_that_is_there_off_but_for_a_later_end_of_its_own(runs):
    Run.objects.filter(id=runs[1].id).update(kept_until=timezone.now() + timedelta(days=60))

    counted = [row.later for row in record_ages.endings(before=12, after=20, days=(0, 7, 12))]
    for_ever = [row.later for row in record_ages.endings(before=12, after=None, days=(0, 30))]
    shorter = [row.later for row in record_ages.endings(before=20, after=12, days=(0, 7))]

    assert (counted, for_ever, shorter) == ([1, 1, 0], [2, 2], [0, 0])


@pytest.mark.parametrize(
    "kept",
    [{"is_kept": True}, {"kept_until": timezone.now() + timedelta(days=60)}],
    ids=["for ever", "for 60 days"],
)
def test_what_its_person_keeps_is_not_counted(runs, kept):
    Run.objects.filter(id=runs[0].id).update(**kept)

    assert record_ages.endings(before=None, after=5, days=(0,)) == [Ending(0, 0, 0, 0)]


def test_what_is_shown_to_go_is_what_the_sweep_drops(runs):
    (now,) = record_ages.endings(before=None, after=5, days=(0,))

    assert records.drop_old(older_than_days=5) == now.goes == 1


def test_records_are_counted_for_one_person_and_for_all(runs, alice):
    assert (record_ages.count(alice.id), record_ages.count()) == (1, 2)


@pytest.mark.parametrize(("before", "after"), [(30, 20), (20, 30), (None, 20), (20, None)])
def test_what_is_there_under_both_lifetimes_is_moved_to_another_first_end(runs, before, after):
    over, kept = (_run_of(runs[0].user) for _ in range(2))
    now = timezone.now()
    Run.objects.filter(id=over.id).update(finished_at=now - timedelta(days=25))
    Run.objects.filter(id=kept.id).update(kept_until=now + timedelta(days=40))
    oldest = Run.objects.get(id=runs[0].id).finished_at

    found = record_ages.moving(before=before, after=after)

    ends = [oldest + timedelta(days=days) if days else None for days in (before, after)]
    assert (found.ended_at, found.ends_at) == tuple(ends)
    # One with a later end of its own moves only where the other is for ever.
    assert (found.rows, found.users) == ((3, 2) if None in {before, after} else (2, 2))
    assert record_ages.moving(before=before, after=after, since=now + timedelta(days=50)).rows == 0
