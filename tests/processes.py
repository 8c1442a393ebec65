"""Watching processes end without polling them, zombies included."""

import os
import select


def has_ended(pid: int, *, within_s: float) -> bool:
    """Whether the process exits in time; one that is already gone has."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], within_s)[0])
    finally:
        os.close(watched)
