"""What the SDK raises, as the errors of this room.

An SDK exception quotes the provider's answer and, for a damaged tool call, the model's own words. None of
that may reach a log or a screen, so messages are written here, details hold only codes, and callers raise the
result ``from None``.
"""

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import anthropic
import httpx2

from memoryapp.llm.errors import (
    AuthenticationFailed,
    ContextTooLong,
    ModelError,
    ModelNotFound,
    Overloaded,
    ProviderFailed,
    RateLimited,
    RequestRejected,
    SpendLimitReached,
    StreamBroken,
    TimedOut,
    Unreachable,
)

# The texts for a prompt beyond the window: the API's own, then those of llama.cpp, vLLM, Ollama and gateways.
_TOO_LONG = re.compile(
    r"prompt is too long|exceed(s|ed)? (the )?context limit|context (length|window|size)"
    r"|exceeds? the (available|maximum) context|input is too long|too many (input )?tokens",
    re.IGNORECASE,
)
# How long the prompt was and how long it may be, where the API says so.
_LENGTHS = re.compile(
    r"prompt is too long: (?P<prompt>\d+) tokens > (?P<limit>\d+)"
    r"|exceed context limit: (?P<input>\d+) \+ \d+ > (?P<window>\d+)"
)
# A spent balance or a reached limit arrives as a plain 400, too.
_SPENT = re.compile(r"credit balance|spend(ing)? limit|usage limit|billing", re.IGNORECASE)
# "messages.3.content.0.text: …": the path says which rule was broken without quoting any text.
_FIELD = re.compile(r"^([a-z_]+(?:\.[a-z0-9_]+)*):")

# An error event after a 200 has only its type to go by.
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 408,
    "overloaded_error": 529,
}

_KINDS: dict[int, type[ModelError]] = {
    401: AuthenticationFailed,
    402: SpendLimitReached,
    403: AuthenticationFailed,
    404: ModelNotFound,
    408: TimedOut,
    409: ProviderFailed,  # two requests met at the provider; the same one passes a moment later
    429: RateLimited,
    503: Overloaded,
    504: TimedOut,
    529: Overloaded,
}

_MESSAGES: dict[type[ModelError], str] = {
    AuthenticationFailed: (
        "The model provider rejected the API key, or it may not use {model}. Check ANTHROPIC_API_KEY."
    ),
    SpendLimitReached: (
        "The model provider accepts no more requests: a spending or usage limit is reached. Waiting does not "
        "help; "
        "raise the limit or add credit in the provider's console."
    ),
    ModelNotFound: (
        "There is no model named {model} at {address}. Set STRATA_CHAT_MODEL and STRATA_CHEAP_MODEL to "
        "models that "
        "it offers, or correct ANTHROPIC_BASE_URL."
    ),
    RateLimited: "The model provider's rate limit is reached: it asks to wait {wait}.",
    Overloaded: "The model provider is overloaded. Try again in a minute.",
    TimedOut: "The model server at {address} took too long to answer. Try again.",
    ProviderFailed: "The model server at {address} failed (HTTP {status}). Try again.",
    ContextTooLong: "The conversation no longer fits the window of {model}.",
    RequestRejected: (
        "The model provider refused the request (HTTP {status}). Trying again will not help: this is a "
        "defect, and "
        "the server's log has its id."
    ),
}


def as_model_error(error: Exception, *, model: str, address: str) -> ModelError:
    """The ``ModelError`` for anything a call can raise. ``address`` is shown to people."""
    match error:
        case ModelError():
            return error
        case anthropic.APIStatusError():
            return _from_status(error, model=model, address=address)
        case anthropic.APIConnectionError():
            return _from_connection(error.__cause__ or error, address=address)
        case httpx2.HTTPError():
            return _from_connection(error, address=address)
        case UnicodeEncodeError():
            return RequestRejected(
                "The prompt holds characters that are not valid Unicode and cannot be sent."
            )
        case _:
            # Not JSON, events out of order, fields missing: whatever it was, it was not a whole reply.
            return StreamBroken(
                f"The model server at {address} sent an answer that cannot be read. Try again; if it stays "
                f"so, check "
                "that ANTHROPIC_BASE_URL names a server that speaks the Messages API.",
                cause=type(error).__name__,
            )


def _from_connection(cause: BaseException, *, address: str) -> ModelError:
    match cause:
        case (
            httpx2.ConnectError()
            | httpx2.ConnectTimeout()
            | httpx2.ProxyError()
            | httpx2.UnsupportedProtocol()
        ):
            return Unreachable(
                f"The model server at {address} cannot be reached. Check ANTHROPIC_BASE_URL and the network."
            )
        case httpx2.TimeoutException() | anthropic.APITimeoutError():
            return TimedOut(f"The model server at {address} stayed silent for too long. Try again.")
        case _:
            return StreamBroken(f"The connection to the model server at {address} broke off. Try again.")


def _from_status(error: anthropic.APIStatusError, *, model: str, address: str) -> ModelError:
    status = error.status_code
    if status < 400:
        status = _STATUS_OF_TYPE.get(error.type or "", 500)
    said = error.api_message or ""
    retry_after_s = parse_retry_after(error.response.headers)
    kind = _kind(error, status=status, said=said, retry_after_s=retry_after_s)
    wait = "a while" if retry_after_s is None else f"{math.ceil(retry_after_s)} s"
    message = _MESSAGES[kind].format(model=model, address=address, status=status, wait=wait)
    failure = kind(message, retry_after_s=retry_after_s)
    failure.details = _details(error, status=status, said=said)
    if isinstance(failure, ContextTooLong):
        failure.details |= _lengths(said)
    return failure


def _kind(
    error: anthropic.APIStatusError, *, status: int, said: str, retry_after_s: float | None
) -> type[ModelError]:
    if status == 429 and error.status_code == 429:
        # A limit that waiting resolves says for how long; one that a person must lift does not.
        is_spent = retry_after_s is None or "spend_limit" in (error.error_code or "")
        return SpendLimitReached if is_spent else RateLimited
    if status == 400 and _TOO_LONG.search(said):
        return ContextTooLong
    if status == 400 and _SPENT.search(said):
        return SpendLimitReached
    return _KINDS.get(status, ProviderFailed if status >= 500 else RequestRejected)


def _details(error: anthropic.APIStatusError, *, status: int, said: str) -> dict[str, object]:
    field = _FIELD.match(said)
    found = {
        "status": status,
        "type": error.type,
        "error_code": error.error_code,
        "request_id": error.request_id,
        "field": field.group(1) if field else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _lengths(said: str) -> dict[str, object]:
    found = _LENGTHS.search(said)
    if found is None:
        return {}
    return {
        "prompt_tokens": int(found["prompt"] or found["input"]),
        "limit_tokens": int(found["limit"] or found["window"]),
    }


def parse_retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds to wait, as asked: ``retry-after-ms``, or ``retry-after`` in seconds or as a date."""
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _seconds(said)
    return seconds if seconds is not None or said is None else _seconds_until(said)


def _seconds(said: str | None) -> float | None:
    try:
        number = float(said or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_until(said: str) -> float | None:
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    # "-0000" parses to a naive time, which HTTP defines as UTC.
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
