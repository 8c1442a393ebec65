"""How a new statement is settled among what is known, in one transaction and without a model.

``policies.relations`` compares texts, ``policies.reconciliation`` decides, this room writes what was decided. A
statement is never rewritten by another: what repeats it is noted as a source, what replaces it is a row of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils import timezone, translation
from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.acting import Actor, current
from memoryapp.errors import MemoryAppError
from memoryapp.longterm import history, queries, tombstones
from memoryapp.longterm.candidates import Candidate, dated
from memoryapp.longterm.models import Kind, Memory, MemorySource, MemoryVersion, Tombstone
from memoryapp.longterm.neighbours import Neighbours, keys_of, neighbours, storable_slot, strongest_origin
from memoryapp.nudges import EMBED_MEMORIES, nudge
from memoryapp.policies import reconciliation
from memoryapp.policies.likeness import essence
from memoryapp.policies.reconciliation import Decision, Known, Outcome
from memoryapp.policies.relations import without_contrast
from memoryapp.policies.slots import synonyms
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin

WAITS = {Outcome.PENDING: Memory.Status.PENDING, Outcome.CONFLICT: Memory.Status.CONFLICT}


class ForgottenError(MemoryAppError):
    """This was forgotten after it had been said; only saying it again can bring it back."""

    code = "forgotten"
    http_status = 409


class MemoryFullError(MemoryAppError):
    """``details["limit"]``: how many memories one person may have."""

    code = "memory_full"
    http_status = 409


class PendingFullError(MemoryAppError):
    """``details["limit"]``: how many statements of one day may wait for their person."""

    code = "pending_full"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Remembered:
    """``memory``: the row that now holds the statement (for CONFLICT and PENDING: the one that waits).

    ``met``: the known memory that decided it: reinforced, superseded, contradicted, or the reason why it is ignored.
    """

    outcome: Outcome
    memory: Memory
    met: UUID | None = None


def reconcile(user_id: UUID, candidate: Candidate) -> Remembered:
    """Settle a checked candidate, within the caller's transaction."""
    user = history.lock_person(user_id)
    if candidate.is_said_now:  # another writer may have gone first
        candidate = replace(candidate, said_at=timezone.now())
    candidate = dated(without_guessed_key(candidate), time_zone=user.time_zone)
    kind = queries.get_kind(candidate.kind)
    digest = tombstones.statement_digest(user.forgetting_key, candidate.statement)
    began = queries.SAID_AGAIN if _is_said_again(user, candidate) else queries.FIRST_SAID
    history.retire_faded(user_id, digest=digest, keys=_keys(candidate))
    near = known_near(user, candidate)
    if near.same and _has_heard(near.same, candidate):
        return Remembered(Outcome.IGNORED, near.same, near.same.id)
    decision = decided(candidate, near, needs_confirmation=kind.needs_confirmation)
    memory = _write(user, candidate, decision.outcome, near, kind=kind, digest=digest, began=began)
    return Remembered(decision.outcome, memory, decision.target)


def known_near(user: User, candidate: Candidate) -> Neighbours:
    """What of a checked and dated candidate is known; what is over takes no other statement's place."""
    digest = tombstones.statement_digest(user.forgetting_key, candidate.statement)
    near = neighbours(user.id, candidate.statement, digest=digest, keys=_keys(candidate))
    return replace(near, rivals=[]) if candidate.is_over else near


def decided(candidate: Candidate, near: Neighbours, *, needs_confirmation: bool) -> Decision:
    return reconciliation.decide(
        origin=candidate.origin,
        said_at=candidate.said_at,
        needs_confirmation=needs_confirmation,
        same=_known(near.same) if near.same else None,
        rivals=[_known(rival) for rival in near.rivals],
        former=_known(near.former) if near.former else None,
    )


def key_for(candidate: Candidate, near: Neighbours) -> str:
    """Its own, else that of its words, under the name that a former value has already; of what is over none."""
    if candidate.key or candidate.is_over:
        return candidate.key
    slot = storable_slot(candidate.statement)
    used = {rival.key for rival in near.rivals} & synonyms(slot) if slot else set()
    return min(used) if used else slot


def _write(
    user: User,
    candidate: Candidate,
    outcome: Outcome,
    near: Neighbours,
    *,
    kind: Kind,
    digest: str,
    began: str,
) -> Memory:
    match outcome:
        case Outcome.IGNORED:
            found = near.same or near.former
            assert found is not None
            return found
        case Outcome.REINFORCED:
            assert near.same is not None
            return _reinforce(near.same, candidate)
        case Outcome.PENDING | Outcome.CONFLICT if near.waiting and near.waiting.status == WAITS[outcome]:
            is_news = not _has_heard(near.waiting, candidate)
            return _with_source(near.waiting, candidate, outcome) if is_news else near.waiting
    _refuse_when_full(user.id, waits=outcome in WAITS)
    candidate = replace(candidate, key=key_for(candidate, near))
    replaced = near.rivals if outcome == Outcome.SUPERSEDED else []
    status = WAITS.get(outcome)
    memory = _create(user.id, kind, digest, candidate, status=status, replaces=replaced, began=began)
    return _with_source(memory, candidate, outcome)


def _keys(candidate: Candidate) -> frozenset[str]:
    return frozenset() if candidate.is_over else keys_of(candidate.statement, candidate.key)


def without_guessed_key(candidate: Candidate) -> Candidate:
    """What a denial denies stands in its words; a key that a model gave it would replace values that it does not name.

    "I no longer live in Lisbon" says nothing against "I moved to Porto".
    """
    is_guessed = candidate.channel in {Memory.Channel.CHAT, Memory.Channel.EXTRACTION}
    says = without_contrast(candidate.statement)
    is_denial = essence(says).is_negative and not storable_slot(candidate.statement)
    return replace(candidate, key="") if is_guessed and is_denial else candidate


