"""The measurements of ``bench forgetting``, in a process that has a database of its own."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import numpy as np
from django.db import connection
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.bench.acquaintance import well_known
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row
from memoryapp.forgetting import operations
from memoryapp.forgetting.scopes import Asked
from memoryapp.longterm import queries
from memoryapp.longterm.models import Memory
from memoryapp.receipts.models import Receipt, Scope

ONE_GOAL_MS: Final = 100
MANY_GOAL_S: Final = 5
# What is dealt as facts are messages, of 34 words on average.
SHORTEN: Final = """
UPDATE longterm_memory SET statement = array_to_string((string_to_array(statement, ' '))[:%(words)s], ' ')
"""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """``facts``: of the person who forgets, each of so many ``words`` at most, with as many messages and a run for
    every turn, up to 2,000."""

    facts: int = 10_000
    words: int = 12
    pool: int = 10_000
    repeats: int = 100


def measure(sizes: Sizes, say: Say) -> list[Row]:
    """Raises ``BenchFailedError`` for a database with people in it: it would be emptied."""
    if User.objects.exists():
        raise BenchFailedError("This database is in use. The bench starts servers of its own.")
    say(f"A person with {sizes.facts:,} facts in {sizes.facts // 4:,} conversations …")
    user_id = _person(sizes)
    say("One fact at a time …")
    one = _one_at_a_time(user_id, sizes)
    say("Everything that came by one way, and back, and for good …")
    many = _one_source(user_id)
    say("Everything …")
    user_id = _person(sizes)
    return [*one, *many, *_everything(user_id, sizes)]


def _person(sizes: Sizes) -> UUID:
    user = well_known(sizes.facts, pool=sizes.pool)
    with connection.cursor() as cursor:
        cursor.execute(SHORTEN, {"words": sizes.words})
        cursor.execute("VACUUM ANALYZE longterm_memory")
    return user.id


def _one_at_a_time(user_id: UUID, sizes: Sizes) -> list[Row]:
    ids = _memory_ids(user_id)[: sizes.repeats]
    times = [1000 * _seconds(partial(_forget, user_id, Scope.MEMORY, str(each))) for each in ids]
    what = f"forgetting one fact of {sizes.facts:,}"
    return [
        Row(f"{what}, p50", float(np.percentile(times, 50)), "ms"),
        Row(f"{what}, p95", float(np.percentile(times, 95)), "ms", ONE_GOAL_MS),
    ]


def _one_source(user_id: UUID) -> list[Row]:
    what = f"{len(_memory_ids(user_id)):,} facts of one source"
    began = time.perf_counter()
    receipt = _forget(user_id, Scope.SOURCE, Memory.Channel.CHAT)
    forgotten = time.perf_counter()
    operations.undo(user_id, receipt.id, now=timezone.now())
    undone = time.perf_counter()
    again = _forget(user_id, Scope.SOURCE, Memory.Channel.CHAT)
    hidden = time.perf_counter()
    operations.finish(user_id, again.id)
    return [
        Row(f"forgetting {what}", forgotten - began, "s", MANY_GOAL_S),
        Row("  undoing that", undone - forgotten, "s", MANY_GOAL_S),
        Row("  forgetting it for good, after that", time.perf_counter() - hidden, "s", MANY_GOAL_S),
    ]


def _everything(user_id: UUID, sizes: Sizes) -> list[Row]:
    took_s = _seconds(partial(_forget, user_id, Scope.EVERYTHING))
    return [
        Row(f"forgetting everything of {sizes.facts:,} facts", took_s, "s", MANY_GOAL_S),
        Row("  facts left", len(_memory_ids(user_id)), "", 0),
    ]


def _forget(user_id: UUID, scope: Scope, subject: str = "") -> Receipt:
    return operations.forget(user_id, Asked(scope, subject), now=timezone.now())


def _memory_ids(user_id: UUID) -> list[UUID]:
    return list(queries.memories(user_id).order_by("id").values_list("id", flat=True))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
