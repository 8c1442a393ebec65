"""A worker that is lost: its run goes on exactly where it stood, or ends with what its reader has seen."""

import pytest

from chat import events, sending, turn
from chat.reaper import reap_turns
from memoryapp.longterm import queries as longterm
from memoryapp.nudges import RUN_TURN
from memoryapp.redis_client import redis_client
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Checkpoint
from memoryapp.transcript import claims
from memoryapp.transcript.models import Message
from tests.chat.dying import Killed
from tests.modelserver import calls, reply
from tests.turns import (
    COMMITTED,
    answer,
    claim,
    expire_lease,
    fresh,
    post,
    published,
    reply_to,
    streamed,
)

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]

TEA = "I only drink green tea."


def die(*_args, **_options):
    raise Killed


def lose_worker(posted, monkeypatch):
    """A worker that kept the message it was to answer, and was heard no more."""
    checkpoint = scratchpad.checkpoint

    def dying(*args, **options):
        checkpoint(*args, **options)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(scratchpad, "checkpoint", dying)
        with pytest.raises(Killed):
            turn.run_turn(claim(posted))
    expire_lease(posted)


def lose_worker_after_text(posted, model):
    """A worker that said half a sentence and was heard no more."""
    model.script(reply("Half a thought", end_at=4))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(turn, "end_failed", lambda *_args, **_options: None)
        turn.run_turn(claim(posted))
    expire_lease(posted)


def test_what_an_untrusted_tool_brought_taints_the_resumed_run_too(alice, model, monkeypatch):
    model.script(
        reply(calls("remember", statement=TEA, quote=TEA, kind="preference")),
        reply("Noted."),
    )
    posted = post(alice, TEA)
    lose_worker(posted, monkeypatch)
    Checkpoint.objects.update(taint="untrusted")

    reap_turns()
    answer(posted)

    assert list(longterm.memories(alice.id)) == []
    [memory] = longterm.memories(alice.id, status="pending")
    assert memory.origin == "untrusted"


def test_nothing_shown_means_another_attempt(alice, model, monkeypatch, nudges):
    posted = post(alice, "Hello")
    lose_worker(posted, monkeypatch)
    nudges.clear()

    reap_turns()

    assert fresh(posted).status == "queued"
    assert nudges == [(RUN_TURN, posted.id)]


def test_attempts_that_show_nothing_are_bounded_and_then_end_visibly(alice, model, monkeypatch, configure):
    configure(STRATA_TURN_MAX_ATTEMPTS="2")
    posted = post(alice, "Hello")
    for number in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(turn, "_begin", die)
            with pytest.raises(Killed):
                turn.run_turn(claim(posted))
        expire_lease(posted)
        reap_turns()
        assert fresh(posted).status == ("interrupted" if number else "queued")

    assert fresh(posted).error_code == "worker_lost"
    assert published(posted)[-1] == {"type": "end", "status": "interrupted"}


def test_text_that_was_shown_is_kept_and_the_turn_ends_interrupted(alice, model):
    posted = post(alice, "Hello")
    lose_worker_after_text(posted, model)

    reap_turns()

    ended = fresh(posted)
    assert (ended.status, ended.error_code) == ("interrupted", "worker_lost")
    assert reply_to(posted) == streamed(posted) == "Half a t"
    assert published(posted)[-1] == {"type": "end", "status": "interrupted"}
    assert runs.run_of_turn(alice.id, posted.id).status == "failed"


def test_text_is_kept_from_the_database_when_redis_was_flushed(alice, model):
    posted = post(alice, "Hello")
    model.script(reply("Half a thought", end_at=4))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(turn, "end_failed", lambda *_args, **_options: None)
        held = claim(posted)
        turn.run_turn(held)
    claims.renew_lease(held, partial_text="Half a")
    redis_client().flushdb()
    expire_lease(posted)

    reap_turns()

    assert fresh(posted).status == "interrupted"
    assert reply_to(posted) == "Half a"


def test_an_interrupted_turn_is_answered_when_tried_again(alice, model):
    posted = post(alice, "Hello")
    lose_worker_after_text(posted, model)
    reap_turns()

    sending.retry(alice, posted.id)
    answer(posted)

    assert fresh(posted).status == "completed"
    assert reply_to(posted) == streamed(posted) == "You said: Hello"
    assert Message.objects.filter(turn=posted, role="assistant").count() == 1


def test_a_turn_that_someone_stopped_is_not_run_again(alice, model, monkeypatch):
    posted = post(alice, "Hello")
    lose_worker(posted, monkeypatch)
    claims.request_stop(alice.id, posted.id)

    reap_turns()

    assert fresh(posted).status == "cancelled"
    assert published(posted)[-1] == {"type": "end", "status": "cancelled"}


def test_a_turn_whose_lease_holds_is_left_alone(alice, model):
    posted = post(alice, "Hello")
    claim(posted)

    reap_turns()

    assert (fresh(posted).status, fresh(posted).attempt) == ("running", 1)


def test_one_turn_that_cannot_be_reaped_does_not_keep_the_others_waiting(alice, model, monkeypatch, caplog):
    first, second = post(alice, "one"), post(alice, "two")
    for posted in (first, second):
        lose_worker(posted, monkeypatch)
    streamed_text = events.streamed_text

    def broken(turn_id, **options):
        if turn_id == first.id:
            raise ValueError
        return streamed_text(turn_id, **options)

    monkeypatch.setattr(events, "streamed_text", broken)

    reap_turns()

    assert fresh(second).status == "queued"
    assert "could not be taken over" in caplog.text


def test_a_lost_nudge_is_made_good(alice, nudges):
    posted = post(alice, "Hello")
    expire_lease(posted)
    nudges.clear()

    reap_turns()

    assert nudges == [(RUN_TURN, posted.id)]
