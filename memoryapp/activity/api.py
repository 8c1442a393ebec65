"""REST: who did what to what is remembered, and when; ids and numbers, never what anything says."""

from datetime import date, datetime, time, timedelta
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.accounts.queries import time_zone_of
from memoryapp.acting import Actor
from memoryapp.activity import queries
from memoryapp.activity.models import Tier, Verb

router = Router(tags=["activity"])


class EntryOut(Schema):
    """``subject_id``: the memory, experience, conversation, turn, run or person it is about, which may be gone; null
    when it is about several, ``rows`` of them. ``name``: of the program or the admin."""

    id: UUID
    actor: str
    name: str = Field(alias="actor_name")
    verb: str
    tier: str
    subject_id: UUID | None
    rows: int
    detail: str
    recorded_at: datetime


class ActivityPage(Schema):
    items: list[EntryOut]
    next_cursor: str | None


class ActivityQuery(Schema):
    """``from`` and ``to``: days of the user's time zone, both included."""

    actor: Actor | None = None
    verb: Verb | None = None
    tier: Tier | None = None
    since: date | None = Field(None, alias="from")
    until: date | None = Field(None, alias="to")


@router.get("", response={200: ActivityPage, **rest.PROBLEMS})
def list_activity(
    request: HttpRequest,
    asked: Query[ActivityQuery],
    cursor: str = "",
    limit: int = 50,
) -> dict[str, object]:
    """Newest first; ``from`` and ``to`` are days of the user's time zone, both included."""
    user_id = caller_id(request)
    zone = time_zone_of(user_id)
    after = asked.until + timedelta(days=1) if asked.until and asked.until < date.max else None
    begin, end = (
        datetime.combine(day, time(0), tzinfo=zone) if day else None for day in (asked.since, after)
    )
    rows = queries.entries(
        user_id,
        actor=asked.actor or "",
        verb=asked.verb or "",
        tier=asked.tier or "",
        since=begin,
        before=end,
    )
    items, next_cursor = rest.page(rows, order=queries.ORDER, cursor=cursor, limit=limit)
    return {"items": items, "next_cursor": next_cursor}
