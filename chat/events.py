"""The live events of a turn: a Redis stream that any number of readers replay and tail.

Nothing durable depends on it. Entries are JSON objects with a ``type``:
``start`` {attempt} · ``text`` {delta} · ``activity`` {text} · ``tool`` {tool_use_id, name, status} ·
``memory`` {outcome, memory_id, statement, kind} · ``memory_unavailable`` ·
``waiting`` {reason, text, until} · ``end`` {status}.
A ``start`` means: forget what came before it, also that it waits.

Redis cannot fence off a worker that lost its turn and does not know it yet. So each entry carries the attempt that
wrote it, and readers drop those of an attempt older than one they know of.
"""

import json
import logging
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import RedisError

from memoryapp.conf import get_conf
from memoryapp.redis_client import new_async_client, redis_client

logger = logging.getLogger(__name__)

Event = dict[str, Any]
READ_COUNT = 500
# A stream begins with these alone: what was forgotten does not come back with the next word of a late worker.
OPENING = {"start", "end"}
# A reader that hears nothing for so many heartbeats asks again: the end may have been lost with Redis.
SILENCES = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """``id`` is the Redis stream id, and the SSE ``Last-Event-ID``."""

    id: str
    event: Event


@dataclass(slots=True)
class _Fence:
    """Lets the entries of the newest attempt through, up to the end."""

    attempt: int
    has_ended: bool = field(default=False, init=False)

    def pass_on(self, rows: Iterable[tuple[str, dict[str, str]]]) -> Iterator[Entry]:
        for entry_id, fields in rows:
            attempt = int(fields["attempt"])
            if self.has_ended or attempt < self.attempt:
                continue
            event = json.loads(fields["event"])
            self.attempt, self.has_ended = attempt, event["type"] == "end"
            yield Entry(entry_id, event)


def stream_key(turn_id: UUID) -> str:
    return f"turn:{turn_id}"


def publish(turn_id: UUID, event: Event, *, attempt: int) -> None:
    """Append an event of that attempt. A Redis that is away costs the live view, never the turn."""
    conf = get_conf()
    key = stream_key(turn_id)
    try:
        with redis_client().pipeline(transaction=False) as pipeline:
            fields: Any = {"event": json.dumps(event), "attempt": attempt}
            pipeline.xadd(
                key,
                fields,
                maxlen=conf.stream_max_events,
                approximate=True,
                nomkstream=event["type"] not in OPENING,
            )
            pipeline.expire(key, conf.stream_keep_seconds)
            pipeline.execute()
    except RedisError as error:
        logger.warning("An event of turn %s was not published: %s", turn_id, type(error).__name__)


def forget(turn_ids: Collection[UUID]) -> None:
    """Drop what was streamed of these turns. If Redis is away, it drops them by itself when their time is over."""
    if not turn_ids:
        return
    try:
        redis_client().delete(*map(stream_key, turn_ids))
    except RedisError as error:
        logger.warning("%s streams were not dropped: %s", len(turn_ids), type(error).__name__)


def streamed_text(turn_id: UUID, *, attempt: int) -> str:
    """What a reader has seen of that attempt's reply so far; "" when Redis cannot tell."""
    try:
        rows: Any = redis_client().xrange(stream_key(turn_id))  # [(id, fields), …]
    except RedisError:
        return ""
    text = ""
    for entry in _Fence(attempt).pass_on(rows):
        if entry.event["type"] == "start":
            text = ""
        elif entry.event["type"] == "text":
            text += entry.event["delta"]
    return text


async def tail(turn_id: UUID, *, attempt: int, after: str = "0-0") -> AsyncGenerator[Sequence[Entry], None]:
    """Batches of entries of ``attempt`` or later ones, after the id ``after``, as they come, until ``end``.

    An empty batch marks a silence of ``stream_heartbeat_s``. Ends without ``end`` after ``SILENCES`` of them in a
    row: whoever asks again learns from the database whether there is still something to wait for.
    """
    fence = _Fence(attempt)
    silences = 0
    async with aclosing(new_async_client()) as client:
        while silences < SILENCES and not fence.has_ended:
            rows = await _read(client, turn_id, after)
            after = rows[-1][0] if rows else after
            silences = 0 if rows else silences + 1
            yield list(fence.pass_on(rows))


async def _read(client: AsyncRedis, turn_id: UUID, after: str) -> Sequence[tuple[str, dict[str, str]]]:
    block_ms = int(get_conf().stream_heartbeat_s * 1000)
    # [[key, [(id, fields), …]]], or None after a silence.
    found: Any = await client.xread({stream_key(turn_id): after}, count=READ_COUNT, block=block_ms)
    return found[0][1] if found else []
