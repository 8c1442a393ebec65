"""The list of chats beside every page."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.presentation import conversation_groups
from memoryapp.transcript import queries as transcript

LISTED = 100


def chats(request: HttpRequest) -> dict[str, Any]:
    """``conversation_groups`` for pages that do not set it themselves; read only when a template shows it."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}

    def groups() -> list[Any]:
        return conversation_groups(transcript.conversation_list(user.id)[:LISTED], current_id=None)

    return {"conversation_groups": SimpleLazyObject(groups)}
