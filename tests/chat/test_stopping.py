"""Stopping a reply, also while the model is silent."""

import time

import pytest

from chat import sending
from memoryapp.transcript import claims, queue
from tests.modelserver import reply
from tests.turns import (
    COMMITTED,
    answer,
    answering,
    expire_lease,
    fresh,
    post,
    published,
    reply_to,
    start,
    streamed,
)

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


@pytest.mark.parametrize("hold_at", [None, 4], ids=["before the headers", "in mid-reply"])
def test_a_stop_reaches_a_silent_model_within_a_second(alice, model, hold_at):
    model.script(reply("Half a thought", gate="silence", hold_at=hold_at))
    turn = post(alice, "Hello")

    with answering(turn):
        model.wait_until_held("silence")
        stopped_at = time.monotonic()
        sending.stop(alice, turn.id)
    took_s = time.monotonic() - stopped_at

    assert took_s < 1.5  # one second, and half of one for a busy machine
    assert fresh(turn).status == "cancelled"
    assert reply_to(turn) == streamed(turn) == ("Half a t" if hold_at else "")
    assert published(turn)[-1] == {"type": "end", "status": "cancelled"}


def test_a_queued_turn_ends_at_once_and_its_readers_are_told(alice, model):
    turn = post(alice, "Hello")

    stopped = sending.stop(alice, turn.id)

    assert stopped.status == "cancelled"
    assert published(turn) == [{"type": "end", "status": "cancelled"}]
    assert claims.claim_turn(turn.id) is None


def test_a_stopped_turn_can_be_tried_again(alice, model):
    turn = post(alice, "Hello")
    sending.stop(alice, turn.id)

    sending.retry(alice, turn.id)

    assert answer(turn).status == "completed"
    stopped, *answered = [event["type"] for event in published(turn)]
    assert (stopped, answered) == ("end", ["start", "text", "text", "end"])
    assert streamed(turn) == reply_to(turn)  # readers skip what an earlier attempt left


def test_a_worker_that_was_taken_over_stops_and_leaves_the_turn_alone(alice, model, configure):
    configure(STRATA_TURN_LEASE_S="2")  # it looks after its lease every two thirds of a second
    model.script(reply("Half a thought", gate="silence", hold_at=4))
    turn = post(alice, "Hello")

    with answering(turn):
        model.wait_until_held("silence")
        expire_lease(turn)
        taken = claims.take_over(turn.id)
        model.wait_until_streams(0, timeout_s=5)

    now = fresh(turn)
    assert (now.status, now.attempt) == ("running", taken.attempt)
    assert reply_to(turn) == ""
    assert "end" not in [event["type"] for event in published(turn)]


def test_the_lease_of_a_long_reply_is_renewed_with_what_was_said(alice, model, configure):
    configure(STRATA_TURN_LEASE_S="2")
    model.script(reply("Half a thought", gate="silence", hold_at=4))
    turn = post(alice, "Hello")

    with answering(turn):
        model.wait_until_held("silence")
        expire_lease(turn)
        deadline = time.monotonic() + 5
        while queue.expired_leases() and time.monotonic() < deadline:
            time.sleep(0.05)
        renewed = fresh(turn)
        model.release("silence")

    assert renewed.partial_text == "Half a t"
    assert fresh(turn).status == "completed"


def test_a_stop_in_one_conversation_is_not_heard_in_another(alice, model):
    model.script(
        reply("one", gate="first", contains="first"),
        reply("two", gate="second", hold_at=3, contains="second"),
    )
    first, second = post(alice, "first", start(alice)), post(alice, "second", start(alice))

    with answering(first), answering(second):
        model.wait_until_held("first")
        model.wait_until_held("second")
        sending.stop(alice, second.id)
        model.wait_until_streams(1, timeout_s=3)
        model.release("first")

    assert [fresh(turn).status for turn in (first, second)] == ["completed", "cancelled"]
