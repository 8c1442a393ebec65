"""What every REST resource shares: problem documents, keyset cursors, preconditions, idempotency keys."""

import base64
import json
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext
from ninja import Schema
from ninja.parser import Parser
from pydantic import ConfigDict

from memoryapp.errors import InvalidInputError, MemoryAppError

MAX_PAGE = 200
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_TEXT = "A value holds what is not text (NUL or half of a character pair). Remove it and send again."
Row = TypeVar("Row", bound=Model)


class PreconditionRequiredError(MemoryAppError):
    code = "precondition_required"
    http_status = 428


class MalformedTextError(InvalidInputError):
    code = "malformed_text"


class Body(Schema):
    """What a request may send. A misspelt field is refused by name: ignored, it would be believed to work."""

    model_config = ConfigDict(extra="forbid")


class Problem(Schema):
    """RFC 9457. ``code`` is stable; ``detail`` says what to do."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str


# Every operation can answer with these; ninja leaves them out of the schema by itself.
PROBLEMS: dict[int, type[Problem]] = dict.fromkeys((400, 401, 403, 404, 422), Problem)


class ObjectParser(Parser):
    """Bodies are objects, and all text is text: refused at the edge, for every route alike.

    NUL and lone surrogates are JSON strings that neither Postgres nor UTF-8 can hold.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        body = super().parse_body(request)
        if not isinstance(body, dict):
            # Pydantic would read the attributes of a list or a string where all fields are optional.
            raise InvalidInputError('The body must be a JSON object: {"name": value, …}.')
        if not _is_text(body):
            raise MalformedTextError(_NOT_TEXT)
        return body

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        if not _is_text(dict(data.lists())):
            raise MalformedTextError(_NOT_TEXT)
        return super().parse_querydict(data, list_fields, request)


def problem(status: int, *, code: str, detail: str, **extra: object) -> HttpResponse:
    body = {
        "type": "about:blank",
        "title": _title(status),
        "status": status,
        "code": code,
        "detail": detail,
        **extra,
    }
    response = HttpResponse(json.dumps(body), status=status, content_type="application/problem+json")
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def problem_of(error: MemoryAppError) -> HttpResponse:
    response = problem(error.http_status, code=error.code, detail=str(error), **error.details)
    if "retry_after_s" in error.details:
        response["Retry-After"] = str(error.details["retry_after_s"])
    return response


def idempotency_key(request: HttpRequest) -> str:
    """The client's key, or a fresh one when it sent none (then a repeated request is a new one)."""
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > 200:
        raise InvalidInputError("An Idempotency-Key has at most 200 characters.")
    return key or str(uuid4())


def expected_version(request: HttpRequest) -> int:
    """The version the caller read, from ``If-Match``. Raises PreconditionRequiredError without one."""
    value = request.headers.get("If-Match", "").strip().removeprefix("W/").strip('"')
    if not value:
        raise PreconditionRequiredError('Send the version you read as If-Match, for example: If-Match: "3".')
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        raise InvalidInputError("If-Match holds the number of a version.")
    return int(value)


def page(
    rows: QuerySet[Row], *, order: tuple[str, str], cursor: str, limit: int
) -> tuple[Sequence[Row], str | None]:
    """One keyset page of ``rows`` and the cursor of the next one (None on the last).

    ``order``: two field names, "-" for descending, both in the same direction; the second is unique.
    """
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInputError(f"limit lies between 1 and {MAX_PAGE}.")
    is_descending = order[0].startswith("-")
    first, second = (name.removeprefix("-") for name in order)
    if cursor:
        last_first, last_second = _decoded(cursor)
        side = "lt" if is_descending else "gt"
        try:
            rows = rows.filter(
                Q(**{f"{first}__{side}": last_first})
                | Q(**{first: last_first, f"{second}__{side}": last_second})
            )
        except (ValueError, TypeError, ValidationError) as error:
            raise _bad_cursor() from error
    found = list(rows.order_by(*order)[: limit + 1])
    if len(found) <= limit:
        return found, None
    last = found[limit - 1]
    return found[:limit], _encoded(getattr(last, first), getattr(last, second))


def _is_text(value: object) -> bool:
    """Every string inside a parsed JSON value, keys too."""
    if isinstance(value, str):
        return "\x00" not in value and not _SURROGATE.search(value)
    if isinstance(value, dict):
        return all(_is_text(key) and _is_text(inner) for key, inner in value.items())
    return all(map(_is_text, value)) if isinstance(value, list) else True


def _encoded(*values: Any) -> str:
    text = json.dumps([value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(cursor: str) -> tuple[str, str]:
    try:
        first, second = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError) as error:
        raise _bad_cursor() from error
    if not isinstance(first, str) or not isinstance(second, str):
        raise _bad_cursor()
    return first, second


def _bad_cursor() -> InvalidInputError:
    return InvalidInputError(gettext("This cursor is not one of ours. Start again without it."))


def _title(status: int) -> str:
    return HTTPStatus(status).phrase
