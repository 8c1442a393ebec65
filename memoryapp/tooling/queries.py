"""Reads of tool servers."""

from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.errors import NotFoundError
from memoryapp.tooling.models import McpServer, ServerUse


def servers() -> QuerySet[McpServer]:
    """All of them, for those who look after them."""
    return McpServer.objects.order_by("slug", "id")


def get_server(server_id: UUID) -> McpServer:
    server = servers().filter(id=server_id).first()
    if server is None:
        raise NotFoundError(gettext("There is no such server."))
    return server


def has_servers() -> bool:
    """Whether there is anything to switch on."""
    return McpServer.objects.filter(is_enabled=True).exists()


def used_in(user_id: UUID, conversation_id: UUID) -> QuerySet[McpServer]:
    """Those whose tools the person uses in the conversation."""
    return servers().filter(is_enabled=True, uses__user_id=user_id, uses__conversation_id=conversation_id)


def offered_in(user_id: UUID, conversation_id: UUID) -> QuerySet[McpServer]:
    """Those that can be switched on in the person's conversation, each with ``is_on``.

    Raises ``NotFoundError`` for a conversation that is not theirs.
    """
    require_conversation(user_id, conversation_id)
    uses = ServerUse.objects.filter(user_id=user_id, conversation_id=conversation_id, server=OuterRef("pk"))
    return servers().filter(is_enabled=True).annotate(is_on=Exists(uses))


def require_conversation(user_id: UUID, conversation_id: UUID) -> None:
    """Raises ``NotFoundError`` unless it is the person's, and there."""
    # Through the person: the transcript's tables are its own.
    theirs = User.objects.filter(
        id=user_id, conversations__id=conversation_id, conversations__deleted_at=None
    )
    if not theirs.exists():
        raise NotFoundError(gettext("There is no such conversation."))
