"""Talks to one MCP server at a time, by the official client over streamable HTTP.

Synchronous: a turn has a thread of its own, and each exchange an event loop that ends with it, connections and all.
Whatever goes wrong comes out as one ``McpError``, whose words may hold the server's, and never its token.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Implementation,
    RequestParamsMeta,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)

from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import Cancellation
from memoryapp.tooling.listing import MAX_TOOLS, ListedTool, visible
from memoryapp.tooling.models import McpServer
from memoryapp.tooling.secrets import unseal

# Of one answer. Far more than a model reads, and little enough for sixteen turns at once.
MAX_ANSWER_BYTES: Final = 1_000_000
_MAX_PAGES: Final = 8  # of a listing: a server that always has another page would never end
_MAX_LISTING_S: Final = 30.0  # a thread of the web server waits for it
_MAX_QUOTED_CHARS: Final = 2_000  # of what a server says about an error
_OURSELVES: Final = Implementation(name="strata", version="1")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Result = TypeVar("Result")


class McpError(MemoryAppError):
    """A server of tools did not do what it was asked."""

    code = "mcp_failed"
    http_status = 502


class McpUnreachableError(McpError):
    """Nobody answers at its address, or the connection broke."""

    code = "mcp_unreachable"


class McpUnauthorisedError(McpError):
    """It does not accept its token (401 or 403)."""

    code = "mcp_unauthorised"


class McpTimedOutError(McpError):
    """Whether the tool did its work is not known."""

    code = "mcp_timed_out"
    http_status = 504


class McpStoppedError(McpError):
    """A person stopped the run, or its time was up. Whether the tool did its work is not known."""

    code = "mcp_stopped"


class McpAnswerTooLongError(McpError):
    code = "mcp_answer_too_long"


class McpToolError(McpError):
    """The tool says itself that it failed; the message is what it says."""

    code = "mcp_tool_failed"


@dataclass(slots=True)
class _Wire:
    """What an exchange came to on the level of HTTP, which the client's own errors do not say."""

    status: int = 0  # of the last request that carried a message
    is_answer_too_long: bool = False

    async def note(self, response: httpx2.Response) -> None:
        if response.request.method == "POST":
            self.status = response.status_code
        # We ask for none; a bomb of a few kilobytes must not unfold behind the counter.
        is_packed = response.headers.get("Content-Encoding", "identity").lower() != "identity"
        response.stream = _Counted(response.stream, self, limit_bytes=0 if is_packed else MAX_ANSWER_BYTES)


class _Counted(httpx2.AsyncByteStream):
    """A body that breaks off when it grows too long."""

    def __init__(self, stream: Any, wire: _Wire, *, limit_bytes: int) -> None:  # httpx2's union of streams
        self._stream = stream
        self._wire = wire
        self._left_bytes = limit_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left_bytes -= len(chunk)
            if self._left_bytes < 0:
                self._wire.is_answer_too_long = True
                raise httpx2.ReadError("The answer is too long.")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def list_tools(server: McpServer) -> Sequence[ListedTool]:
    """All tools that the server offers, in its order, a few more than are ever used. Raises ``McpError``.

    Takes the server's time-out, and never more than half a minute.
    """

    async def every_page(client: Client) -> list[Tool]:
        page = await client.list_tools()
        tools = list(page.tools)
        for _ in range(_MAX_PAGES - 1):
            if not page.next_cursor or len(tools) > 2 * MAX_TOOLS:
                break
            page = await client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        return tools

    timeout_s = min(server.timeout_s, _MAX_LISTING_S)
    return [_listed(tool) for tool in _exchange(server, every_page, Cancellation(), timeout_s)]


def call_tool(
    server: McpServer,
    name: str,
    arguments: dict[str, Any],  # JSON
    *,
    idempotency_key: str,
    cancellation: Cancellation,
) -> str:
    """What the tool answers, as text. Raises ``McpError``; soon after ``cancellation`` is set, ``McpStoppedError``."""

    # Open to keys of anybody's, which its declared type cannot say yet.
    meta = cast("RequestParamsMeta", {"idempotencyKey": idempotency_key})

    async def call(client: Client) -> CallToolResult:
        return await client.call_tool(name, arguments, meta=meta)

    result = _exchange(server, call, cancellation, server.timeout_s)
    text = _safe(server, _text_of(result))
    if result.is_error:
        raise McpToolError(
            text[:_MAX_QUOTED_CHARS] or f"The tool failed, and {server.name} does not say why."
        )
    return text


