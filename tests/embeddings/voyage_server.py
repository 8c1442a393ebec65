"""A strict local stand-in for Voyage's API: it refuses what the service refuses, and fails when told to."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 16
KEY = "pa-stand-in-key"
MAX_TEXTS = 128


@dataclass(frozen=True, slots=True)
class Failure:
    """One answer out of line. Status 0 closes the connection without an answer."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"detail": "as told"}'


@dataclass(slots=True)
class VoyageServer:
    """``requests`` holds every body that arrived; ``failures`` are used up first, one per request."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@contextmanager
def voyage_server() -> Iterator[VoyageServer]:
    state = VoyageServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True  # a kept-alive connection must not hold up the end of a test
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def raw_vector(text: str, input_type: str) -> list[float]:
    """Made from the text, different for queries and documents, and deliberately not of length 1."""
    digest = hashlib.sha512(f"{input_type}:{text}".encode()).digest()
    return [byte / 10 for byte in digest[:DIMENSIONS]]


def _handler(state: VoyageServer) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                state.requests.append(body)
                failure = state.failures.pop(0) if state.failures else None
            failure = failure or _refusal(self.path, self.headers.get("authorization"), body)
            if failure is None:
                self._answer(200, {}, json.dumps(_embeddings(body)).encode())
            elif failure.status == 0:
                self.close_connection = True
            else:
                self._answer(failure.status, failure.headers, failure.body)

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Silent."""

    return Handler


def _refusal(path: str, authorization: str | None, body: dict[str, Any]) -> Failure | None:
    if path != "/v1/embeddings":
        return Failure(404)
    if authorization != f"Bearer {KEY}":
        return Failure(401)
    texts = body.get("input")
    is_valid = (
        body.keys() == {"model", "input", "input_type"}
        and isinstance(body["model"], str)
        and body["input_type"] in ("query", "document")
        and isinstance(texts, list)
        and 0 < len(texts) <= MAX_TEXTS
        and all(isinstance(text, str) and text.strip() for text in texts)
    )
    return None if is_valid else Failure(400)


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Last text first: whoever trusts the order instead of the index gets it wrong."""
    items = [
        {"object": "embedding", "index": index, "embedding": raw_vector(text, body["input_type"])}
        for index, text in enumerate(body["input"])
    ]
    return {"object": "list", "data": items[::-1], "model": body["model"], "usage": {"total_tokens": 1}}
