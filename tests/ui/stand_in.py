"""A server for the browser tests: given pages, the real static files and policy, and a stream the test feeds."""

import asyncio
import mimetypes
import threading
from collections.abc import Callable
from urllib.parse import parse_qs

import uvicorn
from csp.utils import build_policy

from tests.ui.sources import STATIC

Answer = tuple[int, str]  # a status with its HTML, or a redirect with its address


class StandIn:
    """Serves ``answers`` by path, each called with the posted form, and ``/stand-in/stream`` frame by frame."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[dict[str, str]], Answer]] = {}
        self.posts: list[tuple[str, dict[str, str]]] = []
        self.resumed_after: list[str] = []  # the Last-Event-ID of each connection to the stream
        self._frames: list[str] = []
        self._cuts = 0
        self._changed = asyncio.Event()
        self._policy = build_policy().encode()
        config = uvicorn.Config(self._app, interface="asgi3", port=0, log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._is_serving = threading.Event()

    def __enter__(self) -> "StandIn":
        self._server.startup = self._announcing(self._server.startup)  # type: ignore[method-assign]
        self._thread.start()
        assert self._is_serving.wait(timeout=10)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=10)

    def emit(self, html: str) -> None:
        """One more event with an id; every reader gets it, now or after reconnecting."""
        data = "\n".join(f"data: {line}" for line in html.split("\n"))
        self._change(lambda: self._frames.append(f"id: {len(self._frames) + 1}\n{data}\n\n"))

    def end(self) -> None:
        self._change(lambda: self._frames.append("event: end\ndata: completed\n\n"))

    def cut(self) -> None:
        """Close the open streams without an end, as a restarted server does."""

        def cut() -> None:
            self._cuts += 1

        self._change(cut)

    def _change(self, change: Callable[[], None]) -> None:
        def apply() -> None:
            change()
            self._changed.set()
            self._changed = asyncio.Event()

        self._loop.call_soon_threadsafe(apply)

    def _announcing(self, startup):
        async def start(*args, **kwargs):
            self._loop = asyncio.get_running_loop()
            await startup(*args, **kwargs)
            self._is_serving.set()

        return start

    async def _app(self, scope, receive, send) -> None:
        path = scope["path"]
        if path == "/stand-in/stream":
            await self._stream(dict(scope["headers"]).get(b"last-event-id", b"").decode(), send)
        elif path.startswith("/static/"):
            file = STATIC / path.removeprefix("/static/")
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            await self._respond(send, 200, file.read_bytes(), kind)
        else:
            form = {key: values[0] for key, values in parse_qs(await _body(receive)).items()}
            if scope["method"] == "POST":
                self.posts.append((path, form))
            status, html = self.answers.get(path, lambda _: (404, ""))(form)
            if status == 302:
                await self._redirect(send, html)
            else:
                await self._respond(send, status, html.encode(), "text/html; charset=utf-8")

    async def _respond(self, send, status: int, body: bytes, kind: str) -> None:
        headers = [(b"content-type", kind.encode()), (b"content-security-policy", self._policy)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _redirect(self, send, address: str) -> None:
        await send(
            {"type": "http.response.start", "status": 302, "headers": [(b"location", address.encode())]}
        )
        await send({"type": "http.response.body", "body": b""})

    async def _stream(self, last_event_id: str, send) -> None:
        self.resumed_after.append(last_event_id)
        at, cuts = int(last_event_id or 0), self._cuts
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while self._cuts == cuts:
            changed = self._changed
            while at < len(self._frames):
                await send(
                    {"type": "http.response.body", "body": self._frames[at].encode(), "more_body": True}
                )
                at += 1
            if self._frames and self._frames[-1].startswith("event: end"):
                break
            await changed.wait()
        await send({"type": "http.response.body", "body": b""})


async def _body(receive) -> str:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body.decode()
