"""The memory inspector: everything remembered, tier by tier, to read, correct and forget."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from memoryapp.errors import MemoryAppError, NotFoundError
from memoryapp.inspector.break_glass import subject
from memoryapp.longterm import queries, tallies

PAGE = 50
SOON_DAYS = 7  # what the tabs count as expiring soon


def render_page(
    request: HttpRequest, page: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """With what the tabs show; a page that has its ``quota`` or ``expiring_count`` already gives it along."""
    user_id = subject(request)
    context["quota"] = quota = context.get("quota") or queries.quota(user_id)
    context |= {"pending_count": quota.waiting, "subject_id": user_id}
    if "expiring_count" not in context:
        context["expiring_count"] = tallies.expiring_count(user_id, now=timezone.now(), days=SOON_DAYS)
    return render(request, f"inspector/{page}.html", context, status=status)


def do_and_say(request: HttpRequest, act: Callable[[], str]) -> None:
    """The next page says what ``act`` returns, or why it was refused. Raises NotFoundError."""
    try:
        said = act()
    except NotFoundError:
        raise
    except MemoryAppError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, said)


def next_url(filters: dict[str, str], cursor: str | None) -> str:
    if cursor is None:
        return ""
    return "?" + urlencode({name: value for name, value in filters.items() if value} | {"after": cursor})
