"""What an installation is doing, in figures without content: for the operations page and for ``/metrics``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.apps import apps
from django.db import connection
from django.utils.translation import gettext_noop
from redis.exceptions import RedisError

from memoryapp.conf import get_conf
from memoryapp.embeddings.registry import get_embedder
from memoryapp.lifecycle import figures as lifecycle
from memoryapp.lifecycle.figures import Failure, JobFigures
from memoryapp.redis_client import redis_client
from memoryapp.transcript import figures as transcript
from memoryapp.transcript.figures import Failed, Spent
from memoryapp.tuning import queries as tuning

PERIOD: Final = timedelta(days=1)
QUEUES: Final = ("turns", "memory")
KEY_PREFIX: Final = "celery:"  # as the broker names its lists
# The rooms whose tables hold each tier; everything else is "other".
TIERS: Final = {"scratchpad": ("scratchpad",), "transcript": ("transcript",), "longterm": ("longterm",)}
PURPOSES: Final = {
    "extraction": gettext_noop("learning from conversations"),
    "compaction": gettext_noop("summaries"),
    "title": gettext_noop("titles"),
    "promotion": gettext_noop("lessons of runs"),
}

# Sizes with indexes and what is stored out of line; rows as the server counts writes, or where it has forgotten those
# in a crash as the planner does (-1 before it has looked): no table has to be read for either.
SIZES: Final = """
SELECT pg_class.relname, pg_total_relation_size(relid), greatest(n_live_tup, reltuples, 0)::bigint
FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid WHERE pg_class.relname = ANY (%(tables)s)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of one purpose and what they cost; ``usd``: None where no price is configured for the model."""

    purpose: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Stored:
    tier: str
    size_bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Operations:
    """``queues``: messages that wait in the broker; None when it does not answer. The rest is of the last day."""

    turns: Mapping[str, int]
    oldest_queued_at: datetime | None
    queues: Mapping[str, int | None]
    jobs: Sequence[JobFigures]
    failures: Sequence[Failure]
    failed_turns: Sequence[Failed]
    open_breakers: int
    embedding_model: str
    embedding_backlog: Mapping[str, int]
    storage: Sequence[Stored]
    costs: Sequence[Cost]


def operations(*, now: datetime) -> Operations:
    since = now - PERIOD
    jobs = lifecycle.jobs(since=since)
    return Operations(
        turns=transcript.live_turns(),
        oldest_queued_at=transcript.oldest_queued_at(),
        queues=_queues(),
        jobs=jobs,
        failures=lifecycle.failures(since=since),
        failed_turns=transcript.failed_turns(since=since),
        open_breakers=lifecycle.open_breakers(now=now),
        embedding_model=get_embedder().model_id,
        embedding_backlog=lifecycle.embedding_backlog(),
        storage=_storage(),
        costs=[*_of_replies(transcript.spent_on_replies(since=since)), *_of_jobs(jobs)],
    )


def _queues() -> dict[str, int | None]:
    try:
        return {name: int(redis_client().llen(KEY_PREFIX + name)) for name in QUEUES}
    except (RedisError, OSError):
        return dict.fromkeys(QUEUES)


def _storage() -> list[Stored]:
    tables = {
        model._meta.db_table: model._meta.app_label  # noqa: SLF001  # Django's documented API, whatever its name
        for model in apps.get_models(include_auto_created=True)
    }
    with connection.cursor() as cursor:
        cursor.execute(SIZES, {"tables": list(tables)})
        sizes = [(tables[table], size, rows) for table, size, rows in cursor.fetchall()]
    room_to_tier = {room: tier for tier, rooms in TIERS.items() for room in rooms}
    return [
        Stored(
            tier,
            sum(size for room, size, _ in sizes if room_to_tier.get(room, "other") == tier),
            sum(rows for room, _, rows in sizes if room_to_tier.get(room, "other") == tier),
        )
        for tier in (*TIERS, "other")
    ]


def _of_replies(spent: Sequence[Spent]) -> list[Cost]:
    return [
        Cost(
            gettext_noop("replies"),
            each.model,
            each.calls,
            each.input_tokens,
            each.output_tokens,
            each.cache_read_tokens,
            _usd(each.model, each.input_tokens, each.output_tokens),
        )
        for each in spent
        if each.model
    ]


def _of_jobs(jobs: Sequence[JobFigures]) -> list[Cost]:
    model = tuning.conf().cheap_model
    return [
        Cost(
            PURPOSES[job.job],
            model,
            job.runs,
            job.input_tokens,
            job.output_tokens,
            0,
            _usd(model, job.input_tokens, job.output_tokens),
        )
        for job in jobs
        if job.job in PURPOSES and job.input_tokens
    ]


def _usd(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """At the full price: what the cache saves is not known here, so that it is at most this."""
    return get_conf().for_model(model).usd(input_tokens=input_tokens, output_tokens=output_tokens)
