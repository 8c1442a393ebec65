"""One person's facts, as ``policies.ranking`` scores them: an exact scan of that person's rows, never a shared index.

A shared approximate index filtered by user returned none of ten rows for small users; the exact scan is right by
construction and takes milliseconds for thousands of rows (docs/adr/0004).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import F, Q
from numpy.typing import NDArray

from memoryapp import columns
from memoryapp.longterm import queries
from memoryapp.policies import terms as words
from memoryapp.policies.ranking import Facts

# ``kept_since``: what ``memory_fades_at`` says, turned round and asked once for each kind instead of for each row: a
# memory has not faded when it was affirmed on a day at most ``ttl_days`` before today, by the person's calendar.
RULE = """
WITH rule AS MATERIALIZED (
    SELECT kind.id, kind.min_confidence,
           ((now() AT TIME ZONE person.time_zone)::date - kind.ttl_days)::timestamp AT TIME ZONE person.time_zone
               AS kept_since
    FROM longterm_kind kind, accounts_user person
    WHERE person.id = %(user_id)s AND kind.subject = 'statement'
)
"""
UNFADED = """
(memory.is_kept
 OR memory.expires_at > now()
 OR (memory.expires_at IS NULL AND (rule.kept_since IS NULL OR memory.affirmed_at >= rule.kept_since)))
"""

# Expects the index memory_list (user_id and status first). In no order: none is needed.
FACTS = f"""
{RULE}SELECT array_send(array_agg(memory.id)),
       array_send(array_agg(length(memory.terms) / 4)),
       string_agg(memory.terms, ''),
       array_send(array_agg(coalesce(
           CASE WHEN memory.embedding_model = %(model_id)s AND vector_dims(memory.embedding) = %(dimensions)s
                THEN -(memory.embedding <#> %(embedding)s::halfvec) END, 'NaN')::real))
FROM longterm_memory memory JOIN rule ON rule.id = memory.kind_id
WHERE memory.user_id = %(user_id)s AND memory.status = 'active' AND memory.forgetting_id IS NULL
  AND memory.confidence >= rule.min_confidence AND {UNFADED}
"""  # noqa: S608  # ours

# In no order: to sort that many vectors would take longer than to read them. Expects memory_list.
VECTORS = """
SELECT array_send(array_agg(memory.id)), string_agg(halfvec_send(memory.embedding), '')
FROM longterm_memory memory
WHERE memory.user_id = %(user_id)s AND memory.status = 'active' AND memory.forgetting_id IS NULL
  AND memory.embedding_model = %(model_id)s AND memory.embedding IS NOT NULL
  AND (%(begin)s::uuid IS NULL OR memory.id <= %(begin)s::uuid)
"""

# Which memories those are, each with its words as they are now and whether it has faded. Expects memory_list.
VECTORS_MARK = f"""
{RULE}
SELECT count(*), coalesce(bit_xor(hashtextextended(concat_ws('.', memory.id, memory.version, {UNFADED}), 0)), 0)
FROM longterm_memory memory JOIN rule ON rule.id = memory.kind_id
WHERE memory.user_id = %(user_id)s AND memory.status = 'active' AND memory.forgetting_id IS NULL
  AND memory.embedding_model = %(model_id)s AND memory.embedding IS NOT NULL
"""  # noqa: S608  # ours

# A vector is of the words as they are now: of a memory that was changed since, it says nothing about the words then.
# Expects the primary key, and memory_version_unique for the versions.
COSINES_THEN = """
SELECT array_send(array_agg(memory.id)), array_send(array_agg((-(memory.embedding <#> %(embedding)s::halfvec))::real))
FROM longterm_memory memory
WHERE memory.user_id = %(user_id)s AND memory.id = ANY (%(ids)s)
  AND memory.embedding_model = %(model_id)s AND vector_dims(memory.embedding) = %(dimensions)s
  AND NOT EXISTS (
      SELECT FROM longterm_memoryversion version
      WHERE version.user_id = memory.user_id AND version.memory_id = memory.id AND version.recorded_at > %(as_of)s)
"""


@dataclass(frozen=True, slots=True)
class Found:
    """``ids``: in the order of ``facts``."""

    facts: Facts
    ids: Sequence[UUID]


def facts(
    user_id: UUID, *, embedding: list[float] | None, model_id: str, as_of: datetime | None = None
) -> Found:
    """The user's live memories that are sure enough for their kind, in no particular order.

    ``embedding``: of the question, so weighed that its inner product with a memory's vector is their similarity; what
    has no vector of ``model_id`` has none. ``as_of``: what was known at that moment, in the words of then.
    """
    parameters = {
        "user_id": user_id,
        "model_id": model_id,
        "dimensions": len(embedding or ()),
        "embedding": columns.halfvec(embedding) if embedding else None,
    }
    if as_of is not None:
        return _known(user_id, as_of, parameters)
    ids, counts, terms, cosine = columns.fetch(FACTS, parameters)
    found = Facts(columns.ints(counts), columns.packed_terms(terms), columns.floats(cosine))
    return Found(found, columns.ids(ids))


def vectors(
    user_id: UUID, *, model_id: str, begin: UUID | None = None
) -> tuple[Sequence[UUID], NDArray[np.float32]]:
    """The user's active memories that have a vector of this model, newest first, each with its vector as a row.

    ``begin``: the first of them, instead of the newest. Faded ones that no sweep has deleted yet are among them.
    """
    sent, packed = columns.fetch(VECTORS, {"user_id": user_id, "model_id": model_id, "begin": begin})
    ids = columns.ids(sent)
    newest_first = ids.ascending()[::-1]  # ids of this version grow with time
    return ids.reordered(newest_first), columns.halfvecs(packed)[newest_first]


def vectors_mark(user_id: UUID, *, model_id: str) -> str:
    """Of what ``vectors`` reads: another one as soon as a memory is added, reworded, embedded, gone, expired or
    brought back."""
    with connection.cursor() as cursor:
        cursor.execute(VECTORS_MARK, {"user_id": user_id, "model_id": model_id})
        count, digest = cursor.fetchone()
    return f"{count}.{digest}"


def _known(user_id: UUID, as_of: datetime, parameters: dict[str, object]) -> Found:
    then = queries.as_of(user_id, as_of).filter(Q(confidence_then__gte=F("kind__min_confidence")))
    known = list(then.order_by("id").values_list("id", F("statement_then")))
    cosines = _cosines_then([memory_id for memory_id, _ in known], as_of, parameters)
    packed = [words.packed(words.terms(statement)) for _, statement in known]
    found = Facts(
        counts=np.array([len(terms) // 4 for terms in packed], np.int32),
        terms=columns.packed_terms(b"".join(packed)),
        cosine=np.array([cosines.get(memory_id, np.nan) for memory_id, _ in known], np.float32),
    )
    return Found(found, [memory_id for memory_id, _ in known])


def _cosines_then(ids: list[UUID], as_of: datetime, parameters: dict[str, object]) -> dict[UUID, float]:
    if parameters["embedding"] is None:
        return {}
    found, cosine = columns.fetch(COSINES_THEN, {**parameters, "ids": ids, "as_of": as_of})
    return dict(zip(columns.ids(found), columns.floats(cosine).tolist(), strict=True))
