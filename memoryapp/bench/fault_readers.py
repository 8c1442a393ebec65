"""Readers of a reply's events: one that comes back when it is cut off, one that times what it gets, slow ones."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from itertools import pairwise

from memoryapp.bench.installation import Client

GIVES_UP_AFTER_S = 60.0
TRIES_AGAIN_AFTER_S = 0.1
TIMEOUT_S = 10.0  # several heartbeats


@dataclass(slots=True)
class _Reader:
    text: str = ""
    last_id: str = ""
    has_ended: bool = False
    heard_at: list[float] = field(default_factory=list)
    heartbeats: int = 0

    def read(self, response: HTTPResponse) -> None:
        event_id = ""
        for raw in response:
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name == "id":
                event_id = value
            elif name == "data":
                self._take(json.loads(value))
                self.last_id = event_id
            elif raw.startswith(b":"):
                self.heartbeats += 1

    def _take(self, event: dict[str, str]) -> None:
        match event["type"]:
            case "start":
                self.text = ""
            case "text":
                self.text += event["delta"]
                self.heard_at.append(time.monotonic())
            case "end":
                self.has_ended = True


def follow(client: Client, turn_id: str) -> str:
    """The reply as a program has it that resumes where its connection broke; "" when it never hears of the end."""
    return _follow(client, turn_id).text


def gaps_s(client: Client, turn_id: str) -> list[float]:
    """Between one piece of the reply and the next."""
    heard = _follow(client, turn_id).heard_at
    return [after - before for before, after in pairwise(heard)]


def heartbeats(client: Client, turn_id: str) -> int:
    return _follow(client, turn_id).heartbeats


@contextmanager
def slow_readers(client: Client, turn_id: str, *, number: int) -> Iterator[list[socket.socket]]:
    """Connections that take a byte when asked to, and little at once from the kernel."""
    opened = [_open_slowly(client, turn_id) for _ in range(number)]
    try:
        yield opened
    finally:
        for each in opened:
            each.close()


def _follow(client: Client, turn_id: str) -> _Reader:
    reader = _Reader()
    until = time.monotonic() + GIVES_UP_AFTER_S
    while not reader.has_ended and time.monotonic() < until:
        try:
            _read_once(client, turn_id, reader)
        except (OSError, HTTPException):
            time.sleep(TRIES_AGAIN_AFTER_S)
    return reader if reader.has_ended else _Reader()


def _read_once(client: Client, turn_id: str, reader: _Reader) -> None:
    connection = HTTPConnection("127.0.0.1", client.port, timeout=TIMEOUT_S)
    resumed = {"Last-Event-ID": reader.last_id} if reader.last_id else {}
    try:
        connection.request("GET", f"/api/v1/turns/{turn_id}/events", headers={**client.headers, **resumed})
        reader.read(connection.getresponse())
    finally:
        connection.close()


def _open_slowly(client: Client, turn_id: str) -> socket.socket:
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    opened.settimeout(TIMEOUT_S)
    opened.connect(("127.0.0.1", client.port))
    headers = "".join(f"{name}: {value}\r\n" for name, value in client.headers.items())
    opened.sendall(
        f"GET /api/v1/turns/{turn_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode()
    )
    return opened
