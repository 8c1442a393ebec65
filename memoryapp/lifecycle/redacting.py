"""What redacting or correcting a message takes with it: records of runs that hold the words, and quotes of them."""

from django.dispatch import receiver

from memoryapp.lifecycle.forgetting import drop_what_holds
from memoryapp.longterm import quotes
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import redaction
from memoryapp.transcript.redaction import Gone


@receiver(redaction.redacting, dispatch_uid="drop-records-of-changed-turns")
def drop_records_of_changed_turns(gone: Gone, **_: object) -> None:
    """The records of the turns in which it was said, and of all others that hold the words, with their lessons."""
    run_ids = frozenset(runs.run_ids_of_turns(gone.user_id, gone.turn_ids).values())
    drop_what_holds(gone.user_id, run_ids=run_ids, texts=gone.texts)


@receiver(redaction.redacting, dispatch_uid="follow-changed-messages")
def follow_changed_messages(gone: Gone, **_: object) -> None:
    """Memories quote what their messages say now; what they say themselves is their person's to forget."""
    quotes.follow(gone.user_id, gone.said, gone.rewrite)
