"""What a command leaves behind when it is told to end: nothing."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_in_order() -> Iterator[None]:
    """SIGTERM ends the command like Ctrl-C does, so that its servers and its directory go with it."""
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
