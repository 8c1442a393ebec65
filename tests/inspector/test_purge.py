"""The purge on the operations page: how far it is, how the last one went, and a button."""

from datetime import UTC, datetime

from memoryapp.forgetting.models import Purge
from memoryapp.nudges import PURGE
from tests.personas import signed_in
from tests.turns import nudges

__all__ = ["nudges"]

ADDRESS = "/policies/operations/"
AT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def test_the_page_says_when_the_last_purge_ended_and_what_each_step_took(carol):
    steps = [{"name": "tables", "seconds": 12.34, "detail": "3 of 40 tables"}]
    Purge.objects.create(started_at=AT, finished_at=AT, steps=steps)

    page = signed_in(carol).get(ADDRESS).content.decode()

    assert "2026-11-30T09:00" in page
    assert "12.3" in page
    assert "3 of 40 tables" in page


def test_a_purge_that_may_have_left_something_says_why(carol):
    Purge.objects.create(started_at=AT, finished_at=AT, error="set wal_recycle = off.")

    page = signed_in(carol).get(ADDRESS).content.decode()

    assert "The last one may have left something: set wal_recycle = off." in page
    assert "Last done:" not in page


def test_purge_now_asks_a_worker(carol, nudges, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        answer = signed_in(carol).post(f"{ADDRESS}purge")

    assert answer.status_code == 302
    assert nudges == [(PURGE, carol.id)]


def test_only_staff_can_ask_for_it(alice, client, nudges, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        assert signed_in(alice).post(f"{ADDRESS}purge").status_code == 403
        assert client.post(f"{ADDRESS}purge").status_code == 302

    assert nudges == []
