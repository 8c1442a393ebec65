"""The measurements of ``bench recall``, in a process that has a database and the real embedder."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.utils import timezone
from numpy.typing import NDArray

from memoryapp import columns
from memoryapp.accounts.models import User
from memoryapp.bench.crowd import gather, questions
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row
from memoryapp.context import recall
from memoryapp.embeddings.base import Aim
from memoryapp.embeddings.registry import get_embedder
from memoryapp.longterm import search
from memoryapp.transcript import passages

GOAL_MS = 60
FOREIGN = 20  # times as many rows of others in the same tables
# Twenty times the rows of others, and none of them read: what is left is that one's own lie further apart.
RATIO_GOAL = 2.0
NEAREST = 10
ASKING = 3  # people, in turn: each finds the memory of the server full of another's rows

VECTORS_OF_FACTS = """
SELECT array_send(array_agg(id)), string_agg(halfvec_send(embedding), '')
FROM longterm_memory WHERE user_id = %(user_id)s
"""
VECTORS_OF_MESSAGES = """
SELECT array_send(array_agg(message_id)), string_agg(halfvec_send(embedding), '')
FROM transcript_messagekey WHERE user_id = %(user_id)s
"""
TABLES = ("longterm_memory", "transcript_messagekey", "transcript_message", "transcript_turn")
BYTES = "SELECT pg_total_relation_size(%(table)s::regclass)"
ROWS = "SELECT (SELECT count(*) FROM longterm_memory), (SELECT count(*) FROM transcript_messagekey)"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """``rows``: facts and messages of everybody, half of each; ``own``: of each, the one person's who is measured."""

    rows: int = 200_000
    people: int = 10
    own: int = 10_000
    pool: int = 10_000
    repeats: int = 40

    @property
    def small(self) -> int:
        """Of each, the person's whose rows are one in twenty-one."""
        return self.rows // 2 // (FOREIGN + 1) // 2 * 2


@dataclass(frozen=True, slots=True)
class Timed:
    """In ms, of each repetition."""

    reading: list[float]
    whole: list[float]
    embedding: list[float]


