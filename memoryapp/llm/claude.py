"""Claude, or whatever else speaks the Messages API at ``ANTHROPIC_BASE_URL``."""

import importlib
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

from memoryapp.conf import Conf
from memoryapp.llm import tokens
from memoryapp.llm.base import Cancellation, ModelLimits, ModelRequest, Retrying, StreamEvent
from memoryapp.llm.errors import Cancelled, ModelError, ModelNotFound, RequestRejected
from memoryapp.llm.messages_wire import encode_prompt

if TYPE_CHECKING:
    from memoryapp.llm.messages_api import MessagesApi

# A hiccup is over in half a second, an overload in half a minute: with four calls in all, 0.5 s, 4 s and 32 s reach
# over both (the SDK's own 0.5 s, 1 s, 2 s give up after four). Up to 25 % less, so that not all come at once.
_FIRST_WAIT_S = 0.5
_BACKOFF = 8.0
_LONGEST_BACKOFF_S = 32.0
# A provider that just failed to tell its limits is asked again after this long, not before every turn.
_LIMITS_RETRY_S = 60.0
_UNTOLD = ModelLimits(0, 0)


class ClaudeModel:
    """A ``ChatModel`` over the official SDK, which is imported at the first call.

    Retries what is retryable only while nothing of the reply was yielded, as often and as long as
    configuration allows, announcing each wait with ``Retrying``; a wait ends at once when the call is
    cancelled.
    """

    name = "claude"

    def __init__(
        self,
        conf: Conf,
        *,
        jitter: Callable[[], float] = random.random,
        configured: Callable[[], Conf] | None = None,
    ) -> None:
        """``configured``: what is configured for all models at this moment, if that can differ from ``conf``."""
        self._conf = conf
        self._configured = configured or (lambda: conf)
        self._jitter = jitter
        self._lock = threading.Lock()
        self._shared_api: MessagesApi | None = None
        self._told: dict[str, tuple[ModelLimits, float]] = {}

    def stream(
        self, request: ModelRequest, cancellation: Cancellation, *, failed_attempts: int = 0
    ) -> Iterator[StreamEvent]:
        params = {**encode_prompt(request), "max_tokens": request.max_tokens}
        for attempt in itertools.count(failed_attempts + 1):
            if cancellation.is_set:
                raise Cancelled("Stopped.")
            has_begun = False
            try:
                for event in self._api().stream(params, cancellation):
                    has_begun = True
                    yield event
            except ModelError as error:
                wait_s = None if has_begun else self._wait_s(error, attempt)
                if wait_s is None:
                    raise
                retrying = Retrying(wait_s=wait_s, reason=error.code, attempt=attempt)
            else:
                return
            yield retrying
            cancellation.wait(wait_s)

    def count_tokens(self, request: ModelRequest) -> int:
        """The provider's count, or the local estimate where the server cannot count (most local ones)."""
        try:
            return self._api().count_tokens(encode_prompt(request))
        except ModelNotFound:
            return tokens.estimate_request(request)

    def limits(self, model: str) -> ModelLimits:
        """What is configured for this very model, else what the provider tells, else what is configured for all."""
        own = self._conf.for_model(model)
        if own.window_tokens and own.max_output_tokens:
            return ModelLimits(own.window_tokens, own.max_output_tokens)
        told, conf = self._told_limits(model), self._configured()
        return ModelLimits(
            window_tokens=own.window_tokens or told.window_tokens or conf.window_tokens,
            max_output_tokens=own.max_output_tokens or told.max_output_tokens or conf.max_output_tokens,
        )

    def _told_limits(self, model: str) -> ModelLimits:
        """Zeros for what the provider does not say."""
        known, until = self._told.get(model, (None, 0.0))
        if known is not None and time.monotonic() < until:
            return known
        try:
            limits, until = self._api().limits(model), float("inf")
        except (ModelNotFound, RequestRejected):
            limits, until = _UNTOLD, float("inf")  # a server without that endpoint never answers it
        except ModelError:
            limits, until = _UNTOLD, time.monotonic() + _LIMITS_RETRY_S
        self._told[model] = (limits, until)
        return limits

    def _wait_s(self, error: ModelError, attempt: int) -> float | None:
        """How long to wait before the next attempt, or None when this was the last."""
        longest_s = self._conf.model_max_retry_wait_s
        if not error.is_retryable or attempt > self._conf.model_max_retries:
            return None
        if error.retry_after_s is not None:
            # Never earlier than asked, and not all at the same instant.
            return (
                error.retry_after_s * (1 + 0.1 * self._jitter()) if error.retry_after_s <= longest_s else None
            )
        backoff_s = min(_FIRST_WAIT_S * _BACKOFF ** (attempt - 1), _LONGEST_BACKOFF_S)
        return min(backoff_s * (1 - 0.25 * self._jitter()), longest_s)

    def _api(self) -> "MessagesApi":
        with self._lock:
            if self._shared_api is None:
                module = importlib.import_module("memoryapp.llm.messages_api")
                self._shared_api = cast("MessagesApi", module.MessagesApi(self._conf))
            return self._shared_api
