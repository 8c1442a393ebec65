"""Taking back what one message did to a memory: the Undo beside a memory that has just been learned."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from memoryapp.activity.models import Verb
from memoryapp.errors import MemoryAppError
from memoryapp.longterm import forgettings, history, neighbours, queries, restoring, tombstones
from memoryapp.longterm.candidates import Candidate, Source
from memoryapp.longterm.models import Feedback, Memory, MemorySource, MemoryVersion
from memoryapp.longterm.reconciling import reconcile
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin


class HasItsPersonsWordError(MemoryAppError):
    """Its person confirmed or corrected it since: it does not rest on the message alone any more."""

    code = "has_persons_word"
    http_status = 409


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
    that another message has said too stays, on that message's word: when that is worth less, as a memory of its own
    that is worth no more. Raises NotFoundError, NothingToWithdrawError, HasItsPersonsWordError.
    """
    with transaction.atomic(durable=True):
        memory = history.locked(user_id, memory_id)
        said = MemorySource.objects.filter(
            user_id=user_id, memory=memory, message_id=source_message_id
        ).first()
        if said is None:
            raise NothingToWithdrawError(gettext("This message did nothing to this memory."))
        others = list(queries.sources(memory).exclude(id=said.id))
        is_former = memory.status == Memory.Status.SUPERSEDED
        stays = any(is_former or Origin(o.origin).is_at_least(Origin(memory.origin)) for o in others)
        if not (stays or is_former) and _has_persons_word(memory):
            raise HasItsPersonsWordError(
                gettext("You confirmed or corrected this yourself. Forget it instead.")
            )
        _pass_over(memory, said, now=now)
        if stays:
            _take_back_word(memory, said, others=others)
            current: UUID | None = memory.id
        else:
            current = _remove(memory, said, others=others, now=now)
        history.note_done(user_id, Verb.DELETED, [memory_id], detail=gettext_noop("taken back"))
    return Withdrawn(Outcome(said.outcome), queries.get_memory(user_id, current) if current else None)


def forget_brought_within(user_id: UUID, memory_ids: Collection[UUID], *, now: datetime) -> None:
    """Within the caller's transaction: forget what a file brought, and let what it replaced hold again.

    Otherwise as ``forgettings.forget_within``, which takes former values along. Ids of what is gone are passed over.
    """
    history.lock_person(user_id)
    mine = Memory.objects.for_user(user_id)
    brought = list(mine.filter(id__in=list(memory_ids)).values_list("id", flat=True))  # what has expired, too
    if not brought:
        return
    rows = mine.filter(superseded_by__in=brought).exclude(id__in=brought).select_related("kind")
    former: dict[UUID | None, list[Memory]] = {}
    for row in rows.order_by("-superseded_at", "-id"):
        former.setdefault(row.superseded_by_id, []).append(row)
    rows.update(superseded_by=None)
    forgettings.forget_within(user_id, brought, now=now)
    for replaced in former.values():
        restoring.revive(user_id, replaced)


def _has_persons_word(memory: Memory) -> bool:
    edited = queries.versions(memory).filter(changed_by=MemoryVersion.Author.USER, reason=queries.EDITED)
    return neighbours.has_persons_word(memory) or edited.exists()


def _pass_over(memory: Memory, said: MemorySource, *, now: datetime) -> None:
    """Recall does not tell from the message what is not remembered from it."""
    if said.message:
        turn = tombstones.turn_digest(memory.user.forgetting_key, said.message.turn_id)
        tombstones.bury(memory, Memory.objects.none(), now=now, also=[turn])


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
    edited = queries.versions(memory).filter(version__gt=1, changed_by=MemoryVersion.Author.USER)
    word = Feedback.objects.filter(user_id=memory.user_id, memory=memory, verdict=Verdict.CONFIRMED)
    times = [*edited.values_list("recorded_at", flat=True), *word.values_list("created_at", flat=True)]
    return max([*times, *(source.said_at for source in others)])


def _remove(
    memory: Memory, said: MemorySource, *, others: Sequence[MemorySource], now: datetime
) -> UUID | None:
    """The row goes, with tombstones for its place in the message and, if nobody else says it, for its words.

    What it had replaced comes back, and the others are heard as if this message had never been. What holds then.
    """
    rows = Memory.objects.for_user(memory.user_id)
    key = memory.user.forgetting_key
    place = [tombstones.place_digest(key, said.said_at, said.quote)] if said.message_id else []
    tombstones.bury(memory, rows.none() if others else rows.filter(id=memory.id), now=now, also=place)
    former = restoring.former_values(memory)
    candidates = [_candidate(memory, other) for other in sorted(others, key=_strongest_first)]
    memory.delete()
    back = restoring.revive(memory.user_id, former)
    heard = [reconcile(memory.user_id, candidate).memory for candidate in candidates]
    for heir in heard[:1]:
        heir.is_kept, heir.expires_at = memory.is_kept, memory.expires_at
        heir.save(update_fields=["is_kept", "expires_at"])
    holding = heard[0] if heard else back
    return holding.id if holding else None


def _strongest_first(source: MemorySource) -> tuple[int, datetime, UUID]:
    return Origin(source.origin).rank, source.said_at, source.id


def _candidate(memory: Memory, source: MemorySource) -> Candidate:
    """What this source alone says, in the memory's words."""
    return Candidate(
        kind=memory.kind.slug,
        statement=memory.statement,
        key=memory.key,
        quote=source.quote,
        origin=Origin(source.origin),
        channel=Memory.Channel(memory.channel),
        said_at=source.said_at,
        source=Source(source.message_id, source.quote) if source.message_id else None,
        happened_at=memory.happened_at,
    )
