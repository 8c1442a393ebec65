"""Writes of tool servers: setting one up, listing its tools, switching it on in a conversation."""

from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils.translation import gettext

from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.tooling import listing, mcp, queries
from memoryapp.tooling.models import McpServer, ServerUse
from memoryapp.tooling.secrets import seal, unseal

_MAX_ERROR_CHARS = 2_000
TOKEN_AGAIN = (
    "Enter the token again: the address leads to another host, and the stored one is not sent there."  # noqa: S105
)


class TokenNeededAgainError(InvalidInputError):
    """The address leads elsewhere now: who changes it has to know the token, too."""

    code = "token_needed_again"


def save_server(server: McpServer, *, token: str | None) -> None:
    """Write what an admin has set. ``token``: None leaves the stored one, empty removes it.

    Raises ``InvalidInputError`` with every problem, and ``TokenNeededAgainError``. The tools stay those of the last
    listing, unless the address is new.
    """
    before = McpServer.objects.filter(id=server.id).first()
    try:
        server.full_clean()
    except ValidationError as error:
        problems = [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
        raise InvalidInputError(" ".join(problems)) from error
    if token is None and leads_elsewhere(before, server.url):
        raise TokenNeededAgainError(TOKEN_AGAIN)
    if token is not None:
        server.sealed_token = seal(token.strip())
    if before is not None and before.url != server.url:
        server.tools, server.listed_at = [], None
    try:
        server.save()
    except IntegrityError as error:
        raise InvalidInputError("slug: Another server has this short name.") from error


def leads_elsewhere(before: McpServer | None, url: str) -> bool:
    """Whether a stored token would go to another host than the one it was entered for."""
    if before is None or not before.sealed_token:
        return False
    return urlsplit(before.url)[:2] != urlsplit(url)[:2]


def delete_server(server_id: UUID) -> None:
    queries.get_server(server_id).delete()


def refresh_tools(server: McpServer, *, now: datetime) -> McpServer:
    """Ask the server for its tools; as it stands afterwards. Waits for the network, half a minute at most.

    Raises nothing for what the server says. A listing that fails keeps the last one. What went wrong, or was left
    out, is in ``error``.
    """
    try:
        listed = mcp.client().list_tools(server)
        found = listing.accepted(server.slug, listed, secret=unseal(server.sealed_token))
    except MemoryAppError as error:
        _update(server, error=str(error)[:_MAX_ERROR_CHARS])
    else:
        left_out = f"Not offered: {'; '.join(found.ignored)}." if found.ignored else ""
        _update(server, tools=found.tools, listed_at=now, error=left_out[:_MAX_ERROR_CHARS])
    return queries.get_server(server.id)


def use_server(user_id: UUID, conversation_id: UUID, server_id: UUID, *, is_on: bool) -> None:
    """Switch a server's tools on or off for one person in one conversation. Safe to repeat.

    Raises ``NotFoundError`` for a conversation that is not theirs, and for a server that is not there or not enabled.
    """
    server = queries.offered_in(user_id, conversation_id).filter(id=server_id).first()
    if server is None:
        raise NotFoundError(gettext("There is no such server."))
    if is_on:
        ServerUse.objects.get_or_create(user_id=user_id, conversation_id=conversation_id, server=server)
    else:
        ServerUse.objects.filter(user_id=user_id, conversation_id=conversation_id, server=server).delete()


def _update(server: McpServer, **values: object) -> None:
    """Unless it was given another address meanwhile: then this is not about it any more."""
    McpServer.objects.filter(id=server.id, url=server.url).update(**values)


def delete_uses_within(user_id: UUID) -> None:
    """Within the caller's transaction: which servers this person's conversations use, for these are gone."""
    ServerUse.objects.filter(user_id=user_id).delete()
