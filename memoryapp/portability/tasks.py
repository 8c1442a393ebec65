"""Celery, queue "memory": imports. Ids only; safe to run twice."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from memoryapp.nudges import IMPORT, nudge
from memoryapp.portability import importing, operations


@shared_task
def bring_in(batch_id: str) -> None:
    importing.work(UUID(batch_id))


@shared_task
def look_after() -> None:
    """Once a minute: wake what has no worker any more, drop files that nobody applied."""
    now = timezone.now()
    operations.give_up_waiting(now=now)
    for batch_id in operations.unattended(now=now):
        nudge(IMPORT, batch_id)
