"""REST: turns and their events."""

import re
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from ninja import Router, Schema, Status

from chat import sending, streaming
from memoryapp import rest
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import operations, queries
from memoryapp.transcript.models import Message, Turn

conversations_router = Router(tags=["turns"])
router = Router(tags=["turns"])


class TurnIn(rest.Body):
    text: str


class AcceptedOut(Schema):
    id: UUID
    status: str
    events_url: str


class ErrorOut(Schema):
    code: str
    message: str


class UsageOut(Schema):
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int


class TurnOut(Schema):
    id: UUID
    conversation_id: UUID
    seq: int
    status: str
    user_text: str
    reply: str
    error: ErrorOut | None
    usage: UsageOut
    model: str
    run_id: UUID | None
    created_at: datetime
    finished_at: datetime | None


class TurnPage(Schema):
    items: list[TurnOut]
    next_cursor: str | None


@conversations_router.post(
    "/{uuid:conversation_id}/turns", response={202: AcceptedOut, 413: rest.Problem, **rest.PROBLEMS}
)
def post_turn(request: HttpRequest, conversation_id: UUID, body: TurnIn) -> Status[dict[str, object]]:
    """Queue a message for an answer. The same Idempotency-Key and text give the same turn."""
    turn, _ = operations.post_turn(
        caller(request),
        conversation_id,
        text=body.text,
        idempotency_key=rest.idempotency_key(request),
        now=timezone.now(),
    )
    return Status(202, _accepted(turn))


@conversations_router.get("/{uuid:conversation_id}/turns", response={200: TurnPage, **rest.PROBLEMS})
def list_turns(
    request: HttpRequest, conversation_id: UUID, cursor: str = "", limit: int = 50
) -> dict[str, object]:
    """The conversation from its first turn on."""
    user_id = caller_id(request)
    queries.get_conversation(user_id, conversation_id)
    items, next_cursor = rest.page(
        queries.turns(user_id, conversation_id), order=("seq", "id"), cursor=cursor, limit=limit
    )
    run_ids = runs.run_ids_of_turns(user_id, [turn.id for turn in items])
    return {"items": [_turn(turn, run_ids.get(turn.id)) for turn in items], "next_cursor": next_cursor}


@router.get("/{uuid:turn_id}", response={200: TurnOut, **rest.PROBLEMS})
def get_turn(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    turn = queries.get_turn(caller_id(request), turn_id)
    return _turn(turn, runs.run_ids_of_turns(turn.user_id, [turn.id]).get(turn.id))


@router.get(
    "/{uuid:turn_id}/events",
    response=rest.PROBLEMS,
    openapi_extra={
        "responses": {
            200: {
                "description": "Server-sent events: `id:` and JSON `data: {type, …}`; ends with `event: end`.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        }
    },
)
def stream_events(request: HttpRequest, turn_id: UUID) -> HttpResponseBase:
    """The reply as it is written. Send Last-Event-ID to resume where a connection broke."""
    turn = queries.get_turn(caller_id(request), turn_id)
    after = request.headers.get("Last-Event-ID", "").strip()
    if turn.status not in Turn.LIVE:
        return streaming.sse_response(streaming.ended_events(_summary_events(turn)))
    return streaming.sse_response(streaming.json_events(turn, after=after if _is_event_id(after) else "0-0"))


@router.post("/{uuid:turn_id}/stop", response={202: AcceptedOut, **rest.PROBLEMS})
def stop_turn(request: HttpRequest, turn_id: UUID) -> Status[dict[str, object]]:
    """Stop writing; what was written stays. A turn that has ended is left as it is."""
    return Status(202, _accepted(sending.stop(caller(request), turn_id)))


@router.post("/{uuid:turn_id}/retry", response={202: AcceptedOut, 409: rest.Problem, **rest.PROBLEMS})
def retry_turn(request: HttpRequest, turn_id: UUID) -> Status[dict[str, object]]:
    """Answer a failed, interrupted or cancelled turn again."""
    return Status(202, _accepted(sending.retry(caller(request), turn_id)))


def _accepted(turn: Turn) -> dict[str, object]:
    return {
        "id": turn.id,
        "status": turn.status,
        "events_url": reverse("api-1.0.0:stream_events", kwargs={"turn_id": turn.id}),
    }


def _turn(turn: Turn, run_id: UUID | None) -> dict[str, object]:
    reply = queries.text_of(turn, Message.Role.ASSISTANT) or turn.partial_text
    error = {"code": turn.error_code, "message": turn.error_message} if turn.error_code else None
    return {
        "id": turn.id,
        "conversation_id": turn.conversation_id,
        "seq": turn.seq,
        "status": turn.status,
        "user_text": queries.text_of(turn, Message.Role.USER),
        "reply": reply,
        "error": error,
        "usage": {
            "input_tokens": turn.input_tokens,
            "output_tokens": turn.output_tokens,
            "cache_read_tokens": turn.cache_read_tokens,
            "cache_creation_tokens": turn.cache_creation_tokens,
        },
        "model": turn.model,
        "run_id": run_id,
        "created_at": turn.created_at,
        "finished_at": turn.finished_at,
    }


def _summary_events(turn: Turn) -> list[dict[str, object]]:
    """The whole reply at once, for who comes when it is over."""
    reply = queries.text_of(turn, Message.Role.ASSISTANT)
    text: list[dict[str, object]] = [{"type": "text", "delta": reply}] if reply else []
    return [{"type": "start", "attempt": turn.attempt}, *text, {"type": "end", "status": turn.status}]


def _is_event_id(text: str) -> bool:
    """A Redis stream id; Redis refuses numbers past 64 bits, the first of which has 20 digits."""
    return re.fullmatch(r"[0-9]{1,19}-[0-9]{1,19}", text) is not None
