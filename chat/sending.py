"""What the browser and the API do alike with turns."""

from uuid import UUID

from chat import events
from memoryapp.accounts.models import User
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import Turn


def retry(user: User, turn_id: UUID) -> Turn:
    """Answer an ended turn afresh: its run starts over, and readers skip the events of earlier attempts."""
    turn = queries.get_turn(user.id, turn_id)
    transcript.require_retryable(turn)
    run = runs.run_of_turn(user.id, turn_id)
    if run:
        scratchpad.start_over(run, attempt=turn.attempt)
    return transcript.retry_turn(user.id, turn_id)


def stop(user: User, turn_id: UUID) -> Turn:
    """Ask for a stop; a turn that had not started ends at once."""
    turn = transcript.request_stop(user.id, turn_id)
    if turn.status == Turn.Status.CANCELLED:
        events.publish(turn_id, {"type": "end", "status": turn.status}, attempt=turn.attempt)
    return turn
