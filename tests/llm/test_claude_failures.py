"""Calls of Claude that fail or are stopped: each is named, retried only while nothing was shown, and quotes nothing."""

import logging
import sys
import threading
import time
import traceback

import pytest

from memoryapp.llm.base import (
    Cancellation,
    Retrying,
    StreamEvent,
    TextDelta,
)
from memoryapp.llm.claude import ClaudeModel
from memoryapp.llm.errors import (
    AuthenticationFailed,
    Cancelled,
    ContextTooLong,
    ModelError,
    ModelNotFound,
    Overloaded,
    ProviderFailed,
    RateLimited,
    RequestRejected,
    SpendLimitReached,
    StreamBroken,
    TimedOut,
    Unreachable,
)
from tests.llm.claude_calls import (
    KEY,
    Patience,
    TimedCancellation,
    failure_of,
    make_conf,
    model,
    run,
    say,
    server,
)
from tests.llm.contract import REMEMBER, completed
from tests.modelserver import (
    Failure,
    ModelServer,
    Step,
    calls,
    fails,
    reply,
    thinks,
)

__all__ = ["model", "server"]


# Failures


@pytest.mark.parametrize(
    ("step", "expected", "advice"),
    [
        (fails(400, "invalid_request_error", "messages.0: nonsense"), RequestRejected, "defect"),
        (fails(401, "authentication_error"), AuthenticationFailed, "Check ANTHROPIC_API_KEY"),
        (fails(402, "billing_error"), SpendLimitReached, "raise the limit"),
        (fails(403, "permission_error"), AuthenticationFailed, "Check ANTHROPIC_API_KEY"),
        (fails(404, "not_found_error"), ModelNotFound, "Set STRATA_CHAT_MODEL"),
        (fails(413, "request_too_large"), RequestRejected, "defect"),
        (fails(422, "invalid_request_error"), RequestRejected, "defect"),
        (fails(429, "rate_limit_error"), SpendLimitReached, "raise the limit"),
        (
            fails(429, "rate_limit_error", error_code="enforced_spend_limit_reached", retry_after="1"),
            SpendLimitReached,
            "raise the limit",
        ),
        (
            fails(400, "invalid_request_error", "Your credit balance is too low"),
            SpendLimitReached,
            "raise the limit",
        ),
        (
            fails(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            ContextTooLong,
            "window",
        ),
        (
            fails(
                400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 9 + 1 > 8"
            ),
            ContextTooLong,
            "window",
        ),
        (
            fails(400, "exceed_context_size_error", "the request exceeds the available context size"),
            ContextTooLong,
            "window",
        ),
    ],
)
def test_hopeless_failures_are_named_and_not_retried(
    server: ModelServer, model: ClaudeModel, step: Step, expected: type[ModelError], advice: str
) -> None:
    server.script(step)

    failure = failure_of(model)

    assert type(failure) is expected
    assert advice in str(failure)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (fails(429, "rate_limit_error", retry_after="1"), RateLimited),
        (fails(500, "api_error"), ProviderFailed),
        (fails(502, "api_error"), ProviderFailed),
        (fails(503, "api_error"), Overloaded),
        (fails(504, "timeout_error"), TimedOut),
        (fails(408, "timeout_error"), TimedOut),
        (fails(529, "overloaded_error"), Overloaded),
        (reply("Hi", error_event=Failure(200, "overloaded_error"), error_at=1), Overloaded),
        (reply("Hi", error_event=Failure(200, "api_error"), error_at=1), ProviderFailed),
        (reply("Hi", error_event=Failure(200, "rate_limit_error"), error_at=1), RateLimited),
        (reply("Hi", cut_after_bytes=10), StreamBroken),
        (reply("Hi", end_at=1), StreamBroken),
        (reply(omit_stop_reason=True), StreamBroken),
        (reply(end_at=3), StreamBroken),  # all but message_stop
        (Step(drop=True), StreamBroken),
        (Step(raw="<html>Welcome</html>"), StreamBroken),
        (Step(raw="event: message_start\ndata: {}\n\n"), StreamBroken),
        (Step(raw='event: message_stop\ndata: {"type": "message_stop"}\n\n'), StreamBroken),
    ],
)
def test_passing_failures_are_retried_and_then_named(
    server: ModelServer, model: ClaudeModel, step: Step, expected: type[ModelError]
) -> None:
    server.script(*[step] * 4)
    patience = Patience()
    events: list[StreamEvent] = []

    with pytest.raises(ModelError) as caught:
        events.extend(model.stream(say(), patience))

    assert type(caught.value) is expected
    assert caught.value.is_retryable
    assert len(server.calls) == 4
    assert len(patience.waits_s) == 3


