"""What a forgetting would take, before it is done: numbers and ids, from the same selection that it uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memoryapp.forgetting.scopes import Asked, Taken, said_in, taken
from memoryapp.lifecycle.forgetting import what_holds
from memoryapp.longterm import experience_queries, forgettings
from memoryapp.receipts.models import Scope
from memoryapp.scratchpad import records
from memoryapp.scratchpad.queries import run_ids_of_turns
from memoryapp.transcript import conversations
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.redaction import Foreseen, foresee_redaction
from memoryapp.tuning import queries as tuning

BY_WORD: Final = 20  # more rows than these are forgotten by a typed word alone
FINAL: Final = frozenset({Scope.RUN, Scope.EVERYTHING, Scope.ACCOUNT})  # nothing of it can come back


@dataclass(frozen=True, slots=True)
class Place:
    """A message that says it still."""

    message_id: UUID
    conversation_id: UUID


@dataclass(frozen=True, slots=True)
class Preview:
    """``counts``: of each sort how many go. ``stays``: learned there, and elsewhere, too. ``still_says``: messages in
    which it was said or repeated and which this does not touch. ``undo_minutes``: for how long it comes back; 0: not at
    all."""

    asked: Asked
    taken: Taken
    counts: dict[str, int]
    stays: frozenset[UUID]
    still_says: tuple[Place, ...]
    undo_minutes: int

    @property
    def copies(self) -> frozenset[UUID]:
        """Other conversations in which the same was said and which stay."""
        return self.taken.copies

    @property
    def needs_word(self) -> bool:
        """Whether a person types a word for it on a page."""
        is_all = self.asked.scope in {Scope.EVERYTHING, Scope.ACCOUNT}
        return is_all or sum(self.counts.values()) > BY_WORD


def preview(user_id: UUID, asked: Asked, *, now: datetime) -> Preview:
    """Raises as ``scopes.taken``."""
    goes = taken(user_id, asked, now=now)
    counts = _everything(user_id) if goes.is_everything else _counts(user_id, asked, goes)
    return Preview(
        asked=asked,
        taken=goes,
        counts={name: number for name, number in counts.items() if number},
        stays=goes.stays,
        still_says=_still_says(user_id, goes) if asked.scope == Scope.MEMORY else (),
        undo_minutes=0 if is_final(asked, goes) else tuning.conf().undo_minutes,
    )


def is_final(asked: Asked, goes: Taken) -> bool:
    """Records of runs, redacted words and temporary chats do not come back: then nothing that goes with them does."""
    return asked.scope in FINAL or bool(goes.words) or bool(goes.temporary)


def _counts(user_id: UUID, asked: Asked, goes: Taken) -> dict[str, int]:
    """With what goes along: former values, lessons and records that hold it."""
    memories = forgettings.foresee(user_id, goes.memories, is_final=is_final(asked, goes))
    redacted = [
        foresee_redaction(user_id, message_id, words=words, whole_words=True)
        for message_id, words in goes.words
    ]
    run_ids, texts = _traces(user_id, memories, goes, redacted)
    along = what_holds(user_id, run_ids=run_ids, texts=texts)
    return {
        "memories": len(memories),
        "experiences": len(goes.experiences | along.lessons),
        "conversations": len(goes.conversations),
        "exchanges": sum(map(len, goes.turns.values())),
        "redacted messages": len(
            {message_id for foreseen in redacted for message_id in foreseen.message_ids}
        ),
        "records": len(goes.runs | along.records),
    }


def _traces(
    user_id: UUID, memory_ids: Sequence[UUID], goes: Taken, redacted: Sequence[Foreseen]
) -> tuple[frozenset[UUID], frozenset[str]]:
    """Runs and texts by which what goes is found elsewhere."""
    of_memories = forgettings.traces_of(user_id, memory_ids)
    lessons = experience_queries.by_ids(user_id, goes.experiences).values()
    of_lessons = forgettings.traces_of_lessons(user_id, lessons)
    turn_ids = {turn_id for foreseen in redacted for turn_id in foreseen.turn_ids}
    run_ids = of_memories.run_ids.union(of_lessons.run_ids, run_ids_of_turns(user_id, turn_ids).values())
    texts = of_memories.texts.union(of_lessons.texts, *(foreseen.gone for foreseen in redacted))
    return run_ids, texts


def _everything(user_id: UUID) -> dict[str, int]:
    tiers = (forgettings, records, conversations)
    return {name: number for tier in tiers for name, number in tier.count_everything(user_id).items()}


def _still_says(user_id: UUID, goes: Taken) -> tuple[Place, ...]:
    message_ids = {message_id for memory_id in goes.memories for message_id in said_in(user_id, memory_id)}
    held = transcript.conversations_of_messages(user_id, message_ids)
    return tuple(Place(id_, conversation_id) for id_, conversation_id in sorted(held.items()))
