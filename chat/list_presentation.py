"""What the lists of chats show: the one beside every page, and the page of all of them."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil
from uuid import UUID

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop, ngettext

from chat.waiting_presentation import FOR_A_PERSON
from memoryapp.transcript import queries, search
from memoryapp.transcript.models import Conversation, Turn
from memoryapp.transcript.snippets import Snippet
from memoryapp.tuning import queries as tuning

LISTED = 100  # beside a chat; the page of all chats has the rest
SAID_IN_MINUTES = 90  # what is longer is said in hours
LISTED_ELSEWHERE = 30  # beside other pages: the way back to the last chats, not the place to look for one
# Headings of the list, in English: what is shown is translated, what chooses an icon is not.
PINNED = gettext_noop("Pinned")
TEMPORARY = gettext_noop("Temporary")
TODAY = gettext_noop("Today")
YESTERDAY = gettext_noop("Yesterday")
THIS_WEEK = gettext_noop("This week")

Group = tuple[str, list["ListedConversation"]]


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """``title_html`` and ``snippet_html`` mark what a search sought."""

    id: UUID
    title: str
    title_html: SafeString
    updated_at: datetime
    is_running: bool
    asks: bool  # a turn waits for its person's word
    is_current: bool
    is_temporary: bool
    snippet_html: SafeString


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One chat on the page of all chats. ``gone_text``: until when a deleted one can be brought back."""

    id: UUID
    title: str
    title_html: SafeString
    updated_at: datetime
    message_count: int
    is_running: bool
    asks: bool
    is_pinned: bool
    is_archived: bool
    is_deleted: bool
    gone_text: str
    snippet_html: SafeString


def sidebar_groups(
    user_id: UUID, *, current_id: UUID | None = None, searched: str = "", at_most: int | None = None
) -> list[Group]:
    """Pinned chats, then the rest by day; with ``searched``, those that hold it. Archived ones are left out.

    A temporary chat is in no list: it is shown while it is open, and only then.
    """
    said: Mapping[UUID, Snippet] = {}
    limit = at_most or LISTED
    if searched:
        matching, said = search.search_conversations(user_id, searched)
        rows = list(matching.filter(archived_at=None)[:limit])
    else:
        unpinned = queries.conversation_list(user_id).filter(pinned_at=None)
        rows = [*queries.pinned_conversations(user_id)[:limit], *unpinned[:limit]]
    open_now = _open_temporary(user_id, current_id, rows)
    return conversation_groups(
        [*open_now, *rows], current_id=current_id, searched=searched, said=said, asking=_asking(user_id)
    )


def conversation_groups(
    rows: Iterable[Conversation],
    *,
    current_id: UUID | None,
    searched: str = "",
    said: Mapping[UUID, Snippet] | None = None,
    asking: Collection[UUID] = (),
) -> list[Group]:
    """The rows under ``PINNED``, ``TODAY``, … or their month, in the reader's time zone, each in the order given.

    ``said``: what a search found in a conversation, by its id. ``asking``: those that wait for the reader's word.
    """
    today = timezone.localdate()
    groups: dict[str, list[ListedConversation]] = {TEMPORARY: [], PINNED: []}
    for row in rows:
        listed = ListedConversation(
            id=row.id,
            title=row.title,
            title_html=marked_title(row.title, searched),
            updated_at=row.updated_at,
            is_running=_is_running(row),
            asks=row.id in asking,
            is_current=row.id == current_id,
            is_temporary=row.is_temporary,
            snippet_html=marked((said or {}).get(row.id, ())),
        )
        groups.setdefault(_heading(row, today), []).append(listed)
    return [group for group in groups.items() if group[1]]


def chat_rows(
    user_id: UUID, rows: Sequence[Conversation], *, searched: str, said: Mapping[UUID, Snippet]
) -> list[ChatRow]:
    counts = queries.message_counts(user_id, [row.id for row in rows])
    asking = _asking(user_id)
    now = timezone.now()
    return [
        ChatRow(
            id=row.id,
            title=row.title,
            title_html=marked_title(row.title, searched),
            updated_at=row.updated_at,
            message_count=counts.get(row.id, 0),
            is_running=_is_running(row),
            asks=row.id in asking,
            is_pinned=row.pinned_at is not None,
            is_archived=row.archived_at is not None,
            is_deleted=row.deleted_at is not None,
            gone_text=gone_text(row.undo_until, now=now) if row.undo_until else "",
            snippet_html=marked(said.get(row.id, ())),
        )
        for row in rows
    ]


def gone_text(until: datetime, *, now: datetime) -> str:
    """When a deleted chat is gone for good, as a person says it; the sweep comes by once a minute."""
    minutes = ceil((until - now) / timedelta(minutes=1))
    if minutes <= 0:
        return gettext("Deleted for good any moment now")
    if minutes > SAID_IN_MINUTES:
        hours = _hours(minutes)
        return ngettext("Deleted for good in {n} hour", "Deleted for good in {n} hours", hours).format(
            n=hours
        )
    return ngettext("Deleted for good in a minute", "Deleted for good in {n} minutes", minutes).format(
        n=minutes
    )


def kept_for() -> str:
    """How long a deleted chat can be brought back, as it follows "for"."""
    minutes = tuning.conf().deleted_conversation_minutes
    if minutes > SAID_IN_MINUTES:
        hours = _hours(minutes)
        return ngettext("{n} hour", "{n} hours", hours).format(n=hours)
    return ngettext("a minute", "{n} minutes", minutes).format(n=minutes)


def marked(pieces: Snippet) -> SafeString:
    """The pieces as text, with what matched as ``<mark>``."""
    return format_html_join(
        "", "{}", ((format_html("<mark>{}</mark>", text) if is_match else text,) for text, is_match in pieces)
    )


def marked_title(title: str, searched: str) -> SafeString:
    """The title, marked where it holds what is searched, or begins a word with one of its words."""
    words = "|".join(map(re.escape, re.findall(r"\w+", searched)))
    if not words:
        return marked(((title, False),))
    # The split keeps what it splits at: every second piece is a match.
    pieces = re.split(rf"({re.escape(searched)}|\b(?:{words}))", title, flags=re.IGNORECASE)
    return marked(tuple((piece, place % 2 == 1) for place, piece in enumerate(pieces)))


def _hours(minutes: int) -> int:
    return round(minutes / 60)


def _open_temporary(
    user_id: UUID, current_id: UUID | None, rows: Sequence[Conversation]
) -> list[Conversation]:
    if current_id is None or any(row.id == current_id for row in rows):
        return []
    return list(queries.conversations(user_id).filter(id=current_id, is_temporary=True))


def _asking(user_id: UUID) -> set[UUID]:
    """The conversations in which a turn waits for its person's word."""
    waiting = queries.conversations(user_id).filter(
        turns__status=Turn.Status.WAITING, turns__wait_reason__in=FOR_A_PERSON
    )
    return set(waiting.values_list("id", flat=True))


def _is_running(row: Conversation) -> bool:
    return bool(getattr(row, "is_running", False))


def _heading(row: Conversation, today: date) -> str:
    if row.is_temporary:
        return TEMPORARY
    return PINNED if row.pinned_at else _day(timezone.localtime(row.updated_at).date(), today)


def _day(day: date, today: date) -> str:
    if day >= today:
        return TODAY
    if day == today - timedelta(days=1):
        return YESTERDAY
    if day > today - timedelta(days=7):
        return THIS_WEEK
    return date_format(day, "F Y")
