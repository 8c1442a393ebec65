"""A model server that fails on purpose: it answers each question as it was told to, and notes every call."""

import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, ClassVar

_QUESTION = re.compile(r"Question (\d+)")
_USAGE = {"input_tokens": 10, "output_tokens": 2}
_FOR_EVER_S = 600.0  # longer than any bench; the end of the bench opens every gate


class Gate:
    """Where replies wait until the bench lets them go on."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._reached = threading.Semaphore(0)

    def open(self) -> None:
        self._opened.set()

    def wait_until_reached(self, times: int = 1, *, within_s: float) -> bool:
        until = time.monotonic() + within_s
        return all(self._reached.acquire(timeout=max(0.0, until - time.monotonic())) for _ in range(times))

    def pass_through(self) -> None:
        self._reached.release()
        self._opened.wait(_FOR_EVER_S)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to one call.

    ``call``: a tool's name and its arguments as they are streamed. Positions count events: before that one the stream
    waits at ``gate``, or the error event comes. ``cut_at``: bytes of the body, after which the socket is closed.
    ``status`` other than 200: a refusal of ``kind``, with ``retry_after`` where it is not empty.
    """

    words: Sequence[str] = ("Noted.",)
    call: tuple[str, str] | None = None
    stop_reason: str = ""
    pause_s: float = 0.0
    gate: Gate | None = None
    hold_at: int = 0
    error_at: int | None = None
    cut_at: int | None = None
    status: int = 200
    kind: str = "api_error"
    message: str = "told to"
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """``at``: time.monotonic(). ``results``: what its tools came to, as the model reads it."""

    question: int
    at: float
    results: Sequence[str]


@dataclass(slots=True)
class _Script:
    answers: list[Answer]
    next: int = 0


@dataclass(slots=True)
class FailingModel:
    """The part of the Messages API that turns need, on threads of its own.

    A question is a number in the person's message. Its answers come in their order, the last of them again and again.
    """

    calls: list[Call] = field(default_factory=list)
    is_overloaded: bool = False
    _scripts: dict[int, _Script] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _server: ThreadingHTTPServer | None = None
    _port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def question(self, *answers: Answer) -> int:
        """A new question that will be answered so; put it to the application with ``wording``."""
        number = next(self._numbers)
        self._scripts[number] = _Script(list(answers) or [Answer()])
        return number

    def calls_of(self, question: int) -> list[Call]:
        with self._lock:
            return [call for call in self.calls if call.question == question]

    def recover(self) -> None:
        self.is_overloaded = False

    @contextmanager
    def serving(self) -> Iterator["FailingModel"]:
        self.listen()
        try:
            yield self
        finally:
            for script in self._scripts.values():
                for answer in script.answers:
                    if answer.gate:
                        answer.gate.open()
            self.hang_up()

    def listen(self) -> None:
        self._server = _Server(("127.0.0.1", self._port), type("Handler", (_Handler,), {"model": self}))
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, name="failing-model", daemon=True).start()

    def hang_up(self) -> None:
        """Listen no more, so that connections are refused until ``listen``."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def next_answer(self, request: dict[str, Any]) -> Answer:
        number = int(_QUESTION.findall(json.dumps(request["messages"]))[-1])
        with self._lock:
            self.calls.append(Call(number, time.monotonic(), _results(request)))
            if self.is_overloaded:
                return Answer(status=529, kind="overloaded_error")
            script = self._scripts[number]
            answer = script.answers[min(script.next, len(script.answers) - 1)]
            script.next += 1
        return answer


def wording(question: int) -> str:
    return f"Question {question}"


def body_of(answer: Answer) -> bytes:
    return b"".join(_events(answer))


def _results(request: dict[str, Any]) -> list[str]:
    blocks = [block for message in request["messages"] for block in message["content"]]
    return [str(block.get("content", "")) for block in blocks if block["type"] == "tool_result"]


def _events(answer: Answer) -> Iterator[bytes]:
    opening: dict[str, Any] = {
        "id": f"msg_{time.monotonic_ns()}", "type": "message", "role": "assistant", "model": "bench",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": _USAGE,
    }  # fmt: skip
    yield _frame("message_start", message=opening)
    yield _frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for words in answer.words:
        yield _frame("content_block_delta", index=0, delta={"type": "text_delta", "text": words})
    yield _frame("content_block_stop", index=0)
    if answer.call:
        name, arguments = answer.call
        tool = {"type": "tool_use", "id": f"toolu_{time.monotonic_ns()}", "name": name, "input": {}}
        yield _frame("content_block_start", index=1, content_block=tool)
        yield _frame(
            "content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": arguments}
        )
        yield _frame("content_block_stop", index=1)
    stop_reason = answer.stop_reason or ("tool_use" if answer.call else "end_turn")
    yield _frame("message_delta", delta={"stop_reason": stop_reason, "stop_sequence": None}, usage=_USAGE)
    yield _frame("message_stop")


def _on_the_wire(answer: Answer) -> Iterator[bytes]:
    """What of the events is sent, each when it is time for it."""
    room = answer.cut_at
    for place, event in enumerate(_events(answer)):
        if answer.gate and place == answer.hold_at:
            answer.gate.pass_through()
        if place == answer.error_at:
            yield _frame("error", error={"type": "overloaded_error", "message": "told to"})
            return
        time.sleep(answer.pause_s)
        yield event[:room]
        if room is not None:
            room -= len(event)
            if room <= 0:
                return


def _frame(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # all of a crowd at once


class _Handler(BaseHTTPRequestHandler):
    model: ClassVar[FailingModel]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with suppress(ConnectionError):  # whoever asked was killed, or stopped
            if self.path.endswith("/count_tokens"):
                self._json(200, {"input_tokens": 10})
            else:
                self._answer(self.model.next_answer(request))
        self.close_connection = True

    def do_GET(self) -> None:
        """What it is asked about models; like most local servers it does not know."""
        self._json(404, {})

    def log_message(self, *_args: Any) -> None:
        """Silence: the default writes a line per request."""

    def _answer(self, answer: Answer) -> None:
        if answer.status != 200:
            error = {"type": answer.kind, "message": answer.message}
            self._json(answer.status, {"type": "error", "error": error}, {"retry-after": answer.retry_after})
            return
        self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for event in _on_the_wire(answer):
            self._chunk(event)
        if answer.cut_at is None:  # else the chunk is missing that ends the body
            self._chunk(b"")

    def _json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self._head(
            status,
            {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})},
        )
        self.wfile.write(data)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.send_header("Connection", "close")  # so that hanging up is noticed by the next call
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
