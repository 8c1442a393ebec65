"""Celery, queue "turns", and what a worker does beside its tasks.

Postgres decides who runs what; a task only wakes a worker.
"""

import logging
import threading
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import connections

from chat.draining import drain
from chat.reaper import start_reaping
from chat.turn import run_turn as answer
from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.embeddings.registry import get_embedder
from memoryapp.llm.registry import chat_limits
from memoryapp.longterm import queries as memories
from memoryapp.nudges import RUN_TURN, nudge
from memoryapp.transcript import claims

logger = logging.getLogger(__name__)


@shared_task
def run_turn(turn_id: str) -> None:
    """Answer the turn if it is this worker's to answer; a second delivery finds nothing to claim."""
    if drain.has_begun:  # for those who stay: this worker consumes nothing any more
        nudge(RUN_TURN, UUID(turn_id))
        return
    claim = claims.claim_turn(UUID(turn_id))
    if claim:
        answer(claim)


@worker_shutting_down.connect
def leave(**_options: object) -> None:
    """Celery waits for the tasks in hand; they end at their next step."""
    drain.begin()


@worker_ready.connect
def begin(sender: Any, **_options: object) -> None:
    """Start what every worker does, and make ready in time what the first turn would have to wait for."""
    start_reaping()
    if "turns" in sender.app.amqp.queues.consume_from:
        warm_up = threading.Thread(target=_warm_up, name="warm-up", daemon=True)
        warm_up.start()


def _warm_up() -> None:
    """Import the SDK, ask for the model's limits, and load the embedder where there is something to recall."""
    chat_limits()
    try:
        if memories.is_in_use():
            get_embedder().embed_queries(["What do you know about me?"])
    except EmbedderUnavailable as error:
        logger.warning("Recall is by words only: %s", error)
    finally:
        connections.close_all()
