"""The vectors that stand for the sought words, as the database holds them."""

from typing import Final, LiteralString

from memoryapp.proof.fragments import Fragments
from memoryapp.proof.installing import Place

# By table, of rows that say a word with this stem.
_QUERIES: Final[dict[str, LiteralString]] = {
    "longterm_memory": """
        SELECT embedding::text FROM longterm_memory
        WHERE statement LIKE %s AND embedding IS NOT NULL ORDER BY id
    """,
    "longterm_experience": """
        SELECT embedding::text FROM longterm_experience WHERE goal LIKE %s AND embedding IS NOT NULL ORDER BY id
    """,
    "transcript_messagekey": """
        SELECT k.embedding::text FROM transcript_messagekey k JOIN transcript_message m ON m.id = k.message_id
        WHERE m.text LIKE %s AND k.embedding IS NOT NULL ORDER BY k.message_id
    """,
}
_WITH_VECTORS: LiteralString = """
SELECT DISTINCT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
WHERE t.typname IN ('vector', 'halfvec', 'sparsevec') AND c.relkind = 'r' AND NOT a.attisdropped
"""
_PRINTED_FROM, _PRINTED_TO = 4, 7  # numbers of a vector that are looked for as they are printed


class UnknownVectorsError(Exception):
    """A table has vectors that nobody here knows, so that they would not be looked for."""


def of_words(place: Place, stem: str) -> tuple[Fragments, list[bytes]]:
    """In binary, and a few numbers of each as they are printed."""
    unknown = {table for (table,) in place.rows(_WITH_VECTORS)} - _QUERIES.keys()
    if unknown:
        raise UnknownVectorsError(
            f"Vectors of {', '.join(sorted(unknown))}: say in {__name__} of which rows."
        )
    printed = [text for query in _QUERIES.values() for (text,) in place.rows(query, f"%{stem}%")]
    numbers = [text.strip("[]").split(",") for text in printed]
    fragments = Fragments([float(number) for number in vector] for vector in numbers)
    return fragments, [",".join(vector[_PRINTED_FROM:_PRINTED_TO]).encode() for vector in numbers]
