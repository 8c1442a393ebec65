"""REST: turns, their events and branches, and what of them is kept word for word."""

import re
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from ninja import Router, Schema, Status

from chat import sending, streaming
from chat.tools import tools_of
from chat.waiting_api import AcceptedOut, WaitingOut, accepted, waiting_of
from memoryapp import rest
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.context.api import NextContextOut, next_context
from memoryapp.context.preview import next_prompt
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import branches, conversations, deletions, queries, redaction, summaries
from memoryapp.transcript.api import ConversationOut
from memoryapp.transcript.api import router as conversation_router
from memoryapp.transcript.models import Conversation, Message, PinnedLine, Turn

conversations_router = Router(tags=["turns"])
pins_router = Router(tags=["turns"])
messages_router = Router(tags=["turns"])
router = Router(tags=["turns"])

# Of what asks the model for a reply: 429 when the day's budget is spent.
REPLY_ASKED = {202: AcceptedOut, 409: rest.Problem, 429: rest.Problem, **rest.PROBLEMS}


class TurnIn(rest.Body):
    """``after``: the turn you saw last; refused with 409 when there are others below it by now."""

    text: str
    after: UUID | None = None


class EditIn(rest.Body):
    text: str


class MessageIn(rest.Body):
    """Either ``text``, what it should say instead, or ``redact``: the words that a mark replaces, "" for all of it.

    ``everywhere``: redact them wherever the conversation says them.
    """

    text: str | None = None
    redact: str | None = None
    everywhere: bool = True


class DeletionOut(Schema):
    """``turns``: how many of the shown branch. ``until``: when it becomes final; before, `restore` undoes it."""

    id: UUID
    turns: int
    until: datetime


class RestoreIn(rest.Body):
    deletion_id: UUID


class PinIn(rest.Body):
    """``text``: words of that turn, of either side, exactly as they stand there."""

    turn_id: UUID
    text: str


class ErrorOut(Schema):
    code: str
    message: str


class UsageOut(Schema):
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int


class TurnOut(Schema):
    """``siblings``: all versions of this message, oldest first, itself among them; empty when it is the only one.

    ``waiting``: what it waits for, while its status is waiting.
    """

    id: UUID
    conversation_id: UUID
    parent_id: UUID | None
    seq: int
    is_current: bool
    siblings: list[UUID]
    status: str
    user_message_id: UUID | None
    reply_message_id: UUID | None
    user_text: str
    reply: str
    error: ErrorOut | None
    waiting: WaitingOut | None
    usage: UsageOut
    model: str
    run_id: UUID | None
    created_at: datetime
    finished_at: datetime | None


class ChangedOut(Schema):
    """``message_ids``: of all that read differently now. ``repeated_in``: replies that still say the former words."""

    message_ids: list[UUID]
    repeated_in: list[UUID]
    turn: TurnOut


class PinOut(Schema):
    """``kind``: goal and constraint are found by themselves when a summary first covers them; pin is a person's."""

    id: UUID
    turn_id: UUID
    seq: int
    kind: str
    text: str
    created_at: datetime


class PinList(Schema):
    items: list[PinOut]


class TurnPage(Schema):
    items: list[TurnOut]
    next_cursor: str | None


@conversations_router.post(
    "/{uuid:conversation_id}/turns",
    response=REPLY_ASKED | {413: rest.Problem},
)
def post_turn(request: HttpRequest, conversation_id: UUID, body: TurnIn) -> Status[dict[str, object]]:
    """Queue a message for an answer. The same Idempotency-Key and text give the same turn."""
    turn, _ = sending.post(
        caller(request),
        conversation_id,
        text=body.text,
        idempotency_key=rest.idempotency_key(request),
        now=timezone.now(),
        after=body.after,
    )
    return Status(202, accepted(turn))


@conversations_router.get("/{uuid:conversation_id}/turns", response={200: TurnPage, **rest.PROBLEMS})
def list_turns(
    request: HttpRequest, conversation_id: UUID, cursor: str = "", limit: int = 50
) -> dict[str, object]:
    """The shown branch from its first turn on."""
    user_id = caller_id(request)
    queries.get_conversation(user_id, conversation_id)
    items, next_cursor = rest.page(
        queries.turns(user_id, conversation_id), order=("seq", "id"), cursor=cursor, limit=limit
    )
    return {"items": _turns(user_id, items), "next_cursor": next_cursor}


