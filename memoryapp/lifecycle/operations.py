"""The job log."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memoryapp.errors import MemoryAppError
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.llm.base import Usage


def logged(
    job: LifecycleRun.Job,
    work: Callable[[], int],
    *,
    user_id: UUID | None = None,
    subject_id: UUID | None = None,
) -> int:
    """Run ``work`` (which returns how many rows it changed) and keep a line about it, unless it changed nothing.

    A predictable failure is noted with its code and raised again.
    """
    started_at = timezone.now()
    try:
        rows = work()
    except MemoryAppError as error:
        _note(job, user_id=user_id, subject_id=subject_id, started_at=started_at, error_code=error.code)
        raise
    if rows:
        _note(job, user_id=user_id, subject_id=subject_id, started_at=started_at, rows=rows)
    return rows


def note_compaction(*, user_id: UUID, conversation_id: UUID, started_at: datetime, usage: Usage) -> None:
    _note(
        LifecycleRun.Job.COMPACTION,
        user_id=user_id,
        subject_id=conversation_id,
        started_at=started_at,
        rows=1,
        input_tokens=usage.total_input_tokens,
        output_tokens=usage.output_tokens,
    )


def _note(job: LifecycleRun.Job, **values: object) -> None:
    LifecycleRun.objects.create(job=job, **values)
