"""REST: the scratchpad of a turn."""

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext
from ninja import Router, Schema, Status
from pydantic import Field

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.errors import NotFoundError
from memoryapp.scratchpad import edits, queries
from memoryapp.scratchpad.models import Run, Step
from memoryapp.scratchpad.pad import KEY_MAX_CHARS, VALUE_MAX_CHARS, Edit, Op

router = Router(tags=["turns"])
TARGET_MAX_CHARS = 4 * KEY_MAX_CHARS  # a call, with the characters that JSON escapes


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
    struck: list[str]
    may_retry: list[str]
    steps: list[StepOut]


class EditIn(rest.Body):
    """``target``: the entry as the scratchpad has it: a fact's key, a line, a call; for a new fact its key.

    ``text``: the words, for all but ``strike_todo`` and ``clear_failure``. ``seen``: the value of a fact as you read
    it; when it is another by now, the edit is refused.
    """

    op: Op
    target: Annotated[str, Field(max_length=TARGET_MAX_CHARS)] = ""
    text: Annotated[str, Field(max_length=VALUE_MAX_CHARS)] = ""
    seen: Annotated[str, Field(max_length=VALUE_MAX_CHARS)] | None = None


@router.get("/{uuid:turn_id}/scratchpad", response={200: ScratchpadOut, **rest.PROBLEMS})
def get_scratchpad(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    return _scratchpad(_run(request, turn_id))


@router.post(
    "/{uuid:turn_id}/scratchpad/edits", response={201: ScratchpadOut, 409: rest.Problem, **rest.PROBLEMS}
)
def edit_scratchpad(request: HttpRequest, turn_id: UUID, body: EditIn) -> Status[dict[str, object]]:
    """Change the scratchpad of a run that goes on; its worker reads it before the next model call."""
    run = _run(request, turn_id)
    edits.edit(run.user_id, run.id, Edit(body.op, body.target, body.text), seen=body.seen)
    return Status(201, _scratchpad(_run(request, turn_id)))


def _run(request: HttpRequest, turn_id: UUID) -> Run:
    run = queries.run_of_turn(caller_id(request), turn_id)
    if run is None:
        raise NotFoundError(
            gettext("There is no scratchpad for this turn: it has not started, or its record was dropped.")
        )
    return run


def _scratchpad(run: Run) -> dict[str, object]:
    pad = edits.with_edits(run, queries.waiting_edits(run))
    return {**pad.to_json(), "steps": [_step(step) for step in queries.steps(run)]}


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
