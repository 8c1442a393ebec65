"""Taking back what one message did to a memory: the Undo beside a memory that has just been learned."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memoryapp.errors import MemoryAppError
from memoryapp.longterm import history, queries
from memoryapp.longterm.models import Feedback, Memory, MemorySource, MemoryVersion
from memoryapp.policies.reconciliation import Outcome


class NothingToWithdrawError(MemoryAppError):
    """The message did nothing to this memory, or it has been taken back already."""

    code = "nothing_to_withdraw"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """``outcome``: what the message had done.

    ``memory``: what holds now, as a query gives it: the memory itself where other messages say it too, the former value
    where it had replaced one, else None.
    """

    outcome: Outcome
    memory: Memory | None


def withdraw(user_id: UUID, memory_id: UUID, *, source_message_id: UUID, now: datetime) -> Withdrawn:
    """Take back what this message did, and keep reading it again from doing the same.

    What it added or made wait is gone; what it replaced holds again; what it reinforced is as old as before. A memory
    that another message has said since stays, on that message's word. Raises NotFoundError, NothingToWithdrawError.
    """
    with transaction.atomic(durable=True):
        memory = history.locked(user_id, memory_id)
        said = MemorySource.objects.filter(
            user_id=user_id, memory=memory, message_id=source_message_id
        ).first()
        if said is None:
            raise NothingToWithdrawError("This message did nothing to this memory.")
        others = queries.sources(memory).exclude(id=said.id)
        if others.exists():
            _take_back_word(memory, said, others=list(others))
            current: UUID | None = memory.id
        else:
            former = _remove(memory, said, now=now)
            current = former.id if former else None
    return Withdrawn(Outcome(said.outcome), queries.get_memory(user_id, current) if current else None)


def _take_back_word(memory: Memory, said: MemorySource, *, others: list[MemorySource]) -> None:
    """The memory stands on what else was said; ``others`` are newest first."""
    first = min(others, key=lambda source: (source.said_at, source.id))
    if memory.source_message_id == said.message_id:
        memory.source_message_id, memory.quote = first.message_id, first.quote
        memory.said_at = first.said_at
        MemorySource.objects.filter(id=first.id).update(outcome=said.outcome)
    if memory.affirmed_at == said.said_at:
        memory.affirmed_at = min(memory.affirmed_at, _last_affirmed(memory, others))
    memory.save(update_fields=["source_message", "quote", "said_at", "affirmed_at"])
    said.delete()


def _last_affirmed(memory: Memory, others: list[MemorySource]) -> datetime:
    """By another message, or by its person's own hand."""
    edited = MemoryVersion.objects.filter(
        user_id=memory.user_id, memory=memory, version__gt=1, changed_by=MemoryVersion.Author.USER
    )
    word = Feedback.objects.filter(user_id=memory.user_id, memory=memory, verdict=Feedback.Verdict.CONFIRMED)
    times = [*edited.values_list("recorded_at", flat=True), *word.values_list("created_at", flat=True)]
    return max([*times, *(source.said_at for source in others)])


def _remove(memory: Memory, said: MemorySource, *, now: datetime) -> Memory | None:
    """The row goes, with tombstones for its words and its place in the message; what it had replaced comes back."""
    rows = Memory.objects.for_user(memory.user_id)
    former = list(rows.filter(superseded_by=memory).select_related("kind").order_by("-superseded_at", "-id"))
    was_live = memory.status == Memory.Status.ACTIVE
    key = memory.user.forgetting_key
    place = [queries.place_digest(key, said.message_id, said.quote)] if said.message_id else []
    history.bury(memory, rows.filter(id=memory.id), now=now, also=place)
    back = [row for row in former if row.superseded_at == former[0].superseded_at] if was_live else []
    successor_id = back[0].id if back else memory.superseded_by_id
    rows.filter(id__in=[row.id for row in former]).exclude(id__in=[row.id for row in back]).update(
        superseded_by=successor_id
    )
    memory.delete()
    for row in back:
        history.come_back(row)
    return back[0] if back else None
