"""A person's answers to what waits for their word."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memoryapp.errors import InvalidInputError, StaleVersionError
from memoryapp.longterm import operations, queries
from memoryapp.longterm.models import Memory


class Answer(StrEnum):
    NEW = "new"  # what waits holds; what it does not fit is a former value
    HELD = "held"  # what waits does not hold
    BOTH = "both"  # each holds, so that neither takes the other's place
    NEITHER = "neither"


SAID = {
    Answer.NEW: "Remembered.",
    Answer.HELD: "Forgotten. What was in use stays.",
    Answer.BOTH: "Remembered beside what was in use.",
    Answer.NEITHER: "Forgotten, both of them.",
}


def settle(user_id: UUID, memory_id: UUID, answer: str, *, version: int, now: datetime) -> Memory | None:
    """The memory that is in use after it; None when none is. ``version``: of what waits, as the person read it.

    Raises StaleVersionError, InvalidInputError.
    """
    waiting = queries.get_memory(user_id, memory_id)
    if waiting.version != version:  # also of an answer that is sent a second time
        raise StaleVersionError("This memory changed since you opened it.", version=waiting.version)
    if waiting.status not in queries.WAITING:
        raise InvalidInputError("This memory does not wait for your word.")
    rival = queries.rival(waiting)
    match answer:
        case Answer.NEW:
            return operations.confirm(user_id, memory_id, version=version, now=now)
        case Answer.BOTH:
            return operations.confirm(user_id, memory_id, version=version, now=now, is_beside=True)
        case Answer.HELD:
            operations.forget(user_id, memory_id, version=version, now=now)
            return rival
        case Answer.NEITHER:
            operations.forget(user_id, memory_id, version=version, now=now)
            if rival:
                operations.forget(user_id, rival.id, version=rival.version, now=now)
            return None
    raise InvalidInputError("Say which of them holds.")
