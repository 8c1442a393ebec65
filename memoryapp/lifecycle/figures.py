"""Figures of the background's work, for those who run an installation: jobs, failures, cost, what waits."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Coalesce

from memoryapp.lifecycle.compaction import BREAKER_OPEN
from memoryapp.lifecycle.embedding import SORTS
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.nudges import AFTER_TURN, EXTRACT_AGAIN, SUMMARISE_NOW
from memoryapp.policies import compaction as policy
from memoryapp.transcript import figures as transcript
from memoryapp.tuning import queries as tuning

FAILURES_SHOWN = 50

# What wakes a job about one row again; the sweep repeats the others by itself.
AGAIN = {
    LifecycleRun.Job.EXTRACTION: EXTRACT_AGAIN,
    LifecycleRun.Job.COMPACTION: SUMMARISE_NOW,
    LifecycleRun.Job.PROMOTION: AFTER_TURN,
}


@dataclass(frozen=True, slots=True)
class JobFigures:
    job: str
    runs: int
    failures: int
    rows: int
    input_tokens: int
    output_tokens: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Failure:
    """The newest failure of a job about a row; ``task``: what tries it again, empty where the sweep does."""

    job: str
    error_code: str
    count: int
    last_at: datetime
    subject_id: UUID | None
    task: str


def jobs(*, since: datetime) -> list[JobFigures]:
    """By job, in the order of their names."""
    rows = (
        LifecycleRun.objects.filter(finished_at__gte=since)
        .values("job")
        .annotate(
            runs=Count("id"),
            failed=Count("id", filter=~Q(error_code="")),
            written=Coalesce(Sum("rows"), 0),
            read_tokens=Coalesce(Sum("input_tokens"), 0),
            made_tokens=Coalesce(Sum("output_tokens"), 0),
            last_at=Max("finished_at"),
        )
        .order_by("job")
    )
    return [
        JobFigures(
            row["job"],
            row["runs"],
            row["failed"],
            row["written"],
            row["read_tokens"],
            row["made_tokens"],
            row["last_at"],
        )
        for row in rows
    ]


def failures(*, since: datetime) -> list[Failure]:
    """Grouped by job, code and row, the newest first, as far as nothing about the row went well since."""
    rows = (
        LifecycleRun.objects.filter(finished_at__gte=since)
        .exclude(error_code="")
        .values("job", "error_code", "subject_id")
        .annotate(count=Count("id"), last_at=Max("finished_at"))
        .order_by("-last_at", "job")[:FAILURES_SHOWN]
    )
    mended = {
        (job, subject_id): at
        for job, subject_id, at in LifecycleRun.objects.filter(
            finished_at__gte=since, error_code="", subject_id__in=[row["subject_id"] for row in rows]
        )
        .values_list("job", "subject_id")
        .annotate(at=Max("finished_at"))
        .order_by()
    }
    return [
        Failure(
            row["job"],
            row["error_code"],
            row["count"],
            row["last_at"],
            row["subject_id"],
            AGAIN.get(LifecycleRun.Job(row["job"]), "") if row["subject_id"] else "",
        )
        for row in rows
        if row["last_at"] > mended.get((row["job"], row["subject_id"]), row["last_at"] - timedelta(1))
    ]


def open_breakers(*, now: datetime) -> int:
    """Conversations that are summarised without the model for now, because it failed them several times in a row."""
    minutes = tuning.conf().compaction_breaker_minutes
    # A day back: the tries that opened it may lie apart. What a breaker itself made is no try.
    tries = transcript.newest_tries(since=now - timedelta(days=1), most=50)
    return sum(
        policy.is_breaker_open(
            [tried for tried in made if tried[0] != BREAKER_OPEN][: policy.FALLBACKS_IN_A_ROW],
            now=now,
            minutes=minutes,
        )
        for made in tries.values()
    )


def embedding_backlog() -> dict[str, int]:
    """Sort of row → how many wait for a vector of the current model."""
    return {name: sort.count() for name, sort in SORTS.items()}
