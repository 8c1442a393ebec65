"""Every way a model call fails, as a type that says what can be done about it."""

from typing import ClassVar

from memoryapp.errors import MemoryAppError


class ModelError(MemoryAppError):
    """A model call failed.

    ``is_retryable``: the same request may succeed later without anyone changing anything.
    ``retry_after_s``: how long the provider asked to wait, when it said.
    """

    code: ClassVar[str] = "model_error"
    http_status: ClassVar[int] = 502
    is_retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after_s: float | None = None, **details: object) -> None:
        super().__init__(message, **details)
        self.retry_after_s = retry_after_s


class Overloaded(ModelError):
    """529 or 503, or an ``overloaded_error`` event after a 200."""

    code = "model_overloaded"
    is_retryable = True


class RateLimited(ModelError):
    """429 with a time to wait."""

    code = "model_rate_limited"
    is_retryable = True


class SpendLimitReached(ModelError):
    """402, or 429 without a time to wait: retrying cannot help, a person has to act."""

    code = "model_spend_limit"


class AuthenticationFailed(ModelError):
    """401 or 403: the key is wrong, expired, or may not use this model."""

    code = "model_authentication"


class ModelNotFound(ModelError):
    """404: no such model at this provider."""

    code = "model_not_found"


class ContextTooLong(ModelError):
    """The prompt does not fit the model's window.

    Where the provider tells, ``details`` has ``prompt_tokens``, its count of the prompt, and ``limit_tokens``.
    """

    code = "model_context_too_long"


class RequestRejected(ModelError):
    """400, 413 or 422 for any other reason: a defect of ours, worth a log entry."""

    code = "model_request_rejected"


class ProviderFailed(ModelError):
    """5xx, or an error event after a 200 that is not an overload."""

    code = "model_provider_failed"
    is_retryable = True


class Unreachable(ModelError):
    """No connection: refused, DNS, TLS."""

    code = "model_unreachable"
    is_retryable = True


class TimedOut(ModelError):
    """The provider stayed silent longer than allowed."""

    code = "model_timed_out"
    is_retryable = True


class StreamBroken(ModelError):
    """The stream was cut, or ended without a stop reason."""

    code = "model_stream_broken"
    is_retryable = True


class Cancelled(ModelError):
    """Someone pressed stop."""

    code = "cancelled"
