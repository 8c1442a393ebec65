"""What would become of a statement if it were to be remembered now; nothing is written, locked or enqueued.

It decides by ``reconciling``, and asks what would refuse it in the same order; ``tests/longterm/test_foreseeing.py``
holds the two together.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.longterm import queries, reconciling, tombstones
from memoryapp.longterm.candidates import Candidate, checked, dated
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.refusals import refused
from memoryapp.policies import dates, reconciliation
from memoryapp.policies.flags import instruction_shaped
from memoryapp.policies.reconciliation import Outcome
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
    candidate = dated(reconciling.without_guessed_key(checked(candidate)), time_zone=person.time_zone)
    kind, flag = queries.get_kind(candidate.kind), instruction_shaped(candidate.statement)
    base = Foreseen(
        candidate,
        kind,
        outcome=None,
        confidence=INITIAL_CONFIDENCE[candidate.origin],
        flag=gettext(flag) if flag else "",
    )
    refusal = _refusal(person, candidate, kind)
    if refusal:
        return replace(base, refusal=refusal)
    near = reconciling.known_near(person, candidate)
    decision = reconciling.decided(candidate, near, needs_confirmation=kind.needs_confirmation)
    met = next(
        (row for row in (near.same, near.former, *near.rivals) if row and row.id == decision.target), None
    )
    return replace(
        base,
        candidate=replace(candidate, key=reconciling.key_for(candidate, near)),
        outcome=decision.outcome,
        met=met,
        expires_at=_expires_at(kind, candidate.said_at, time_zone=person.time_zone),
    )


def _refusal(person: User, candidate: Candidate, kind: Kind) -> str:
    """What was forgotten is kept out unless the person says it again in these very words."""
    if kind.slug in refused(person.id):
        said = gettext("You do not want anything of the kind “{kind}” to be remembered.")
        return said.format(kind=gettext(kind.label))
    buried = tombstones.newest(person.id, tombstones.digests(person.forgetting_key, candidate.statement))
    if buried and candidate.source and not reconciliation.says(candidate.source.text, candidate.statement):
        return gettext("You had this forgotten, and these are not the words in which you say it.")
    quota = queries.quota(person.id)
    if quota.used < quota.limit:
        return ""
    limit = number_format(quota.limit, force_grouping=True)
    return gettext("Memory is full ({limit} memories).").format(limit=limit)


def _expires_at(kind: Kind, said_at: datetime, *, time_zone: str) -> datetime | None:
    """The midnight, in the person's zone, that ends its last day; as ``memory_fades_at`` has it."""
    if kind.ttl_days is None:
        return None
    last = said_at.astimezone(ZoneInfo(time_zone)).date() + timedelta(days=kind.ttl_days)
    return dates.midnight(last + timedelta(days=1), time_zone=time_zone)
