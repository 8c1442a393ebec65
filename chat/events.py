"""The live events of a turn: a Redis stream that any number of readers replay and tail.

Nothing durable depends on it. Entries are JSON objects with a ``type``:
``start`` {attempt} · ``text`` {delta} · ``activity`` {text} · ``tool`` {tool_use_id, name, status} ·
``memory`` {outcome, memory_id, statement, kind} · ``end`` {status}. A ``start`` means: forget what came before it.
"""

import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import RedisError

from memoryapp.conf import get_conf
from memoryapp.redis_client import new_async_client, redis_client

logger = logging.getLogger(__name__)

Event = dict[str, Any]
READ_COUNT = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """``id`` is the Redis stream id, and the SSE ``Last-Event-ID``."""

    id: str
    event: Event


def stream_key(turn_id: UUID) -> str:
    return f"turn:{turn_id}"


def publish(turn_id: UUID, event: Event) -> None:
    """Append an event. A Redis that is away costs the live view, never the turn."""
    conf = get_conf()
    key = stream_key(turn_id)
    try:
        with redis_client().pipeline(transaction=False) as pipeline:
            pipeline.xadd(key, {"event": json.dumps(event)}, maxlen=conf.stream_max_events, approximate=True)
            pipeline.expire(key, conf.stream_keep_seconds)
            pipeline.execute()
    except RedisError as error:
        logger.warning("An event of turn %s was not published: %s", turn_id, type(error).__name__)


def clear(turn_id: UUID) -> None:
    """Forget an earlier reply's events, before the turn is answered again."""
    try:
        redis_client().delete(stream_key(turn_id))
    except RedisError as error:
        logger.warning("The events of turn %s were not cleared: %s", turn_id, type(error).__name__)


def streamed_text(turn_id: UUID) -> str:
    """What a reader has seen of the reply so far; "" when Redis cannot tell."""
    try:
        rows: Any = redis_client().xrange(stream_key(turn_id))  # [(id, fields), …]
    except RedisError:
        return ""
    text = ""
    for _, fields in rows:
        event = json.loads(fields["event"])
        text = "" if event["type"] == "start" else text + (event["delta"] if event["type"] == "text" else "")
    return text


async def tail(turn_id: UUID, *, after: str = "0-0") -> AsyncIterator[Sequence[Entry]]:
    """Batches of entries after the id ``after``, as they come, until ``end``.

    An empty batch marks a silence of ``stream_heartbeat_s``. Ends without ``end`` only when the reader's time is up.
    """
    async with aclosing(new_async_client()) as client:
        while True:
            entries = await _read(client, turn_id, after)
            yield entries
            if entries:
                after = entries[-1].id
                if entries[-1].event["type"] == "end":
                    return


async def _read(client: AsyncRedis, turn_id: UUID, after: str) -> Sequence[Entry]:
    block_ms = int(get_conf().stream_heartbeat_s * 1000)
    key = stream_key(turn_id)
    # [[key, [(id, fields), …]]], or None after a silence.
    found: Any = await client.xread({key: after}, count=READ_COUNT, block=block_ms)
    return [
        Entry(entry_id, json.loads(fields["event"])) for _, rows in found or [] for entry_id, fields in rows
    ]
