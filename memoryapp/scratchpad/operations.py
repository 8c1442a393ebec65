"""Writes of the scratchpad. A worker that lost its turn is fenced off by the turn's attempt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from memoryapp.accounts.models import User
from memoryapp.errors import MemoryAppError, NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.scratchpad.models import Checkpoint, Run, Step
from memoryapp.scratchpad.pad import Pad

OBSERVATION_MAX_CHARS = 20_000


class FencedOffError(MemoryAppError):
    """The turn belongs to another attempt by now: this worker must stop."""

    code = "fenced_off"
    http_status = 409


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A finished tool call. ``origin`` is the trust of what came back (see ``policies.trust``)."""

    tool_use_id: str
    action: str
    arguments: dict[str, Any]
    observation: str
    status: Step.Status
    tokens: int
    duration_ms: int
    origin: str


def open_run(*, user_id: UUID, turn_id: UUID, goal: str, attempt: int) -> Run:
    """The turn's run, owned by ``attempt`` from now on: a new one with a bare pad, or the one begun earlier.

    Raises ``FencedOffError`` when a later attempt owns it already.
    """
    with transaction.atomic(durable=True):
        run, is_new = Run.objects.get_or_create(
            user_id=user_id,
            turn_id=turn_id,
            defaults={
                "goal": goal,
                "pad": Pad(goal=goal).to_json(),
                "attempt": attempt,
                "memory_epoch": _memory_epoch(user_id),
            },
        )
        if not is_new:
            taken = Run.objects.filter(id=run.id, attempt__lte=attempt).update(
                attempt=attempt, status=Run.Status.RUNNING, finished_at=None
            )
            if taken != 1:
                raise FencedOffError("Another worker has taken this turn over.")
            run.refresh_from_db()
    return run


def record_step(run: Run, record: StepRecord, *, pad: Pad, attempt: int) -> Step:
    """Keep one tool call, and the pad as it stands after it.

    Recording the same ``tool_use_id`` again returns what stands already.
    """
    with transaction.atomic(durable=True):
        _fence(run, attempt)
        step, _ = Step.objects.get_or_create(
            user_id=run.user_id,
            run=run,
            tool_use_id=record.tool_use_id,
            defaults={
                "number": Step.objects.filter(run=run).count() + 1,
                "action": record.action,
                "arguments": record.arguments,
                "observation": _capped(record.observation),
                "status": record.status,
                "tokens": record.tokens,
                "duration_ms": record.duration_ms,
                "origin": record.origin,
            },
        )
        Run.objects.filter(id=run.id).update(pad=pad.to_json())
    return step


def checkpoint(
    run: Run,
    *,
    number: int,
    delta: Sequence[dict[str, Any]],
    pad: Pad,
    taint: str,
    attempt: int,
    usage: Usage | None = None,
) -> None:
    """Keep what was added to the prompt, and the pad as it stands. ``usage``: of the model call that said it.

    A checkpoint of this number that stands already stays as it is, and nothing is counted twice.
    """
    spent = usage or Usage()
    with transaction.atomic(durable=True):
        _fence(run, attempt)
        # The run's row is locked: looking first is enough, and needs no savepoint.
        if Checkpoint.objects.filter(user_id=run.user_id, run=run, number=number).exists():
            return
        Checkpoint.objects.create(user_id=run.user_id, run=run, number=number, delta=list(delta), taint=taint)
        Run.objects.filter(id=run.id).update(
            pad=pad.to_json(),
            model_calls=F("model_calls") + (1 if usage else 0),
            input_tokens=F("input_tokens") + spent.total_input_tokens,
            output_tokens=F("output_tokens") + spent.output_tokens,
        )


def close_run(turn_id: UUID, *, attempt: int, status: Run.Status, usage: Usage | None = None) -> None:
    """The run is over; its record stays for the admin-set time. ``usage``: of a last call without tools.

    The record of a run during which its person forgot something goes at once: it may hold just that.
    """
    spent = usage or Usage()
    run = Run.objects.filter(turn_id=turn_id)
    with transaction.atomic(durable=True):
        # Not beside a forgetting: it either finds this run ended, or has moved the epoch by now.
        people = User.objects.select_for_update(no_key=True, of=("self",)).filter(runs__turn_id=turn_id)
        epochs = [person.memory_epoch for person in people]
        run.filter(attempt__lte=attempt, status=Run.Status.RUNNING).update(
            attempt=attempt,
            status=status,
            finished_at=Now(),
            model_calls=F("model_calls") + (1 if usage else 0),
            input_tokens=F("input_tokens") + spent.total_input_tokens,
            output_tokens=F("output_tokens") + spent.output_tokens,
        )
        run.exclude(memory_epoch__in=epochs).exclude(status=Run.Status.RUNNING).delete()


def start_over(run: Run, *, attempt: int) -> None:
    """Forget what attempts up to ``attempt`` did: for a person's retry, which asks for a fresh answer.

    Raises ``FencedOffError`` when a later attempt, of a retry a moment ago, is at work already.
    """
    with transaction.atomic(durable=True):
        if not Run.objects.select_for_update().filter(id=run.id, attempt__lte=attempt).exists():
            raise FencedOffError("This is being answered again already.")
        Step.objects.filter(run=run).delete()
        Checkpoint.objects.filter(run=run).delete()
        Run.objects.filter(id=run.id).update(
            pad=Pad(goal=run.goal).to_json(), memory_epoch=_memory_epoch(run.user_id)
        )


def delete_run(user_id: UUID, run_id: UUID) -> None:
    deleted, _ = Run.objects.filter(user_id=user_id, id=run_id).exclude(status=Run.Status.RUNNING).delete()
    if not deleted:
        raise NotFoundError("There is no such run, or it is still running.")


def drop_records(user_id: UUID, run_ids: Iterable[UUID]) -> None:
    """Delete the records of those of these runs that have ended, within the caller's transaction."""
    ended = Run.objects.filter(user_id=user_id, id__in=list(run_ids)).exclude(status=Run.Status.RUNNING)
    ended.delete()


def drop_old_records(*, older_than_days: int) -> int:
    """Delete the records of runs that ended longer ago (the database's clock); returns how many runs."""
    with transaction.atomic(durable=True):
        old = Run.objects.filter(finished_at__lte=Now() - timedelta(days=older_than_days))
        count = old.count()
        old.delete()
    return count


def _fence(run: Run, attempt: int) -> None:
    """Lock the run's row for this transaction, or raise: a newer attempt owns it, or it has been closed."""
    held = Run.objects.select_for_update().filter(id=run.id, attempt=attempt, status=Run.Status.RUNNING)
    if not held.exists():
        raise FencedOffError("Another worker has taken this turn over.")


def _memory_epoch(user_id: UUID) -> int:
    return User.objects.values_list("memory_epoch", flat=True).get(id=user_id)


def _capped(text: str) -> str:
    text = text.replace("\x00", "")
    if len(text) <= OBSERVATION_MAX_CHARS:
        return text
    return (
        text[:OBSERVATION_MAX_CHARS]
        + f"\n… {len(text) - OBSERVATION_MAX_CHARS:,} characters more were dropped."
    )
