"""Reads for looking through all conversations: which are listed, and what there is to say about each of a page."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Coalesce

from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Summary, Turn

SHOWN: Final = ("", "temporary", "pinned", "archived", "summarised")


@dataclass(frozen=True, slots=True)
class Tokens:
    """What replies took. ``cached_tokens``: of the input, what the provider's cache gave."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Told:
    """Of one conversation: exchanges that can be read, and the versions of its summary."""

    turns: int = 0
    summaries: int = 0


def listed(
    user_id: UUID, *, show: str = "", since: datetime | None = None, until: datetime | None = None
) -> QuerySet[Conversation]:
    """Those that can be read, archived ones too; temporary ones only when they are asked for. The caller orders.

    ``show``: one of ``SHOWN``. ``since`` and ``until``: when something was last said, half open.
    """
    rows = queries.conversations(user_id).filter(is_temporary=show == "temporary")
    if show == "pinned":
        rows = rows.exclude(pinned_at=None)
    if show == "archived":
        rows = rows.exclude(archived_at=None)
    if show == "summarised":
        usable = Summary.objects.filter(conversation=OuterRef("pk"), is_stale=False)
        rows = rows.filter(Exists(usable))
    if since:
        rows = rows.filter(updated_at__gte=since)
    if until:
        rows = rows.filter(updated_at__lt=until)
    return rows


def told(user_id: UUID, conversation_ids: Collection[UUID]) -> dict[UUID, Told]:
    turns = Turn.objects.filter(user_id=user_id, conversation__in=conversation_ids, is_current=True)
    versions = Summary.objects.filter(user_id=user_id, conversation__in=conversation_ids, is_stale=False)
    turn_counts = dict(turns.order_by().values_list("conversation").annotate(count=Count("id")))
    version_counts = dict(versions.order_by().values_list("conversation").annotate(count=Count("id")))
    return {id_: Told(turn_counts.get(id_, 0), version_counts.get(id_, 0)) for id_ in conversation_ids}


def tokens(user_id: UUID, conversation_id: UUID) -> Tokens:
    """Of all replies of a conversation, on every branch: each was paid for."""
    made = Turn.objects.filter(user_id=user_id, conversation=conversation_id).aggregate(
        read=Coalesce(Sum("input_tokens"), 0),
        written=Coalesce(Sum("output_tokens"), 0),
        cached=Coalesce(Sum("cache_read_tokens"), 0),
        kept=Coalesce(Sum("cache_creation_tokens"), 0),
    )
    return Tokens(made["read"] + made["cached"] + made["kept"], made["written"], made["cached"])


def summary_tokens(user_id: UUID, conversation_id: UUID) -> Tokens:
    """What making its summaries took."""
    made = Summary.objects.filter(user_id=user_id, conversation=conversation_id).aggregate(
        read=Coalesce(Sum("input_tokens"), 0), written=Coalesce(Sum("output_tokens"), 0)
    )
    return Tokens(made["read"], made["written"], 0)


def since(user_id: UUID, moment: datetime) -> tuple[set[UUID], dict[UUID, frozenset[UUID]]]:
    """Conversations in which all was said since, and of the others what was: their turns since, on every branch.

    A copy was said when its original was, whenever it was made.
    """
    before = Turn.objects.filter(conversation=OuterRef("pk"), created_at__lt=moment)
    rows = queries.conversations(user_id)
    begun = rows.filter(created_at__gte=moment).exclude(Exists(before))
    new = Turn.objects.filter(user_id=user_id, conversation__in=rows, created_at__gte=moment)
    found: dict[UUID, set[UUID]] = {}
    for turn_id, conversation_id in new.exclude(conversation__in=begun).values_list("id", "conversation_id"):
        found.setdefault(conversation_id, set()).add(turn_id)
    return set(begun.values_list("id", flat=True)), {
        id_: frozenset(turn_ids) for id_, turn_ids in found.items()
    }
