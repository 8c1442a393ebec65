"""Pairs of one person's facts that may say the same: looked for once, as long as the facts stay as they are.

Comparing thousands of facts takes a quarter of a second, nearly all of it to read their vectors. So what was found, ids
and similarities without words, stays in Redis for some minutes under a mark of the very facts that were compared.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from redis.exceptions import RedisError

from memoryapp.longterm import queries, search
from memoryapp.longterm.models import Memory
from memoryapp.policies import health as rules
from memoryapp.redis_client import redis_client

COMPARED_AT_ONCE: Final = 1_000  # so few facts are all compared with each other
PART: Final = 250  # of more, so many are compared with all older ones
KEPT_S: Final = 600


@dataclass(frozen=True, slots=True)
class Pair:
    newer: UUID
    older: UUID
    similarity: float


@dataclass(frozen=True, slots=True)
class Found:
    """Of one part of the facts, the most similar first. ``next_begin``: where the next part begins."""

    pairs: Sequence[Pair]
    next_begin: UUID | None


@dataclass(frozen=True, slots=True)
class SimilarFacts:
    """Two facts that may say the same."""

    newer: Memory
    older: Memory
    similarity: float


def pairs(user_id: UUID, *, model_id: str, begin: UUID | None = None) -> Found:
    """Of the part that begins with ``begin``, instead of with the newest fact."""
    mark = search.vectors_mark(user_id, model_id=model_id)
    key = f"similar:{user_id}:{model_id}:{begin or ''}:{mark}"
    found = _kept(key)
    if found is None:
        found = _look(user_id, model_id=model_id, begin=begin)
        _keep(key, found)
    return found


def facts_of(user_id: UUID, found: Sequence[Pair]) -> list[SimilarFacts]:
    """Without those of which one is not there any more."""
    memories = queries.by_ids(
        user_id, {memory_id for pair in found for memory_id in (pair.newer, pair.older)}
    )
    return [
        SimilarFacts(memories[pair.newer], memories[pair.older], pair.similarity)
        for pair in found
        if pair.newer in memories and pair.older in memories
    ]


def _look(user_id: UUID, *, model_id: str, begin: UUID | None) -> Found:
    ids, vectors = search.vectors(user_id, model_id=model_id, begin=begin)
    part = PART if len(ids) > COMPARED_AT_ONCE or begin else len(ids)
    alike = [
        Pair(ids[pair.first], ids[pair.second], pair.similarity)
        for pair in rules.similar_pairs(vectors, part=part)
    ]
    words = queries.statements(
        user_id, {memory_id for pair in alike for memory_id in (pair.newer, pair.older)}
    )
    same = [
        pair
        for pair in alike
        if pair.newer in words
        and pair.older in words
        and rules.may_say_the_same(words[pair.newer], words[pair.older], similarity=pair.similarity)
    ]
    return Found(same, ids[part] if len(ids) > part else None)


def _kept(key: str) -> Found | None:
    """None also when Redis is away: then it is looked for each time."""
    with suppress(RedisError):
        if kept := redis_client().get(key):
            found = json.loads(kept)
            next_begin = UUID(found["next"]) if found["next"] else None
            return Found([Pair(UUID(one), UUID(other), s) for one, other, s in found["pairs"]], next_begin)
    return None


def _keep(key: str, found: Found) -> None:
    values = {
        "pairs": [(str(pair.newer), str(pair.older), pair.similarity) for pair in found.pairs],
        "next": str(found.next_begin or ""),
    }
    with suppress(RedisError):
        redis_client().set(key, json.dumps(values), ex=KEPT_S)