def _exchange(
    server: McpServer,
    work: Callable[[Client], Awaitable[Result]],
    cancellation: Cancellation,
    timeout_s: float,
) -> Result:
    """Connect, do the work, disconnect, all within the time."""
    token = unseal(server.sealed_token)
    wire = _Wire()

    async def within_time() -> Result:
        with anyio.move_on_after(timeout_s) as scope:
            cancellation.on_set(_from_other_threads(scope.cancel))
            async with _connected(server, token, wire) as client:
                return await work(client)
        if cancellation.is_set:
            raise McpStoppedError(f"The call of {server.name} was stopped.")
        raise McpTimedOutError(f"{server.name} did not answer within {timeout_s:g} seconds.")

    try:
        return asyncio.run(within_time())
    except (ExceptionGroup, MCPError, httpx2.HTTPError, ValueError, RuntimeError, OSError) as error:
        # Without the cause: it quotes what the server sent.
        raise _failure(server, wire, list(_leaves(error))) from None


@asynccontextmanager
async def _connected(server: McpServer, token: str, wire: _Wire) -> AsyncIterator[Client]:
    headers = {"Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient(
        headers=headers, timeout=server.timeout_s, event_hooks={"response": [wire.note]}
    ) as http:
        # It follows a redirect to the same origin only: the token goes nowhere else.
        transport = streamable_http_client(server.url, http_client=http, max_sse_event_size=MAX_ANSWER_BYTES)
        async with Client(transport, client_info=_OURSELVES, cache=None) as client:
            client.session.validate_tool_result = _unchecked  # type: ignore[method-assign]
            yield client


async def _unchecked(name: str, result: CallToolResult) -> None:
    """Answers are not held against the server's own schema of them, which costs a listing for each call.

    A regular expression in it could stop this whole process; and an answer that breaks it is still what was answered.
    """


def _from_other_threads(callback: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()

    def call() -> None:
        with suppress(RuntimeError):  # the exchange is over, and its loop closed
            loop.call_soon_threadsafe(callback)

    return call


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _failure(server: McpServer, wire: _Wire, errors: Sequence[BaseException]) -> McpError:
    name, status = server.name, wire.status
    told = [error.message for error in errors if isinstance(error, MCPError) and _is_told(error, wire)]
    words = _safe(server, visible(told[0]))[:_MAX_QUOTED_CHARS] if told else ""
    tests: Sequence[tuple[bool, type[McpError], str]] = (
        (
            wire.is_answer_too_long,
            McpAnswerTooLongError,
            f"answered with more than {MAX_ANSWER_BYTES:,} bytes",
        ),
        (
            status in {401, 403},
            McpUnauthorisedError,
            f"does not accept its token ({status})",
        ),
        (300 <= status < 400, McpError, "sends callers on to another address, which is not followed"),
        (status >= 500, McpUnreachableError, f"is out of order at the moment ({status})"),
        (any(map(_is_of_network, errors)), McpUnreachableError, f"cannot be reached at {server.host}"),
        (bool(told), McpError, f"refused: {words}"),
        (status >= 400, McpError, f"does not speak MCP at its address ({status}); an admin can correct it"),
    )
    kind, what = next(
        ((kind, what) for is_so, kind, what in tests if is_so), (McpError, "does not answer as MCP demands")
    )
    return kind(f"{name} {what}.")


def _is_of_network(error: BaseException) -> bool:
    return isinstance(error, httpx2.HTTPError | OSError)


def _is_told(error: MCPError, wire: _Wire) -> bool:
    """Whether the words are the server's own: the client makes errors up for what is not one."""
    made_up = {PARSE_ERROR, CONNECTION_CLOSED, INVALID_REQUEST}
    if wire.status >= 400:
        made_up |= {INTERNAL_ERROR, METHOD_NOT_FOUND}
    return error.code not in made_up


def _safe(server: McpServer, text: str) -> str:
    """In a form that can be stored, and without the token, should the server have sent it back."""
    token = unseal(server.sealed_token)
    text = text.replace(token, "[token]") if token else text
    return _UNSTORABLE.sub("\ufffd", text)


def _listed(tool: Tool) -> ListedTool:
    hints = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
    return ListedTool(tool.name, tool.description or "", tool.input_schema, hints)


def _text_of(result: CallToolResult) -> str:
    """Text as it is, structured content as JSON unless the text says the same, the rest by name."""
    parts = [_part(block) for block in result.content]
    data = result.structured_content
    if data is not None and not _says(parts, data):
        parts.append(json.dumps(data, ensure_ascii=False))
    return "\n".join(parts)


def _part(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text) | EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case ImageContent(mime_type=kind) | AudioContent(mime_type=kind):
            return f"[{kind}, {len(block.data) * 3 // 4:,} bytes, not shown]"
        case ResourceLink(name=name, uri=uri):
            return f"[{name}: {uri}]"
        case EmbeddedResource(resource=resource):
            return f"[{resource.uri}, not shown]"


def _says(parts: Sequence[str], data: object) -> bool:
    """Servers repeat structured content as text; the official one wraps what is no object in ``{"result": …}``."""
    said = [*parts, *map(_parsed, parts)]
    return data in said or (isinstance(data, dict) and data.keys() == {"result"} and data["result"] in said)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
