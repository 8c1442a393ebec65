"""What forgetting a memory takes with it in the scratchpad: the records of the runs that hold it, and their lessons."""

from django.dispatch import receiver

from memoryapp.longterm import experiences
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.operations import Traces
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries as runs

# Lines of a pad are cut, and an experience is made of them: the beginning of a long text finds it there too.
BEGINNING_CHARS = 200


@receiver(longterm.forgetting, dispatch_uid="drop-run-records")
def drop_run_records(traces: Traces, **_: object) -> None:
    """Runs that are still at work lose their record when they end: the memory epoch tells them (``close_run``)."""
    texts = {text[:BEGINNING_CHARS] for text in traces.texts}
    holding = runs.ended_runs_holding(traces.user_id, texts).values_list("id", flat=True)
    run_ids = traces.run_ids.union(holding)
    experiences.drop(traces.user_id, run_ids=run_ids, texts=texts)
    scratchpad.drop_records(traces.user_id, run_ids)
