"""What forgetting a memory takes with it in the scratchpad: the records of the runs that hold it, and their lessons."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import transaction
from django.dispatch import receiver

from memoryapp.errors import NotFoundError
from memoryapp.longterm import experience_queries, experiences
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.operations import Traces
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.listing import ended
from memoryapp.transcript import claims, sources
from memoryapp.transcript.models import Turn

# Lines of a pad are cut, and an experience is made of them: the beginning of a long text finds it there too.
BEGINNING_CHARS = 200


@dataclass(frozen=True, slots=True)
class Held:
    """Ids of experiences, and of runs."""

    lessons: frozenset[UUID]
    records: frozenset[UUID]


@receiver(longterm.forgetting, dispatch_uid="pass-over-messages")
def pass_over_messages(traces: Traces, **_: object) -> None:
    """Messages that hold what is forgotten, and that nobody has read yet, teach nothing any more, however worded."""
    sources.pass_over(traces.user_id, texts=traces.texts)


@receiver(longterm.forgetting, dispatch_uid="drop-run-records")
def drop_run_records(traces: Traces, **_: object) -> int:
    """Runs that wait lose what they noted; runs that a worker is at lose their record when they end (``close_run``).

    What was said in a turn so far stays: it is a part of the conversation. Returns how many records went.
    """
    return drop_what_holds(
        traces.user_id, run_ids=traces.run_ids, texts=traces.texts, forgetting_id=traces.forgetting_id
    )


def drop_what_holds(
    user_id: UUID, *, run_ids: frozenset[UUID], texts: frozenset[str], forgetting_id: UUID | None = None
) -> int:
    """Drop the records of these runs and of all that hold one of the texts, within the caller's transaction; how
    many went."""
    beginnings = _beginnings(texts)
    run_ids = _holding(user_id, run_ids, beginnings)
    experiences.drop(user_id, run_ids=run_ids, texts=beginnings, forgetting_id=forgetting_id)
    dropped = scratchpad.drop_records(user_id, run_ids)
    for turn_id in scratchpad.empty_idle(user_id, run_ids, forgotten=beginnings):
        # After the commit: a turn's end locks the turn before its person, a forgetting has the person's lock.
        transaction.on_commit(partial(_wake, user_id, turn_id))
    return dropped


def what_holds(user_id: UUID, *, run_ids: frozenset[UUID], texts: frozenset[str]) -> Held:
    """What can be seen of what ``drop_what_holds`` would drop."""
    beginnings = _beginnings(texts)
    holding = _holding(user_id, run_ids, beginnings)
    seen = experience_queries.unfaded(user_id)
    lessons = experiences.holding(seen, run_ids=holding, texts=beginnings)
    records = ended(runs.on_record(user_id)).filter(id__in=holding)
    return Held(
        frozenset(lessons.values_list("id", flat=True)), frozenset(records.values_list("id", flat=True))
    )


def _beginnings(texts: frozenset[str]) -> set[str]:
    return {text[:BEGINNING_CHARS] for text in texts}


def _holding(user_id: UUID, run_ids: frozenset[UUID], beginnings: set[str]) -> frozenset[UUID]:
    """These runs, and all that hold one of the texts."""
    return run_ids.union(runs.runs_holding(user_id, beginnings).values_list("id", flat=True))


def _wake(user_id: UUID, turn_id: UUID) -> None:
    """What it waited for is gone."""
    with suppress(claims.TurnNotWaitingError, NotFoundError):
        claims.end_wait(user_id, turn_id, reasons=list(Turn.WaitReason))
