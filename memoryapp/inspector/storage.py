"""How many bytes each tier holds of one person: words, what finds them and vectors, as the database keeps them."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import connection

# Each table's large columns by tier. What is stored out of line counts as it is stored and is not read for it.
_HELD: Final = {
    "scratchpad": {
        "scratchpad_run": ("goal", "pad"),
        "scratchpad_step": ("arguments", "observation", "brief", "error"),
        "scratchpad_checkpoint": ("delta",),
    },
    "transcript": {
        "transcript_message": ("text", "search_vector"),
        "transcript_messagekey": ("terms", "embedding"),
        "transcript_summary": ("text",),
        "transcript_pinnedline": ("text",),
    },
    "longterm": {
        "longterm_memory": ("statement", "quote", "terms", "embedding"),
        "longterm_memoryversion": ("statement",),
        "longterm_memorysource": ("quote",),
        "longterm_experience": ("goal", "worked", "avoid", "embedding"),
    },
}


def _sum_of(table: str, columns: tuple[str, ...]) -> str:
    sizes = " + ".join(f"coalesce(pg_column_size({column}), 0)" for column in columns)
    return f"(SELECT coalesce(sum({sizes}), 0) FROM {table} WHERE user_id = %(user_id)s)"  # noqa: S608  # ours


def _of_people(table: str, columns: tuple[str, ...]) -> str:
    sizes = " + ".join(f"coalesce(pg_column_size({column}), 0)" for column in columns)
    return f"(SELECT user_id, sum({sizes}) AS bytes FROM {table} WHERE user_id = ANY(%(user_ids)s) GROUP BY user_id)"  # noqa: S608


# One statement; each part expects its table's index that begins with the user.
_BYTES: Final = "SELECT " + ", ".join(
    " + ".join(_sum_of(table, columns) for table, columns in tables.items()) for tables in _HELD.values()
)


_BYTES_OF_PEOPLE: Final = (
    "SELECT user_id, sum(bytes) FROM ("  # noqa: S608  # ours
    + " UNION ALL ".join(_of_people(*held) for tables in _HELD.values() for held in tables.items())
    + ") AS held GROUP BY user_id"
)


def bytes_of_people(user_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Of all tiers together; who has nothing is absent."""
    with connection.cursor() as cursor:
        cursor.execute(_BYTES_OF_PEOPLE, {"user_ids": list(user_ids)})
        return {user_id: int(held) for user_id, held in cursor.fetchall()}


def bytes_by_tier(user_id: UUID) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(_BYTES, {"user_id": user_id})
        return dict(zip(_HELD, map(int, cursor.fetchone()), strict=True))
