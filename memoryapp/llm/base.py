"""What a chat model is to the rest of the application: one protocol, plain data in, events out.

Nothing here knows a vendor. Implementations live beside this module and all pass the same contract suite
(``tests/llm/contract.py``).
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text. ``cache_mark`` asks the provider to cache the prompt up to and including this block."""

    text: str
    cache_mark: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that the user sent: ``data`` is the file in base64, ``media_type`` PNG, JPEG, GIF or WebP."""

    media_type: str
    data: str
    cache_mark: bool = False


@dataclass(frozen=True, slots=True)
class Thinking:
    """A thinking block, opaque: it goes back unmodified within a run and is dropped afterwards."""

    thinking: str
    signature: str


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """An encrypted thinking block, returned unmodified like ``Thinking``."""

    data: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model asks for a tool. ``input`` is a JSON object that no one has validated yet."""

    id: str
    name: str
    input: Mapping[str, Any]  # JSON: any schema a tool declares


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one ``ToolUse``; in a user message all results come before any text."""

    tool_use_id: str
    content: str
    is_error: bool = False
    cache_mark: bool = False


Block = Text | Image | Thinking | RedactedThinking | ToolUse | ToolResult


@dataclass(frozen=True, slots=True)
class ModelMessage:
    role: Role
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model sees it. ``input_schema`` is a JSON schema of type object."""

    name: str
    description: str
    input_schema: Mapping[str, Any]  # JSON schema


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. ``model`` is the provider's name; ``system`` and ``tools`` are static from turn to turn."""

    model: str
    system: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolDefinition, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reported them; total input is ``input + cache_read + cache_creation``."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0

    @property
    def total_input_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_creation_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_creation_tokens + other.cache_creation_tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A finished reply. Tools may be run only when ``stop_reason == "tool_use"``."""

    message_id: str
    model: str
    blocks: tuple[Block, ...]
    stop_reason: str
    usage: Usage

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingStarted:
    """The model began to think; the content is not shown."""


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The provider could not answer yet; the same call is made again in ``wait_s`` seconds.

    Comes only before anything of the reply was yielded. ``reason`` is the ``code`` of the error that is
    waited out; ``attempt`` counts the calls made so far.
    """

    wait_s: float
    reason: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Completed:
    """Always the last event of a stream that ended well."""

    reply: ModelReply


StreamEvent = Retrying | TextDelta | ThinkingStarted | ToolUseStarted | Completed


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """``window_tokens`` bounds input plus output; ``max_output_tokens`` bounds one reply."""

    window_tokens: int
    max_output_tokens: int


@dataclass(slots=True)
class Cancellation:
    """A stop request that crosses threads, so that a silent model can be interrupted.

    ``set`` may be called once or many times from any thread; each callback runs exactly once, in the thread
    that sets (or at once, in the registering thread, when it is already set). Callbacks must not raise.
    """

    _event: threading.Event = field(default_factory=threading.Event)
    _callbacks: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_set(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def wait(self, timeout_s: float) -> bool:
        """Sleep up to ``timeout_s`` seconds; true as soon as a stop is asked for."""
        return self._event.wait(timeout_s)


class ChatModel(Protocol):
    """A model that can hold a conversation with tools.

    Thread-safe: one instance serves all worker threads. Every failure is a
    ``memoryapp.llm.errors.ModelError``; no vendor exception leaves the room.
    """

    name: str

    def stream(
        self, request: ModelRequest, cancellation: Cancellation, *, failed_attempts: int = 0
    ) -> Iterator[StreamEvent]:
        """Yield events as they arrive; the last one is ``Completed``.

        ``failed_attempts``: how often this request failed already. Whoever will not wait in this thread closes the
        iterator at a ``Retrying``, and asks again later with its ``attempt``.

        Raises ``Cancelled`` soon after ``cancellation`` is set, even while the provider is silent. A stream
        that ends without a stop reason raises ``StreamBroken``: partial text is never passed off as a
        finished reply.
        """
        ...

    def count_tokens(self, request: ModelRequest) -> int:
        """Input tokens of ``request`` by the provider's own count."""
        ...

    def limits(self, model: str) -> ModelLimits:
        """Limits of ``model``, from the provider where it tells, else from configuration."""
        ...
