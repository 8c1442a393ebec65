"""Celery, queue "memory": what follows a forgetting. Safe to run twice."""

import logging
from collections.abc import Callable
from pathlib import Path

from celery import shared_task
from django.utils import timezone

from memoryapp.conf import get_conf
from memoryapp.forgetting import erasures, purging, stages
from memoryapp.forgetting.purging import PurgeFailedError, PurgeRunningError

logger = logging.getLogger(__name__)


@shared_task
def advance() -> None:
    """Once a minute: write down what was forgotten, and note how far it is gone. Each for itself."""
    for job in (_write_journal, _follow_receipts):
        try:
            job()
        except Exception:  # the edge of a job
            logger.exception("Could not %s", job.__name__.strip("_").replace("_", " "))


@shared_task
def purge_when_due() -> None:
    if purging.is_due(timezone.now()):
        _told(purging.purge)


@shared_task
def purge_now(user_id: str) -> None:
    """An admin asks for it."""
    logger.info("A purge is asked for by %s", user_id)
    _told(purging.purge)


def _told(purge: Callable[[], object]) -> None:
    try:
        purge()
    except PurgeRunningError:
        return
    except PurgeFailedError as error:
        logger.warning("The purge did not end well: %s", error)
    _follow_receipts()


def _write_journal() -> None:
    if path := get_conf().erasures_file:
        erasures.write_journal(Path(path))


def _follow_receipts() -> None:
    stages.advance(timezone.now())
