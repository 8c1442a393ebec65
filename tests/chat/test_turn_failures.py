"""A turn whose model fails ends as failed, says what happened, keeps what was shown and can be tried again."""

import logging

import pytest

from chat import sending
from memoryapp.context import queries as contexts
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import queue
from memoryapp.transcript.models import Turn
from tests.modelserver import Failure, calls, fails, reply
from tests.turns import COMMITTED, answer, ask, post, published, reply_to, start, streamed

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]

FAILURES = [
    (fails(529, "overloaded_error"), "model_overloaded"),
    (fails(429, "rate_limit_error", retry_after="7"), "model_rate_limited"),
    (fails(429, "rate_limit_error"), "model_spend_limit"),
    (fails(402, "billing_error"), "model_spend_limit"),
    (fails(401, "authentication_error"), "model_authentication"),
    (fails(404, "not_found_error"), "model_not_found"),
    (
        fails(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        "model_context_too_long",
    ),
    (fails(400, "invalid_request_error", "SECRET"), "model_request_rejected"),
    (fails(500, "api_error"), "model_provider_failed"),
]


@pytest.mark.parametrize(("failure", "code"), FAILURES, ids=[code for _, code in FAILURES])
def test_each_failure_of_a_call_is_told_in_words_without_the_providers(alice, model, failure, code):
    model.script(failure, failure)  # a prompt that is too long is tried once more, shorter

    turn = ask(alice, "Hello")

    assert (turn.status, turn.error_code) == ("failed", code)
    assert len(turn.error_message) > 20
    assert "SECRET" not in turn.error_message
    assert published(turn)[-1] == {"type": "end", "status": "failed"}
    assert runs.run_of_turn(alice.id, turn.id).status == "failed"
    model.reset()


def test_a_server_that_is_not_there_is_said_to_be_unreachable(alice, configure):
    configure(ANTHROPIC_BASE_URL="http://127.0.0.1:1", ANTHROPIC_API_KEY="key", STRATA_MODEL_MAX_RETRIES="0")

    turn = ask(alice, "Hello")

    assert (turn.status, turn.error_code) == ("failed", "model_unreachable")


BROKEN = [
    (reply("Half a thought", error_event=Failure(529, "overloaded_error"), error_at=4), "model_overloaded"),
    (reply("Half a thought", end_at=4), "model_stream_broken"),
    (reply("Half a thought", omit_stop_reason=True), "model_stream_broken"),
    (reply("Half a thought", cut_after_bytes=950), "model_stream_broken"),
]


@pytest.mark.parametrize(("broken", "code"), BROKEN)
def test_a_stream_that_breaks_keeps_what_was_shown(alice, model, broken, code):
    model.script(broken)

    turn = ask(alice, "Hello")

    assert (turn.status, turn.error_code) == ("failed", code)
    assert reply_to(turn) == streamed(turn)
    assert reply_to(turn).startswith("Half a t")


def test_a_silent_model_times_out(alice, model, configure):
    configure(STRATA_MODEL_TIMEOUT_S="1")
    model.script(reply("Half a thought", gate="never", hold_at=4))

    turn = ask(alice, "Hello")

    assert (turn.status, turn.error_code) == ("failed", "model_timed_out")
    assert reply_to(turn) == "Half a t"


def test_a_defect_ends_the_turn_visibly_and_is_logged(alice, model, monkeypatch, caplog):
    monkeypatch.setattr("chat.turn.open_window", lambda *_args, **_options: 1 / 0)

    turn = ask(alice, "My secret is out")

    assert (turn.status, turn.error_code) == ("failed", "internal_error")
    assert published(turn)[-1] == {"type": "end", "status": "failed"}
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info[0] is ZeroDivisionError
    assert "My secret" not in caplog.text


def test_when_recall_fails_the_turn_goes_on_without_memory_and_says_so(alice, model, monkeypatch, caplog):
    monkeypatch.setattr("memoryapp.context.recall.longterm.always_used", lambda *_args: 1 / 0)

    turn = ask(alice, "My secret is out")

    assert (turn.status, reply_to(turn)) == ("completed", "You said: My secret is out")
    assert {"type": "memory_unavailable"} in published(turn)
    snapshot = contexts.newest_snapshot(alice.id, turn.id)
    assert [item["reason"] for item in snapshot.recalled] == ["memory unavailable"]
    assert f"Recall failed for turn {turn.id}" in caplog.text
    assert "My secret" not in caplog.text


def test_a_failed_turn_is_answered_when_tried_again_once(alice, model):
    conversation = start(alice)
    model.script(reply("Half a thought", end_at=4))
    failed = ask(alice, "Hello", conversation)

    sending.retry(alice, failed.id)
    waiting = reply_to(failed)
    again = answer(failed)
    ask(alice, "Next", conversation)

    assert waiting == "Half a t"
    assert (again.status, again.attempt, reply_to(again)) == ("completed", 2, "You said: Hello")
    assert streamed(again) == "You said: Hello"
    assert {"type": "start", "attempt": 2} in published(again)
    said = [block["text"] for message in model.calls[-1].body["messages"] for block in message["content"]]
    assert said == ["Hello", "You said: Hello", "Next"]


def test_a_retry_goes_on_after_the_last_step(alice, model):
    model.script(reply(calls("calculate", expression="1 + 1")), fails(529, "overloaded_error"))
    failed = ask(alice, "What is 1 + 1?")
    model.script(reply("Two."))

    sending.retry(alice, failed.id)
    answer(failed)

    assert model.calls[2].body == model.calls[1].body
    assert runs.steps(runs.run_of_turn(alice.id, failed.id)).count() == 1
    assert reply_to(failed) == "Two."


def test_a_retry_that_is_refused_destroys_nothing(alice, model):
    conversation = start(alice)
    model.script(reply(calls("calculate", expression="1 + 1")), fails(529, "overloaded_error"))
    talked_past = ask(alice, "What is 1 + 1?", conversation)
    post(alice, "Never mind", conversation)
    before = published(talked_past)

    with pytest.raises(sending.transcript.TurnNotRetryableError):
        sending.retry(alice, talked_past.id)

    assert runs.steps(runs.run_of_turn(alice.id, talked_past.id)).count() == 1
    assert published(talked_past) == before


def test_the_turn_after_a_failed_one_tells_the_model_that_nothing_was_delivered(alice, model):
    conversation = start(alice)
    model.script(fails(529, "overloaded_error"))
    ask(alice, "Hello", conversation)

    ask(alice, "Are you there?", conversation)

    assert model.calls[-1].body["messages"][1]["content"][0]["text"] == "[No reply was delivered.]"


def test_nobody_answers_what_is_not_queued(alice, model):
    turn = ask(alice, "Hello")

    assert queue.next_queued(turn.conversation_id) is None
    assert Turn.objects.get(id=turn.id).attempt == 1
