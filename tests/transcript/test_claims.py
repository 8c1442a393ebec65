"""Who may run a turn: one worker at a time, in order, for as long as its lease holds."""

import pytest

from memoryapp.llm.base import Usage
from memoryapp.nudges import RUN_TURN
from memoryapp.transcript import claims, conversations, queries, queue
from memoryapp.transcript.models import Turn
from tests.turns import COMMITTED, at_once, claim, expire_lease, fresh, post, reply_to, start


def finish(held, reply="hi"):
    return claims.finish_turn(held, reply=reply, model="m", usage=Usage(input_tokens=3, output_tokens=2))


@COMMITTED
def test_of_eight_workers_one_gets_the_turn(alice, nudges):
    turn = post(alice, "hello")

    claimed = at_once(8, lambda _: claims.claim_turn(turn.id))

    assert len([held for held in claimed if held]) == 1
    assert fresh(turn).attempt == 1


@COMMITTED
def test_of_two_turns_claimed_at_once_only_the_first_runs(alice, nudges):
    conversation = start(alice)
    turns = [post(alice, "one", conversation), post(alice, "two", conversation)]

    for _ in range(5):
        claimed = at_once(8, lambda number: claims.claim_turn(turns[number % 2].id))
        assert {held.turn_id for held in claimed if held} <= {turns[0].id}

    assert Turn.objects.filter(status=Turn.Status.RUNNING).count() == 1


@pytest.mark.django_db
def test_a_claimed_turn_is_not_claimed_again(alice):
    turn = post(alice, "hello")
    claim(turn)

    assert claims.claim_turn(turn.id) is None


@pytest.mark.django_db
def test_an_unknown_turn_is_not_claimed(alice):
    turn = post(alice, "hello")
    conversations.delete_conversation(alice.id, turn.conversation_id)

    assert claims.claim_turn(turn.id) is None


@pytest.mark.django_db
def test_conversations_do_not_wait_for_each_other(alice):
    claim(post(alice, "hello"))

    assert claims.claim_turn(post(alice, "hello").id)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_the_next_turn_is_woken_when_the_one_before_it_ends(alice, nudges):
    conversation = start(alice)
    first, second, third = (post(alice, text, conversation) for text in ("one", "two", "three"))
    held = claim(first)
    waiting = claims.claim_turn(second.id)
    nudges.clear()

    finish(held)

    assert waiting is None
    assert nudges == [(RUN_TURN, second.id)]
    assert claims.claim_turn(third.id) is None
    assert claims.claim_turn(second.id)


@pytest.mark.django_db
def test_a_finished_turn_holds_reply_model_usage_and_no_lease(alice):
    turn = post(alice, "hello")

    assert finish(claim(turn))

    ended = fresh(turn)
    assert (ended.status, ended.model, ended.input_tokens, ended.output_tokens) == ("completed", "m", 3, 2)
    assert ended.lease_until is None
    assert ended.finished_at >= ended.started_at
    assert reply_to(turn) == "hi"


@pytest.mark.django_db
def test_the_memory_epoch_is_noted_when_the_turn_is_claimed(alice):
    turn = post(alice, "hello")
    type(alice).objects.filter(id=alice.id).update(memory_epoch=7)

    claim(turn)

    assert fresh(turn).epoch_at_start == 7


@pytest.mark.django_db
def test_renewing_keeps_the_partial_text_and_moves_the_lease(alice):
    turn = post(alice, "hello")
    held = claim(turn)
    expire_lease(turn)

    assert claims.renew_lease(held, partial_text="so far")

    assert fresh(turn).partial_text == "so far"
    assert queue.expired_leases() == []


@pytest.mark.django_db
def test_a_worker_that_lost_its_turn_changes_nothing(alice):
    turn = post(alice, "hello")
    stale = claim(turn)
    expire_lease(turn)
    current = claims.take_over(turn.id)
    before = Turn.objects.filter(id=turn.id).values().get()

    refused = [
        claims.renew_lease(stale, partial_text="stale"),
        finish(stale, "stale"),
        claims.fail_turn(stale, status=Turn.Status.FAILED, partial_text="stale", code="x", message="x"),
        claims.hand_back(stale, partial_text=""),
    ]

    assert refused == [False] * 4
    assert Turn.objects.filter(id=turn.id).values().get() == before
    assert finish(current, "current")
    assert reply_to(turn) == "current"


