"""Writes of the scratchpad. A worker that lost its turn is fenced off by the turn's attempt."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import Usage
from memoryapp.policies.limits import Limits
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import queries
from memoryapp.scratchpad.models import Approval, Checkpoint, PadEdit, Run, Step
from memoryapp.scratchpad.pad import Pad
from memoryapp.tuning import operations as tuning

OBSERVATION_MAX_CHARS = 200_000  # of one result: a long page; beyond it nobody reads on


class FencedOffError(MemoryAppError):
    """The turn belongs to another attempt by now: this worker must stop."""

    code = "fenced_off"
    http_status = 409


class OvertakenError(MemoryAppError):
    """Its person forgot something since the run began, and it cannot begin anew."""

    code = "run_overtaken"
    http_status = 409


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A finished tool call. ``round``: the checkpoint that asked for it; ``number``: the next one unless given.

    ``observation``: in full; ``brief``: in a few words; ``error``: why it failed. ``origin`` is the trust of what came
    back, ``taint`` that of the prompt with it (see ``policies.trust``).
    """

    tool_use_id: str
    action: str
    arguments: dict[str, Any]
    observation: str
    status: Step.Status
    tokens: int
    duration_ms: int
    origin: str
    taint: str = ""
    brief: str = ""
    error: str = ""
    round: int = 0
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """What to add to a run's account: the usage of a model call that has ended, None when there was none.

    ``active_ms``: the whole time that workers spent on the run so far.
    """

    usage: Usage | None = None
    active_ms: int = 0

    @property
    def updates(self) -> dict[str, Any]:
        """Of the run's columns."""
        spent = {"active_ms": self.active_ms} if self.active_ms else {}
        if self.usage is None:
            return spent
        return spent | {
            "model_calls": F("model_calls") + 1,
            "model_failures": 0,
            "input_tokens": F("input_tokens") + self.usage.total_input_tokens,
            "output_tokens": F("output_tokens") + self.usage.output_tokens,
            "cache_read_tokens": F("cache_read_tokens") + self.usage.cache_read_tokens,
            "cache_creation_tokens": F("cache_creation_tokens") + self.usage.cache_creation_tokens,
        }


NOTHING_SPENT = Spending()


