"""A real MCP server on loopback, by the official library: a few tools, a bearer token, and a record of what came in."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN = "tk-very-secret-7f3a9c"
PICTURE = b"\x89PNG" + bytes(96)


@dataclass
class RunningServer:
    """``begun``, ``has_ended``: of the slow tool. ``keys``, ``texts``: what came with each call of ``echo``."""

    url: str
    tools: MCPServer
    request_count: int = 0
    keys: list[object] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    has_ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def running_mcp_server(*, is_streamed: bool = True, is_old: bool = False) -> Iterator[RunningServer]:
    """``is_streamed``: answers as events; else as JSON. ``is_old``: knows the protocols before 2026 only."""
    tools = MCPServer("tests")
    listener = socket.create_server(("127.0.0.1", 0))
    server = RunningServer(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", tools)
    _add_tools(server)
    app = tools.streamable_http_app(json_response=not is_streamed)
    with serving(_guarded(app, server, is_old=is_old), listener):
        yield server


@contextmanager
def running(app: ASGIApp) -> Iterator[str]:
    """The address of an application that is no MCP server."""
    listener = socket.create_server(("127.0.0.1", 0))
    with serving(app, listener):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


@contextmanager
def serving(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """The application in a thread, until the end of the block."""
    web = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="auto", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=lambda: asyncio.run(web.serve([listener])), name="mcp server")
    thread.start()
    try:
        yield
    finally:
        web.should_exit = True
        thread.join(10)
        listener.close()
        assert not thread.is_alive()


def answering(status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> ASGIApp:
    """Says the same to everyone."""
    named = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": status, "headers": named})
            await send({"type": "http.response.body", "body": body})

    return answer


def listing(tools: str, *, answer: str = "{}") -> ASGIApp:
    """A server of the protocols before 2026 that says what no library would.

    ``tools``, and ``answer`` to every call, are JSON or nearly, and sent as they are.
    """

    async def speak(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        message = json.loads((await receive())["body"]) if scope["method"] == "POST" else {}
        results = {
            "initialize": json.dumps(
                {
                    "protocolVersion": message.get("params", {}).get("protocolVersion"),
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"},
                }
            ),
            "tools/list": f'{{"tools": {tools}}}',
            "tools/call": answer,
        }
        result = results.get(message.get("method", ""))
        status = 202 if "id" not in message else 404 if result is None else 200
        body = f'{{"jsonrpc": "2.0", "id": {json.dumps(message.get("id"))}, "result": {result}}}'
        headers = {"content-type": "application/json"}
        await answering(status, headers, body.encode() if status == 200 else b"")(scope, receive, send)

    return speak


def hanging() -> ASGIApp:
    """Never answers, until the caller has gone."""

    async def hang(scope: Scope, receive: Receive, send: Send) -> None:
        while scope["type"] == "http" and (await receive())["type"] != "http.disconnect":
            pass

    return hang


def _guarded(app: ASGIApp, server: RunningServer, *, is_old: bool) -> ASGIApp:
    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http":
            server.request_count += 1
        if scope["type"] == "http" and headers.get(b"authorization") != f"Bearer {TOKEN}".encode():
            await answering(401)(scope, receive, send)
        elif is_old and headers.get(b"mcp-method") == b"server/discover":
            await answering(404)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return guarded


def _add_tools(server: RunningServer) -> None:
    tools = server.tools

    @tools.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def echo(text: str, context: Context) -> str:
        """Says it again."""
        server.keys.append((context.request_context.meta or {}).get("idempotencyKey"))
        server.texts.append(text)
        return text

    @tools.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @tools.tool()
    def fail(why: str) -> str:
        """Never works."""
        raise ToolError(why)

    @tools.tool()
    async def wait() -> str:
        """Takes a minute."""
        server.begun.set()
        try:
            await anyio.sleep(60)
        finally:
            server.has_ended.set()
        return "done"

    @tools.tool(structured_output=False)
    def flood() -> str:
        """Says 10 MB."""
        return "x" * 10_000_000

    @tools.tool()
    def weather(city: str) -> dict[str, object]:
        """Degrees in a city."""
        return {"city": city, "celsius": 21}

    @tools.tool(structured_output=False)
    def picture() -> list[object]:
        """A picture with its title."""
        return ["A title", Image(data=PICTURE, format="png")]

    @tools.tool(structured_output=False)
    def who_am_i(context: Context) -> str:
        """Tells the caller's token to everyone."""
        return f"You came with {TOKEN}."
