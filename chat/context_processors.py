"""What stands beside every page: the list of chats, and how many memories wait for their person's word."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.list_presentation import LISTED_ELSEWHERE, sidebar_groups
from memoryapp.longterm import queries as longterm


def chats(request: HttpRequest) -> dict[str, Any]:
    """``conversation_groups`` and ``pending_count``, for pages that do not set them; read only when they are shown."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {
        "conversation_groups": SimpleLazyObject(lambda: sidebar_groups(user.id, at_most=LISTED_ELSEWHERE)),
        "pending_count": SimpleLazyObject(lambda: longterm.memories(user.id, status="waiting").count()),
    }
