"""The list of chats beside every page."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.list_presentation import sidebar_groups


def chats(request: HttpRequest) -> dict[str, Any]:
    """``conversation_groups`` for pages that do not set it themselves; read only when a template shows it."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}

    return {"conversation_groups": SimpleLazyObject(lambda: sidebar_groups(user.id))}