def test_waits_are_announced_and_grow(server: ModelServer, model: ClaudeModel) -> None:
    server.script(*[fails(529, "overloaded_error")] * 3)
    patience = Patience()

    events = list(model.stream(say(), patience))

    waits = [event for event in events if isinstance(event, Retrying)]
    assert waits == [
        Retrying(0.5, "model_overloaded", 1),
        Retrying(4.0, "model_overloaded", 2),
        Retrying(32.0, "model_overloaded", 3),
    ]
    assert patience.waits_s == [0.5, 4.0, 32.0]
    assert completed(events).text == "You said: Good morning"


def test_another_thread_goes_on_counting(server: ModelServer, model: ClaudeModel) -> None:
    server.script(*[fails(529, "overloaded_error")] * 2)
    stream = model.stream(say(), Patience(), failed_attempts=2)

    assert next(stream) == Retrying(32.0, "model_overloaded", 3)
    with pytest.raises(Overloaded):
        next(stream)


def test_asked_wait_is_kept(server: ModelServer) -> None:
    model = ClaudeModel(make_conf(server.url), jitter=lambda: 1.0)
    server.script(
        fails(429, "rate_limit_error", retry_after="12"),
        fails(529, "overloaded_error", retry_after_ms="1500"),
    )
    patience = Patience()

    list(model.stream(say(), patience))

    assert patience.waits_s == pytest.approx([12 * 1.1, 1.5 * 1.1])


def test_asked_wait_may_be_a_date(server: ModelServer, model: ClaudeModel) -> None:
    server.script(fails(429, "rate_limit_error", retry_after="Mon, 01 Jan 2024 00:00:00 GMT"))
    patience = Patience()

    list(model.stream(say(), patience))

    assert patience.waits_s == [0.0]


def test_longer_waits_than_allowed_fail_at_once_with_the_time(
    server: ModelServer, model: ClaudeModel
) -> None:
    server.script(fails(429, "rate_limit_error", retry_after="3600"))

    failure = failure_of(model)

    assert isinstance(failure, RateLimited)
    assert failure.retry_after_s == 3600
    assert "3600 s" in str(failure)
    assert len(server.calls) == 1


def test_nothing_is_retried_once_text_was_shown(server: ModelServer, model: ClaudeModel) -> None:
    server.script(reply("Good morning to you", error_event=Failure(200, "overloaded_error"), error_at=5))
    events: list[StreamEvent] = []

    with pytest.raises(Overloaded):
        events.extend(model.stream(say(), Patience()))

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Good morning to "
    assert len(server.calls) == 1


def test_silence_times_out(server: ModelServer) -> None:
    changes = {"model_timeout_s": 0.05, "model_max_retries": 0}
    model = ClaudeModel(make_conf(server.url).model_copy(update=changes))
    server.script(reply("Hi", gate="headers"), reply("Good morning to you", gate="text", hold_at=5))

    assert isinstance(failure_of(model), TimedOut)
    assert isinstance(failure_of(model), TimedOut)


def test_nobody_listens() -> None:
    with ModelServer() as gone:
        url = gone.url
    model = ClaudeModel(
        make_conf(url.replace("://", "://name:secret@")).model_copy(update={"model_max_retries": 0})
    )

    failure = failure_of(model)

    assert isinstance(failure, Unreachable)
    assert url in str(failure)
    assert "secret" not in str(failure)


def test_unknown_model_and_wrong_key(server: ModelServer, model: ClaudeModel) -> None:
    failure = failure_of(model, say(model="claude-9"))

    assert isinstance(failure, ModelNotFound)
    assert f"no model named claude-9 at {server.url}" in str(failure)
    stranger = ClaudeModel(make_conf(server.url, ANTHROPIC_API_KEY="sk-wrong"))
    assert isinstance(failure_of(stranger), AuthenticationFailed)


def test_prompt_beyond_the_window(model: ClaudeModel) -> None:
    failure = failure_of(model, say("word " * 9_000, model="tiny-8k"))

    assert isinstance(failure, ContextTooLong)
    assert failure.details["status"] == 400


@pytest.mark.parametrize(("words", "model_name"), [(9_000, "tiny-8k"), (7_500, "legacy-8k")])
def test_prompt_beyond_the_window_is_measured(
    server: ModelServer, model: ClaudeModel, words: int, model_name: str
) -> None:
    asked = say("word " * words, model=model_name)

    failure = failure_of(model, asked)

    assert isinstance(failure, ContextTooLong)
    assert failure.details["prompt_tokens"] == model.count_tokens(asked)
    assert failure.details["limit_tokens"] == 8_000


def test_prompt_beyond_the_window_of_a_server_that_gives_no_numbers(
    server: ModelServer, model: ClaudeModel
) -> None:
    server.script(fails(400, "invalid_request_error", "the request exceeds the available context size"))

    assert not failure_of(model).details.keys() & {"prompt_tokens", "limit_tokens"}


