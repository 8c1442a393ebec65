"""Keeping the leases of the turns this process runs, and hearing that one should stop.

One thread for all of them: it renews well before a lease ends, keeps the partial text, and turns a stop request or a
lost lease into a cancellation, also while the model is silent.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import Error, connection

from chat.draining import drain
from memoryapp.conf import get_conf
from memoryapp.llm.base import Cancellation
from memoryapp.transcript import claims, queries
from memoryapp.transcript.claims import Claim

logger = logging.getLogger(__name__)

STOP_POLL_S = 0.5  # a stop takes effect within a second


@dataclass(slots=True)
class _Held:
    claim: Claim
    cancellation: Cancellation
    partial_text: Callable[[], str]
    renew_at: float


class LeaseKeeper:
    """Thread-safe; its thread runs only while there is something to keep."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By claim, not by turn: a stalled attempt may still be here when the next one begins.
        self._held: dict[Claim, _Held] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def keeping(self, claim: Claim, *, partial_text: Callable[[], str]) -> Iterator[Cancellation]:
        """Keep ``claim`` alive for the length of the block; the cancellation says when to stop early."""
        held = _Held(claim, Cancellation(), partial_text, self._next_renewal())
        with self._lock:
            self._held[claim] = held
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lease-keeper", daemon=True)
                self._thread.start()
        try:
            yield held.cancellation
        finally:
            with self._lock:
                self._held.pop(claim, None)

    def _run(self) -> None:
        # Waits first: a turn's beginning is when it is most in a hurry, and there is nothing to renew yet.
        time.sleep(STOP_POLL_S)
        while held := self._current():
            try:
                self._look_after(held)
            except Error as error:
                # Tried again in a moment; a lease that ends meanwhile is the reaper's.
                logger.warning("Leases could not be renewed: %s", type(error).__name__)
            except Exception:  # the edge of the thread: without it no turn here would be kept any more
                logger.exception("Leases could not be renewed")
            finally:
                connection.close()
            time.sleep(STOP_POLL_S)

    def _current(self) -> list[_Held]:
        with self._lock:
            if not self._held:
                self._thread = None
            return list(self._held.values())

    def _look_after(self, held: list[_Held]) -> None:
        stopped = queries.is_stop_requested([item.claim.turn_id for item in held])
        for item in held:
            if item.claim.turn_id in stopped or drain.is_overdue:
                item.cancellation.set()
            if time.monotonic() >= item.renew_at:
                if not claims.renew_lease(item.claim, partial_text=item.partial_text()):
                    item.cancellation.set()
                item.renew_at = self._next_renewal()

    @staticmethod
    def _next_renewal() -> float:
        return time.monotonic() + get_conf().turn_lease_s / 3


keeper = LeaseKeeper()
