"""A person's answers to what waits for their word, and how each is taken back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from memoryapp.errors import InvalidInputError, StaleVersionError
from memoryapp.inspector.posted import uuid_or_none
from memoryapp.inspector.undoing import Offer, of_forgetting
from memoryapp.longterm import forgettings, operations, queries
from memoryapp.longterm.models import Forgetting, Memory


class Answer(StrEnum):
    NEW = "new"  # what waits holds; what it does not fit is a former value
    HELD = "held"  # what waits does not hold
    BOTH = "both"  # each holds, so that neither takes the other's place
    NEITHER = "neither"


DONE = {
    Answer.NEW: gettext_lazy("Remembered"),
    Answer.HELD: gettext_lazy("Forgotten"),
    Answer.BOTH: gettext_lazy("Remembered beside what was in use"),
    Answer.NEITHER: gettext_lazy("Forgotten, both of them"),
}


@dataclass(frozen=True, slots=True)
class Settled:
    """What an answer did. ``shown``: the memory that is in use after it, if one is; ``forgetting``: of what went,
    which can be undone; without one ``longterm.unsettling`` takes the answer back. ``words``: of what waited."""

    answer: Answer
    words: str
    shown: Memory | None
    forgetting: Forgetting | None = None

    @property
    def done(self) -> str:
        return str(DONE[self.answer])

    @property
    def stop(self) -> str:
        """What ends the sentence that quotes ``words``, which may end one themselves."""
        return "" if self.words.endswith((".", "!", "?", "…")) else "."

    @property
    def aside(self) -> str:
        return gettext("What was in use stays.") if self.answer == Answer.HELD and self.shown else ""

    @property
    def said(self) -> str:
        """Without what anybody said, so that it can be kept until a page tells it."""
        return f"{self.done}. {self.aside}".strip()


def settle(
    user_id: UUID, memory_id: UUID, answer: str, *, version: int, now: datetime, rival: str = ""
) -> Settled:
    """``version``: of what waits, as the person read it; ``rival``: "id.version" of what it did not fit then.

    Raises StaleVersionError when either is another now, InvalidInputError, NotFoundError.
    """
    waiting = queries.get_memory(user_id, memory_id)
    if waiting.version != version:  # also of an answer that is sent a second time
        raise StaleVersionError(gettext("This memory changed since you opened it."), version=waiting.version)
    if waiting.status not in queries.WAITING:
        raise InvalidInputError(gettext("This memory does not wait for your word."))
    held = _as_shown(user_id, rival, waiting) if rival else queries.rival(waiting)
    words = waiting.statement
    match answer:
        case Answer.NEW:
            return Settled(
                Answer.NEW, words, operations.confirm(user_id, memory_id, version=version, now=now)
            )
        case Answer.BOTH:
            beside = operations.confirm(user_id, memory_id, version=version, now=now, is_beside=True)
            return Settled(Answer.BOTH, words, beside)
        case Answer.HELD:
            return Settled(Answer.HELD, words, held, _forget(user_id, [waiting], now=now))
        case Answer.NEITHER:
            both = [waiting, *([held] if held else [])]
            return Settled(Answer.NEITHER, words, None, _forget(user_id, both, now=now))
    raise InvalidInputError(gettext("Say which of them holds."))


def way_back(settled: Settled, memory_id: UUID) -> Offer:
    """What was done with what waited, and the button that takes it back: as a forgetting, for as long as that can be
    undone; as a yes, until the memory is changed."""
    if settled.forgetting:
        return of_forgetting(settled.forgetting, text=settled.said)
    assert settled.shown
    url = reverse("inspector:unsettle", args=[memory_id])
    return Offer(settled.said, url, fields={"version": str(settled.shown.version)})


def _as_shown(user_id: UUID, mark: str, waiting: Memory) -> Memory:
    """The memory that the page showed as in use. Raises StaleVersionError when it is not, in these words."""
    memory_id = uuid_or_none(mark.partition(".")[0])
    held = queries.by_ids(user_id, [memory_id]).get(memory_id) if memory_id else None
    if held is None or mark != f"{held.id}.{held.version}" or held.status != Memory.Status.ACTIVE:
        raise StaleVersionError(
            gettext("What it does not fit changed since you opened it."), version=waiting.version
        )
    return held


def _forget(user_id: UUID, gone: list[Memory], *, now: datetime) -> Forgetting:
    versions = {memory.id: memory.version for memory in gone}
    return forgettings.forget(user_id, list(versions), now=now, versions=versions)
