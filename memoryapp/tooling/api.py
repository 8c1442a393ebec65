"""REST: tool servers, for staff to look after and for everyone to switch on in a conversation."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.errors import AuthorizationError
from pydantic import SecretStr

from memoryapp import rest
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.tooling import operations, queries
from memoryapp.tooling.models import McpServer

router = Router(tags=["tools"])
conversations_router = Router(tags=["tools"])

Token = Annotated[SecretStr, Field(max_length=4_000)]


class ServerIn(rest.Body):
    """``slug``: the beginning of its tools' names. ``token``: sent as a bearer token, and never shown again."""

    slug: str
    name: str
    url: str
    token: Token = SecretStr("")
    is_enabled: bool = True
    timeout_s: int = 30


class ServerPatch(rest.Body):
    """``token``: left out, the stored one stays; empty, it is removed. Another host needs it again."""

    slug: str | None = None
    name: str | None = None
    url: str | None = None
    token: Token | None = None
    is_enabled: bool | None = None
    timeout_s: int | None = None


class OfferedTool(Schema):
    """``read_only``: the server says that it changes nothing."""

    name: str
    description: str
    read_only: bool

    @staticmethod
    def resolve_read_only(tool: Mapping[str, Any]) -> bool:
        return tool["annotations"].get("readOnlyHint") is True


class ServerOut(Schema):
    """``error``: what went wrong last, or which of its tools are not offered and why."""

    id: UUID
    slug: str
    name: str
    url: str
    has_token: bool
    is_enabled: bool
    timeout_s: int
    tools: list[OfferedTool]
    listed_at: datetime | None
    error: str
    created_at: datetime

    @staticmethod
    def resolve_has_token(server: McpServer) -> bool:
        return bool(server.sealed_token)


class ServerList(Schema):
    items: list[ServerOut]


class ServerSwitch(Schema):
    """A server as a conversation sees it. Every call of its tools asks its person first."""

    id: UUID
    name: str
    host: str
    is_on: bool
    tools: list[OfferedTool]


class ServerSwitchList(Schema):
    items: list[ServerSwitch]


class SwitchIn(rest.Body):
    is_on: bool


@router.get("/servers", response={200: ServerList, **rest.PROBLEMS})
def list_servers(request: HttpRequest) -> dict[str, object]:
    """For staff: every server of tools."""
    _require_staff(request)
    return {"items": list(queries.servers())}


@router.post("/servers", response={201: ServerOut, **rest.PROBLEMS})
def add_server(request: HttpRequest, body: ServerIn) -> Status[McpServer]:
    """For staff. It is asked for its tools at once; when that fails, ``error`` says why, and the server is kept."""
    _require_staff(request)
    server = McpServer(**body.dict(exclude={"token"}))
    return Status(201, _saved(server, token=body.token.get_secret_value()))


@router.patch("/servers/{uuid:server_id}", response={200: ServerOut, **rest.PROBLEMS})
def change_server(request: HttpRequest, server_id: UUID, body: ServerPatch) -> McpServer:
    """For staff. It is asked for its tools again."""
    _require_staff(request)
    server = queries.get_server(server_id)
    for field, value in body.dict(exclude={"token"}, exclude_none=True).items():
        setattr(server, field, value)
    return _saved(server, token=body.token.get_secret_value() if body.token else None)


@router.delete("/servers/{uuid:server_id}", response={204: None, **rest.PROBLEMS})
def delete_server(request: HttpRequest, server_id: UUID) -> Status[None]:
    """For staff. Its tools are gone from every conversation."""
    _require_staff(request)
    operations.delete_server(server_id)
    return Status(204, None)


@router.post("/servers/{uuid:server_id}/refresh", response={200: ServerOut, **rest.PROBLEMS})
def refresh_server(request: HttpRequest, server_id: UUID) -> McpServer:
    """For staff: ask it for its tools again."""
    _require_staff(request)
    return operations.refresh_tools(queries.get_server(server_id), now=timezone.now())


@conversations_router.get(
    "/{uuid:conversation_id}/servers", response={200: ServerSwitchList, **rest.PROBLEMS}
)
def list_switches(request: HttpRequest, conversation_id: UUID) -> dict[str, object]:
    """The servers that there are, and which are on in this conversation. All are off until switched on."""
    return {"items": list(queries.offered_in(caller_id(request), conversation_id))}


@conversations_router.put(
    "/{uuid:conversation_id}/servers/{uuid:server_id}", response={200: ServerSwitch, **rest.PROBLEMS}
)
def switch_server(request: HttpRequest, conversation_id: UUID, server_id: UUID, body: SwitchIn) -> McpServer:
    user_id = caller_id(request)
    operations.use_server(user_id, conversation_id, server_id, is_on=body.is_on)
    return queries.offered_in(user_id, conversation_id).get(id=server_id)


def _saved(server: McpServer, *, token: str | None) -> McpServer:
    operations.save_server(server, token=token)
    return operations.refresh_tools(server, now=timezone.now()) if server.is_enabled else server


def _require_staff(request: HttpRequest) -> None:
    if not caller(request).is_staff:
        raise AuthorizationError
