"""What would become of a statement if it were to be remembered now; nothing is written, locked or enqueued.

It asks what ``reconciling`` asks, in the same order; ``tests/longterm/test_foreseeing.py`` holds the two together.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from memoryapp.accounts.models import User
from memoryapp.longterm import neighbours, queries, tombstones
from memoryapp.longterm.candidates import Candidate, checked, dated
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.neighbours import keys_of, storable_slot, strongest_origin
from memoryapp.longterm.refusals import refused
from memoryapp.policies import dates, reconciliation
from memoryapp.policies.flags import instruction_shaped
from memoryapp.policies.reconciliation import Known, Outcome
from memoryapp.policies.trust import INITIAL_CONFIDENCE


@dataclass(frozen=True, slots=True)
class Foreseen:
    """``outcome``: None for what would be refused, with ``refusal`` saying why. ``met``: the known memory that decides.

    ``expires_at``: when the new memory would expire; None: never, or there would be none. ``flag``: why it looks like
    an instruction, or empty.
    """

    candidate: Candidate
    kind: Kind
    outcome: Outcome | None
    met: Memory | None = None
    refusal: str = ""
    confidence: float = 0.0
    expires_at: datetime | None = None
    flag: str = ""


def foresee(user_id: UUID, candidate: Candidate) -> Foreseen:
    """Raises InvalidInputError and its children for what is refused whatever is known."""
    person = User.objects.get(id=user_id)
    candidate = dated(checked(candidate), time_zone=person.time_zone)
    kind = queries.get_kind(candidate.kind)
    base = Foreseen(
        candidate,
        kind,
        outcome=None,
        confidence=INITIAL_CONFIDENCE[candidate.origin],
        flag=instruction_shaped(candidate.statement) or "",
    )
    refusal = _refusal(person, candidate, kind)
    if refusal:
        return replace(base, refusal=refusal)
    near = _near(person, candidate)
    if candidate.is_over:
        near = replace(near, rivals=[])
    decision = reconciliation.decide(
        origin=candidate.origin,
        said_at=candidate.said_at,
        needs_confirmation=kind.needs_confirmation,
        same=_known(near.same),
        rivals=[known for known in map(_known, near.rivals) if known],
        former=_known(near.former),
    )
    key = candidate.key or ("" if candidate.is_over else storable_slot(candidate.statement))
    met = next(
        (row for row in (near.same, near.former, *near.rivals) if row and row.id == decision.target), None
    )
    return replace(
        base,
        candidate=replace(candidate, key=key),
        outcome=decision.outcome,
        met=met,
        expires_at=_expires_at(kind, candidate.said_at, time_zone=person.time_zone),
    )


def _near(person: User, candidate: Candidate) -> neighbours.Neighbours:
    digest = tombstones.statement_digest(person.forgetting_key, candidate.statement)
    keys = frozenset[str]() if candidate.is_over else keys_of(candidate.statement, candidate.key)
    return neighbours.neighbours(person.id, candidate.statement, digest=digest, keys=keys)


def _refusal(person: User, candidate: Candidate, kind: Kind) -> str:
    """What was forgotten is kept out unless the person says it again in these very words."""
    if kind.slug in refused(person.id):
        return f"You do not want anything of the kind “{kind.label}” to be remembered."
    buried = tombstones.newest(person.id, tombstones.digests(person.forgetting_key, candidate.statement))
    if buried and candidate.source and not reconciliation.says(candidate.source.text, candidate.statement):
        return "You had this forgotten, and these are not the words in which you say it."
    quota = queries.quota(person.id)
    return f"Memory is full ({quota.limit:,} memories)." if quota.used >= quota.limit else ""


def _known(memory: Memory | None) -> Known | None:
    if memory is None:
        return None
    return Known(
        id=memory.id,
        origin=strongest_origin(memory),
        affirmed_at=memory.affirmed_at,
        held_until=memory.valid_to,
    )


def _expires_at(kind: Kind, said_at: datetime, *, time_zone: str) -> datetime | None:
    """The midnight, in the person's zone, that ends its last day; as ``memory_fades_at`` has it."""
    if kind.ttl_days is None:
        return None
    last = said_at.astimezone(ZoneInfo(time_zone)).date() + timedelta(days=kind.ttl_days)
    return dates.midnight(last + timedelta(days=1), time_zone=time_zone)
