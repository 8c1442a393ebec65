"""The job log."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memoryapp.errors import MemoryAppError
from memoryapp.lifecycle.compaction import Compacted
from memoryapp.lifecycle.extraction import Extracted
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.promotion import Promoted
from memoryapp.lifecycle.titling import Titled
from memoryapp.llm.base import Usage
from memoryapp.transcript.models import Conversation, Turn
from memoryapp.tuning import operations as tuning


def logged(
    job: LifecycleRun.Job,
    work: Callable[[], int],
    *,
    user_id: UUID | None = None,
) -> None:
    """Run ``work`` (which returns how many rows it changed) and keep a line about it, unless it changed nothing.

    A predictable failure is noted with its code and raised again.
    """
    started_at = timezone.now()
    try:
        rows = work()
    except MemoryAppError as error:
        _note(job, user_id=user_id, started_at=started_at, error_code=error.code)
        raise
    if rows:
        _note(job, user_id=user_id, started_at=started_at, rows=rows)


def compacted(conversation: Conversation, work: Callable[[], Compacted]) -> None:
    """Run a compaction and keep a line about it, unless it changed nothing."""
    started_at = timezone.now()
    done = work()
    if done.versions:
        _note(
            LifecycleRun.Job.COMPACTION,
            user_id=conversation.user_id,
            subject_id=conversation.id,
            started_at=started_at,
            rows=done.versions,
            usage=done.usage,
        )


def extracted(conversation: Conversation, work: Callable[[], Extracted]) -> None:
    """Learn from a conversation and keep a line about it: what it cost, what it wrote, and why it stopped, if it did.

    No line when there was nothing to read.
    """
    started_at = timezone.now()
    done = work()
    if done.messages or done.error_code:
        _note(
            LifecycleRun.Job.EXTRACTION,
            user_id=conversation.user_id,
            subject_id=conversation.id,
            started_at=started_at,
            rows=done.memories,
            usage=done.usage,
            error_code=done.error_code,
        )


def titled(turn: Turn, work: Callable[[], Titled | None]) -> None:
    """Give a title and keep a line about what it cost, unless nobody was asked."""
    started_at = timezone.now()
    done = work()
    if done:
        _note(
            LifecycleRun.Job.TITLE,
            user_id=turn.user_id,
            subject_id=turn.conversation_id,
            started_at=started_at,
            rows=int(bool(done.title)),
            usage=done.usage,
        )


def promoted(turn: Turn, work: Callable[[], Promoted | None]) -> None:
    """Learn from a run and keep a line about what it cost, unless it taught nothing."""
    started_at = timezone.now()
    done = work()
    if done:
        _note(
            LifecycleRun.Job.PROMOTION,
            user_id=turn.user_id,
            subject_id=turn.id,
            started_at=started_at,
            rows=int(done.experience is not None),
            usage=done.usage,
        )


def _note(
    job: LifecycleRun.Job,
    *,
    user_id: UUID | None,
    started_at: datetime,
    subject_id: UUID | None = None,
    rows: int = 0,
    usage: Usage | None = None,
    error_code: str = "",
) -> None:
    with transaction.atomic():
        LifecycleRun.objects.create(
            job=job,
            user_id=user_id,
            subject_id=subject_id,
            started_at=started_at,
            rows=rows,
            input_tokens=usage.total_input_tokens if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
            error_code=error_code,
        )
        if user_id and usage:
            tuning.spend(user_id, usage, in_background=True)
