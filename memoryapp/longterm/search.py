"""Finding one user's memories by meaning and by words: an exact scan of that user's rows, never a shared index.

A shared approximate index filtered by user returned none of ten rows for small users; the exact scan is right by
construction and takes milliseconds for thousands of rows.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

# Expects the index memory_list (user_id first). ``idf`` is BM25's (Robertson & Walker 1994), over the user's own
# live rows; ``overlap`` is the idf-weighted share of the query's terms that a row holds, 0..1.
SEARCH_MEMORIES = """
WITH live AS MATERIALIZED (
    SELECT m.id, m.search_vector,
           CASE WHEN m.embedding_model = %(model_id)s AND %(embedding)s::text IS NOT NULL
                THEN 1 - (m.embedding <=> %(embedding)s::vector) END AS cosine
    FROM longterm_memory m
    JOIN longterm_kind k ON k.id = m.kind_id
    JOIN accounts_user u ON u.id = m.user_id
    WHERE m.user_id = %(user_id)s AND m.status = 'active' AND m.confidence >= k.min_confidence
      AND coalesce(memory_fades_at(m.affirmed_at, k.ttl_days, m.expires_at, m.is_kept, u.time_zone) > now(), true)
), term AS (
    SELECT lexeme FROM unnest(tsvector_to_array(to_tsvector('english', %(text)s))) AS lexeme
), hit AS (
    SELECT live.id, term.lexeme FROM live JOIN term ON term.lexeme = ANY (tsvector_to_array(live.search_vector))
), weight AS (
    -- A scalar, evaluated once: joined, the count would be taken again for every hit.
    SELECT term.lexeme, ln(1 + ((SELECT count(*) FROM live) - count(hit.id) + 0.5) / (count(hit.id) + 0.5)) AS idf
    FROM term LEFT JOIN hit USING (lexeme)
    GROUP BY term.lexeme
), overlap AS (
    SELECT hit.id, sum(weight.idf) / (SELECT sum(idf) FROM weight) AS overlap
    FROM hit JOIN weight USING (lexeme) GROUP BY hit.id
)
SELECT live.id, live.cosine, coalesce(overlap.overlap, 0)
FROM live LEFT JOIN overlap USING (id)
WHERE overlap.overlap > 0 OR live.cosine > %(min_cosine)s
ORDER BY %(dense)s * coalesce(live.cosine, 0) + %(lexical)s * coalesce(overlap.overlap, 0) DESC, live.id
LIMIT %(limit)s
"""

MIN_COSINE = 0.05  # below this no model's score means anything; only trims the candidate list


@dataclass(frozen=True, slots=True)
class Match:
    """Arms of one candidate. ``cosine`` is None while the row has no vector of the asked model."""

    memory_id: UUID
    cosine: float | None
    overlap: float


def search_memories(
    user_id: UUID,
    text: str,
    *,
    embedding: list[float] | None,
    model_id: str,
    dense: float,
    lexical: float,
    limit: int,
) -> list[Match]:
    """Candidates among the user's live memories, best first by ``dense * cosine + lexical * overlap``.

    Lexical only when ``embedding`` is None.
    """
    parameters: dict[str, str | int | float | UUID | None] = {
        "user_id": user_id,
        "text": text,
        "embedding": None
        if embedding is None
        else "[" + ",".join(f"{value:.6f}" for value in embedding) + "]",
        "model_id": model_id,
        "min_cosine": MIN_COSINE,
        "dense": dense,
        "lexical": lexical,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(SEARCH_MEMORIES, parameters)
        return [
            Match(row_id, None if cosine is None else float(cosine), float(overlap))
            for row_id, cosine, overlap in cursor.fetchall()
        ]
