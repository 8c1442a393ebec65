"""The vendor's SDK, all of it that we touch: one shared client, three calls, only ``ModelError`` out.

Importing this module imports ``anthropic`` (1.5 s of CPU, 80 MB), so ``memoryapp.llm.claude`` does it on
first use.
"""

import json
import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
from anthropic.lib.streaming import MessageStream, MessageStreamManager

from memoryapp.conf import Conf
from memoryapp.llm.base import (
    Block,
    Cancellation,
    Completed,
    ModelLimits,
    ModelReply,
    RedactedThinking,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ThinkingStarted,
    ToolUse,
    ToolUseStarted,
    Usage,
)
from memoryapp.llm.errors import Cancelled, StreamBroken
from memoryapp.llm.failures import as_model_error
from memoryapp.llm.messages_wire import Json

_DEFAULT_BASE_URL = "https://api.anthropic.com"
# Servers reached by base URL alone want no key, but the SDK does not send a request without one.
_PLACEHOLDER_KEY = "not-needed"
# Counting and looking up a model answer within a second or not at all; no turn waits longer for them.
_QUICK_TIMEOUT_S = 10.0

# At DEBUG these loggers print whole prompts and headers, whatever level the application chose for its own.
for _name in ("anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class MessagesApi:
    """One client for all threads. Its pool allows 1,000 connections at once; each open stream holds one."""

    def __init__(self, conf: Conf) -> None:
        base_url = (conf.anthropic_base_url or _DEFAULT_BASE_URL).rstrip("/").removesuffix("/v1")
        self._address = _without_credentials(base_url)
        self._quick_timeout_s = min(_QUICK_TIMEOUT_S, conf.model_timeout_s)
        self._client = anthropic.Anthropic(
            api_key=conf.anthropic_api_key.get_secret_value().strip() or _PLACEHOLDER_KEY,
            base_url=base_url,
            timeout=httpx2.Timeout(conf.model_timeout_s, connect=conf.model_connect_timeout_s),
            max_retries=0,  # its waits cannot be interrupted and have no upper limit; ClaudeModel retries
            open_telemetry=False,  # its spans could carry prompts
        )

    def stream(self, params: Json, cancellation: Cancellation) -> Iterator[StreamEvent]:
        """Make one call, without retries. ``params`` are those of ``messages.stream``."""
        interruption = _Interruption()
        try:
            with (
                self._failures_named(params["model"], cancellation),
                closing(_open(self._client.messages.stream(**params), cancellation)) as stream,
            ):
                interruption.attach(stream.response)
                cancellation.on_set(interruption.fire)
                yield from _events(stream, cancellation)
        finally:
            interruption.release()

    def count_tokens(self, params: Json) -> int:
        with self._failures_named(params["model"]):
            return self._client.messages.count_tokens(**params, timeout=self._quick_timeout_s).input_tokens

    def limits(self, model: str) -> ModelLimits:
        """What the provider says of ``model``; zeros for what it leaves out."""
        with self._failures_named(model):
            info = self._client.models.retrieve(model, timeout=self._quick_timeout_s)
        return ModelLimits(
            window_tokens=info.max_input_tokens or 0,
            max_output_tokens=info.max_tokens or 0,
        )

    @contextmanager
    def _failures_named(self, model: str, cancellation: Cancellation | None = None) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 — the edge to the SDK, which documents only part of what it raises
            if cancellation is not None and cancellation.is_set:
                raise Cancelled("Stopped.") from None
            # Without its cause: that quotes the provider's answer, and a log must hold no one's words.
            raise as_model_error(error, model=model, address=self._address) from None


def _without_credentials(base_url: str) -> str:
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _open(manager: "MessageStreamManager[None]", cancellation: Cancellation) -> "MessageStream[None]":
    """Send the request and return once the response's headers are there, or raise ``Cancelled`` as soon as
    asked.

    Resolving, connecting and waiting for headers cannot be interrupted from another thread, so a thread of
    its own does that; abandoned, it closes what it gets and ends, at the latest when the request times out.
    """
    opening: Future[MessageStream[None]] = Future()
    is_settled = threading.Event()
    opening.add_done_callback(lambda _: is_settled.set())
    threading.Thread(target=_enter, args=(manager, opening), name="model-open", daemon=True).start()
    cancellation.on_set(is_settled.set)
    is_settled.wait()
    if cancellation.is_set:
        opening.add_done_callback(_discard)
        raise Cancelled("Stopped.")
    return opening.result()


def _enter(manager: "MessageStreamManager[None]", opening: "Future[MessageStream[None]]") -> None:
    try:
        stream = manager.__enter__()
    except Exception as error:  # noqa: BLE001 — raised again, in the thread that waits
        opening.set_exception(error)
    else:
        opening.set_result(stream)


def _discard(opening: "Future[MessageStream[None]]") -> None:
    if opening.exception() is None:
        opening.result().close()


class _Interruption:
    """Wakes a thread that is blocked reading one response.

    Closing a response from another thread leaves the reader asleep in ``recv``; shutting its socket down
    wakes it. After ``release`` the connection may serve another call, and nothing happens.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def attach(self, response: httpx2.Response) -> None:
        network_stream = response.extensions.get("network_stream")
        with self._lock:
            self._socket = network_stream and network_stream.get_extra_info("socket")

    def fire(self) -> None:
        with self._lock, suppress(OSError):
            if self._socket is not None:
                # Not the method of SSLSocket, which also drops the TLS state that the reader is using.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def release(self) -> None:
        with self._lock:
            self._socket = None


def _events(stream: "MessageStream[None]", cancellation: Cancellation) -> Iterator[StreamEvent]:
    tool_inputs: dict[int, str] = {}
    is_complete = False
    for event in stream:
        if cancellation.is_set:
            raise Cancelled("Stopped.")
        if event.type == "content_block_start":
            yield from _started(event.content_block)
        elif event.type == "content_block_delta" and event.delta.type == "text_delta" and event.delta.text:
            yield TextDelta(event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            tool_inputs[event.index] = tool_inputs.get(event.index, "") + event.delta.partial_json
        elif event.type == "message_stop":
            is_complete = True
            break
    if not is_complete:
        # A server that dies politely ends the body early, and the SDK reports nothing.
        raise StreamBroken("The model's reply ended before it was complete. Try again.")
    reply = _reply(stream.current_message_snapshot, tool_inputs)
    # Read to the end of the body, so that the connection can be used again; the reply is whole whatever comes
    # there.
    with suppress(Exception):
        stream.until_done()
    if cancellation.is_set:
        raise Cancelled("Stopped.")
    yield Completed(reply)


# The SDK's content blocks are a union of some twenty classes, of which servers may add more: told apart by
# ``type``.
def _started(block: Any) -> Iterator[StreamEvent]:
    if block.type in ("thinking", "redacted_thinking"):
        yield ThinkingStarted()
    elif block.type == "tool_use":
        yield ToolUseStarted(id=block.id, name=block.name)


def _reply(message: Any, tool_inputs: dict[int, str]) -> ModelReply:
    if message.stop_reason is None:
        raise StreamBroken("The model's reply ended without a stop reason. Try again.")
    is_whole = message.stop_reason == "tool_use"
    blocks = [
        _block(content, tool_inputs.get(index, ""), is_whole=is_whole)
        for index, content in enumerate(message.content)
    ]
    return ModelReply(
        message_id=message.id,
        model=message.model,
        blocks=tuple(block for block in blocks if block is not None),
        stop_reason=message.stop_reason,
        usage=_usage(message.usage),
    )


def _block(content: Any, tool_input: str, *, is_whole: bool) -> Block | None:
    match content.type:
        case "text":
            return Text(content.text) if content.text else None
        case "thinking":
            return Thinking(thinking=content.thinking, signature=content.signature)
        case "redacted_thinking":
            return RedactedThinking(data=content.data)
        case "tool_use":
            return ToolUse(
                id=content.id, name=content.name, input=_tool_input(content, tool_input, is_whole=is_whole)
            )
        case _:
            return None  # blocks of server-side tools, which we never offer


def _tool_input(content: Any, said: str, *, is_whole: bool) -> Json:
    """The tool's arguments. The SDK completes broken JSON by guessing, so a whole call is parsed again,
    strictly.
    """
    try:
        parsed = json.loads(said) if said and is_whole else content.input
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    if not is_whole:
        return {}
    raise StreamBroken("The model's tool call arrived damaged and was not run. Try again.")


def _usage(usage: Any) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_creation_tokens=usage.cache_creation_input_tokens or 0,
    )
