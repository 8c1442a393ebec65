"""What a person says of a memory, and what that does to it; ``policies.feedback`` has the sums."""

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.activity.models import Verb
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.longterm import history, queries, restoring
from memoryapp.longterm.models import Feedback, Memory, MemoryVersion
from memoryapp.policies.feedback import Verdict, confidence_after

VERBS = {
    Verdict.WRONG: Verb.SET_ASIDE,
    Verdict.CONFIRMED: Verb.CONFIRMED,
    Verdict.NOT_RELEVANT: Verb.UNHELPFUL,
}


class WaitsForItsPersonError(MemoryAppError):
    """It waits for its person's word, given on its page where its source is shown; programs do not give it."""

    code = "needs_confirmation"
    http_status = 409


def give_feedback(
    user_id: UUID,
    memory_id: UUID,
    verdict: Verdict,
    *,
    now: datetime,
    turn_id: UUID | None = None,
    version: int | None = None,
) -> Memory:
    """A person's word about a live memory. The same word about the same reply (``turn_id``) counts once.

    ``WRONG`` sets it aside at once: it is in no recall and no list of what is known, old text does not teach it again,
    and it stays in the history; what it had replaced holds again. ``CONFIRMED`` affirms it; what was set aside or
    replaced is in use again by it, in place of what cannot hold beside it. ``CORRECTED`` comes with new words, by
    ``operations.edit``. Raises NotFoundError, StaleVersionError, WaitsForItsPersonError for a waiting
    memory that is said to be right, InvalidInputError for one that has been replaced.
    """
    if verdict == Verdict.CORRECTED:
        raise InvalidInputError(gettext("A correction is an edit: send the new words."))
    try:
        with transaction.atomic(durable=True):
            memory = history.locked(user_id, memory_id, version=version)
            if turn_id and not User.objects.filter(id=user_id, turns=turn_id).exists():
                raise NotFoundError(gettext("There is no such turn."))
            if not _is_said_already(memory, verdict, turn_id):
                _refuse_what_makes_no_sense(memory, verdict)
                _apply(memory, verdict, turn_id=turn_id, now=now)
    except IntegrityError as error:
        raise InvalidInputError(gettext(restoring.TAKEN)) from error
    return queries.get_memory(user_id, memory_id)


def is_set_aside(memory: Memory) -> bool:
    """Whether its person said that it is wrong: nothing has replaced it."""
    return memory.status == Memory.Status.SUPERSEDED and memory.superseded_by_id is None


def _is_said_already(memory: Memory, verdict: Verdict, turn_id: UUID | None) -> bool:
    """Not when the opposite was said since: then the word acts again."""
    is_former = memory.status == Memory.Status.SUPERSEDED
    if verdict == Verdict.WRONG and is_set_aside(memory):
        return True
    if (verdict == Verdict.WRONG and not is_former) or (verdict == Verdict.CONFIRMED and is_former):
        return False
    said = Feedback.objects.filter(user_id=memory.user_id, memory=memory, verdict=verdict.value, turn=turn_id)
    return turn_id is not None and said.exists()


def _refuse_what_makes_no_sense(memory: Memory, verdict: Verdict) -> None:
    if verdict == Verdict.CONFIRMED and not queries.was_settled(memory):
        raise WaitsForItsPersonError(gettext("This waits for its user, who confirms it on the Memory page."))
    if memory.status in queries.WAITING and verdict == Verdict.NOT_RELEVANT:
        raise InvalidInputError(gettext("This waits for its user's word and is in no reply yet."))
    if memory.status == Memory.Status.SUPERSEDED and verdict != Verdict.CONFIRMED:
        raise InvalidInputError(gettext("This was replaced. Speak of what replaced it."))


def _apply(memory: Memory, verdict: Verdict, *, turn_id: UUID | None, now: datetime) -> None:
    before = memory.confidence
    is_former = memory.status == Memory.Status.SUPERSEDED
    memory.confidence = confidence_after(verdict, before)
    if verdict == Verdict.CONFIRMED:
        memory.affirmed_at = max(memory.affirmed_at, now)
    if verdict == Verdict.WRONG:
        history.step_aside(memory, until=now, at=now)
        history.save_version(memory, author=MemoryVersion.Author.USER, reason="set aside as wrong")
        restoring.revive(memory.user_id, restoring.former_values(memory))
    elif is_former:
        restoring.bring_back(memory, now=now)
    else:
        memory.save(update_fields=["confidence", "affirmed_at"])
    history.note_word(memory, verdict, before=before, turn_id=turn_id)
    done = Verb.BROUGHT_BACK if is_former else VERBS[verdict]
    history.note_done(memory.user_id, done, [memory.id])
