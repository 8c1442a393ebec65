"""Making good what workers and nudges that were lost leave behind.

Every worker process runs it in a thread of its own, as often as the others do: it waits neither for a free task thread
nor for a broker, and the database lets one of them take a turn over.
"""

import logging
import threading
import time
from uuid import UUID

from django.db import connections

from chat import events
from chat.endings import end_cancelled, end_interrupted, recorded_taint
from chat.window import messages_of, said_in
from memoryapp.conf import get_conf
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import claims, queries, queue
from memoryapp.transcript.models import Turn

logger = logging.getLogger(__name__)


def start_reaping() -> None:
    """Reap for as long as the process lives."""
    threading.Thread(target=_reap_for_ever, name="reaper", daemon=True).start()


def reap_turns() -> None:
    """Take over turns whose worker went silent, and wake queued turns whose nudge was lost."""
    for turn_id in queue.expired_leases():
        try:
            _take_over(turn_id)
        except Exception:  # one turn must not keep the others from being taken over
            logger.exception("Turn %s could not be taken over", turn_id)
    claims.wake_overdue()


def _reap_for_ever() -> None:
    while True:
        time.sleep(get_conf().reap_interval_s)
        try:
            reap_turns()
        except Exception:  # the edge of the thread: the database may be away, and comes back
            logger.exception("Turns could not be reaped")
        finally:
            connections.close_all()


def _take_over(turn_id: UUID) -> None:
    """Nothing lost and attempts left: run it again. Else end it, keeping what its reader has seen.

    What a checkpoint holds is said again by whoever goes on; words of a call that was not finished are not.
    """
    claim = claims.take_over(turn_id)
    if claim is None:
        return
    turn = queries.turn_for_worker(turn_id)
    lost_attempt = claim.attempt - 1
    seen = max(events.streamed_text(turn_id, attempt=lost_attempt), turn.partial_text, key=len)
    logger.warning("Turn %s lost its worker in attempt %s.", turn_id, lost_attempt)
    if turn.stop_requested_at:
        end_cancelled(claim, seen)
    elif turn.attempts_left == 0 or not _settled(turn).startswith(seen.strip()):
        end_interrupted(claim, seen)
    else:
        claims.hand_back(claim, partial_text=seen, taint=recorded_taint(claim))


def _settled(turn: Turn) -> str:
    """What the run's checkpoints hold of what was said."""
    run = runs.run_of_turn(turn.user_id, turn.id)
    return said_in(messages_of(runs.checkpoints(run))).strip() if run else ""
