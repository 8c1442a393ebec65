"""What the forms of the inspector send, read and checked."""

from collections.abc import Set
from datetime import date
from uuid import UUID

from django.http import HttpRequest, QueryDict
from django.utils.http import url_has_allowed_host_and_scheme

from memoryapp.errors import InvalidInputError

INCOMPLETE = "The form is incomplete. Reload the page and try again."


def version_of(request: HttpRequest) -> int:
    """Of what the person had before them. Raises InvalidInputError."""
    return whole_number(request.POST.get("version", ""))


def whole_number(value: str) -> int:
    """Raises InvalidInputError."""
    if not value.isascii() or not value.isdigit():
        raise InvalidInputError(INCOMPLETE)
    return int(value[:9])


def one_of(known: Set[str], value: str) -> str:
    """Raises InvalidInputError."""
    if value not in known:
        raise InvalidInputError(INCOMPLETE)
    return value


def next_page(values: QueryDict) -> str:
    """The path that the person came from, if that is a page of ours; else empty."""
    back = values.get("next", "")
    is_ours = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if is_ours else ""


def uuid_or_none(value: str) -> UUID | None:
    try:
        return UUID(value)
    except ValueError:
        return None


def day_or_none(value: str) -> date | None:
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None