@pytest.mark.django_db
def test_an_ended_turn_cannot_be_ended_again(alice):
    turn = post(alice, "hello")
    held = claim(turn)
    finish(held, "first")

    assert not finish(held, "second")
    assert not claims.fail_turn(held, status=Turn.Status.CANCELLED, partial_text="")

    assert fresh(turn).status == "completed"
    assert reply_to(turn) == "first"


@pytest.mark.django_db
def test_a_live_lease_is_not_taken_over(alice):
    turn = post(alice, "hello")
    claim(turn)

    assert queue.expired_leases() == []
    assert claims.take_over(turn.id) is None


@COMMITTED
def test_of_four_reapers_one_takes_over(alice, nudges):
    turn = post(alice, "hello")
    claim(turn)
    expire_lease(turn)

    taken = at_once(4, lambda _: claims.take_over(turn.id))

    assert [held.attempt for held in taken if held] == [2]


@COMMITTED
def test_a_turn_handed_back_is_queued_and_woken(alice, nudges):
    turn = post(alice, "hello")
    claim(turn)
    expire_lease(turn)
    nudges.clear()

    assert claims.hand_back(claims.take_over(turn.id), partial_text="")

    assert fresh(turn).status == "queued"
    assert nudges == [(RUN_TURN, turn.id)]
    assert claim(turn).attempt == 3


@pytest.mark.django_db
def test_attempts_are_bounded_until_a_person_asks_again(alice, configure):
    configure(STRATA_TURN_MAX_ATTEMPTS="2")
    turn = post(alice, "hello")
    for _ in range(2):
        claim(turn)
        expire_lease(turn)
        claims.hand_back(claims.take_over(turn.id), partial_text="")

    assert claims.claim_turn(turn.id) is None
    assert fresh(turn).attempts_left == 0


@COMMITTED
def test_a_queued_turn_whose_nudge_was_lost_is_woken_once_per_lease(alice, nudges):
    conversation = start(alice)
    first, second = post(alice, "one", conversation), post(alice, "two", conversation)
    too_early = claims.wake_overdue()
    expire_lease(first)
    expire_lease(second)
    nudges.clear()

    woken = [claims.wake_overdue(), claims.wake_overdue()]

    assert too_early == 0
    assert woken == [1, 0]
    assert nudges == [(RUN_TURN, first.id)]


@COMMITTED
def test_stopping_a_queued_turn_ends_it_and_wakes_the_next(alice, nudges):
    conversation = start(alice)
    first, second = post(alice, "one", conversation), post(alice, "two", conversation)
    nudges.clear()

    stopped = claims.request_stop(alice.id, first.id)

    assert stopped.status == "cancelled"
    assert stopped.finished_at
    assert claims.claim_turn(first.id) is None
    assert nudges == [(RUN_TURN, second.id)]


@pytest.mark.django_db
def test_stopping_a_running_turn_asks_its_worker(alice):
    turn = post(alice, "hello")
    held = claim(turn)

    stopped = claims.request_stop(alice.id, turn.id)

    assert stopped.status == "running"
    assert queries.is_stop_requested([turn.id]) == {turn.id}
    assert claims.fail_turn(held, status=Turn.Status.CANCELLED, partial_text="half")
    assert reply_to(turn) == "half"


@pytest.mark.django_db
def test_stopping_twice_keeps_the_first_time(alice):
    turn = post(alice, "hello")
    claim(turn)
    first = claims.request_stop(alice.id, turn.id).stop_requested_at

    assert claims.request_stop(alice.id, turn.id).stop_requested_at == first


@pytest.mark.django_db
def test_stopping_a_finished_turn_leaves_it_as_it_is(alice):
    turn = post(alice, "hello")
    finish(claim(turn))

    stopped = claims.request_stop(alice.id, turn.id)

    assert (stopped.status, stopped.stop_requested_at) == ("completed", None)


@COMMITTED
@pytest.mark.parametrize("_time", range(5))
def test_stop_and_finish_at_the_same_moment_leave_one_end(alice, nudges, _time):
    turn = post(alice, "hello")
    held = claim(turn)

    def end(number):
        if number:
            return finish(held)
        return claims.fail_turn(held, status=Turn.Status.CANCELLED, partial_text="half")

    assert sorted(at_once(2, end)) == [False, True]
    assert reply_to(turn) == ("hi" if fresh(turn).status == "completed" else "half")
