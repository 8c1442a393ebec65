"""The Celery application: two queues, ids only in every message, Postgres as the queue of record."""

import os
from urllib.parse import parse_qs, urlsplit

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings.dev")


def broker_url(redis_url: str) -> str:
    """Celery's spelling of a redis-py URL; ``unix://`` sockets become ``redis+socket://``."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={database}"


app = Celery("strata")
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        # A half-open connection must not hang a publish for ever.
        "socket_timeout": 5,
        "socket_connect_timeout": 5,
        "health_check_interval": 30,
        # A broker that is away must not hold a request: by default kombu tries for 4 s. The reaper nudges again.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.05,
        "interval_max": 0.05,
        # Longer than any task: redelivery is the reaper's business, not the broker's.
        "visibility_timeout": 3600,
        "global_keyprefix": "celery:",
    },
    task_ignore_result=True,  # results would keep content in Redis
    # Early: Postgres is the queue of record and the reaper wakes what was lost. Late acknowledgements would tie the
    # worker to the broker connection a task came by: when that breaks, kombu stops it until its last task has ended.
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    task_default_queue="memory",
    task_routes={"chat.tasks.run_turn": {"queue": "turns"}},
    task_publish_retry_policy={"max_retries": 1, "interval_start": 0.1},
    worker_hijack_root_logger=False,
    timezone="UTC",
    beat_schedule={
        "sweep-memory": {"task": "memoryapp.lifecycle.tasks.sweep", "schedule": 60.0},
        "follow-receipts": {"task": "memoryapp.forgetting.tasks.advance", "schedule": 60.0},
        "purge": {"task": "memoryapp.forgetting.tasks.purge_when_due", "schedule": 600.0},
        "look-after-imports": {"task": "memoryapp.portability.tasks.look_after", "schedule": 60.0},
    },
)
app.autodiscover_tasks(["chat", "memoryapp.lifecycle", "memoryapp.forgetting", "memoryapp.portability"])
