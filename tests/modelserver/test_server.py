"""The server over HTTP: endpoints, scripts, faults, personas, and as a process of its own."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.modelserver import ModelServer, RemoteModelServer, calls, fails, reply, thinks

Json = dict[str, Any]
STREAMED = {
    "model": "tiny-16k",
    "max_tokens": 200,
    "stream": True,
    "messages": [{"role": "user", "content": "hi"}],
}
HEADERS = {"anthropic-version": "2026-10-21", "authorization": "Bearer key"}
REMEMBER = {
    "name": "remember",
    "input_schema": {
        "type": "object",
        "properties": {
            "statement": {"type": "string"},
            "quote": {"type": "string"},
            "kind": {"type": "string", "enum": ["identity", "preference"]},
        },
        "required": ["statement", "quote"],
    },
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(api_key="key") as running:
        yield running


def send(
    url: str, path: str, body: Json | None = None, *, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, path, None if body is None else json.dumps(body), headers or HEADERS)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def ask(url: str, *content: str | Json, **fields: Any) -> Json:
    messages = fields.pop("messages", None) or [{"role": "user", "content": list(content)}]
    if content and isinstance(content[0], str):
        messages = [{"role": "user", "content": content[0]}]
    body = {"model": "tiny-16k", "max_tokens": 200, "messages": messages, **fields}
    status, _, text = send(url, "/v1/messages", body)
    return {"status": status, **json.loads(text)}


def said(message: Json) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def test_unscripted_it_echoes(server: ModelServer) -> None:
    message = ask(server.url, "Good morning")

    assert said(message) == "You said: Good morning"
    assert message["stop_reason"] == "end_turn"


def test_stream_is_the_apis_sequence_of_events(server: ModelServer) -> None:
    server.script(reply(thinks("hm"), "Yes.", calls("remember", statement="decaf")))

    _, headers, text = send(server.url, "/v1/messages", STREAMED)

    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    names = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
    assert names == [event["type"] for event in events]
    assert names[:3] == ["message_start", "ping", "content_block_start"]
    assert names[-2:] == ["message_delta", "message_stop"]
    assert headers["content-type"].startswith("text/event-stream")
    deltas = {event["delta"]["type"] for event in events if event["type"] == "content_block_delta"}
    assert deltas == {"thinking_delta", "signature_delta", "text_delta", "input_json_delta"}


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"anthropic-version": "2026-10-21"}, "x-api-key header is required"),
        ({"anthropic-version": "2026-10-21", "authorization": "Bearer other"}, "invalid x-api-key"),
        ({"anthropic-version": "2026-10-21", "x-api-key": "other"}, "invalid x-api-key"),
    ],
)
def test_wrong_key(server: ModelServer, headers: dict[str, str], message: str) -> None:
    status, _, text = send(server.url, "/v1/models", headers=headers)

    assert status == 401
    assert json.loads(text)["error"] == {"type": "authentication_error", "message": message}


def test_key_may_come_either_way(server: ModelServer) -> None:
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "key"}

    assert send(server.url, "/v1/models", headers=headers)[0] == 200


def test_errors_have_the_apis_form(server: ModelServer) -> None:
    status, headers, text = send(
        server.url, "/v1/messages", {"model": "gpt-4", "max_tokens": 1, "messages": []}
    )
    error = json.loads(text)

    assert status == 404
    assert error["type"] == "error"
    assert error["error"] == {"type": "not_found_error", "message": "model: gpt-4"}
    assert error["request_id"] == headers["request-id"]


def test_models_are_described(server: ModelServer) -> None:
    listed = json.loads(send(server.url, "/v1/models")[2])["data"]
    one = json.loads(send(server.url, "/v1/models/claude-haiku-5-5")[2])

    assert one in listed
    assert one["max_input_tokens"] == 1_000_000
    assert send(server.url, "/v1/models/gpt-4")[0] == 404


def test_count_agrees_with_usage(server: ModelServer) -> None:
    body = {
        "model": "tiny-16k",
        "messages": [{"role": "user", "content": "Good morning"}],
        "tools": [REMEMBER],
    }
    counted = json.loads(send(server.url, "/v1/messages/count_tokens", body)[2])["input_tokens"]

    usage = ask(server.url, "Good morning", tools=[REMEMBER])["usage"]

    assert (
        counted
        == usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    )


def test_cache_hits_follow_marks_and_prefixes(server: ModelServer) -> None:
    def usage(system: str, question: str) -> tuple[int, int]:
        marked = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        got = ask(server.url, question, system=marked)["usage"]
        return got["cache_creation_input_tokens"], got["cache_read_input_tokens"]

    long = "word " * 600
    assert usage(long, "one") == (602, 0)
    assert usage(long, "two") == (0, 602)
    assert usage("other " + long, "two") == (603, 0)
    assert usage("short", "one") == (0, 0)


def test_output_ends_at_max_tokens(server: ModelServer) -> None:
    server.script(reply("word " * 300))

    message = ask(server.url, "hi", max_tokens=50)

    assert message["stop_reason"] == "max_tokens"
    assert message["usage"]["output_tokens"] <= 50


def test_output_ends_at_the_window(server: ModelServer) -> None:
    server.script(reply("word " * 300))

    message = ask(server.url, "word " * 15_900, max_tokens=1_000)

    assert message["stop_reason"] == "model_context_window_exceeded"


def test_steps_are_kept_for_the_calls_they_are_meant_for(server: ModelServer) -> None:
    server.script(
        reply("for haiku", model="claude-haiku-5-5"), reply("for tea", contains="tea"), reply("for anyone")
    )

    assert said(ask(server.url, "coffee")) == "for anyone"
    assert said(ask(server.url, "some tea")) == "for tea"
    assert said(ask(server.url, "coffee", model="claude-haiku-5-5")) == "for haiku"


def test_scripted_failure_carries_its_headers(server: ModelServer) -> None:
    server.script(fails(429, "rate_limit_error", "slow down", retry_after="7"))

    body = {"model": "tiny-16k", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    status, headers, text = send(server.url, "/v1/messages", body)

    assert (status, headers["retry-after"]) == (429, "7")
    assert json.loads(text)["error"]["message"] == "slow down"
    assert server.calls[0].status == 429


def test_requests_are_captured_with_headers(server: ModelServer) -> None:
    ask(server.url, "hi")

    (captured,) = server.requests
    assert captured.body["messages"] == [{"role": "user", "content": "hi"}]
    assert captured.headers["anthropic-version"] == "2026-10-21"
    server.reset()
    assert server.requests == []


def test_sixty_streams_are_open_at_once(server: ModelServer) -> None:
    server.script(*[reply("Hello", gate="all", hold_at=2)] * 60)
    answers: list[Json] = []
    threads = [threading.Thread(target=lambda: answers.append(stream(server.url))) for _ in range(60)]
    for thread in threads:
        thread.start()
    server.wait_until_streams(60)

    server.release("all")
    for thread in threads:
        thread.join()

    assert len(answers) == 60
    assert all('"message_stop"' in answer["text"] for answer in answers)


def stream(url: str) -> Json:
    return {"text": send(url, "/v1/messages", STREAMED)[2]}


def test_hang_up_of_a_client_is_noticed(server: ModelServer) -> None:
    server.script(reply("Hello", gate="never", hold_at=2))
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    connection.request("POST", "/v1/messages", json.dumps(STREAMED), HEADERS)
    answer = connection.getresponse()
    server.wait_until_held("never")

    answer.close()
    connection.close()

    server.wait_until_streams(0)
    assert server.calls[0].is_abandoned


def recalled(*statements: str) -> str:
    items = [
        {"id": str(n), "kind": "preference", "statement": s, "said_on": "2026-11-02"}
        for n, s in enumerate(statements)
    ]
    return f'<recalled-memories id="a1b2">\n{json.dumps(items)}\n</recalled-memories>\n\n'


@pytest.fixture
def remembering() -> Iterator[ModelServer]:
    with ModelServer(persona="memory") as running:
        yield running


def test_persona_remembers_statements(remembering: ModelServer) -> None:
    message = ask(remembering.url, recalled("Lives in Porto") + "I only drink decaf.", tools=[REMEMBER])

    assert message["stop_reason"] == "tool_use"
    assert message["content"][0]["input"] == {
        "statement": "I only drink decaf.", "quote": "I only drink decaf.", "kind": "preference",
    }  # fmt: skip


def test_persona_acknowledges_what_the_tool_did(remembering: ModelServer) -> None:
    call = {"type": "tool_use", "id": "t", "name": "remember", "input": {}}
    for is_error, expected in (
        (False, "I will remember that: I only drink decaf."),
        (True, "I could not do that: no"),
    ):
        result = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": is_error}
        messages = [
            {"role": "user", "content": "I only drink decaf."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result, {"type": "text", "text": "<scratchpad>done</scratchpad>"}]},
        ]

        assert said(ask(remembering.url, messages=messages)) == expected


def test_persona_answers_from_recalled_memories_only(remembering: ModelServer) -> None:
    question = "What do I drink?"

    known = said(ask(remembering.url, recalled("Lives in Porto", "Drinks only decaf") + question))

    assert known == "You told me on 2026-11-02: Drinks only decaf"
    assert "do not know" in said(ask(remembering.url, question))


def test_persona_does_not_call_a_tool_it_was_not_offered(remembering: ModelServer) -> None:
    assert said(ask(remembering.url, "I only drink decaf.")) == "You said: I only drink decaf."


def test_process_of_its_own_is_controlled_by_address(tmp_path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([reply("from the file").as_json()]))
    command = [sys.executable, "-m", "tests.modelserver", "--api-key", "key", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        remote = RemoteModelServer(process.stdout.readline().strip())
        assert said(ask(remote.url, "hi")) == "from the file"

        remote.script(fails(529, "overloaded_error", retry_after="3"), reply("held", gate="g"))
        assert ask(remote.url, "hi")["status"] == 529
        waiting = threading.Thread(target=ask, args=(remote.url, "hi"))
        waiting.start()
        remote.wait_until_held("g")
        assert remote.open_streams == 1
        remote.release("g")
        waiting.join()
        remote.wait_until_streams(0)

        remote.use_persona("memory")
        assert "do not know" in said(ask(remote.url, "What do I drink?"))
        assert [captured.status for captured in remote.calls] == [200, 529, 200, 200]
        remote.reset()
        assert remote.requests == []

        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_persona_takes_minutes_that_stop_growing() -> None:
    def told(numbers: range, *earlier: str) -> str:
        turns = [f'<turn n="{n}">\nUser: Item {n}. More.\n\nAssistant: Yes.\n</turn>' for n in numbers]
        return "\n\n".join([*(f"<summary-so-far>\n{text}\n</summary-so-far>" for text in earlier), *turns])

    with ModelServer(persona="minutes") as server:
        first = said(ask(server.url, told(range(1, 4))))
        second = said(ask(server.url, told(range(4, 40), first)))

    assert first == (
        "## Goal\n- Item 1. (turn 1)\n\n## Facts and decisions\n- Item 2. (turn 2)\n- Item 3. (turn 3)"
    )
    assert second.splitlines()[1] == "- Item 1. (turn 1)"
    assert second.splitlines()[4] == "- Item 20. (turn 20)"
    assert second.endswith("- Item 39. (turn 39)")
