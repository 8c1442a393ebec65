"""Full-text search over what was said."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation

SEARCHED_HITS = 200  # messages; a word said more often finds the conversations that say it most

# Expects the GIN index message_search; user_id is checked on the rows it finds.
SEARCH_MESSAGES = """
SELECT m.id, t.conversation_id, t.seq, m.role, m.created_at,
       ts_rank(m.search_vector, q.query) AS rank,
       ts_headline('simple', m.text, q.query, 'StartSel=[[, StopSel=]], ShortWord=0, MaxWords=24, MinWords=8')
FROM transcript_message m
JOIN transcript_turn t ON t.id = m.turn_id
JOIN transcript_conversation c ON c.id = t.conversation_id AND NOT c.is_temporary,
     LATERAL (SELECT websearch_to_tsquery('english', %(text)s) || websearch_to_tsquery('simple', %(text)s) AS query) q
WHERE m.user_id = %(user_id)s AND m.search_vector @@ q.query
ORDER BY rank DESC, m.created_at DESC, m.id
LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """``snippet`` marks the words that matched with ``[[…]]``; ``rank`` orders, it is not a probability."""

    message_id: UUID
    conversation_id: UUID
    seq: int
    role: str
    said_at: datetime
    rank: float
    snippet: str


def search_messages(user_id: UUID, text: str, *, limit: int) -> list[FoundMessage]:
    """The user's messages that match, best first, in any conversation that is not temporary."""
    text = text.replace("\x00", " ")  # no message holds one, and Postgres takes none
    with connection.cursor() as cursor:
        cursor.execute(SEARCH_MESSAGES, {"user_id": user_id, "text": text, "limit": limit})
        return [FoundMessage(*row) for row in cursor.fetchall()]


def search_conversations(user_id: UUID, text: str) -> tuple[QuerySet[Conversation], dict[UUID, str]]:
    """The conversations whose title holds the text or in which it was said, newest first.

    With them, by id, the best of what was said, without marks and on one line.
    """
    said: dict[UUID, str] = {}
    for hit in search_messages(user_id, text, limit=SEARCHED_HITS):
        said.setdefault(hit.conversation_id, _plain(hit.snippet))
    rows = queries.conversation_list(user_id).filter(Q(title__icontains=text) | Q(id__in=list(said)))
    return rows, said


def _plain(snippet: str) -> str:
    return " ".join(snippet.replace("[[", "").replace("]]", "").split())