@conversations_router.get("/{uuid:conversation_id}/context", response={200: NextContextOut, **rest.PROBLEMS})
def get_next_context(request: HttpRequest, conversation_id: UUID) -> dict[str, object]:
    """What the prompt of the next message will hold beside it; all sizes in the model's tokens."""
    conversation = queries.get_conversation(caller_id(request), conversation_id)
    tools = tools_of(conversation)
    return next_context(next_prompt(conversation, tools=tools))


@router.get("/{uuid:turn_id}", response={200: TurnOut, **rest.PROBLEMS})
def get_turn(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    return _shown(queries.get_turn(caller_id(request), turn_id))


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
    return Status(202, accepted(sending.stop(caller(request), turn_id)))


@router.post("/{uuid:turn_id}/retry", response=REPLY_ASKED)
def retry_turn(request: HttpRequest, turn_id: UUID) -> Status[dict[str, object]]:
    """Answer a failed, interrupted or cancelled turn again."""
    return Status(202, accepted(sending.retry(caller(request), turn_id)))


@router.post(
    "/{uuid:turn_id}/edit",
    response=REPLY_ASKED | {413: rest.Problem},
)
def edit_turn(request: HttpRequest, turn_id: UUID, body: EditIn) -> Status[dict[str, object]]:
    """Ask with other words in its place. The turn and what follows it stay, on a branch that is not shown."""
    turn, _ = sending.edit(
        caller(request),
        turn_id,
        text=body.text,
        idempotency_key=rest.idempotency_key(request),
        now=timezone.now(),
    )
    return Status(202, accepted(turn))


@router.post("/{uuid:turn_id}/regenerate", response=REPLY_ASKED)
def regenerate_turn(request: HttpRequest, turn_id: UUID) -> Status[dict[str, object]]:
    """Another answer to the same words, as another version of the turn."""
    turn, _ = sending.answer_again(
        caller(request), turn_id, idempotency_key=rest.idempotency_key(request), now=timezone.now()
    )
    return Status(202, accepted(turn))


@router.post("/{uuid:turn_id}/show", response={200: TurnOut, 409: rest.Problem, **rest.PROBLEMS})
def show_turn(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    """Show the branch that leads to this turn, and on from it as it was last shown."""
    return _shown(branches.show_branch(caller_id(request), turn_id))


@router.post("/{uuid:turn_id}/remove", response={200: TurnOut, 409: rest.Problem, **rest.PROBLEMS})
def remove_turn(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    """Take the turn and what follows it off the shown branch; `show` brings them back."""
    return _shown(branches.take_off(caller_id(request), turn_id))


@router.delete("/{uuid:turn_id}", response={200: DeletionOut, 409: rest.Problem, **rest.PROBLEMS})
def delete_turn(request: HttpRequest, turn_id: UUID, *, following: bool = False) -> deletions.Deletion:
    """Delete a turn of the shown branch, or (`following`) it and all after it.

    It is out of every answer at once. Until `until`, `restore` with this `id` brings it back; then it is gone for good.
    """
    return deletions.delete_turns(caller_id(request), turn_id, following=following, now=timezone.now())


@router.post("/restore", response={200: ConversationOut, 409: rest.Problem, **rest.PROBLEMS})
def restore_turns(request: HttpRequest, body: RestoreIn) -> Conversation:
    """Bring back what was deleted together."""
    return deletions.undo_deletion(caller_id(request), body.deletion_id)


@messages_router.patch("/{uuid:message_id}", response={200: ChangedOut, 409: rest.Problem, **rest.PROBLEMS})
def change_message(request: HttpRequest, message_id: UUID, body: MessageIn) -> dict[str, object]:
    """Put other words in its place, or redact some. The words before are kept nowhere in the transcript."""
    user_id = caller_id(request)
    if (body.text is None) == (body.redact is None):
        raise InvalidInputError(gettext("Send either text or redact."))
    if body.text is not None:
        changed = redaction.correct_message(user_id, message_id, text=body.text)
    else:
        changed = redaction.redact_message(
            user_id, message_id, words=body.redact or None, everywhere=body.everywhere
        )
    turn = queries.get_turn(user_id, changed.turn_id)
    repeated = {reply_id for replies in changed.repeated.values() for reply_id in replies}
    return {
        "message_ids": sorted(changed.message_ids),
        "repeated_in": sorted(repeated),
        "turn": _shown(turn),
    }


@router.post("/{uuid:turn_id}/fork", response={201: ConversationOut, 409: rest.Problem, **rest.PROBLEMS})
def fork_turn(request: HttpRequest, turn_id: UUID) -> Status[Conversation]:
    """A new conversation with copies of all turns up to this one, with their summary and kept lines."""
    copy = conversations.fork_conversation(
        caller(request), turn_id, idempotency_key=rest.idempotency_key(request), now=timezone.now()
    )
    return Status(201, copy)


@conversations_router.get("/{uuid:conversation_id}/pins", response={200: PinList, **rest.PROBLEMS})
def list_pins(request: HttpRequest, conversation_id: UUID) -> dict[str, object]:
    """The lines that stand word for word in every prompt of the conversation, in the order they were said."""
    user_id = caller_id(request)
    queries.get_conversation(user_id, conversation_id)
    return {"items": [_pin(line) for line in queries.pinned_lines(user_id, conversation_id)]}


@conversations_router.post("/{uuid:conversation_id}/pins", response={201: PinOut, **rest.PROBLEMS})
def add_pin(request: HttpRequest, conversation_id: UUID, body: PinIn) -> Status[dict[str, object]]:
    """Keep words of a turn in every prompt, also when it is summarised. The same words again are the same line."""
    user_id = caller_id(request)
    queries.get_conversation(user_id, conversation_id)
    if queries.get_turn(user_id, body.turn_id).conversation_id != conversation_id:
        raise NotFoundError(gettext("There is no such turn in this conversation."))
    return Status(201, _pin(summaries.pin_line(user_id, body.turn_id, text=body.text)))


@pins_router.delete("/{uuid:line_id}", response={204: None, **rest.PROBLEMS})
def remove_pin(request: HttpRequest, line_id: UUID) -> Status[None]:
    """Take a line off. It stays in the conversation, and is not put there again by itself."""
    summaries.unpin_line(caller_id(request), line_id)
    return Status(204, None)


# On the router of its resource: an address belongs to one. The route stands here for what it drops from Redis.
@conversation_router.delete("/{uuid:conversation_id}", response={204: None, **rest.PROBLEMS})
def delete_conversation(request: HttpRequest, conversation_id: UUID) -> Status[None]:
    """Take it away. For a while it can be brought back in the browser; a temporary one is gone for good, at once."""
    sending.delete(caller(request), conversation_id)
    return Status(204, None)


def _pin(line: PinnedLine) -> dict[str, object]:
    return {
        "id": line.id,
        "turn_id": line.turn_id,
        "seq": line.turn.seq,
        "kind": line.kind,
        "text": line.text,
        "created_at": line.created_at,
    }


def _shown(turn: Turn) -> dict[str, object]:
    (shown,) = _turns(turn.user_id, [turn])
    return shown


def _turns(user_id: UUID, turns: Sequence[Turn]) -> list[dict[str, object]]:
    run_ids = runs.run_ids_of_turns(user_id, [turn.id for turn in turns])
    siblings = queries.siblings(user_id, turns)
    waiting = waiting_of(user_id, turns)
    return [
        {**_turn(turn, run_ids.get(turn.id), siblings.get(turn.id, [])), "waiting": waiting.get(turn.id)}
        for turn in turns
    ]


def _turn(turn: Turn, run_id: UUID | None, siblings: Sequence[UUID]) -> dict[str, object]:
    reply = queries.text_of(turn, Message.Role.ASSISTANT) or turn.partial_text
    message_ids = {message.role: message.id for message in turn.messages.all()}
    error = {"code": turn.error_code, "message": turn.error_message} if turn.error_code else None
    return {
        "id": turn.id,
        "conversation_id": turn.conversation_id,
        "parent_id": turn.parent_id,
        "seq": turn.seq,
        "is_current": turn.is_current,
        "siblings": siblings,
        "status": turn.status,
        "user_message_id": message_ids.get(Message.Role.USER),
        "reply_message_id": message_ids.get(Message.Role.ASSISTANT),
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
