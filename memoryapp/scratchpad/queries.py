"""Reads of the scratchpad; every one starts from the user."""

import json
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast, Now

from memoryapp.errors import NotFoundError
from memoryapp.policies.fencing import as_data
from memoryapp.scratchpad.models import Approval, Checkpoint, Grant, Run, Step


def runs(user_id: UUID) -> QuerySet[Run]:
    """Newest first, with ``step_count``."""
    return (
        Run.objects.filter(user_id=user_id, turn__conversation__deleted_at=None)
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
    of_turn = Run.objects.filter(user_id=user_id, turn_id=turn_id, turn__conversation__deleted_at=None)
    return of_turn.first()


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


def step_numbered(user_id: UUID, run_id: UUID, number: int) -> Step:
    step = Step.objects.filter(user_id=user_id, run_id=run_id, number=number).first()
    if step is None:
        raise NotFoundError(f"There is no step {number} in this run.")
    return step


def approvals(user_id: UUID, turn_ids: Iterable[UUID]) -> QuerySet[Approval]:
    """What a person was asked in these turns, in that order."""
    return (
        Approval.objects.filter(
            user_id=user_id, run__turn_id__in=turn_ids, run__turn__conversation__deleted_at=None
        )
        .select_related("run__turn")
        .order_by("created_at", "id")
    )


def pending_approvals(user_id: UUID) -> QuerySet[Approval]:
    """What waits for the person's word now, in any conversation; the oldest first."""
    return (
        Approval.objects.filter(
            user_id=user_id,
            status=Approval.Status.PENDING,
            expires_at__gt=Now(),
            run__turn__status="waiting",
            run__turn__conversation__deleted_at=None,
        )
        .select_related("run__turn")
        .order_by("created_at", "id")
    )


def is_granted(run: Run, action: str, source: str) -> bool:
    """Whether its person said "always" to the tool, as offered by ``source``, in the run's conversation."""
    granted = Grant.objects.filter(
        user_id=run.user_id, conversation__turns=run.turn_id, action=action, source=source
    )
    return granted.exists()


def grants(user_id: UUID, conversation_id: UUID) -> QuerySet[Grant]:
    return Grant.objects.filter(user_id=user_id, conversation_id=conversation_id).order_by("action", "id")


def checkpoints(run: Run) -> Sequence[Checkpoint]:
    """What the run has added so far, in order."""
    return list(Checkpoint.objects.filter(user_id=run.user_id, run=run).order_by("number", "id"))


def ended_runs_holding(user_id: UUID, texts: Iterable[str]) -> QuerySet[Run]:
    """Runs that have ended and whose record has one of these texts in it, whatever its case."""
    forms = {form for text in texts for form in _forms(text)}
    of_run = {"user_id": user_id, "run": OuterRef("id")}
    steps = Step.objects.filter(**of_run).annotate(asked=Cast("arguments", TextField()))
    deltas = Checkpoint.objects.filter(**of_run).annotate(added=Cast("delta", TextField()))
    return (
        Run.objects.filter(user_id=user_id)
        .exclude(status=Run.Status.RUNNING)
        .annotate(noted=Cast("pad", TextField()))
        .filter(
            _any(forms, "goal", "noted")
            | Exists(steps.filter(_any(forms, "asked", "observation")))
            | Exists(deltas.filter(_any(forms, "added")))
        )
    )


def count(user_id: UUID) -> int:
    return Run.objects.filter(user_id=user_id, turn__conversation__deleted_at=None).count()


def _forms(text: str) -> set[str]:
    """The text as it stands, and as it looks inside JSON, fenced or not, and inside JSON that holds that JSON."""
    once = {json.dumps(text, ensure_ascii=False)[1:-1], as_data(text)[1:-1]}
    return {text, *once, *(json.dumps(form, ensure_ascii=False)[1:-1] for form in once)}


def _any(forms: Iterable[str], *columns: str) -> Q:
    found = Q(pk__in=[])
    for form in forms:
        for column in columns:
            found |= Q(**{f"{column}__icontains": form})
    return found
