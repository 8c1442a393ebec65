"""Talking to a server, by the official client over real HTTP: what comes back, and every way it fails."""

import gzip
import threading
import time

import pytest

from memoryapp.llm.base import Cancellation
from memoryapp.tooling import mcp_client
from memoryapp.tooling.mcp_client import (
    McpAnswerTooLongError,
    McpError,
    McpStoppedError,
    McpTimedOutError,
    McpToolError,
    McpUnauthorisedError,
    McpUnreachableError,
)
from memoryapp.tooling.models import McpServer
from memoryapp.tooling.secrets import seal
from tests.tooling.mcp_server import TOKEN, answering, hanging, listing, running, running_mcp_server

ALL_TOOLS = ["echo", "add", "fail", "wait", "flood", "weather", "picture", "who_am_i"]


def at(url, *, token=TOKEN, timeout_s=10):
    return McpServer(name="Test tools", url=url, sealed_token=seal(token), timeout_s=timeout_s)


def call(server, name, arguments=None, *, cancellation=None):
    return mcp_client.call_tool(
        server,
        name,
        arguments or {},
        idempotency_key="run:toolu_1",
        cancellation=cancellation or Cancellation(),
    )


@pytest.fixture
def known(tools_server):
    return at(tools_server.url)


@pytest.mark.parametrize(
    "form",
    [{"is_streamed": True}, {"is_streamed": False}, {"is_streamed": True, "is_old": True}],
    ids=["events", "json", "protocol of 2025"],
)
def test_every_form_of_the_transport_lists_and_calls(form):
    with running_mcp_server(**form) as server:
        listed = mcp_client.list_tools(at(server.url))
        answer = call(at(server.url), "echo", {"text": "naïve ☕"})

    assert [tool.name for tool in listed] == ALL_TOOLS
    assert listed[0].description == "Says it again."
    assert listed[0].input_schema["properties"]["text"]["type"] == "string"
    assert listed[0].annotations == {"readOnlyHint": True}
    assert answer == "naïve ☕"
    assert server.keys == ["run:toolu_1"]


def test_structured_content_is_json_and_is_not_said_twice(known):
    assert call(known, "weather", {"city": "Porto"}).count("Porto") == 1
    assert '"celsius": 21' in call(known, "weather", {"city": "Porto"})
    assert call(known, "add", {"a": 2, "b": 3}) == "5"


def test_an_answer_is_not_held_against_a_strangers_schema_of_it():
    tools = """[{
        "name": "odd",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "required": ["missing"], "properties": {"a": {"pattern": "^(a+)+$"}}}
    }]"""
    answer = '{"content": [], "structuredContent": {"a": 1}}'

    with running(listing(tools, answer=answer)) as url:
        assert call(at(url), "odd") == '{"a": 1}'


def test_a_picture_is_named_and_not_shown(known):
    assert call(known, "picture") == "A title\n[image/png, 102 bytes, not shown]"


def test_a_tool_that_fails_says_why(known):
    with pytest.raises(McpToolError, match="out of tea"):
        call(known, "fail", {"why": "out of tea"})


def test_an_unknown_tool_is_an_error(known):
    with pytest.raises(McpError, match="nothing_like_it"):
        call(known, "nothing_like_it")


@pytest.mark.parametrize("token", ["", "another"])
def test_without_its_token_the_server_refuses_us(tools_server, token):
    with pytest.raises(McpUnauthorisedError, match="Test tools does not accept its token"):
        mcp_client.list_tools(at(tools_server.url, token=token))


def test_nobody_at_the_address(tools_server):
    with pytest.raises(McpUnreachableError, match=r"cannot be reached at 127\.0\.0\.1:1"):
        mcp_client.list_tools(at("http://127.0.0.1:1/mcp"))


def test_a_slow_tool_is_given_up(tools_server):
    with pytest.raises(McpTimedOutError, match="within 1 seconds"):
        call(at(tools_server.url, timeout_s=1), "wait")


