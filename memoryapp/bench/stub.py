"""A model server that answers at once, notes when it was asked, and can be told to keep its replies open."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any

_USAGE = {"input_tokens": 10, "output_tokens": 2}
_OPENING: tuple[dict[str, Any], ...] = (
    {
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
    },
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


class StubModel:
    """The part of the Messages API that a turn needs, on a thread of its own."""

    def __init__(self) -> None:
        # time.monotonic() of each message request, in the order of their arrival.
        self.arrivals: SimpleQueue[float] = SimpleQueue()
        self.may_finish = threading.Event()
        self.may_finish.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

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
            stub.arrivals.put(time.monotonic())
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
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


def _frame(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
