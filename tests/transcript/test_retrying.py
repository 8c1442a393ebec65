"""Answering a turn once more."""

import pytest

from memoryapp.errors import NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.nudges import RUN_TURN
from memoryapp.transcript import claims, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Message, Turn
from tests.turns import COMMITTED, at_once, claim, fresh, post, reply_to, start


def ended(user, conversation=None, *, status=Turn.Status.FAILED, said="half a rep"):
    turn = post(user, "hello", conversation)
    claims.fail_turn(claim(turn), status=status, partial_text=said, code="model_overloaded", message="Busy.")
    return turn


@COMMITTED
@pytest.mark.parametrize("status", Turn.RETRYABLE)
def test_an_ended_turn_is_queued_again_with_its_partial_text(alice, nudges, status):
    turn = ended(alice, status=status)
    nudges.clear()

    retried = transcript.retry_turn(alice.id, turn.id)

    assert (retried.status, retried.error_code, retried.attempts_left) == ("queued", "", 3)
    assert nudges == [(RUN_TURN, turn.id)]
    assert reply_to(turn) == "half a rep"


@pytest.mark.django_db
def test_a_retried_turn_has_one_reply_the_new_one(alice):
    turn = ended(alice)
    transcript.retry_turn(alice.id, turn.id)

    claims.finish_turn(claim(turn), reply="a whole reply", model="m", usage=Usage())

    assert [message.text for message in Message.objects.filter(turn=turn, role="assistant")] == [
        "a whole reply"
    ]
    assert fresh(turn).status == "completed"


@pytest.mark.django_db
def test_a_retry_that_brings_nothing_keeps_what_was_there(alice):
    turn = ended(alice)
    transcript.retry_turn(alice.id, turn.id)

    claims.fail_turn(claim(turn), status=Turn.Status.FAILED, partial_text="")

    assert reply_to(turn) == "half a rep"


@COMMITTED
def test_of_four_retries_at_once_one_counts(alice, nudges):
    turn = ended(alice)

    def retry(_):
        try:
            return transcript.retry_turn(alice.id, turn.id)
        except transcript.TurnNotRetryableError:
            return None

    assert len([done for done in at_once(4, retry) if done]) == 1


@pytest.mark.django_db
def test_only_the_newest_turn_is_answered_again(alice):
    conversation = start(alice)
    talked_past = ended(alice, conversation)
    post(alice, "never mind", conversation)

    with pytest.raises(transcript.TurnNotRetryableError, match="Only the last message"):
        transcript.retry_turn(alice.id, talked_past.id)

    assert fresh(talked_past).status == "failed"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("queued", "is being answered already"),
        ("running", "is being answered already"),
        ("completed", "has been answered already"),
    ],
)
def test_what_is_live_or_answered_is_not_answered_again(alice, status, why):
    turn = post(alice, "hello")
    held = claim(turn) if status != "queued" else None
    if status == "completed":
        claims.finish_turn(held, reply="hi", model="m", usage=Usage())

    with pytest.raises(transcript.TurnNotRetryableError, match=why):
        transcript.retry_turn(alice.id, turn.id)

    assert fresh(turn).status == status


@pytest.mark.django_db
def test_the_stop_of_an_earlier_attempt_does_not_stop_the_retry(alice):
    turn = post(alice, "hello")
    held = claim(turn)
    claims.request_stop(alice.id, turn.id)
    claims.fail_turn(held, status=Turn.Status.CANCELLED, partial_text="")

    transcript.retry_turn(alice.id, turn.id)

    assert queries.is_stop_requested([turn.id]) == set()


@pytest.mark.django_db
def test_bob_can_neither_stop_nor_retry_alices_turn(alice, bob):
    turn = ended(alice)

    for attempt in (transcript.retry_turn, claims.request_stop, queries.get_turn):
        with pytest.raises(NotFoundError):
            attempt(bob.id, turn.id)

    assert fresh(turn).status == "failed"