def test_a_listing_does_not_keep_a_web_thread_for_as_long_as_a_call_may_take(monkeypatch):
    monkeypatch.setattr(mcp_client, "_MAX_LISTING_S", 0.3)

    with running(hanging()) as url, pytest.raises(McpTimedOutError, match=r"within 0\.3 seconds"):
        mcp_client.list_tools(at(url, timeout_s=600))


def test_a_stop_ends_the_call_at_once_here_and_there():
    cancellation, stopped_at = Cancellation(), []
    with running_mcp_server() as server:

        def stop():
            assert server.begun.wait(10)
            stopped_at.append(time.monotonic())
            cancellation.set()

        person = threading.Thread(target=stop)
        person.start()
        with pytest.raises(McpStoppedError):
            call(at(server.url), "wait", cancellation=cancellation)
        took_s = time.monotonic() - stopped_at[0]
        person.join()

        assert took_s < 1
        assert server.has_ended.wait(5)


def test_a_call_that_was_stopped_before_it_began_is_not_made(known, tools_server):
    cancellation = Cancellation()
    cancellation.set()
    before = tools_server.request_count

    with pytest.raises(McpStoppedError):
        call(known, "echo", {"text": "no"}, cancellation=cancellation)

    assert tools_server.request_count == before


def test_ten_megabytes_are_refused_on_the_way(known):
    with pytest.raises(McpAnswerTooLongError, match="1,000,000 bytes"):
        call(known, "flood")


def test_ten_megabytes_of_json_are_refused_too():
    with running_mcp_server(is_streamed=False) as server, pytest.raises(McpAnswerTooLongError):
        call(at(server.url), "flood")


def test_a_packed_answer_is_not_unfolded():
    bomb = answering(
        200,
        {"content-type": "application/json", "content-encoding": "gzip"},
        gzip.compress(bytes(10_000_000)),
    )

    with running(bomb) as url, pytest.raises(McpAnswerTooLongError):
        mcp_client.list_tools(at(url))


def test_a_redirect_to_another_host_is_not_followed(tools_server):
    before = tools_server.request_count

    with (
        running(answering(307, {"location": tools_server.url})) as url,
        pytest.raises(McpError, match="not followed"),
    ):
        mcp_client.list_tools(at(url))

    assert tools_server.request_count == before


@pytest.mark.parametrize(
    ("app", "words"),
    [
        (answering(404), r"does not speak MCP at its address \(404\)"),
        (answering(503), r"out of order at the moment \(503\)"),
        (answering(200, {"content-type": "text/html"}, b"<p>Hi</p>"), "does not answer as MCP demands"),
        (
            answering(200, {"content-type": "application/json"}, b"{nonsense"),
            "does not answer as MCP demands",
        ),
        (answering(200, {"content-type": "application/json"}, b"[]"), "does not answer as MCP demands"),
        (
            answering(200, {"content-type": "text/event-stream"}, b"data: x\n\n"),
            "does not answer as MCP demands",
        ),
        (answering(202), "does not answer as MCP demands"),
    ],
    ids=["404", "503", "html", "no json", "no message", "no event", "no answer"],
)
def test_what_is_no_mcp_server_is_called_so(app, words):
    with running(app) as url, pytest.raises(McpError, match=words):
        mcp_client.list_tools(at(url))


def test_the_token_is_in_no_answer_no_error_and_no_log(known, tools_server, caplog):
    caplog.set_level("DEBUG")

    answer = call(known, "who_am_i")
    mcp_client.list_tools(known)
    with pytest.raises(McpToolError) as failed:
        call(known, "fail", {"why": f"Bearer {TOKEN} has expired"})
    with pytest.raises(McpUnauthorisedError) as refused:
        mcp_client.list_tools(at(tools_server.url, token=f"not-{TOKEN}"))

    assert answer == "You came with [token]."
    assert "[token] has expired" in str(failed.value)
    assert TOKEN not in str(refused.value)
    ours = [record for record in caplog.records if not record.name.startswith(("mcp.server", "uvicorn"))]
    assert all(TOKEN not in record.getMessage() + str(record.exc_text) for record in ours)
