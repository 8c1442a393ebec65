"""REST: conversations and their summaries."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema, Status

from memoryapp import rest
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.nudges import SUMMARISE_AGAIN, SUMMARISE_NOW, nudge
from memoryapp.transcript import conversations, queries, retention, search, summaries
from memoryapp.transcript.models import Conversation, Summary
from memoryapp.transcript.snippets import Snippet

router = Router(tags=["conversations"])


class ConversationIn(rest.Body):
    title: str = Field("", max_length=200)
    temporary: bool = False
    use_memory: bool | None = None
    save_memory: bool | None = None


class ConversationPatch(rest.Body):
    """``temporary``: only true; there is no way back. ``retention_days``: 0 for ever, null as the rule says."""

    title: str | None = Field(None, max_length=200)
    use_memory: bool | None = None
    save_memory: bool | None = None
    pinned: bool | None = None
    archived: bool | None = None
    temporary: Literal[True] | None = None
    retention_days: int | None = Field(None, ge=0, le=retention.LONGEST_DAYS)


class ConversationOut(Schema):
    """``title_source``: the first words, until the model or the user gives a title.

    ``retention_days``: of its own. ``kept_until``: by whatever rule, unless more is said; null: for ever.
    """

    id: UUID
    title: str
    title_source: str
    pinned: bool
    archived: bool
    temporary: bool = Field(alias="is_temporary")
    use_memory: bool
    save_memory: bool
    turns: int = Field(alias="last_seq")
    retention_days: int | None
    kept_until: datetime | None
    created_at: datetime
    updated_at: datetime

    @staticmethod
    def resolve_kept_until(conversation: Conversation) -> datetime | None:
        return retention.kept_until(conversation)

    @staticmethod
    def resolve_pinned(conversation: Conversation) -> bool:
        return conversation.pinned_at is not None

    @staticmethod
    def resolve_archived(conversation: Conversation) -> bool:
        return conversation.archived_at is not None


class SnippetPiece(Schema):
    text: str
    is_match: bool


class ListedConversationOut(ConversationOut):
    """``snippet``: what ``q`` found of what was said, in pieces that make a line; null when it is in the title only."""

    snippet: list[SnippetPiece] | None

    @staticmethod
    def resolve_snippet(conversation: Conversation) -> list[SnippetPiece] | None:
        pieces: Snippet | None = vars(conversation)["snippet"]
        if pieces is None:
            return None
        return [SnippetPiece(text=text, is_match=is_match) for text, is_match in pieces]


class ConversationPage(Schema):
    items: list[ListedConversationOut]
    next_cursor: str | None


class SummaryOut(Schema):
    """``in_use``: stands for its turns in every prompt. ``replaces``: the version that was in use before it."""

    id: UUID
    version: int
    first_seq: int
    last_seq: int
    text: str
    method: str
    trigger: str
    fallback_reason: str
    model: str
    tokens_before: int
    tokens_after: int
    input_tokens: int
    output_tokens: int
    in_use: bool
    replaces: int | None
    created_at: datetime


class SummaryIn(rest.Body):
    text: str


class SummariseIn(rest.Body):
    """``again``: make the version in use anew, of the same turns; else of all turns but the newest."""

    again: bool = False


class SummariseOut(Schema):
    """``newest_version``: the one there is; what was asked for has a greater number, once it is made."""

    status: str
    newest_version: int | None


class SummaryList(Schema):
    items: list[SummaryOut]


@router.post("", response={201: ConversationOut, **rest.PROBLEMS})
def create_conversation(request: HttpRequest, body: ConversationIn) -> Status[Conversation]:
    conversation = conversations.start_conversation(
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
    request: HttpRequest, q: str = "", cursor: str = "", limit: int = 50, *, archived: bool = False
) -> dict[str, object]:
    """Newest first; ``q`` keeps those whose title holds it or in which it was said.

    ``archived``: only those that were put away, which the list leaves out otherwise.
    """
    user_id = caller_id(request)
    rows = queries.conversation_list(user_id, archived=archived)
    said: Mapping[UUID, Snippet] = {}
    if q:
        found, said = search.search_conversations(user_id, q)
        rows = found.filter(archived_at__isnull=not archived)
    items, next_cursor = rest.page(rows, order=("-updated_at", "-id"), cursor=cursor, limit=limit)
    for row in items:
        vars(row)["snippet"] = said.get(row.id)
    return {"items": items, "next_cursor": next_cursor}


@router.get("/{uuid:conversation_id}", response={200: ConversationOut, **rest.PROBLEMS})
def get_conversation(request: HttpRequest, conversation_id: UUID) -> Conversation:
    return queries.get_conversation(caller_id(request), conversation_id)


@router.patch("/{uuid:conversation_id}", response={200: ConversationOut, **rest.PROBLEMS})
def change_conversation(request: HttpRequest, conversation_id: UUID, body: ConversationPatch) -> Conversation:
    user_id = caller_id(request)
    changed = conversations.change_conversation(
        user_id,
        conversation_id,
        title=body.title,
        use_memory=body.use_memory,
        save_memory=body.save_memory,
        is_pinned=body.pinned,
        is_archived=body.archived,
    )
    if "retention_days" in body.model_fields_set:
        changed = retention.keep_for(user_id, conversation_id, days=body.retention_days)
    return retention.make_temporary(user_id, conversation_id) if body.temporary else changed


@router.get("/{uuid:conversation_id}/summaries", response={200: SummaryList, **rest.PROBLEMS})
def list_summaries(request: HttpRequest, conversation_id: UUID) -> dict[str, object]:
    """Versions of the rolled-up summary, newest first; each covers turns 1 to ``last_seq``."""
    user_id = caller_id(request)
    queries.get_conversation(user_id, conversation_id)
    in_use = queries.current_summary(user_id, conversation_id)
    rows = queries.summaries(user_id, conversation_id).select_related("replaces")
    return {"items": [_summary(row, in_use=in_use) for row in rows]}


@router.post("/{uuid:conversation_id}/summaries", response={202: SummariseOut, **rest.PROBLEMS})
def summarise(request: HttpRequest, conversation_id: UUID, body: SummariseIn) -> Status[dict[str, object]]:
    """Ask for a new version. It is made in the background, unless there is nothing to summarise."""
    user_id = caller_id(request)
    conversation = queries.get_conversation(user_id, conversation_id)
    newest = queries.summaries(user_id, conversation_id).first()
    nudge(SUMMARISE_AGAIN if body.again else SUMMARISE_NOW, conversation.id)
    return Status(202, {"status": "queued", "newest_version": newest.version if newest else None})


@router.put(
    "/{uuid:conversation_id}/summary",
    response={200: SummaryOut, 409: rest.Problem, 428: rest.Problem, **rest.PROBLEMS},
)
def edit_summary(request: HttpRequest, conversation_id: UUID, body: SummaryIn) -> dict[str, object]:
    """Your own words in place of the version in use, which ``If-Match`` names. Answers the version that it became."""
    user_id = caller_id(request)
    queries.get_conversation(user_id, conversation_id)
    version = rest.expected_version(request)
    edited = summaries.edit_summary(user_id, conversation_id, version=version, text=body.text)
    return _summary(edited, in_use=edited)


def _summary(row: Summary, *, in_use: Summary | None) -> dict[str, object]:
    return {
        "id": row.id,
        "version": row.version,
        "first_seq": 1,
        "last_seq": row.last_seq,
        # Made from something forgotten since: nobody reads it any more.
        "text": "" if row.is_stale else row.text,
        "method": row.method,
        "trigger": row.trigger,
        "fallback_reason": row.fallback_reason,
        "model": row.model,
        "tokens_before": row.tokens_before,
        "tokens_after": row.tokens_after,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "in_use": in_use is not None and in_use.id == row.id,
        "replaces": row.replaces.version if row.replaces else None,
        "created_at": row.created_at,
    }
