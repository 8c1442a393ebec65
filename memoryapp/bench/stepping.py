"""The measurements of ``bench runs`` that need the inside of a worker, in a process that has a database and a model."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from celery import current_app
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row
from memoryapp.llm.base import Completed, StreamEvent
from memoryapp.llm.registry import get_chat_model
from memoryapp.nudges import RUN_TURN
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import conversations, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Turn

OVERHEAD_GOAL_MS = 15
GROWTH_GOAL = 1.1
# What a run holds in the database, row by row.
BYTES = """
SELECT (SELECT coalesce(sum(pg_column_size(step.*)), 0) FROM scratchpad_step step WHERE step.run_id = run.id)
     + (SELECT coalesce(sum(pg_column_size(point.*)), 0) FROM scratchpad_checkpoint point WHERE point.run_id = run.id)
     + pg_column_size(run.*)
FROM scratchpad_run run WHERE run.id = %(run_id)s
"""
# The same if each checkpoint held all that the earlier ones hold, too.
BYTES_OF_WHOLE_STATES = """
SELECT sum(whole) FROM (
  SELECT sum(pg_column_size(point.*)) OVER (ORDER BY point.number) AS whole
  FROM scratchpad_checkpoint point WHERE point.run_id = %(run_id)s
) states
"""
# The inspector's record of what each call of the model was shown.
BYTES_OF_SNAPSHOTS = """
SELECT coalesce(sum(pg_column_size(snapshot.*)), 0) FROM context_contextsnapshot snapshot
WHERE snapshot.turn_id = (SELECT turn_id FROM scratchpad_run WHERE id = %(run_id)s)
"""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """In steps: of the runs that are timed, and of those that are weighed; each is timed ``repeats`` times."""

    timed: tuple[int, ...] = (10, 50)
    weighed: tuple[int, ...] = (10, 50, 150)
    repeats: int = 5


@dataclass(slots=True)
class Watch:
    """When each call of the model began and ended."""

    began_at: list[float] = field(default_factory=list)
    ended_at: list[float] = field(default_factory=list)

    @property
    def between_ms(self) -> list[float]:
        """From the end of a call to the beginning of the next: what a step takes beside the model."""
        return [
            (began - ended) * 1000 for ended, began in zip(self.ended_at, self.began_at[1:], strict=False)
        ]


def costs(sizes: Sizes, say: Say) -> list[Row]:
    """What a step costs beside the model and the tool, in time, statements and bytes."""
    current_app.loader.import_default_modules()  # the tasks, as a worker does
    user = accounts.ensure_first_account()
    _take(user, 2)  # nothing is done for the first time
    rows = []
    for steps in sizes.timed:
        say(f"{sizes.repeats} runs of {steps} steps …")
        rows += _times(user, steps, repeats=sizes.repeats)
    say("Counting statements …")
    rows.append(Row("statements per step", _statements_per_step(user), ""))
    say(f"Weighing runs of {', '.join(map(str, sizes.weighed))} steps …")
    return rows + _weights(user, sizes.weighed)


def _times(user: User, steps: int, *, repeats: int) -> list[Row]:
    overheads: list[float] = []
    for _ in range(repeats):
        watch = _watching_model()
        run = _take(user, steps)
        in_tools = [step.duration_ms for step in runs.steps(run)]
        overheads += [between - tool for between, tool in zip(watch.between_ms, in_tools, strict=True)]
    percentiles = statistics.quantiles(overheads, n=20)
    return [
        Row(f"overhead per step, runs of {steps}, p50", percentiles[9], "ms", OVERHEAD_GOAL_MS),
        Row(f"overhead per step, runs of {steps}, p95", percentiles[18], "ms"),
    ]


def _watching_model() -> Watch:
    """A watch on the process's model, from now on."""
    watch, model = Watch(), get_chat_model()
    stream = type(model).stream

    def timed(*args: Any, **options: Any) -> Iterator[StreamEvent]:
        watch.began_at.append(time.perf_counter())
        for event in stream(model, *args, **options):
            if isinstance(event, Completed):
                watch.ended_at.append(time.perf_counter())
            yield event

    model.stream = timed  # type: ignore[method-assign]
    return watch


def _statements_per_step(user: User) -> float:
    """What ten more steps add."""
    return (_statements(user, 20) - _statements(user, 10)) / 10


def _statements(user: User, steps: int) -> int:
    with CaptureQueriesContext(connection) as captured:
        _take(user, steps)
    return len(captured)


def _weights(user: User, lengths: tuple[int, ...]) -> list[Row]:
    run_ids = {steps: _take(user, steps).id for steps in lengths}
    first, *_, last = lengths
    per_step = {steps: _bytes(BYTES, run_id) / steps for steps, run_id in run_ids.items()}
    whole = {steps: _bytes(BYTES_OF_WHOLE_STATES, run_id) / steps for steps, run_id in run_ids.items()}
    shown = {steps: _bytes(BYTES_OF_SNAPSHOTS, run_id) / steps for steps, run_id in run_ids.items()}
    return [
        *(Row(f"bytes per step, run of {steps}", value, "B") for steps, value in per_step.items()),
        Row(f"  run of {last} / run of {first}", per_step[last] / per_step[first], "", GROWTH_GOAL),
        *(Row(f"  if each step kept the whole state, run of {n}", value, "B") for n, value in whole.items()),
        *(Row(f"  record of what the model was shown, run of {n}", value, "B") for n, value in shown.items()),
    ]


def _bytes(statement: str, run_id: UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"run_id": run_id})
        return int(cursor.fetchone()[0])


def _take(user: User, steps: int) -> Any:  # the tier's Run
    """A run of that many steps through the real loop, as a worker runs it."""
    conversation = conversations.start_conversation(user, now=timezone.now())
    text = f"Take {steps} steps."
    posted, _ = transcript.post_turn(
        user, conversation.id, text=text, idempotency_key=str(uuid4()), now=timezone.now()
    )
    current_app.tasks[RUN_TURN](str(posted.id))
    turn = queries.turn_for_worker(posted.id)
    run = runs.run_of_turn(user.id, turn.id)
    if turn.status != Turn.Status.COMPLETED or run is None or runs.steps(run).count() != steps:
        raise BenchFailedError(f"A run of {steps} steps ended as {turn.status}: {turn.error_message}")
    return run
