"""What redacting or correcting a message takes with it in the scratchpad: records of runs that hold the words."""

from django.dispatch import receiver

from memoryapp.lifecycle.forgetting import drop_what_holds
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import redaction
from memoryapp.transcript.redaction import Gone


@receiver(redaction.redacting, dispatch_uid="drop-records-of-changed-turns")
def drop_records_of_changed_turns(gone: Gone, **_: object) -> None:
    """The records of the turns in which it was said, and of all others that hold the words, with their lessons."""
    run_ids = frozenset(runs.run_ids_of_turns(gone.user_id, gone.turn_ids).values())
    drop_what_holds(gone.user_id, run_ids=run_ids, texts=gone.texts)
