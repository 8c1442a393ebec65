"""Celery, queue "turns", and what a worker does beside its tasks.

Postgres decides who runs what; a task only wakes a worker.
"""

import threading
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready

from chat.reaper import start_reaping
from chat.turn import run_turn as answer
from memoryapp.conf import get_conf
from memoryapp.llm.registry import get_chat_model
from memoryapp.transcript import operations as transcript


@shared_task
def run_turn(turn_id: str) -> None:
    """Answer the turn if it is this worker's to answer; a second delivery finds nothing to claim."""
    claim = transcript.claim_turn(UUID(turn_id))
    if claim:
        answer(claim)


@worker_ready.connect
def begin(sender: Any, **_options: object) -> None:
    """Start what every worker does, and make ready in time what the first turn would have to wait for."""
    start_reaping()
    if "turns" in sender.app.amqp.queues.consume_from:
        # Importing the SDK takes a second, and asking for the limits one call.
        warm_up = threading.Thread(target=_warm_up, name="warm-up", daemon=True)
        warm_up.start()


def _warm_up() -> None:
    get_chat_model().limits(get_conf().chat_model)
