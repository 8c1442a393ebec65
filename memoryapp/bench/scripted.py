"""A model server for scripted conversations: it counts what it is sent, refuses what does not fit, and summarises."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memoryapp.bench.serving import serving
from memoryapp.llm.tokens import estimate_text

REPLY = (
    "That sounds good to me. Let us keep going with it step by step, and tell me when something changes, "
    "so that I can take it into account the next time we look at the plan together."
)
SUMMARY_LINES = 24  # the newest of what was said, a line each: about what a cheap model writes
TOKENS_BESIDE_ESTIMATE = 0.85  # this server's tokenizer, as a share of the local estimate: to be learned


class ScriptedModel:
    """The part of the Messages API that turns and compaction need, on threads of its own.

    ``windows``: the tokens that each model takes, prompt and reserved output together. ``refused`` counts the requests
    that did not fit; the application would recover from them, so that nothing else would tell.
    """

    def __init__(self, *, summarises: str, windows: Mapping[str, int]) -> None:
        self.refused = 0
        self._summarises = summarises
        self._windows = windows
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def serving(self) -> Iterator["ScriptedModel"]:
        with serving(self._server, name="scripted-model"):
            yield self

    def excess(self, request: dict[str, Any], *, input_tokens: int) -> str:
        """Why a request is refused, in the provider's words; "" when it fits."""
        limit, output_tokens = self._windows[request["model"]], request["max_tokens"]
        if input_tokens + output_tokens <= limit:
            return ""
        self.refused += 1
        return (
            f"input length and `max_tokens` exceed context limit: {input_tokens} + {output_tokens} > {limit}"
        )

    def answer(self, request: dict[str, Any]) -> str:
        if request["model"] == self._summarises:
            return _summary(_text(request["messages"]))
        return REPLY


def _summary(told: str) -> str:
    """The form that is asked for, in the words of what was told."""
    said = re.findall(r"^User: (.+)$", told, re.MULTILINE)
    before = re.findall(r"^- .+$", told.partition("</summary-so-far>")[0], re.MULTILINE)
    facts = [*before, *(f"- The user said: {line[:160]}" for line in said)]
    return "\n".join(["## Goal", "- To talk", "## Facts and decisions", *facts[-SUMMARY_LINES:]])


def _text(messages: list[dict[str, Any]]) -> str:
    return "\n".join(
        block["text"] for message in messages for block in message["content"] if block["type"] == "text"
    )


def _tokens(text: str) -> int:
    return max(1, round(TOKENS_BESIDE_ESTIMATE * estimate_text(text)))


def _events(text: str, *, input_tokens: int) -> list[dict[str, Any]]:
    usage = {"input_tokens": input_tokens, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_bench", "type": "message", "role": "assistant", "model": "bench", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {**usage, "output_tokens": _tokens(text)},
        },
        {"type": "message_stop"},
    ]


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = json.loads(body)
            content = json.dumps([request.get(part) for part in ("system", "tools", "messages")])
            input_tokens = _tokens(content)
            if self.path.endswith("/count_tokens"):
                self._json({"input_tokens": input_tokens})
                return
            if excess := model.excess(request, input_tokens=input_tokens):
                error = {"type": "invalid_request_error", "message": excess}
                self._json({"type": "error", "error": error}, status=HTTPStatus.BAD_REQUEST)
                return
            events = _events(model.answer(request), input_tokens=input_tokens)
            self._send(
                "text/event-stream",
                "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events),
            )

        def do_GET(self) -> None:
            """What it is asked about models; like most local servers it does not know."""
            self.send_response(HTTPStatus.NOT_FOUND)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            """Silence: the default writes a line per request."""

        def _json(self, value: dict[str, Any], *, status: HTTPStatus = HTTPStatus.OK) -> None:
            self._send("application/json", json.dumps(value), status=status)

        def _send(self, content_type: str, text: str, *, status: HTTPStatus = HTTPStatus.OK) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
