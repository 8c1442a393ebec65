"""Keeping leases: per claim, for all turns of a process, through whatever the database does."""

import threading

import pytest
from django.db import DatabaseError, InterfaceError
from uuid6 import uuid7

from chat import leases
from chat.leases import LeaseKeeper
from memoryapp.transcript.claims import Claim


@pytest.fixture
def database(monkeypatch, configure):
    """Stands in for what the keeper asks of the database: ``renewed`` fills up, ``lost`` and ``failing`` decide."""

    class Database:
        def __init__(self):
            self.renewed, self.lost, self.failing = [], set(), []
            self.passed = threading.Event()

        def is_stop_requested(self, turn_ids):
            if self.failing:
                raise self.failing.pop()
            return set()

        def renew_lease(self, claim, *, partial_text):
            self.renewed.append((claim, partial_text))
            self.passed.set()
            return claim not in self.lost

    fake = Database()
    configure(STRATA_TURN_LEASE_S="2")
    monkeypatch.setattr(leases, "STOP_POLL_S", 0.01)
    monkeypatch.setattr(leases, "queries", fake)
    monkeypatch.setattr(leases, "claims", fake)
    monkeypatch.setattr(LeaseKeeper, "_next_renewal", staticmethod(lambda: 0.0))  # always due
    return fake


def waited(event):
    return event.wait(timeout=5)


@pytest.mark.django_db
def test_every_claim_is_renewed_with_its_own_text(database):
    keeper = LeaseKeeper()
    one, two = Claim(uuid7(), 1), Claim(uuid7(), 1)

    with keeper.keeping(one, partial_text=lambda: "one"), keeper.keeping(two, partial_text=lambda: "two"):
        while len(set(database.renewed)) < 2:
            database.passed.clear()
            assert waited(database.passed)

    assert set(database.renewed) == {(one, "one"), (two, "two")}


@pytest.mark.django_db
def test_a_lost_lease_cancels_its_attempt_and_not_the_next_one_of_the_same_turn(database):
    keeper = LeaseKeeper()
    stale, current = Claim(uuid7(), 1), None
    current = Claim(stale.turn_id, 2)
    database.lost.add(stale)
    stopped = threading.Event()

    with (
        keeper.keeping(stale, partial_text=str) as first,
        keeper.keeping(current, partial_text=str) as second,
    ):
        first.on_set(stopped.set)
        assert waited(stopped)

    assert first.is_set
    assert not second.is_set


@pytest.mark.django_db
def test_the_end_of_a_stale_attempt_does_not_end_the_keeping_of_the_next(database):
    keeper = LeaseKeeper()
    stale = Claim(uuid7(), 1)
    current = Claim(stale.turn_id, 2)

    with keeper.keeping(stale, partial_text=str):
        held = keeper.keeping(current, partial_text=str)
        held.__enter__()
    database.renewed.clear()
    database.passed.clear()
    was_renewed = waited(database.passed)
    held.__exit__(None, None, None)

    assert was_renewed
    assert {claim for claim, _ in database.renewed} == {current}


@pytest.mark.django_db
@pytest.mark.parametrize("failure", [DatabaseError(), InterfaceError(), ValueError("a defect")])
def test_a_failure_is_survived_and_the_lease_renewed_after_it(database, failure):
    database.failing = [failure]

    with LeaseKeeper().keeping(Claim(uuid7(), 1), partial_text=str) as cancellation:
        assert waited(database.passed)

    assert not database.failing
    assert not cancellation.is_set


@pytest.mark.django_db
def test_the_thread_ends_when_there_is_nothing_to_keep_and_begins_again(database):
    keeper = LeaseKeeper()
    for _ in range(2):
        database.passed.clear()
        with keeper.keeping(Claim(uuid7(), 1), partial_text=str):
            thread = keeper._thread
            assert waited(database.passed)

        thread.join(timeout=5)
        assert not thread.is_alive()
