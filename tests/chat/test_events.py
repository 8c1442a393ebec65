"""The events of a turn in Redis: replayed, resumed, fenced, and dispensable."""

import asyncio
from contextlib import aclosing
from uuid import uuid4

import pytest
import redis
from django.conf import settings

from chat import events
from memoryapp.redis_client import redis_client

START, END = {"type": "start", "attempt": 1}, {"type": "end", "status": "completed"}


def text(delta):
    return {"type": "text", "delta": delta}


@pytest.fixture
def turn_id():
    return uuid4()


def publish(turn_id, *published, attempt=1):
    for event in published:
        events.publish(turn_id, event, attempt=attempt)


def tailed(turn_id, *, attempt=1, after="0-0"):
    """Everything that a reader gets, until its stream ends."""

    async def collect():
        async with aclosing(events.tail(turn_id, attempt=attempt, after=after)) as batches:
            return [entry async for entries in batches for entry in entries]

    return asyncio.run(collect())


def test_a_reader_who_comes_late_gets_everything_in_order(turn_id):
    published = [START, text("a"), text("b"), END]
    publish(turn_id, *published)

    assert [entry.event for entry in tailed(turn_id)] == published


def test_a_reader_gets_what_comes_while_it_waits(turn_id):
    async def read_and_write():
        async with aclosing(events.tail(turn_id, attempt=1)) as batches:
            first = asyncio.ensure_future(anext(batches))
            await asyncio.to_thread(publish, turn_id, START, text("a"))
            seen = [entry.event for entry in await first]
            await asyncio.to_thread(publish, turn_id, END)
            return seen + [entry.event async for entries in batches for entry in entries]

    assert asyncio.run(read_and_write()) == [START, text("a"), END]


def test_every_id_resumes_right_after_its_event(turn_id):
    published = [START, text("a"), {"type": "activity", "text": "Thinking"}, text("b"), END]
    publish(turn_id, *published)
    whole = tailed(turn_id)

    for index, entry in enumerate(whole[:-1]):
        assert tailed(turn_id, after=entry.id) == whole[index + 1 :]


def test_nothing_comes_after_the_end(turn_id):
    publish(turn_id, START, END, text("late"), END)

    assert [entry.event for entry in tailed(turn_id)] == [START, END]


def test_a_worker_that_lost_the_turn_is_not_heard(turn_id):
    publish(turn_id, START, text("old "))
    publish(turn_id, START, text("new"), attempt=3)
    publish(turn_id, text("stale "), END, attempt=1)
    publish(turn_id, text(" words"), END, attempt=3)

    heard = tailed(turn_id)
    resumed = tailed(turn_id, attempt=3, after=heard[2].id)

    assert [entry.event for entry in heard] == [START, text("old "), START, text("new"), text(" words"), END]
    assert resumed == heard[3:]
    assert events.streamed_text(turn_id, attempt=3) == "new words"


def test_the_end_of_an_earlier_attempt_is_not_the_end_of_this_one(turn_id):
    publish(turn_id, START, text("old"), END)
    publish(turn_id, START, text("new"), END, attempt=2)

    assert [entry.event for entry in tailed(turn_id, attempt=2)] == [START, text("new"), END]


def test_the_text_streamed_so_far_is_that_of_the_attempt(turn_id):
    publish(turn_id, START, text("one "), text("two"))

    assert events.streamed_text(turn_id, attempt=1) == "one two"
    assert events.streamed_text(turn_id, attempt=2) == ""
    assert events.streamed_text(uuid4(), attempt=1) == ""


def test_what_was_forgotten_does_not_come_back_with_the_next_word(turn_id):
    publish(turn_id, START, text("secret "))
    other = uuid4()
    publish(other, START, text("other"))

    events.forget([turn_id])
    publish(turn_id, text("words"))

    assert not redis_client().exists(events.stream_key(turn_id))
    assert events.streamed_text(other, attempt=1) == "other"


def test_a_stream_is_bounded_in_length_and_in_time(turn_id, configure):
    configure(STRATA_STREAM_MAX_EVENTS="1000", STRATA_STREAM_KEEP_SECONDS="60")

    publish(turn_id, START, *[text("x")] * 1500)

    assert redis_client().xlen(events.stream_key(turn_id)) < 1500
    assert 0 < redis_client().ttl(events.stream_key(turn_id)) <= 60


def test_a_reader_of_silence_hears_heartbeats_and_is_then_sent_to_ask_again(turn_id, configure):
    configure(STRATA_STREAM_HEARTBEAT_S="1")

    async def collect():
        return [entries async for entries in events.tail(turn_id, attempt=1)]

    assert asyncio.run(collect()) == [[], []]


def test_a_reader_that_goes_leaves_no_connection_behind(turn_id):
    publish(turn_id, START)
    before = len(redis_client().client_list())

    async def leave():
        async with aclosing(events.tail(turn_id, attempt=1)) as batches:
            async for _ in batches:
                waiting = asyncio.ensure_future(anext(batches))
                await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                return

    asyncio.run(leave())

    # The server notices a closed connection in its own time: each look is a round trip to it.
    counts = (len(redis_client().client_list()) for _ in range(500))
    assert any(count <= before for count in counts)


def test_a_connection_that_redis_closed_costs_no_event(turn_id):
    publish(turn_id, START)
    with redis.Redis.from_url(settings.REDIS_URL) as other:
        other.client_kill_filter(_type="normal", skipme=True)

    publish(turn_id, END)

    assert [entry.event for entry in tailed(turn_id)] == [START, END]


def test_without_redis_a_writer_goes_on_and_a_reader_of_the_past_finds_nothing(turn_id, monkeypatch):
    away = redis.Redis.from_url("redis://127.0.0.1:1")
    monkeypatch.setattr(events, "redis_client", lambda: away)

    publish(turn_id, START)
    redis_client().delete(events.stream_key(turn_id))

    assert events.streamed_text(turn_id, attempt=1) == ""
