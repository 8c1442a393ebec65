"""What the forms of the inspector send, read and checked."""

from collections.abc import Mapping, Set
from datetime import date, datetime, time, timedelta
from typing import Final
from uuid import UUID

from django.http import HttpRequest, QueryDict
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext

from memoryapp.errors import InvalidInputError

SEARCHED_CHARS: Final = 500


def incomplete() -> InvalidInputError:
    """For a form that no page of ours sends."""
    return InvalidInputError(gettext("The form is incomplete. Reload the page and try again."))


def version_of(request: HttpRequest) -> int:
    """Of what the person had before them. Raises InvalidInputError."""
    return whole_number(request.POST.get("version", ""))


def whole_number(value: str) -> int:
    """Raises InvalidInputError."""
    if not value.isascii() or not value.isdigit():
        raise incomplete()
    return int(value[:9])


def one_of(known: Set[str], value: str) -> str:
    """Raises InvalidInputError."""
    if value not in known:
        raise incomplete()
    return value


def words(values: Mapping[str, str], name: str) -> str:
    """What was typed into a filter, as the database can look for it."""
    return values.get(name, "").replace("\x00", " ").strip()[:SEARCHED_CHARS]


def next_page(values: QueryDict) -> str:
    """The path that the person came from, if that is a page of ours; else empty."""
    back = values.get("next", "")
    is_ours = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if is_ours else ""


def uuid_of(value: str) -> UUID:
    """Raises InvalidInputError."""
    found = uuid_or_none(value)
    if found is None:
        raise incomplete()
    return found


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


def midnight(value: str, *, days_later: int = 0) -> datetime | None:
    """When a day begins in the person's zone, which is active while a page is made; None for none that people mean."""
    day = day_or_none(value)
    if day is None or not 1900 <= day.year <= 2900:  # beyond, a moment of it need not exist in every zone
        return None
    return timezone.make_aware(datetime.combine(day + timedelta(days=days_later), time.min))
