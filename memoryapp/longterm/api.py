"""REST: memories. Searching them is the read path's (``context.api``), their kinds have routes of their own."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Field, Router, Schema, Status

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.activity import operations as activity
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import feedback, lifetimes, operations, queries, withdrawal
from memoryapp.longterm.models import Memory
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin

router = Router(tags=["memories"])

SORTS: dict[str, tuple[str, str]] = {
    "newest": ("-recorded_at", "-id"),
    "oldest": ("recorded_at", "id"),
    "expires": ("fades_at", "id"),
}


LIFETIME_FIELDS = {"expires_at", "is_kept", "affirm"}


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
    expires_at: datetime | None = Field(
        None, description="When it expires; null, where it is sent: when its kind says so."
    )
    is_kept: bool | None = Field(None, description="Whether it is kept for ever.")
    affirm: bool = Field(default=False, description="Its lifetime starts again, where it then expires later.")


class VerdictIn(rest.Body):
    verdict: Literal["confirmed", "wrong", "not_relevant"]
    turn_id: UUID | None = Field(
        None, description="The turn whose reply it is about; the same word counts once for it."
    )


class WithdrawalIn(rest.Body):
    source_message_id: UUID


class MemoryOut(Schema):
    """``valid_from``, ``valid_to``: when it holds in the world. ``happened_at``: when what it tells of happens.

    ``is_set_aside``: its person said that it is wrong. Its status is superseded, though nothing has replaced it.
    """

    id: UUID
    statement: str
    kind: str
    key: str
    quote: str
    status: str
    is_set_aside: bool
    origin: str
    channel: str
    confidence: float
    version: int
    source_message_id: UUID | None
    is_flagged: bool
    said_at: datetime
    happened_at: datetime | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    affirmed_at: datetime
    expires_at: datetime | None
    is_kept: bool
    superseded_at: datetime | None
    superseded_by: UUID | None


class RememberedOut(MemoryOut):
    """``met``: the id of the known memory that decided the outcome, null when there was none."""

    outcome: str
    met: UUID | None


class WithdrawnOut(Schema):
    """``outcome``: what the message had done. ``memory``: what holds now, null when nothing is left."""

    outcome: str
    memory: MemoryOut | None


class QuotaOut(Schema):
    """``used`` of ``limit`` memories; of those that wait, ``pending_today`` came in the last 24 hours."""

    used: int
    limit: int
    waiting: int
    pending_today: int
    pending_limit: int
    statement_max_chars: int
    memories_per_turn: int


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


@router.post("", response={200: RememberedOut, 201: RememberedOut, 409: rest.Problem, **rest.PROBLEMS})
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
        is_said_now=True,
    )
    remembered = operations.remember(caller_id(request), candidate)
    memory = queries.get_memory(caller_id(request), remembered.memory.id)
    status = 201 if remembered.outcome == Outcome.ADDED else 200
    out = {**memory_out(memory), "outcome": remembered.outcome, "met": remembered.met}
    return Status(status, out)


@router.get("", response={200: MemoryPage, **rest.PROBLEMS})
def list_memories(
    request: HttpRequest,
    kind: str = "",
    key: str = "",
    q: str = "",
    status: str = "active",
    origin: str = "",
    expires_before: datetime | None = None,
    as_of: datetime | None = None,
    sort: str = "newest",
    cursor: str = "",
    limit: int = 50,
) -> dict[str, object]:
    """``status``: active, pending, conflict, superseded, expired or any. ``sort``: newest, oldest or expires.

    ``as_of``, a time with its zone: what was known then, in the words of then; ``status`` does not apply.
    """
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
        known_at=_with_zone(as_of),
    )
    if sort == "expires":
        rows = rows.exclude(Q(fades_at=None))
    items, next_cursor = rest.page(rows, order=SORTS[sort], cursor=cursor, limit=limit)
    note_reads(request, items)
    return {"items": [memory_out(memory) for memory in items], "next_cursor": next_cursor}


@router.get("/quota", response={200: QuotaOut, **rest.PROBLEMS})
def get_quota(request: HttpRequest) -> dict[str, object]:
    """What memories take up, and how much they may."""
    conf = get_conf()
    return {
        **asdict(queries.quota(caller_id(request))),
        "statement_max_chars": conf.statement_max_chars,
        "memories_per_turn": conf.memories_per_turn,
    }


@router.get("/{uuid:memory_id}", response={200: MemoryOut, **rest.PROBLEMS})
def get_memory(request: HttpRequest, response: HttpResponse, memory_id: UUID) -> dict[str, object]:
    """The ETag is the version to send as If-Match."""
    memory = queries.get_memory(caller_id(request), memory_id)
    response["ETag"] = f'"{memory.version}"'
    note_reads(request, [memory])
    return memory_out(memory)


@router.patch(
    "/{uuid:memory_id}", response={200: MemoryOut, 412: rest.Problem, 428: rest.Problem, **rest.PROBLEMS}
)
def change_memory(
    request: HttpRequest, response: HttpResponse, memory_id: UUID, body: MemoryPatch
) -> dict[str, object]:
    """``expires_at``, ``is_kept`` and ``affirm`` are about its lifetime, and make no new version."""
    user_id, version, now = caller_id(request), rest.expected_version(request), timezone.now()
    wish = lifetimes.checked(_wish(body), now=now)
    if wish is None or body.model_fields_set - LIFETIME_FIELDS:
        memory = operations.edit(
            user_id,
            memory_id,
            version=version,
            now=now,
            statement=body.statement,
            kind=body.kind,
            key=body.key,
            confidence=body.confidence,
            channel=Memory.Channel.API,
        )
        version = memory.version
    if wish:
        memory = lifetimes.give(user_id, memory_id, wish, version=version, now=now)
    response["ETag"] = f'"{memory.version}"'
    return memory_out(memory)


@router.delete("/{uuid:memory_id}", response={204: None, 412: rest.Problem, **rest.PROBLEMS})
def forget_memory(request: HttpRequest, memory_id: UUID) -> Status[None]:
    """Forgotten for good, and with it its former values, which are those whose ``superseded_by`` it is.

    With If-Match, only when it is still the version you read.
    """
    version = _version_if_sent(request)
    operations.forget(caller_id(request), memory_id, now=timezone.now(), version=version)
    return Status(204, None)


@router.get("/{uuid:memory_id}/versions", response={200: VersionList, **rest.PROBLEMS})
def list_versions(request: HttpRequest, memory_id: UUID) -> dict[str, object]:
    memory = queries.get_memory(caller_id(request), memory_id)
    note_reads(request, [memory])
    return {"items": list(queries.versions(memory))}


@router.post(
    "/{uuid:memory_id}/feedback",
    response={200: MemoryOut, 409: rest.Problem, 412: rest.Problem, **rest.PROBLEMS},
)
def judge_memory(request: HttpRequest, memory_id: UUID, body: VerdictIn) -> dict[str, object]:
    """``wrong`` sets it aside at once, and what it had replaced holds again.

    ``confirmed`` affirms it. What was set aside or replaced is in use again by it, in place of what replaced it.

    With If-Match, only when it is still the version you read. What waits for its user is confirmed on its page only:
    409 ``needs_confirmation``.
    """
    memory = feedback.give_feedback(
        caller_id(request),
        memory_id,
        Verdict(body.verdict),
        turn_id=body.turn_id,
        now=timezone.now(),
        version=_version_if_sent(request),
    )
    return memory_out(memory)


@router.post("/{uuid:memory_id}/withdraw", response={200: WithdrawnOut, 409: rest.Problem, **rest.PROBLEMS})
def withdraw_memory(request: HttpRequest, memory_id: UUID, body: WithdrawalIn) -> dict[str, object]:
    """Take back what one message did to it: the undo of what was just remembered."""
    withdrawn = withdrawal.withdraw(
        caller_id(request), memory_id, source_message_id=body.source_message_id, now=timezone.now()
    )
    memory = memory_out(withdrawn.memory) if withdrawn.memory else None
    return {"outcome": withdrawn.outcome, "memory": memory}


def note_reads(request: HttpRequest, memories: Iterable[Memory]) -> None:
    """Their person can see which program was given what; their own looking is not noted."""
    activity.note_program_reads(caller_id(request), [memory.id for memory in memories], now=timezone.now())


def memory_out(memory: Memory) -> dict[str, object]:
    """``memory`` comes from a query with its kind and ``fades_at``, or from one of the past, in the words of then."""
    current = {
        "id": memory.id,
        "statement": memory.statement,
        "kind": memory.kind.slug,
        "key": memory.key,
        "quote": memory.quote,
        "status": memory.status,
        "is_set_aside": feedback.is_set_aside(memory),
        "origin": memory.origin,
        "channel": memory.channel,
        "confidence": memory.confidence,
        "version": memory.version,
        "source_message_id": memory.source_message_id,
        "is_flagged": memory.is_flagged,
        "said_at": memory.said_at,
        "happened_at": memory.happened_at,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "recorded_at": memory.recorded_at,
        "affirmed_at": memory.affirmed_at,
        "expires_at": getattr(memory, "fades_at", None),
        "is_kept": memory.is_kept,
        "superseded_at": memory.superseded_at,
        "superseded_by": memory.superseded_by_id,
    }
    return {**current, **_then(memory)} if hasattr(memory, "statement_then") else current


def _then(memory: Memory) -> dict[str, object]:
    """What of it was otherwise then: it was live, and nobody knew what would replace it."""
    return {
        **{name: getattr(memory, f"{name}_then") for name in ("statement", "kind", "key", "confidence")},
        "status": Memory.Status.ACTIVE,
        "is_set_aside": False,
        "valid_to": None if memory.superseded_at else memory.valid_to,
        "superseded_at": None,
        "superseded_by": None,
    }


def _wish(body: MemoryPatch) -> lifetimes.Wish | None:
    if not body.model_fields_set & LIFETIME_FIELDS:
        return None
    return lifetimes.Wish(
        affirms=body.affirm,
        is_kept=body.is_kept,
        expires_at=body.expires_at,
        has_no_end="expires_at" in body.model_fields_set and body.expires_at is None,
    )


def _version_if_sent(request: HttpRequest) -> int | None:
    return rest.expected_version(request) if "If-Match" in request.headers else None


def _with_zone(moment: datetime | None) -> datetime | None:
    if moment and moment.tzinfo is None:
        raise InvalidInputError("as_of needs a time zone, for example 2026-03-01T12:00:00Z.")
    return moment