def open_run(*, user_id: UUID, turn_id: UUID, goal: str, attempt: int, limits: Limits | None = None) -> Run:
    """The turn's run, owned by ``attempt`` from now on: a new one with a bare pad, or the one begun earlier.

    One begun before its person forgot something starts over: what it holds may be just that. ``limits``: of a new
    one. Raises ``FencedOffError`` when a later attempt owns it already, and ``OvertakenError`` where starting over
    could repeat what was done elsewhere.
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
                "limits": limits.to_json() if limits else {},
            },
        )
        if not is_new:
            taken = Run.objects.filter(id=run.id, attempt__lte=attempt).update(
                attempt=attempt, status=Run.Status.RUNNING, finished_at=None
            )
            if taken != 1:
                raise FencedOffError("Another worker has taken this turn over.")
            epoch = _memory_epoch(user_id)
            if run.memory_epoch != epoch and run.has_effects:
                raise OvertakenError(
                    "Something was forgotten while this was under way, so its record is dropped. Look at what was "
                    "done already before you ask for it again."
                )
            if run.memory_epoch != epoch:
                _start_over(run, epoch=epoch)
            run.refresh_from_db()
    return run


def begin_step(
    run: Run,
    *,
    tool_use_id: str,
    action: str,
    arguments: dict[str, Any],
    round: int,  # noqa: A002 - the field's name
    attempt: int,
) -> Step:
    """Note that a call is about to take effect elsewhere: after a crash nobody takes it for one that never began."""
    with transaction.atomic(durable=True):
        _write(run, attempt, has_effects=True)
        return Step.objects.create(
            user_id=run.user_id,
            run=run,
            tool_use_id=tool_use_id,
            number=_next_number(run),
            round=round,
            action=action,
            arguments=arguments,
            status=Step.Status.RUNNING,
            origin=Origin.USER_TYPED,
        )


class Keep(Protocol):
    def __call__(self, record: StepRecord, *, pad: Pad) -> Step: ...


@contextmanager
def recording(run: Run, *, attempt: int, holds_person: bool = False) -> Iterator[Keep]:
    """One transaction for a call's effect in this database and its record, which the yielded function keeps.

    ``holds_person``: the effect takes the lock of the run's person, which comes before that of the run everywhere.
    """
    with transaction.atomic(durable=True):
        if holds_person:
            User.objects.select_for_update(no_key=True).get(id=run.user_id)
        fence(run, attempt)
        yield partial(_record, run)


def effect() -> AbstractContextManager[None]:
    """A part of ``recording``: what fails in it leaves nothing, and the failure can be recorded."""
    return transaction.atomic()


def record_step(run: Run, record: StepRecord, *, pad: Pad, attempt: int) -> Step:
    """Keep one tool call, and the pad as it stands after it.

    Recording the same ``tool_use_id`` again returns what stands already.
    """
    with transaction.atomic(durable=True):
        _write(run, attempt, pad=pad.to_json())
        return _keep_step(run, record)


def checkpoint(
    run: Run,
    *,
    number: int,
    delta: Sequence[dict[str, Any]],
    pad: Pad,
    taint: str,
    attempt: int,
    spending: Spending = NOTHING_SPENT,
) -> None:
    """Keep what was added to the prompt, and the pad as it stands.

    A checkpoint of this number that stands already stays as it is, and nothing is counted twice.
    """
    known = Checkpoint.objects.filter(run=OuterRef("id"), number=number)
    with transaction.atomic(durable=True):
        if _held(run, attempt).filter(~Exists(known)).update(pad=pad.to_json(), **spending.updates):
            Checkpoint.objects.create(
                user_id=run.user_id, run=run, number=number, delta=list(delta), taint=taint
            )
            _count(run.user_id, spending)
        else:
            fence(run, attempt)


def note_wait(run: Run, *, model_failures: int, active_ms: int, attempt: int) -> None:
    """What a worker that lets go of the run until later leaves to the next."""
    with transaction.atomic(durable=True):
        _write(run, attempt, model_failures=model_failures, active_ms=active_ms)


def go_on(run: Run, *, attempt: int, limits: Limits) -> None:
    """A person says to go on: up to these limits, and with a clean slate for what got nowhere before.

    A run that called no tool yet starts over, so that it recalls anew. Raises ``FencedOffError`` when a later attempt,
    of the same request a moment ago, is at work already.
    """
    with transaction.atomic(durable=True):
        if not Run.objects.select_for_update().filter(id=run.id, attempt__lte=attempt).exists():
            raise FencedOffError(gettext("This is being answered again already."))
        last_step = Step.objects.filter(run=run).aggregate(last=Max("number"))["last"]
        if last_step is None:
            _start_over(run, epoch=_memory_epoch(run.user_id))
        Run.objects.filter(id=run.id).update(
            limits=limits.to_json(), model_failures=0, judged_from=last_step or 0
        )


def close_run(
    turn_id: UUID,
    *,
    attempt: int,
    status: Run.Status,
    spending: Spending = NOTHING_SPENT,
) -> None:
    """The run is over, as a part of the caller's transaction, in which its turn ends; its record stays for a while.

    The record of a run during which its person forgot something goes at once: it may hold just that.
    """
    run = Run.objects.filter(turn_id=turn_id)
    with transaction.atomic():
        # Not beside a forgetting: it either finds this run ended, or has moved the epoch by now.
        people = User.objects.select_for_update(no_key=True, of=("self",)).filter(runs__turn_id=turn_id)
        epochs = [person.memory_epoch for person in people]
        ended = run.filter(attempt__lte=attempt, status=Run.Status.RUNNING)
        Step.objects.filter(run__in=ended, status=Step.Status.RUNNING).update(
            status=Step.Status.ERROR, error="The run ended meanwhile. Whether it took effect is not known."
        )
        Approval.objects.filter(run__in=ended, status=Approval.Status.PENDING).update(
            status=Approval.Status.EXPIRED, decided_at=Now()
        )
        owners = list(ended.values_list("user_id", flat=True))
        if ended.update(attempt=attempt, status=status, finished_at=Now(), **spending.updates):
            _count(owners[0], spending)
        run.exclude(memory_epoch__in=epochs).exclude(status=Run.Status.RUNNING).delete()


def _count(user_id: UUID, spending: Spending) -> None:
    """For the day's budget, which outlives the run."""
    if spending.usage:
        tuning.spend(user_id, spending.usage)


