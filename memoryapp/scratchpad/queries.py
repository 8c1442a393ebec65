"""Reads of the scratchpad; every one starts from the user."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Count, QuerySet

from memoryapp.errors import NotFoundError
from memoryapp.scratchpad.models import Checkpoint, Run, Step


def runs(user_id: UUID) -> QuerySet[Run]:
    """Newest first, with ``step_count``."""
    return (
        Run.objects.filter(user_id=user_id)
        .select_related("turn__conversation")
        .annotate(step_count=Count("steps"))
        .order_by("-started_at", "-id")
    )


def get_run(user_id: UUID, run_id: UUID) -> Run:
    run = runs(user_id).filter(id=run_id).first()
    if run is None:
        raise NotFoundError("There is no such run, or its record has been dropped.")
    return run


def run_of_turn(user_id: UUID, turn_id: UUID) -> Run | None:
    return Run.objects.filter(user_id=user_id, turn_id=turn_id).first()


def run_ids_of_turns(user_id: UUID, turn_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Turn id → run id, for those that have a run."""
    return dict(Run.objects.filter(user_id=user_id, turn_id__in=turn_ids).values_list("turn_id", "id"))


def steps(run: Run) -> QuerySet[Step]:
    return Step.objects.filter(user_id=run.user_id, run=run).order_by("number", "id")


def steps_of_turns(user_id: UUID, turn_ids: Iterable[UUID]) -> QuerySet[Step]:
    return (
        Step.objects.filter(user_id=user_id, run__turn_id__in=turn_ids)
        .select_related("run")
        .order_by("run_id", "number", "id")
    )


def step_of_tool_use(run: Run, tool_use_id: str) -> Step | None:
    return Step.objects.filter(user_id=run.user_id, run=run, tool_use_id=tool_use_id).first()


def checkpoints(run: Run) -> Sequence[Checkpoint]:
    """What the run has added so far, in order."""
    return list(Checkpoint.objects.filter(user_id=run.user_id, run=run).order_by("number", "id"))


def count(user_id: UUID) -> int:
    return Run.objects.filter(user_id=user_id).count()
