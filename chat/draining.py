"""Leaving in good order: a worker that is told to stop finishes the step in hand and gives its turns back."""

import threading
import time

from memoryapp.conf import get_conf


class Drain:
    """Whether this process is leaving, and whether its patience is over. Thread-safe."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._began_at = 0.0

    def begin(self) -> None:
        if not self._begun.is_set():
            self._began_at = time.monotonic()
            self._begun.set()

    def end(self) -> None:
        """For tests, whose process lives on."""
        self._begun.clear()

    @property
    def has_begun(self) -> bool:
        return self._begun.is_set()

    @property
    def is_overdue(self) -> bool:
        """What still runs is to be cut off: whoever stopped this process will soon kill it."""
        return self.has_begun and time.monotonic() - self._began_at >= get_conf().drain_seconds


drain = Drain()
