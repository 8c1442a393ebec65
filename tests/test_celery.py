"""The Celery application over whatever Redis there is, or is not."""

import time

import pytest
from kombu.exceptions import OperationalError

from memoryapp.celery import app, broker_url


@pytest.mark.parametrize(
    ("redis_url", "broker"),
    [
        ("redis://127.0.0.1:6379/1", "redis://127.0.0.1:6379/1"),
        ("rediss://:secret@redis.example/0", "rediss://:secret@redis.example/0"),
        ("unix:///run/valkey.sock?db=2", "redis+socket:///run/valkey.sock?virtual_host=2"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock?virtual_host=0"),
    ],
)
def test_a_redis_url_is_spelled_as_celery_wants_it(redis_url, broker):
    assert broker_url(redis_url) == broker


def test_a_broker_that_is_away_does_not_hold_its_sender():
    began_at = time.monotonic()

    with app.connection_for_write("redis://127.0.0.1:1") as connection, pytest.raises(OperationalError):
        app.send_task("chat.tasks.run_turn", args=["id"], connection=connection, retry=False)

    assert time.monotonic() - began_at < 2


def test_turns_have_a_queue_of_their_own():
    routed = {
        name: app.amqp.router.route({}, name)["queue"].name for name in ("chat.tasks.run_turn", "other")
    }

    assert routed == {"chat.tasks.run_turn": "turns", "other": "memory"}


def test_a_worker_is_not_tied_to_the_connection_a_task_came_by():
    # With late acknowledgements a broken broker connection stops the worker until its last reply has ended.
    assert app.conf.task_acks_late is False
