"""The offline responder as a ``ChatModel``: it streams word by word, stops when asked, and counts like any
other.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator

from memoryapp.llm.base import (
    Block,
    Cancellation,
    Completed,
    ModelLimits,
    ModelReply,
    ModelRequest,
    StreamEvent,
    Text,
    TextDelta,
    ToolUse,
    ToolUseStarted,
    Usage,
)
from memoryapp.llm.configured import configured
from memoryapp.llm.errors import Cancelled, ContextTooLong
from memoryapp.llm.offline.prompt import read_prompt
from memoryapp.llm.offline.responder import PlannedCall, respond
from memoryapp.llm.tokens import estimate_block, estimate_request, estimate_text

# The longest text, a count to 500, is about 1,500 tokens.
_MAX_OUTPUT_TOKENS = 2_048
_WORD = re.compile(r"\s*\S+\s*|\s+")


class OfflineModel:
    """Answers without a key and without a network; see the package for what it can do.

    ``delay_s`` is the pause before each word: without it a reply would arrive at once, and streaming, stop
    and reload could not be seen. Equal requests give equal replies, ids included.
    """

    name = "offline"

    def __init__(self, *, delay_s: float = 0.015) -> None:
        self._delay_s = delay_s

    def stream(
        self, request: ModelRequest, cancellation: Cancellation, *, failed_attempts: int = 0
    ) -> Iterator[StreamEvent]:
        """As the protocol says; it has nothing to wait for. Raises ``ContextTooLong`` as a real model does."""
        del failed_attempts
        _refuse_if_set(cancellation, timeout_s=0)
        input_tokens = self.count_tokens(request)
        window_tokens = self.limits(request.model).window_tokens
        if input_tokens > window_tokens:
            raise ContextTooLong(
                "The conversation is longer than the built-in responder's window.",
                prompt_tokens=input_tokens,
                limit_tokens=window_tokens,
            )
        reply = respond(read_prompt(request))
        if reply.calls:
            yield from self._call(request, reply.calls, input_tokens, cancellation)
        else:
            yield from self._write(request, reply.text, input_tokens, cancellation)

    def count_tokens(self, request: ModelRequest) -> int:
        return estimate_request(request)

    def limits(self, model: str) -> ModelLimits:
        """As configured; it never writes more than it does, whatever is set for ``model``."""
        conf = configured()
        own = conf.for_model(model)
        return ModelLimits(
            window_tokens=own.window_tokens or conf.window_tokens,
            max_output_tokens=min(own.max_output_tokens or _MAX_OUTPUT_TOKENS, _MAX_OUTPUT_TOKENS),
        )

    def _call(
        self,
        request: ModelRequest,
        calls: tuple[PlannedCall, ...],
        input_tokens: int,
        cancellation: Cancellation,
    ) -> Iterator[StreamEvent]:
        digest = _digest(request)
        uses = tuple(
            ToolUse(id=f"toolu_offline_{digest}_{n}", name=call.name, input=call.input)
            for n, call in enumerate(calls)
        )
        for use in uses:
            _refuse_if_set(cancellation, timeout_s=self._delay_s)
            yield ToolUseStarted(use.id, use.name)
        yield _completed(digest, uses, "tool_use", input_tokens)

    def _write(
        self, request: ModelRequest, text: str, input_tokens: int, cancellation: Cancellation
    ) -> Iterator[StreamEvent]:
        shown = _within(text, min(request.max_tokens, self.limits(request.model).max_output_tokens))
        for word in _WORD.findall(shown):
            _refuse_if_set(cancellation, timeout_s=self._delay_s)
            yield TextDelta(word)
        stop_reason = "end_turn" if shown == text else "max_tokens"
        yield _completed(_digest(request), (Text(shown),), stop_reason, input_tokens)


def _refuse_if_set(cancellation: Cancellation, *, timeout_s: float) -> None:
    if cancellation.wait(timeout_s):
        raise Cancelled("The reply was stopped.")


def _completed(digest: str, blocks: tuple[Block, ...], stop_reason: str, input_tokens: int) -> Completed:
    usage = Usage(input_tokens=input_tokens, output_tokens=sum(estimate_block(block) for block in blocks))
    message_id = f"msg_offline_{digest}"
    return Completed(ModelReply(message_id, OfflineModel.name, blocks, stop_reason, usage))


def _within(text: str, max_tokens: int) -> str:
    """The longest whole-word beginning of ``text`` that fits; everything, nearly always."""
    if estimate_text(text) <= max_tokens:
        return text
    words = _WORD.findall(text)
    fitting = bisect_right(
        range(len(words)), max_tokens, key=lambda n: estimate_text("".join(words[: n + 1]))
    )
    return "".join(words[:fitting])


def _digest(request: ModelRequest) -> str:
    """Names one request: ids differ between the calls of a run and repeat when a call is repeated."""
    return hashlib.sha256(repr(request.messages).encode("utf-8", "surrogatepass")).hexdigest()[:16]
