"""Claude through the official SDK, against the strict local server: what is sent, what is received, its limits."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from memoryapp.llm import tokens
from memoryapp.llm.base import (
    Image,
    ModelLimits,
    ModelMessage,
    ModelRequest,
    RedactedThinking,
    Text,
    Thinking,
    ThinkingStarted,
    ToolResult,
    ToolUseStarted,
    Usage,
)
from memoryapp.llm.claude import ClaudeModel
from memoryapp.llm.errors import (
    StreamBroken,
)
from tests.llm.claude_calls import SONNET, failure_of, make_conf, model, run, say, server
from tests.llm.contract import REMEMBER, ChatModelContract, Harness, completed, request, user
from tests.modelserver import (
    ModelServer,
    calls,
    redacted,
    reply,
    thinks,
)

__all__ = ["model", "server"]


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
