"""A finished run of several steps, or one that failed and then found a way, becomes an experience."""

from datetime import datetime
from uuid import UUID

from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Experience
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.scratchpad.models import Run, Step

MIN_STEPS = 3
GOAL_MAX_CHARS = 500


def promote_run(user_id: UUID, turn_id: UUID, *, now: datetime) -> Experience | None:
    """The experience of the turn's run, or None when it taught nothing worth keeping."""
    run = scratchpad.run_of_turn(user_id, turn_id)
    if run is None or run.status == Run.Status.RUNNING:
        return None
    steps = list(scratchpad.steps(run))
    has_recovered = _recovered(steps) and run.status == Run.Status.COMPLETED
    if len(steps) < MIN_STEPS and not has_recovered:
        return None
    pad = pads.from_json(run.pad)
    is_success = run.status == Run.Status.COMPLETED
    return longterm.record_experience(
        user_id=user_id,
        run_id=run.id,
        goal=run.goal[:GOAL_MAX_CHARS],
        tools=sorted({step.action for step in steps}),
        outcome=Experience.Outcome.SUCCEEDED if is_success else Experience.Outcome.FAILED,
        worked="\n".join(pad.done),
        avoid="\n".join(f"{failure.call}: {failure.why}" for failure in pad.failed),
        origin=weakest([Origin.MODEL_INFERRED, *(Origin(step.origin) for step in steps)]),
        now=now,
    )


def _recovered(steps: list[Step]) -> bool:
    failures = [step.number for step in steps if step.status == Step.Status.ERROR]
    return bool(failures) and any(
        step.number > failures[0] and step.status == Step.Status.OK for step in steps
    )
