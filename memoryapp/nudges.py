"""Waking a worker after a commit.

Postgres is the queue of record: a nudge only saves waiting for the next sweep, carries ids alone, and may be lost.
Names stand here as strings, so that a tier can wake the write path without importing it.
"""

import logging
from uuid import UUID

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

RUN_TURN = "chat.tasks.run_turn"
EMBED_MEMORIES = "memoryapp.lifecycle.tasks.embed_memories"
AFTER_TURN = "memoryapp.lifecycle.tasks.after_turn"
EXTRACT_CONVERSATION = "memoryapp.lifecycle.tasks.extract_conversation"
EXTRACT_AGAIN = "memoryapp.lifecycle.tasks.extract_again"
SUMMARISE_NOW = "memoryapp.lifecycle.tasks.summarise_now"
SUMMARISE_AGAIN = "memoryapp.lifecycle.tasks.summarise_again"
IMPORT = "memoryapp.portability.tasks.bring_in"
REBUILD_SUMMARY = "memoryapp.lifecycle.tasks.rebuild_summary"
PURGE = "memoryapp.forgetting.tasks.purge_now"


def nudge(task_name: str, row_id: UUID, *, delay_s: float = 0) -> None:
    """Send ``task_name(row_id)`` once the current transaction has committed (at once outside one).

    It runs no earlier than after ``delay_s``.
    """
    # Robust: what was committed stays so, and its sender must not read an error, whatever the broker says.
    transaction.on_commit(lambda: _send(task_name, row_id, delay_s=delay_s), robust=True)


def _send(task_name: str, row_id: UUID, *, delay_s: float = 0) -> None:
    try:
        current_app.send_task(task_name, args=[str(row_id)], retry=False, countdown=delay_s or None)
    except (OperationalError, OSError) as error:
        # The sweep finds the row within seconds; losing the request because the broker is away would be worse.
        logger.warning("Nudge %s was not sent: %s", task_name, type(error).__name__)
