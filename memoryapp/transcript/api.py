"""REST: conversations and their summaries."""

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema, Status

from memoryapp import rest
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.transcript import operations, queries, search
from memoryapp.transcript.models import Conversation, Summary

router = Router(tags=["conversations"])


class ConversationIn(rest.Body):
    title: str = Field("", max_length=200)
    temporary: bool = False
    use_memory: bool = True
    save_memory: bool = True


class ConversationPatch(rest.Body):
    title: str | None = Field(None, max_length=200)
    use_memory: bool | None = None
    save_memory: bool | None = None


class ConversationOut(Schema):
    id: UUID
    title: str
    temporary: bool = Field(alias="is_temporary")
    use_memory: bool
    save_memory: bool
    turns: int = Field(alias="last_seq")
    created_at: datetime
    updated_at: datetime


class ConversationPage(Schema):
    items: list[ConversationOut]
    next_cursor: str | None


class SummaryOut(Schema):
    id: UUID
    version: int
    first_seq: int
    last_seq: int
    text: str
    method: str
    tokens_before: int
    tokens_after: int
    created_at: datetime


class SummaryList(Schema):
    items: list[SummaryOut]


@router.post("", response={201: ConversationOut, **rest.PROBLEMS})
def create_conversation(request: HttpRequest, body: ConversationIn) -> Status[Conversation]:
    conversation = operations.start_conversation(
        caller(request),
        now=timezone.now(),
        title=body.title,
        is_temporary=body.temporary,
        use_memory=body.use_memory,
        save_memory=body.save_memory,
    )
    return Status(201, conversation)


@router.get("", response={200: ConversationPage, **rest.PROBLEMS})
def list_conversations(
    request: HttpRequest, q: str = "", cursor: str = "", limit: int = 50
) -> dict[str, object]:
    """Newest first; ``q`` keeps those whose title holds it or in which it was said."""
    user_id = caller_id(request)
    rows = search.search_conversations(user_id, q)[0] if q else queries.conversation_list(user_id)
    items, next_cursor = rest.page(rows, order=("-updated_at", "-id"), cursor=cursor, limit=limit)
    return {"items": items, "next_cursor": next_cursor}


@router.get("/{uuid:conversation_id}", response={200: ConversationOut, **rest.PROBLEMS})
def get_conversation(request: HttpRequest, conversation_id: UUID) -> Conversation:
    return queries.get_conversation(caller_id(request), conversation_id)


@router.patch("/{uuid:conversation_id}", response={200: ConversationOut, **rest.PROBLEMS})
def change_conversation(request: HttpRequest, conversation_id: UUID, body: ConversationPatch) -> Conversation:
    return operations.change_conversation(
        caller_id(request),
        conversation_id,
        title=body.title,
        use_memory=body.use_memory,
        save_memory=body.save_memory,
    )


@router.delete("/{uuid:conversation_id}", response={204: None, **rest.PROBLEMS})
def delete_conversation(request: HttpRequest, conversation_id: UUID) -> Status[None]:
    operations.delete_conversation(caller_id(request), conversation_id)
    return Status(204, None)


@router.get("/{uuid:conversation_id}/summaries", response={200: SummaryList, **rest.PROBLEMS})
def list_summaries(request: HttpRequest, conversation_id: UUID) -> dict[str, object]:
    """Versions of the rolled-up summary, newest first; each covers turns 1 to ``last_seq``."""
    user_id = caller_id(request)
    queries.get_conversation(user_id, conversation_id)
    return {"items": [_summary(row) for row in queries.summaries(user_id, conversation_id)]}


def _summary(row: Summary) -> dict[str, object]:
    return {
        "id": row.id,
        "version": row.version,
        "first_seq": 1,
        "last_seq": row.last_seq,
        "text": row.text,
        "method": row.method,
        "tokens_before": row.tokens_before,
        "tokens_after": row.tokens_after,
        "created_at": row.created_at,
    }
