"""Claude through the official SDK, against the strict local server."""

import logging
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memoryapp.conf import Conf
from memoryapp.llm import tokens
from memoryapp.llm.base import (
    Cancellation,
    Image,
    ModelLimits,
    ModelMessage,
    ModelRequest,
    RedactedThinking,
    Retrying,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ThinkingStarted,
    ToolDefinition,
    ToolResult,
    ToolUseStarted,
    Usage,
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
from tests.llm.contract import REMEMBER, ChatModelContract, Harness, completed, request, user
from tests.modelserver import (
    Failure,
    ModelServer,
    Step,
    calls,
    fails,
    redacted,
    reply,
    thinks,
)

KEY = "sk-test-of-the-right-length"
SONNET = "claude-sonnet-5-5"


class Patience(Cancellation):
    """A cancellation whose waits take no time and are written down."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_s: list[float] = []

    def wait(self, timeout_s: float) -> bool:
        self.waits_s.append(timeout_s)
        return self.is_set


class TimedCancellation(Cancellation):
    """Knows when it was set."""

    set_at = float("inf")

    def set(self) -> None:
        self.set_at = time.monotonic()
        super().set()


def make_conf(server_url: str, **changes) -> Conf:
    given = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server_url, **changes}
    return Conf(**given)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(api_key=KEY) as running:
        yield running


@pytest.fixture
def model(server: ModelServer) -> ClaudeModel:
    return ClaudeModel(make_conf(server.url), jitter=lambda: 0.0)


def say(
    words: str = "Good morning", *, model: str = SONNET, tools: tuple[ToolDefinition, ...] = ()
) -> ModelRequest:
    return request(user(words), model=model, tools=tools)


def run(model: ClaudeModel, asked: ModelRequest | None = None) -> list[StreamEvent]:
    return list(model.stream(asked or say(), Patience()))


def failure_of(model: ClaudeModel, asked: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        run(model, asked)
    return caught.value


class ScriptedServer:
    def __init__(self, server: ModelServer) -> None:
        self._server = server

    def call_tool(self, name: str) -> None:
        self._server.script(reply(thinks("worth keeping"), calls(name, statement="drinks decaf")))

    def go_silent(self) -> None:
        self._server.script(reply("Good morning to you", gate="silence", hold_at=5))

    def wait_until_silent(self) -> None:
        self._server.wait_until_held("silence")

    def break_off(self) -> None:
        self._server.script(reply("Good morning to you", end_at=5))


class TestContract(ChatModelContract):
    @pytest.fixture
    def harness(self, server: ModelServer, model: ClaudeModel) -> Harness:
        return Harness(model=model, model_name=SONNET, provider=ScriptedServer(server))


# What is sent


def test_sdk_is_imported_at_the_first_call_only() -> None:
    code = (
        "import sys; from memoryapp.conf import Conf; from memoryapp.llm.claude import ClaudeModel; "
        "ClaudeModel(Conf()); sys.exit('anthropic' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_static_prefix_and_marked_blocks_are_cached(server: ModelServer, model: ClaudeModel) -> None:
    long = "Every word of this counts towards the prefix. " * 200
    history = (
        ModelMessage("user", (Text(long, cache_mark=True),)),
        ModelMessage("assistant", (Text("Yes."),)),
    )
    first = request(*history, user("One"), model=SONNET, tools=(REMEMBER,))
    second = request(*history, user("Two"), model=SONNET, tools=(REMEMBER,))

    written = completed(run(model, first)).usage
    read = completed(run(model, second)).usage

    assert written.cache_creation_tokens > 1_024
    assert written.cache_read_tokens == 0
    assert read.cache_read_tokens == written.cache_creation_tokens
    assert read.total_input_tokens == written.total_input_tokens
    sent = server.calls[0].body
    assert sent["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in sent["tools"][-1]


def test_tools_carry_the_mark_when_there_is_no_system_text(server: ModelServer, model: ClaudeModel) -> None:
    run(model, ModelRequest(SONNET, "", (user("Hello"),), (REMEMBER,), 100))

    (call,) = server.calls
    assert "system" not in call.body
    assert call.body["tools"][-1]["cache_control"] == {"type": "ephemeral"}


def test_only_the_newest_cache_marks_are_sent(server: ModelServer, model: ClaudeModel) -> None:
    blocks = tuple(Text(f"part {n}", cache_mark=True) for n in range(6))

    run(model, request(ModelMessage("user", blocks), model=SONNET))

    (call,) = server.calls
    marked = [block["text"] for block in call.body["messages"][0]["content"] if "cache_control" in block]
    assert marked == ["part 3", "part 4", "part 5"]


def test_blank_text_is_left_out(server: ModelServer, model: ClaudeModel) -> None:
    messages = (user("Hello"), ModelMessage("assistant", (Text(""), Text(" \n"))), user("Are you there?"))

    run(model, request(*messages, model=SONNET))

    (call,) = server.calls
    assert [message["role"] for message in call.body["messages"]] == ["user", "user"]


def test_thinking_goes_back_unmodified_within_a_run(server: ModelServer, model: ClaudeModel) -> None:
    server.script(
        reply(thinks("First."), redacted("opaque"), calls("remember", statement="decaf")),
        reply(thinks("Second."), calls("remember", statement="tea")),
    )
    messages = [user("I drink decaf, and tea at night.")]
    for _ in range(2):
        got = completed(run(model, request(*messages, model=SONNET, tools=(REMEMBER,))))
        results = tuple(ToolResult(tool_use.id, "Remembered.") for tool_use in got.tool_uses)
        messages += [ModelMessage("assistant", got.blocks), ModelMessage("user", results)]

    last = completed(run(model, request(*messages, model=SONNET, tools=(REMEMBER,))))

    assert last.stop_reason == "end_turn"
    assert [type(block) for block in messages[1].blocks][:2] == [Thinking, RedactedThinking]


def test_tool_errors_are_marked(server: ModelServer, model: ClaudeModel) -> None:
    server.script(reply(calls("remember", tool_use_id="toolu_1", statement="decaf")))
    asked = say(tools=(REMEMBER,))
    got = completed(run(model, asked))
    failed = ModelMessage("user", (ToolResult("toolu_1", "It is a secret.", is_error=True),))

    run(
        model,
        request(
            *asked.messages, ModelMessage("assistant", got.blocks), failed, model=SONNET, tools=(REMEMBER,)
        ),
    )

    assert server.calls[-1].body["messages"][-1]["content"][0]["is_error"] is True


def test_base_url_without_a_key_is_enough() -> None:
    with ModelServer() as server:
        model = ClaudeModel(make_conf(f"{server.url}/v1/", ANTHROPIC_API_KEY=""))

        assert completed(run(model)).text == "You said: Good morning"


# What is received


def test_every_event_has_its_place(server: ModelServer, model: ClaudeModel) -> None:
    server.script(
        reply(thinks("hm"), "One moment.", calls("remember", statement="a"), calls("remember", statement="b"))
    )

    events = run(model, say(tools=(REMEMBER,)))

    shape = [event if isinstance(event, ThinkingStarted) else type(event).__name__ for event in events]
    assert shape[0] == ThinkingStarted()
    assert shape[1:3] == ["TextDelta", "TextDelta"]
    assert shape[-3:] == ["ToolUseStarted", "ToolUseStarted", "Completed"]
    got = completed(events)
    assert [dict(tool_use.input) for tool_use in got.tool_uses] == [{"statement": "a"}, {"statement": "b"}]
    assert {e.id for e in events if isinstance(e, ToolUseStarted)} == {
        tool_use.id for tool_use in got.tool_uses
    }


def test_tool_call_cut_by_max_tokens_is_not_a_tool_call_to_run(
    server: ModelServer, model: ClaudeModel
) -> None:
    cut = calls("remember", partial_json='{"statement": "The user only dri')
    server.script(reply(cut, stop_reason="max_tokens"))

    got = completed(run(model, say(tools=(REMEMBER,))))

    assert got.stop_reason == "max_tokens"
    assert [tool_use.name for tool_use in got.tool_uses] == ["remember"]


@pytest.mark.parametrize("said", ['{"statement": "The user only dri', '{"statement": oops}', '["a list"]'])
def test_damaged_tool_call_breaks_the_stream(server: ModelServer, model: ClaudeModel, said: str) -> None:
    server.script(reply(calls("remember", partial_json=said)))

    failure = failure_of(model, say(tools=(REMEMBER,)))

    assert isinstance(failure, StreamBroken)
    assert "statement" not in str(failure)


@pytest.mark.parametrize(
    "reason", ["refusal", "max_tokens", "model_context_window_exceeded", "stop_sequence"]
)
def test_other_stop_reasons_complete(server: ModelServer, model: ClaudeModel, reason: str) -> None:
    server.script(reply("Well.", stop_reason=reason))

    assert completed(run(model)).stop_reason == reason


def test_usage_adds_up() -> None:
    total = Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40)

    assert total == Usage(11, 22, 33, 44)
    assert total.total_input_tokens == 88


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


def test_waits_are_announced_and_double(server: ModelServer, model: ClaudeModel) -> None:
    server.script(*[fails(529, "overloaded_error")] * 3)
    patience = Patience()

    events = list(model.stream(say(), patience))

    waits = [event for event in events if isinstance(event, Retrying)]
    assert waits == [
        Retrying(0.5, "model_overloaded", 1),
        Retrying(1.0, "model_overloaded", 2),
        Retrying(2.0, "model_overloaded", 3),
    ]
    assert patience.waits_s == [0.5, 1.0, 2.0]
    assert completed(events).text == "You said: Good morning"


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


# Many at once


def test_forty_open_streams_share_one_client(server: ModelServer, model: ClaudeModel) -> None:
    server.script(*[reply("Good morning to you", gate="all", hold_at=4)] * 40)
    with ThreadPoolExecutor(40) as pool:
        waiting = [pool.submit(run, model) for _ in range(40)]
        server.wait_until_streams(40)
        server.release("all")
        replies = [completed(future.result()).text for future in waiting]

    assert replies == ["Good morning to you"] * 40


def test_connections_are_used_again(server: ModelServer, model: ClaudeModel) -> None:
    for _ in range(3):
        run(model)

    assert server.connections == 1


def test_images_are_sent(server: ModelServer, model: ClaudeModel) -> None:
    pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    message = ModelMessage("user", (Image("image/gif", pixel), Text("What is this?")))

    said = completed(run(model, request(message, model=SONNET))).text

    assert "What is this?" in said
    assert server.calls[0].body["messages"][0]["content"][0]["source"]["data"] == pixel


# Counts and limits


def test_count_is_the_providers(server: ModelServer, model: ClaudeModel) -> None:
    asked = say(tools=(REMEMBER,))

    assert model.count_tokens(asked) == completed(run(model, asked)).usage.total_input_tokens


def test_count_falls_back_where_the_server_does_not_count(model: ClaudeModel) -> None:
    asked = say(model="claude-9")

    assert model.count_tokens(asked) == tokens.estimate_request(asked)


def test_limits_come_from_the_provider_once(server: ModelServer, model: ClaudeModel) -> None:
    assert model.limits("tiny-16k") == ModelLimits(16_000, 4_096)
    assert model.limits("tiny-16k") == ModelLimits(16_000, 4_096)
    assert [captured.path for captured in server.requests] == ["/v1/models/tiny-16k"]


def test_limits_set_for_the_very_model_win_over_the_provider(server: ModelServer) -> None:
    settings = (
        '{"tiny-16k": {"window_tokens": 9000}, "tiny-8k": {"window_tokens": 5000, "max_output_tokens": 300}}'
    )
    model = ClaudeModel(make_conf(server.url, model_settings=settings))

    assert model.limits("tiny-16k") == ModelLimits(9_000, 4_096)
    assert model.limits("tiny-8k") == ModelLimits(5_000, 300)
    assert model.limits("tiny-12k") == ModelLimits(12_000, 4_096)
    assert [captured.path for captured in server.requests] == ["/v1/models/tiny-16k", "/v1/models/tiny-12k"]


def test_limits_fall_back_to_configuration(server: ModelServer) -> None:
    model = ClaudeModel(
        make_conf(server.url).model_copy(update={"window_tokens": 12_345, "max_output_tokens": 678})
    )

    assert model.limits("no-such-model") == ModelLimits(12_345, 678)
    assert model.limits("no-such-model") == ModelLimits(12_345, 678)
    assert len(server.requests) == 1


def test_limits_do_not_wait_for_a_dead_provider() -> None:
    with ModelServer() as gone:
        url = gone.url

    assert ClaudeModel(make_conf(url)).limits(SONNET) == ModelLimits(200_000, 8_192)
