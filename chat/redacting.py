"""What redacting a message takes with it in Redis: what was streamed of its turns."""

from functools import partial

from django.db import transaction
from django.dispatch import receiver

from chat import events
from memoryapp.transcript import redaction
from memoryapp.transcript.redaction import Gone


@receiver(redaction.redacting, dispatch_uid="drop-streams-of-changed-turns")
def drop_streams_of_changed_turns(gone: Gone, **_: object) -> None:
    """Once it is certain; while Redis is away they end by themselves."""
    transaction.on_commit(partial(events.forget, gone.turn_ids), robust=True)
