"""An MCP server with one tool, whose result says what its arguments do not."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from mcp.server import MCPServer

SLUG: Final = "notes"
_HOST: Final = "127.0.0.1"
_STOP_TIMEOUT_S: Final = 10.0


@contextmanager
def serving() -> Iterator[str]:
    """Its address, while it is there, on a thread of its own."""
    server = MCPServer(SLUG)

    @server.tool()
    def letter(backwards: str) -> str:
        """Read a letter by its name, written backwards."""
        return f"The letter says: {backwards[::-1]}"

    listener = socket.create_server((_HOST, 0))
    app = server.streamable_http_app(json_response=True)
    web = uvicorn.Server(
        uvicorn.Config(app, log_config=None, log_level="warning", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=lambda: asyncio.run(web.serve([listener])), name="note-server")
    thread.start()
    try:
        yield f"http://{_HOST}:{listener.getsockname()[1]}/mcp"
    finally:
        web.should_exit = True
        thread.join(_STOP_TIMEOUT_S)
        listener.close()
