"""How many bytes each tier holds of one person: words, what finds them and vectors, as the database keeps them."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import connection

SAMPLE_ROWS: Final = (
    1_000  # of a table that are measured for one person; wide rows by the ten thousand take too long
)
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


def _of_row(columns: tuple[str, ...]) -> str:
    return " + ".join(f"coalesce(pg_column_size({column}), 0)" for column in columns)


def _of_person(table: str, columns: tuple[str, ...]) -> str:
    """As many times the mean of the measured rows as there are rows."""
    rows = f"FROM {table} WHERE user_id = %(user_id)s"
    measured = f"(SELECT {_of_row(columns)} AS bytes {rows} LIMIT %(sample)s) AS measured"
    return f"(SELECT coalesce(avg(bytes), 0) * (SELECT count(*) {rows}) FROM {measured})"  # noqa: S608  # ours


def _of_people(table: str, columns: tuple[str, ...]) -> str:
    sizes = _of_row(columns)
    return f"(SELECT user_id, sum({sizes}) AS bytes FROM {table} WHERE user_id = ANY(%(user_ids)s) GROUP BY user_id)"  # noqa: S608


# One statement; each count expects its table's index that begins with the user.
_BYTES: Final = "SELECT " + ", ".join(
    " + ".join(_of_person(table, columns) for table, columns in tables.items()) for tables in _HELD.values()
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
    """An estimate from the first ``SAMPLE_ROWS`` of each table; of no more rows it is exact."""
    with connection.cursor() as cursor:
        cursor.execute(_BYTES, {"user_id": user_id, "sample": SAMPLE_ROWS})
        return dict(zip(_HELD, map(round, cursor.fetchone()), strict=True))
