"""REST: memories and their kinds. Searching them is the read path's (``context.api``)."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Field, Router, Schema, Status

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import operations, queries
from memoryapp.longterm.models import Memory
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin

router = Router(tags=["memories"])
kinds_router = Router(tags=["kinds"])

SORTS: dict[str, tuple[str, str]] = {
    "newest": ("-recorded_at", "-id"),
    "oldest": ("recorded_at", "id"),
    "expires": ("fades_at", "id"),
}


class MemoryIn(rest.Body):
    statement: str
    kind: str = "preference"
    key: str = ""
    value: str | None = Field(None, description="Kept as part of the statement when it is not in it already.")


class MemoryPatch(rest.Body):
    statement: str | None = None
    kind: str | None = None
    key: str | None = None
    confidence: float | None = Field(None, ge=0, le=1)


class MemoryOut(Schema):
    id: UUID
    statement: str
    kind: str
    key: str
    quote: str
    status: str
    origin: str
    channel: str
    confidence: float
    version: int
    source_message_id: UUID | None
    said_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    affirmed_at: datetime
    expires_at: datetime | None
    superseded_by: UUID | None


class RememberedOut(MemoryOut):
    outcome: str


class MemoryPage(Schema):
    items: list[MemoryOut]
    next_cursor: str | None


class VersionOut(Schema):
    version: int
    statement: str
    kind: str = Field(alias="kind_slug")
    key: str
    confidence: float
    changed_by: str
    reason: str
    recorded_at: datetime


class VersionList(Schema):
    items: list[VersionOut]


class KindOut(Schema):
    slug: str
    label: str
    subject: str
    shape: str
    ttl_days: int | None
    half_life_days: int | None
    is_always_used: bool
    min_confidence: float
    needs_confirmation: bool
    rationale: str


class KindList(Schema):
    items: list[KindOut]


@kinds_router.get("", response={200: KindList, **rest.PROBLEMS})
def list_kinds(request: HttpRequest) -> dict[str, object]:  # noqa: ARG001
    """Every kind of fact with its lifetime and the reason for it."""
    return {"items": list(queries.kinds())}


@router.post("", response={200: RememberedOut, 201: RememberedOut, **rest.PROBLEMS})
def create_memory(request: HttpRequest, body: MemoryIn) -> Status[dict[str, object]]:
    """201 for a new memory; 200 with the outcome when it met something already known."""
    statement = body.statement
    if body.value and body.value not in statement:
        statement = f"{statement}: {body.value}"
    candidate = operations.Candidate(
        kind=body.kind,
        statement=statement,
        key=body.key,
        origin=Origin.USER_TYPED,
        channel=Memory.Channel.API,
        said_at=timezone.now(),
    )
    remembered = operations.remember(caller_id(request), candidate)
    memory = queries.get_memory(caller_id(request), remembered.memory.id)
    status = 201 if remembered.outcome == Outcome.ADDED else 200
    return Status(status, {**memory_out(memory), "outcome": remembered.outcome})


@router.get("", response={200: MemoryPage, **rest.PROBLEMS})
def list_memories(
    request: HttpRequest,
    kind: str = "",
    key: str = "",
    q: str = "",
    status: str = "active",
    origin: str = "",
    expires_before: datetime | None = None,
    sort: str = "newest",
    cursor: str = "",
    limit: int = 50,
) -> dict[str, object]:
    """``status``: active, pending, conflict, superseded, expired or any. ``sort``: newest, oldest or expires."""
    if sort not in SORTS:
        raise InvalidInputError(f"sort is one of {', '.join(SORTS)}.")
    if status not in {*Memory.Status.values, "expired", "any"}:
        raise InvalidInputError("status is one of active, pending, conflict, superseded, expired, any.")
    rows = queries.memories(
        caller_id(request),
        kind=kind,
        key=key,
        text=q,
        status=status,
        origin=origin,
        expires_before=expires_before,
    )
    if sort == "expires":
        rows = rows.exclude(Q(fades_at=None))
    items, next_cursor = rest.page(rows, order=SORTS[sort], cursor=cursor, limit=limit)
    return {"items": [memory_out(memory) for memory in items], "next_cursor": next_cursor}


@router.get("/{uuid:memory_id}", response={200: MemoryOut, **rest.PROBLEMS})
def get_memory(request: HttpRequest, response: HttpResponse, memory_id: UUID) -> dict[str, object]:
    """The ETag is the version to send as If-Match."""
    memory = queries.get_memory(caller_id(request), memory_id)
    response["ETag"] = f'"{memory.version}"'
    return memory_out(memory)


@router.patch(
    "/{uuid:memory_id}", response={200: MemoryOut, 412: rest.Problem, 428: rest.Problem, **rest.PROBLEMS}
)
def change_memory(
    request: HttpRequest, response: HttpResponse, memory_id: UUID, body: MemoryPatch
) -> dict[str, object]:
    memory = operations.edit(
        caller_id(request),
        memory_id,
        version=rest.expected_version(request),
        now=timezone.now(),
        statement=body.statement,
        kind=body.kind,
        key=body.key,
        confidence=body.confidence,
    )
    response["ETag"] = f'"{memory.version}"'
    return memory_out(memory)


@router.delete("/{uuid:memory_id}", response={204: None, 412: rest.Problem, **rest.PROBLEMS})
def forget_memory(request: HttpRequest, memory_id: UUID) -> Status[None]:
    """Forgotten for good. With If-Match, only when it is still the version you read."""
    version = rest.expected_version(request) if "If-Match" in request.headers else None
    operations.forget(caller_id(request), memory_id, now=timezone.now(), version=version)
    return Status(204, None)


@router.get("/{uuid:memory_id}/versions", response={200: VersionList, **rest.PROBLEMS})
def list_versions(request: HttpRequest, memory_id: UUID) -> dict[str, object]:
    memory = queries.get_memory(caller_id(request), memory_id)
    return {"items": list(queries.versions(memory))}


def memory_out(memory: Memory) -> dict[str, object]:
    """``memory`` comes from a query with its kind and ``fades_at``."""
    return {
        "id": memory.id,
        "statement": memory.statement,
        "kind": memory.kind.slug,
        "key": memory.key,
        "quote": memory.quote,
        "status": memory.status,
        "origin": memory.origin,
        "channel": memory.channel,
        "confidence": memory.confidence,
        "version": memory.version,
        "source_message_id": memory.source_message_id,
        "said_at": memory.said_at,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "recorded_at": memory.recorded_at,
        "affirmed_at": memory.affirmed_at,
        "expires_at": getattr(memory, "fades_at", None),
        "superseded_by": memory.superseded_by_id,
    }
