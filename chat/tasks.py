"""Celery, queue "turns" and the reaper. Postgres decides who runs what; these only get woken."""

import logging
from uuid import UUID

from celery import shared_task

from chat import events
from chat.turn import end_cancelled, end_interrupted
from chat.turn import run_turn as answer
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries

logger = logging.getLogger(__name__)


@shared_task
def run_turn(turn_id: str) -> None:
    """Answer the turn if it is this worker's to answer; a second delivery finds nothing to claim."""
    claim = transcript.claim_turn(UUID(turn_id))
    if claim:
        answer(claim)


@shared_task
def reap_turns() -> None:
    """Take over turns whose worker went silent, and wake queued turns whose nudge was lost."""
    for turn_id in queries.expired_leases():
        try:
            _take_over(turn_id)
        except Exception:  # one turn must not keep the others from being taken over
            logger.exception("Turn %s could not be taken over", turn_id)
    transcript.wake_overdue()


def _take_over(turn_id: UUID) -> None:
    """Nothing shown and attempts left: run it again. Else end it, keeping what its reader has seen."""
    claim = transcript.take_over(turn_id)
    if claim is None:
        return
    turn = queries.turn_for_worker(turn_id)
    lost_attempt = claim.attempt - 1
    seen = max(events.streamed_text(turn_id, attempt=lost_attempt), turn.partial_text, key=len)
    logger.warning("Turn %s lost its worker in attempt %s.", turn_id, lost_attempt)
    if turn.stop_requested_at:
        end_cancelled(claim, seen)
    elif seen or turn.attempts_left == 0:
        end_interrupted(claim, seen)
    else:
        transcript.hand_back(claim)