def drop_records(user_id: UUID, run_ids: Iterable[UUID]) -> int:
    """Delete the records of those of these runs that have ended, within the caller's transaction; how many."""
    ended = Run.objects.filter(user_id=user_id, id__in=list(run_ids)).exclude(status=Run.Status.RUNNING)
    _, deleted = ended.delete()
    return deleted.get("scratchpad.Run", 0)


def empty_idle(user_id: UUID, run_ids: Iterable[UUID], *, forgotten: Iterable[str]) -> list[UUID]:
    """Take all that was noted from those of these runs that no worker holds, within the caller's transaction.

    Each is left with its bare goal, or with none when that holds a text that is ``forgotten``. Whoever takes it up
    sees by the memory epoch that it was overtaken (``open_run``). Returns the ids of their turns.
    """
    runs = Run.objects.filter(user_id=user_id, id__in=list(run_ids), status=Run.Status.RUNNING)
    # First the locks, then a look at the turns: a worker has claimed its turn before it takes up the run.
    locked = list(runs.order_by("id").select_for_update(no_key=True).values_list("id", flat=True))
    if not locked:  # as mostly: patterns of a thousand texts need not be made
        return []
    idle = Run.objects.filter(id__in=locked, turn__status__in=("queued", "waiting"))
    idle.filter(queries.holding(forgotten, "goal")).update(goal="")
    PadEdit.objects.filter(user_id=user_id, run__in=idle).delete()
    for run in idle:
        _drop_notes(run)
    return [run.turn_id for run in idle]


def fence(run: Run, attempt: int) -> None:
    """Lock the run's row for this transaction, or raise: a newer attempt owns it, or it has been closed."""
    if not _held(run, attempt).select_for_update().exists():
        raise FencedOffError("Another worker has taken this turn over.")


def _write(run: Run, attempt: int, **columns: object) -> None:
    """``fence``, and these columns with it."""
    if not _held(run, attempt).update(**columns):
        raise FencedOffError("Another worker has taken this turn over.")


def _held(run: Run, attempt: int) -> QuerySet[Run]:
    return Run.objects.filter(id=run.id, attempt=attempt, status=Run.Status.RUNNING)


def _record(run: Run, record: StepRecord, *, pad: Pad) -> Step:
    """Within a transaction that holds the run's row."""
    Run.objects.filter(id=run.id).update(pad=pad.to_json())
    return _keep_step(run, record)


def _keep_step(run: Run, record: StepRecord) -> Step:
    begun = Step.objects.filter(user_id=run.user_id, run=run, tool_use_id=record.tool_use_id).first()
    if begun and begun.status != Step.Status.RUNNING:
        return begun
    step = begun or Step(
        user_id=run.user_id,
        run=run,
        tool_use_id=record.tool_use_id,
        number=record.number or _next_number(run),
        round=record.round,
        action=record.action,
        arguments=record.arguments,
    )
    step.observation = _capped(record.observation)
    step.brief, step.error, step.status = record.brief, record.error, record.status
    step.tokens, step.duration_ms = record.tokens, record.duration_ms
    step.origin, step.taint = record.origin, record.taint
    step.save(force_insert=begun is None)
    return step


def _next_number(run: Run) -> int:
    return Step.objects.filter(run=run).count() + 1


def _start_over(run: Run, *, epoch: int) -> None:
    """What its person did to the pad is for the new beginning, unless they have forgotten something since."""
    edits = PadEdit.objects.filter(user_id=run.user_id, run=run)
    if run.memory_epoch == epoch:
        edits.update(applied_at=None)
    else:
        edits.delete()
    _drop_notes(run)
    Run.objects.filter(id=run.id).update(memory_epoch=epoch, judged_from=0, model_failures=0)


def _drop_notes(run: Run) -> None:
    """All but the goal and what its person did to the pad."""
    for noted in (Step, Checkpoint, Approval):
        noted.objects.filter(user_id=run.user_id, run=run).delete()
    Run.objects.filter(id=run.id).update(pad=Pad(goal=run.goal).to_json())


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
