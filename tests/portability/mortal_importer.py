"""Loaded into a real worker (``celery worker --include``): SIGKILL comes at the point that Redis names for an import.

A point is passed before each write of an import, and again after it, before it is committed.
"""

import os
import signal
from collections.abc import Callable
from typing import Any
from uuid import UUID

from memoryapp.portability import operations
from memoryapp.redis_client import redis_client


def point_key(batch_id: UUID) -> str:
    return f"test:import-point:{batch_id}"


def passed_key(batch_id: UUID) -> str:
    return f"test:import-passed:{batch_id}"


def _reach(batch_id: UUID) -> None:
    at = int(redis_client().get(point_key(batch_id)) or 0)  # type: ignore[arg-type]
    if redis_client().incr(passed_key(batch_id)) == at:
        os.kill(os.getpid(), signal.SIGKILL)


def _mortal(write: Callable[..., Any]) -> Callable[..., Any]:
    def written(batch: Any, *args: Any, **options: Any) -> Any:
        _reach(batch.id)
        answer = write(batch, *args, **options)
        _reach(batch.id)
        return answer

    return written


if os.environ.get("MORTAL_WORKER"):
    for name in ("note_format", "begin_reading", "note_read", "end_reading", "note_brought", "end"):
        setattr(operations, name, _mortal(getattr(operations, name)))
