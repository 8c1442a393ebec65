"""Taking back a person's yes to what waited: the Undo beside what they have just decided."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from memoryapp.activity.models import Verb
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import history, queries, restoring
from memoryapp.longterm.models import Feedback, Memory, MemorySource, MemoryVersion
from memoryapp.policies.feedback import Verdict

WAITS_AGAIN: Final = "waits again"  # the reason of the version


def unsettle(user_id: UUID, memory_id: UUID, *, version: int, now: datetime) -> Memory:
    """It waits once more, as it did before its person confirmed it, and what it took the place of holds again.

    ``version``: the one that the yes made, so that nothing that was done since is lost. The yes is not in the history:
    at no moment was this known. Raises NotFoundError, StaleVersionError, InvalidInputError when it is not a yes that
    came last.
    """
    try:
        with transaction.atomic(durable=True):
            memory = history.locked(user_id, memory_id, version=version)
            yes, before = _last_two(memory)
            former = restoring.former_values(memory)
            memory.status = _waited_as(memory)
            memory.confidence, memory.key = before.confidence, before.key
            memory.affirmed_at = _affirmed_before(memory, now=now)
            yes.delete()
            _last_yes(memory).delete()
            history.save_version(memory, author=MemoryVersion.Author.USER, reason=WAITS_AGAIN)
            restoring.revive(user_id, former)
            history.note_done(user_id, Verb.HELD, [memory.id])
    except IntegrityError as error:
        raise InvalidInputError(gettext(restoring.TAKEN)) from error
    return queries.get_memory(user_id, memory_id)


def _last_two(memory: Memory) -> tuple[MemoryVersion, MemoryVersion]:
    """The version of the yes, and the one before it."""
    newest = list(queries.versions(memory)[:2])
    if memory.status != Memory.Status.ACTIVE or newest[0].reason != queries.CONFIRMED:
        raise InvalidInputError(gettext("There is no decision to take back: it was changed since."))
    yes, before = newest  # what waited was written before it was confirmed
    return yes, before


def _waited_as(memory: Memory) -> Memory.Status:
    said = MemorySource.objects.filter(
        user_id=memory.user_id, memory=memory, outcome__in=queries.WAITING
    ).order_by("recorded_at", "id")
    outcome = said.values_list("outcome", flat=True).first()
    return Memory.Status(outcome or Memory.Status.PENDING)


def _last_yes(memory: Memory) -> Feedback:
    word = Feedback.objects.filter(user_id=memory.user_id, memory=memory, verdict=Verdict.CONFIRMED)
    return word.order_by("-created_at", "-id")[:1].get()


def _affirmed_before(memory: Memory, *, now: datetime) -> datetime:
    """When it was said, or corrected while it waited."""
    edited = queries.versions(memory).filter(reason=queries.EDITED)
    corrected_at = edited.values_list("recorded_at", flat=True).first()
    return min(corrected_at or memory.said_at, now)