def test_no_cut_of_a_stream_passes_for_a_reply(server: ModelServer) -> None:
    model = ClaudeModel(make_conf(server.url).model_copy(update={"model_max_retries": 0}))
    blocks = (thinks("hm"), "Noted ☕.", calls("remember", tool_use_id="toolu_1", statement="décaf ☕"))
    asked = say(tools=(REMEMBER,))
    server.script(reply(*blocks, chunk_chars=4))
    run(model, asked)
    length = server.calls[0].sent_bytes
    assert length > 1_500

    for size in range(1, length, 23):
        server.script(reply(*blocks, chunk_chars=4, cut_after_bytes=size))
        assert isinstance(failure_of(model, asked), StreamBroken), size


def test_failures_quote_neither_prompt_nor_key_nor_answer(
    server: ModelServer, model: ClaudeModel, caplog
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(
        fails(400, "invalid_request_error", "messages.0.content: 'my secret diary' is not allowed"),
        reply(calls("remember", partial_json='{"statement": my secret diary}')),
    )

    for _ in range(2):
        failure = failure_of(model, say("my secret diary", tools=(REMEMBER,)))
        shown = "".join(traceback.format_exception(failure)) + repr(failure.details) + caplog.text
        assert "secret diary" not in shown
        assert KEY not in shown


def test_rejection_names_the_field_and_the_request(server: ModelServer, model: ClaudeModel) -> None:
    server.script(fails(400, "invalid_request_error", "messages.3.content.0.text: no 'words' of anyone"))

    details = failure_of(model).details

    assert details["field"] == "messages.3.content.0.text"
    assert str(details["request_id"]).startswith("req_")
    assert details["type"] == "invalid_request_error"


def test_lone_surrogates_are_a_rejection(model: ClaudeModel) -> None:
    assert isinstance(failure_of(model, say("broken \ud83d")), RequestRejected)


# Stopping


def wait_until_reading(thread_id: int) -> None:
    """Return once that thread is inside a read from its socket, or after ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        code = sys._current_frames()[thread_id].f_code
        if code.co_name == "read" and code.co_filename.endswith("_backends/sync.py"):
            return


def stop_when_held(server: ModelServer, gate: str, cancellation: Cancellation) -> threading.Thread:
    def stop() -> None:
        server.wait_until_held(gate)
        cancellation.set()

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


@pytest.mark.parametrize("hold_at", [None, 1, 5])
def test_stop_interrupts_a_silent_model(server: ModelServer, model: ClaudeModel, hold_at: int | None) -> None:
    server.script(reply("Good morning to you", gate="silence", hold_at=hold_at))
    cancellation = TimedCancellation()
    stopper = stop_when_held(server, "silence", cancellation)

    with pytest.raises(Cancelled):
        list(model.stream(say(), cancellation))
    ended_at = time.monotonic()

    stopper.join()
    assert ended_at - cancellation.set_at < 1.0
    server.release("silence")
    assert completed(run(model)).text == "You said: Good morning"


def test_stop_wakes_a_blocked_read(server: ModelServer, model: ClaudeModel) -> None:
    server.script(reply("Good morning to you", gate="silence", hold_at=5))
    cancellation = TimedCancellation()
    reader = threading.get_ident()
    shown = ""
    stopper = threading.Thread(target=lambda: (wait_until_reading(reader), cancellation.set()))

    stream = model.stream(say(), cancellation)
    while shown != "Good morning to ":
        shown += next(stream).text
    stopper.start()
    with pytest.raises(Cancelled):
        next(stream)
    ended_at = time.monotonic()

    stopper.join()
    assert ended_at - cancellation.set_at < 1.0


def test_stop_hangs_up_on_the_provider(server: ModelServer, model: ClaudeModel) -> None:
    server.script(reply("Good morning to you", gate="silence", hold_at=5))
    cancellation = Cancellation()
    stopper = stop_when_held(server, "silence", cancellation)

    with pytest.raises(Cancelled):
        list(model.stream(say(), cancellation))

    stopper.join()
    server.wait_until_streams(0)
    assert server.calls[0].is_abandoned


def test_stop_ends_a_wait_for_a_retry(server: ModelServer, model: ClaudeModel) -> None:
    server.script(fails(429, "rate_limit_error", retry_after="30"))
    cancellation = Cancellation()
    stream = model.stream(say(), cancellation)

    assert next(stream) == Retrying(30.0, "model_rate_limited", 1)
    cancellation.set()

    with pytest.raises(Cancelled):
        next(stream)
    assert len(server.calls) == 1


def test_stopping_a_finished_reply_harms_no_other(server: ModelServer, model: ClaudeModel) -> None:
    finished = Cancellation()
    list(model.stream(say(), finished))
    server.script(reply("Good morning to you", gate="middle", hold_at=5))

    stopper = stop_when_held(server, "middle", finished)
    stream = model.stream(say(), Patience())
    first = next(stream)
    stopper.join()
    server.release("middle")

    assert [first, *stream][-1].reply.text == "Good morning to you"
