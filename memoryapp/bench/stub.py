"""A model server that answers at once, notes when it was asked, and can be told to keep its replies open.

A message that begins with "Take 10 steps" is answered with as many calls of a tool, one after the other.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any

_USAGE = {"input_tokens": 10, "output_tokens": 2}
TOOL = "calculate"  # offered in every conversation, and to no background job
_STEPS = re.compile(r"^Take (\d+) steps", re.MULTILINE)  # a recalled message does not begin a line
_START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": "bench",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _USAGE,
    },
}
_OPENING: tuple[dict[str, Any], ...] = (
    _START,
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Noted."}},
)
_CLOSING: tuple[dict[str, Any], ...] = (
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": _USAGE,
    },
    {"type": "message_stop"},
)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_args: Any) -> None:
        """Silence: benches kill those who ask."""


class StubModel:
    """The part of the Messages API that a turn needs, on a thread of its own."""

    def __init__(self) -> None:
        # time.monotonic() of each request of a turn, in the order of their arrival.
        self.arrivals: SimpleQueue[float] = SimpleQueue()
        self.may_finish = threading.Event()
        self.may_finish.set()
        # How long it thinks before a step.
        self.step_s = 0.0
        self._server = _Server(("127.0.0.1", 0), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def serving(self) -> Iterator["StubModel"]:
        thread = threading.Thread(target=self._server.serve_forever, name="stub-model", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.may_finish.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def _handler(stub: StubModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not body:  # whoever asked was killed
                return
            request = json.loads(body)
            if _is_of_a_turn(request):  # a title or what was learned is asked for at any time
                stub.arrivals.put(time.monotonic())
            step = _next_step(request)
            if step:
                stub.may_finish.wait()  # before a word is said
                time.sleep(stub.step_s)
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if step:
                self._chunk("".join(map(_frame, _call(step))))
            else:
                self._chunk("".join(map(_frame, _OPENING)))
                stub.may_finish.wait()
                self._chunk("".join(map(_frame, _CLOSING)))
            self._chunk("")

        def do_GET(self) -> None:
            """What it is asked about models; like most local servers it does not know."""
            self.send_response(HTTPStatus.NOT_FOUND)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            """Silence: the default writes a line per request."""

        def _chunk(self, text: str) -> None:
            self.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())

    return Handler


def _next_step(request: dict[str, Any]) -> int:
    """The number of the step that is to be taken now; 0 when none is left or none was asked for."""
    texts = [
        block["text"]
        for message in request["messages"][:1]
        for block in message["content"]
        if block["type"] == "text"
    ]
    asked = _STEPS.search("\n".join(texts))
    taken = sum(message["role"] == "assistant" for message in request["messages"])
    return taken + 1 if _is_of_a_turn(request) and asked and taken < int(asked[1]) else 0


def _is_of_a_turn(request: dict[str, Any]) -> bool:
    return any(tool["name"] == TOOL for tool in request.get("tools", ()))


def _call(step: int) -> Iterator[dict[str, Any]]:
    """A call of the tool; no two of a run are equal."""
    block = {"type": "tool_use", "id": f"toolu_{step}", "name": TOOL, "input": {}}
    arguments = json.dumps({"expression": f"{step} * 7 + {step}"})
    yield _START
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": arguments},
    }
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": _USAGE,
    }
    yield {"type": "message_stop"}


def _frame(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
