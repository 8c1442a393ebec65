"""What redacting or correcting a message takes with it: records of runs that hold the words, and quotes of them."""

from uuid import UUID

from django.dispatch import receiver

from memoryapp.lifecycle.forgetting import drop_what_holds, what_holds
from memoryapp.longterm import quotes
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import redaction
from memoryapp.transcript.redaction import Foreseen, Gone


@receiver(redaction.redacting, dispatch_uid="drop-records-of-changed-turns")
def drop_records_of_changed_turns(gone: Gone, **_: object) -> None:
    """The records of the turns in which it was said, and of all others that hold the words, with their lessons."""
    drop_what_holds(gone.user_id, run_ids=_runs_of(gone.user_id, gone.turn_ids), texts=gone.texts)


@receiver(redaction.redacting, dispatch_uid="follow-changed-messages")
def follow_changed_messages(gone: Gone, **_: object) -> None:
    """Memories quote what their messages say now; what they say themselves is their person's to forget."""
    quotes.follow(gone.user_id, gone.said, gone.rewrite)


def records_foreseen(user_id: UUID, foreseen: Foreseen) -> int:
    """How many records of runs would go with these words."""
    run_ids = _runs_of(user_id, foreseen.turn_ids)
    return len(what_holds(user_id, run_ids=run_ids, texts=foreseen.gone).records)


def _runs_of(user_id: UUID, turn_ids: frozenset[UUID]) -> frozenset[UUID]:
    return frozenset(runs.run_ids_of_turns(user_id, turn_ids).values())
