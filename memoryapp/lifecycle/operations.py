"""The job log."""

from collections.abc import Callable
from uuid import UUID

from django.utils import timezone

from memoryapp.errors import MemoryAppError
from memoryapp.lifecycle.compaction import Compacted
from memoryapp.lifecycle.extraction import Extracted
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.promotion import Promoted
from memoryapp.lifecycle.titling import Titled
from memoryapp.transcript.models import Conversation, Turn


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


def compacted(conversation: Conversation, work: Callable[[], Compacted]) -> Compacted:
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
            input_tokens=done.usage.total_input_tokens,
            output_tokens=done.usage.output_tokens,
        )
    return done


def extracted(conversation: Conversation, work: Callable[[], Extracted]) -> Extracted:
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
            input_tokens=done.usage.total_input_tokens,
            output_tokens=done.usage.output_tokens,
            error_code=done.error_code,
        )
    return done


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
            input_tokens=done.usage.total_input_tokens,
            output_tokens=done.usage.output_tokens,
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
            input_tokens=done.usage.total_input_tokens,
            output_tokens=done.usage.output_tokens,
        )


def _note(job: LifecycleRun.Job, **values: object) -> None:
    LifecycleRun.objects.create(job=job, **values)
