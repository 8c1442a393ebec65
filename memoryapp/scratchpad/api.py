"""REST: the scratchpad of a turn."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.errors import NotFoundError
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries
from memoryapp.scratchpad.models import Step

router = Router(tags=["turns"])


class FactOut(Schema):
    key: str
    value: str
    source: str


class FailureOut(Schema):
    call: str
    why: str


class StepOut(Schema):
    n: int
    action: str
    args: dict[str, Any]
    observation: str
    brief: str
    error: str
    status: str
    tokens: int
    ms: int
    origin: str
    taint: str


class ScratchpadOut(Schema):
    goal: str
    facts: list[FactOut]
    done: list[str]
    todo: list[str]
    failed: list[FailureOut]
    open_questions: list[str]
    steps: list[StepOut]


@router.get("/{uuid:turn_id}/scratchpad", response={200: ScratchpadOut, **rest.PROBLEMS})
def get_scratchpad(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    run = queries.run_of_turn(caller_id(request), turn_id)
    if run is None:
        raise NotFoundError(
            "There is no scratchpad for this turn: it has not started, or its record was dropped."
        )
    return {**pads.from_json(run.pad).to_json(), "steps": [_step(step) for step in queries.steps(run)]}


def _step(step: Step) -> dict[str, object]:
    return {
        "n": step.number,
        "action": step.action,
        "args": step.arguments,
        "observation": step.observation,
        "brief": step.brief,
        "error": step.error,
        "status": step.status,
        "tokens": step.tokens,
        "ms": step.duration_ms,
        "origin": step.origin,
        "taint": step.taint,
    }
