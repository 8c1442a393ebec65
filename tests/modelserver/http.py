"""HTTP/1.1 over asyncio streams and h11: as little as the model server needs, with every way to misbehave."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import h11

MAX_BODY_BYTES = 33 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HangupError(Exception):
    """The connection is to be closed at once."""


class Response:
    """Writes one response."""

    def __init__(self, connection: h11.Connection, writer: asyncio.StreamWriter) -> None:
        self._connection = connection
        self._writer = writer
        self.has_begun = False

    async def send_json(self, status: int, value: Any, headers: tuple[tuple[str, str], ...] = ()) -> None:
        body = json.dumps(value).encode()
        await self.begin(
            status, (("content-type", "application/json"), ("content-length", str(len(body))), *headers)
        )
        await self.write(body)
        await self.end()

    async def begin(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        self.has_begun = True
        await self._send(h11.Response(status_code=status, headers=list(headers)))

    async def write(self, data: bytes) -> None:
        if data:
            await self._send(h11.Data(data=data))

    async def end(self) -> None:
        await self._send(h11.EndOfMessage())

    async def _send(self, event: Any) -> None:
        self._writer.write(self._connection.send(event) or b"")
        await self._writer.drain()


class PeerWatch:
    """Notices, while a response is written, that the client hangs up."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._task = asyncio.ensure_future(reader.read(1))

    async def run(self, waiting: Awaitable[Any]) -> None:
        """Await ``waiting``, or raise ``HangupError`` when the client goes first."""
        task = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait({task, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise HangupError
        finally:
            task.cancel()

    async def stop(self) -> bytes | None:
        """What was read ahead (a next request's first byte, perhaps); None when the client has left."""
        if not self._task.done():
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            return b""
        return None if self._task.exception() else self._task.result() or None


Handler = Callable[[Request, Response, PeerWatch], Awaitable[None]]


async def serve_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler
) -> None:
    """Serve requests on one connection until either side ends it."""
    connection = h11.Connection(h11.SERVER)
    try:
        while (request := await _read_request(connection, reader)) is not None:
            watch = PeerWatch(reader)
            try:
                await handler(request, Response(connection, writer), watch)
            finally:
                read_ahead = await watch.stop()
            is_done = connection.our_state is h11.DONE and connection.their_state is h11.DONE
            if not is_done or read_ahead is None:
                break
            connection.start_next_cycle()
            if read_ahead:
                connection.receive_data(read_ahead)
    except (HangupError, OSError, h11.ProtocolError):
        writer.transport.abort()
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _read_request(connection: h11.Connection, reader: asyncio.StreamReader) -> Request | None:
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(65_536))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY_BYTES:
                raise HangupError
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
            return Request(head.method.decode(), head.target.decode(), headers, bytes(body))
        else:
            return None