def _has_heard(memory: Memory, candidate: Candidate) -> bool:
    """Whether it was taken from the same words already, in a message of which this one is a copy: asked anew, or in a
    copied chat."""
    if candidate.source is None:
        return False
    said = MemorySource.objects.filter(
        user_id=memory.user_id,
        memory=memory,
        message__created_at=candidate.said_at,
        message__text=candidate.source.text,
    )
    return said.exclude(message=candidate.source.message_id).exists()


def _reinforce(memory: Memory, candidate: Candidate) -> Memory:
    affirms = reconciliation.affirms(candidate.origin, held=Origin(memory.origin))
    if affirms and memory.affirmed_at < candidate.said_at:
        memory.affirmed_at = candidate.said_at
        memory.save(update_fields=["affirmed_at"])
    return _with_source(memory, candidate, Outcome.REINFORCED)


def _create(
    user_id: UUID,
    kind: Kind,
    digest: str,
    candidate: Candidate,
    *,
    status: Memory.Status | None,
    replaces: Sequence[Memory],
    began: str,
) -> Memory:
    """Each former value keeps its interval and leaves its place under the key to the new one."""
    memory = Memory(
        user_id=user_id,
        kind=kind,
        key=candidate.key,
        quote=candidate.quote,
        channel=candidate.channel,
        program=current().name if current().actor == Actor.PROGRAM else "",
        source_message_id=candidate.source.message_id if candidate.source else None,
        source_run_id=candidate.run_id,
        origin=candidate.origin,
        confidence=INITIAL_CONFIDENCE[candidate.origin],
        status=status or Memory.Status.ACTIVE,
        said_at=candidate.said_at,
        happened_at=candidate.happened_at,
        valid_from=candidate.valid_from or candidate.said_at,
        valid_to=candidate.valid_to,
        affirmed_at=candidate.said_at,
    )
    history.word(memory, candidate.statement, digest=digest)
    known_until = timezone.now()  # whenever it was said that it ended
    for former in replaces:
        history.step_aside(former, until=memory.valid_from, at=known_until)
    memory.save(force_insert=True)
    for former in replaces:
        history.point_to(memory, former)
    with translation.override("en"):  # a row speaks one language, whoever reads it
        reason = f"{began}, through {memory.get_channel_display()}"
    history.write_version(memory, author=_author(candidate), reason=reason)
    nudge(EMBED_MEMORIES, memory.id)
    return memory


def _with_source(memory: Memory, candidate: Candidate, outcome: Outcome) -> Memory:
    """Note where it was said; the same message counts once."""
    values = {
        "quote": candidate.quote,
        "origin": candidate.origin,
        "outcome": outcome,
        "said_at": candidate.said_at,
    }
    if candidate.source is None:
        MemorySource.objects.create(user_id=memory.user_id, memory=memory, **values)
    else:
        MemorySource.objects.get_or_create(
            user_id=memory.user_id, memory=memory, message_id=candidate.source.message_id, defaults=values
        )
    return memory


def _is_said_again(user: User, candidate: Candidate) -> bool:
    """Whether its person had it forgotten and says it anew. Raises ForgottenError where they do not."""
    if candidate.epoch_at_start is not None and candidate.epoch_at_start != user.memory_epoch:
        raise ForgottenError(
            gettext(
                "Something was forgotten while this was being worked on, so nothing was saved. Say it again to save it."
            )
        )
    digests = tombstones.digests(user.forgetting_key, candidate.statement)
    if candidate.source:
        digests |= {tombstones.place_digest(user.forgetting_key, candidate.said_at, candidate.quote)}
    tombstone = tombstones.newest(user.id, digests)
    if tombstone is None:
        return False
    if candidate.said_at <= tombstone.created_at or not _is_in_own_words(candidate):
        raise ForgottenError(
            gettext("This was forgotten. Only the user can bring it back, by saying it again.")
        )
    # A new statement. Forgotten more than once, it left more than one stone.
    Tombstone.objects.filter(user_id=user.id, digest__in=digests).delete()
    return True


def _is_in_own_words(candidate: Candidate) -> bool:
    """Whether the person said just that, whatever else was in the prompt; a paraphrase of old text is not it."""
    if candidate.source:
        return reconciliation.says(candidate.source.text, candidate.statement)
    return candidate.origin.is_at_least(Origin.USER_CONFIRMED)


def _refuse_when_full(user_id: UUID, *, waits: bool) -> None:
    quota = queries.quota(user_id)
    if quota.used >= quota.limit:
        raise MemoryFullError(
            gettext("Memory is full ({limit} memories). Forget some on the Memory page to make room.").format(
                limit=number_format(quota.limit, force_grouping=True)
            ),
            limit=quota.limit,
        )
    if waits and quota.pending_today >= quota.pending_limit:
        raise PendingFullError(
            gettext(
                "{n} statements of the last 24 hours wait for a word already, and no more than {limit} may. Settle "
                "some on the Memory page, or try again tomorrow."
            ).format(
                n=number_format(quota.pending_today, force_grouping=True),
                limit=number_format(quota.pending_limit, force_grouping=True),
            ),
            limit=quota.pending_limit,
        )


def _known(memory: Memory) -> Known:
    return Known(
        id=memory.id,
        origin=strongest_origin(memory),
        affirmed_at=memory.affirmed_at,
        held_until=memory.valid_to,
    )


def _author(candidate: Candidate) -> MemoryVersion.Author:
    if candidate.channel in {Memory.Channel.API, Memory.Channel.INSPECTOR}:
        return MemoryVersion.Author.USER
    return MemoryVersion.Author.ASSISTANT
