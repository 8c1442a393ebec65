"""How long the record of a run stays: as an administrator says, down to not at all."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.conf import get_conf
from memoryapp.lifecycle import tasks
from memoryapp.longterm import kind_changes
from memoryapp.longterm.models import Kind, KindChange
from memoryapp.scratchpad.models import Approval, Checkpoint, Run, Step
from tests.modelserver import calls, reply
from tests.turns import COMMITTED, ask

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


def keep_for(days: int | None) -> None:
    Kind.objects.filter(subject=Kind.Subject.RUN).update(ttl_days=days)


@pytest.fixture
def ended(alice, model):
    model.script(reply(calls("calculate", expression="6 * 7")), reply("42."))
    return ask(alice, "What is 6 * 7?")


def records() -> list[int]:
    return [rows.objects.count() for rows in (Run, Step, Checkpoint, Approval)]


def test_a_record_that_is_not_kept_goes_with_what_follows_the_reply(ended):
    keep_for(0)

    tasks.after_turn(str(ended.id))

    assert records() == [0, 0, 0, 0]


def test_a_record_that_is_kept_stays(ended):
    keep_for(1)

    tasks.after_turn(str(ended.id))
    tasks.sweep()

    assert records() == [1, 1, 3, 0]


def test_a_record_goes_with_the_sweep_once_its_time_is_over(ended):
    keep_for(1)
    Run.objects.update(finished_at=timezone.now() - timedelta(days=1))

    tasks.sweep()

    assert records() == [0, 0, 0, 0]


def change(days: int) -> KindChange:
    slug = Kind.objects.get(subject=Kind.Subject.RUN).slug
    made = kind_changes.change(slug, {"ttl_days": days}, changed_by=None, now=timezone.now())
    assert made is not None
    return made


def test_taking_a_shorter_lifetime_back_keeps_all_records(ended):
    keep_for(30)
    Run.objects.update(finished_at=timezone.now() - timedelta(days=5))
    made = change(1)

    tasks.sweep()
    kind_changes.undo(made.id, by=None, now=timezone.now())
    tasks.sweep()

    assert records() == [1, 1, 3, 0]


def test_taking_back_that_records_are_not_kept_keeps_what_came_since(ended):
    keep_for(30)
    made = change(0)

    tasks.after_turn(str(ended.id))
    tasks.sweep()
    kind_changes.undo(made.id, by=None, now=timezone.now())
    tasks.sweep()

    assert records() == [1, 1, 3, 0]


def test_once_a_shorter_lifetime_has_stood_records_go_and_the_change_counts_them(ended):
    keep_for(30)
    Run.objects.update(finished_at=timezone.now() - timedelta(days=5))
    made = change(1)
    long_ago = timezone.now() - timedelta(hours=get_conf().expired_hours, minutes=1)
    KindChange.objects.filter(id=made.id).update(applied_at=long_ago)

    tasks.sweep()
    tasks.sweep()

    assert records() == [0, 0, 0, 0]
    assert KindChange.objects.get(id=made.id).deleted_rows == 1