def measure(sizes: Sizes, say: Say) -> list[Row]:
    """Raises ``BenchFailedError`` for a database with people in it: it would be emptied."""
    if User.objects.exists():
        raise BenchFailedError("This database is in use. The bench starts servers of its own.")
    embedder = get_embedder()
    say("Loading the embedding model …")
    asked = questions(sizes.repeats)
    embedder.embed_queries(asked[:1])

    say(f"A person with {sizes.small:,} facts and as many messages, and one other like it …")
    (one, _) = _gather(sizes, [sizes.small] * 2)
    beside_one = _timed([one], asked)

    say(f"{sizes.rows:,} rows of {sizes.people} people …")
    rest = (sizes.rows // 2 - sizes.own - sizes.small) // (sizes.people - 2) // 2 * 2
    people = _gather(sizes, [sizes.own, sizes.small, *[rest] * (sizes.people - 2)])
    alone = _timed(people[:1], asked)
    in_turn = _timed(people[:ASKING], asked[: sizes.repeats // ASKING])
    beside_many = _timed(people[1:2], asked)
    return [
        *_times(f"{sizes.own:,} facts and {sizes.own:,} messages", alone, goal=GOAL_MS),
        *_times("the same, others asking in between", in_turn, goal=None),
        *_among_others(sizes, beside_one, beside_many),
        Row(
            "own rows among the 10 nearest, fewest", _fewest_found(people[:2]), "", NEAREST, is_at_least=True
        ),
        *_on_disk(),
    ]


def _gather(sizes: Sizes, shares: Sequence[int]) -> list[UUID]:
    embedder = get_embedder()
    return gather(shares, pool=sizes.pool, dimensions=embedder.dimensions, model_id=embedder.model_id)


def _times(what: str, timed: Timed, *, goal: float | None) -> list[Row]:
    """Of whole recalls, as a turn makes them, and of their parts."""
    return [
        Row(f"recall over {what}, p50", _p(50, timed.whole), "ms"),
        Row(f"recall over {what}, p95", _p(95, timed.whole), "ms", goal),
        Row("  the question's vector, p50", _p(50, timed.embedding), "ms"),
        Row("  the question's vector, p95", _p(95, timed.embedding), "ms"),
        Row("  reading all rows of that person, p50", _p(50, timed.reading), "ms"),
        Row("  reading all rows of that person, p95", _p(95, timed.reading), "ms"),
    ]


def _among_others(sizes: Sizes, beside_one: Timed, beside_many: Timed) -> list[Row]:
    few, many = (_p(50, timed.reading) for timed in (beside_one, beside_many))
    what = f"reading {sizes.small:,} facts and messages"
    return [
        Row(f"{what} beside as many of others, p50", few, "ms"),
        Row(f"{what} beside {FOREIGN} times as many, p50", many, "ms"),
        Row("  ratio", many / few, "", RATIO_GOAL),
    ]


def _timed(people: Sequence[UUID], asked: Sequence[str]) -> Timed:
    """The first person's, while all of them ask, one after the other."""
    timed = Timed([], [], [])
    for question in asked:
        for user_id in reversed(people):
            embedding_ms, whole_ms, reading_ms = _times_of(user_id, question)
        timed.embedding.append(embedding_ms)
        timed.whole.append(whole_ms)
        timed.reading.append(reading_ms)
    return timed


def _times_of(user_id: UUID, question: str) -> tuple[float, float, float]:
    """Of the question's vector, of the whole recall as a turn makes it, and of reading the rows."""
    return (
        _ms(lambda: get_embedder().embed_queries([question])),
        _ms(lambda: recall.recall(user_id, question, now=timezone.now())),
        _ms(lambda: _read(user_id)),
    )


def _read(user_id: UUID) -> None:
    model_id = get_embedder().model_id
    search.facts(user_id, embedding=_vector(0, Aim.FACTS), model_id=model_id)
    passages.passages(user_id, embedding=_vector(0, Aim.DIALOGUE), model_id=model_id)


def _vector(number: int, aim: Aim) -> list[float]:
    embedder = get_embedder()
    vector = np.random.default_rng(number).normal(size=embedder.dimensions)
    return embedder.aimed((vector / np.linalg.norm(vector)).tolist(), at=aim, language="en")


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _p(percent: int, times: Sequence[float]) -> float:
    return float(np.percentile(times, percent))


def _fewest_found(people: Sequence[UUID]) -> float:
    """Of the ten that are nearest by arithmetic of our own over one person's rows, how many the search has first."""
    return min(_found(user_id, number, aim) for user_id in people for number in range(10) for aim in Aim)


def _found(user_id: UUID, number: int, aim: Aim) -> int:
    embedder = get_embedder()
    vector = _vector(number, aim)
    if aim is Aim.FACTS:
        facts = search.facts(user_id, embedding=vector, model_id=embedder.model_id)
        ids, cosine, sql = facts.ids, facts.facts.cosine, VECTORS_OF_FACTS
    else:
        said = passages.passages(user_id, embedding=vector, model_id=embedder.model_id)
        ids, cosine, sql = said.message_ids, said.passages.cosine, VECTORS_OF_MESSAGES
    nearest = {ids[index] for index in _highest(cosine)}
    return len(nearest & _nearest(user_id, sql, np.array(vector)))


def _nearest(user_id: UUID, sql: str, vector: NDArray[np.float64]) -> set[UUID]:
    sent, vectors = columns.fetch(sql, {"user_id": user_id})
    ids = columns.ids(sent)
    header_bytes = 4  # of each vector: its length
    packed = np.frombuffer(vectors or b"", np.uint8).reshape(len(ids), -1)[:, header_bytes:]
    stored = np.ascontiguousarray(packed).view(">f2").astype(np.float64)
    return {ids[index] for index in _highest(stored @ vector)}


def _highest(similarities: NDArray[Any]) -> Sequence[int]:
    highest: list[int] = np.argsort(-similarities)[:NEAREST].tolist()
    return highest


def _on_disk() -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(ROWS)
        rows = [
            Row(name, count, "") for name, count in zip(("facts", "messages"), cursor.fetchone(), strict=True)
        ]
        for table in TABLES:
            cursor.execute(BYTES, {"table": table})
            rows.append(Row(f"  {table}, with its indexes", cursor.fetchone()[0] / 1024**2, "MB"))
    return rows
