"""The list of a person's runs, narrowed and in an order of their choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memoryapp.scratchpad import queries
from memoryapp.scratchpad.models import Run, Step

TOOLS_MAX = 100  # to choose from

# For ``rest.page``, by what an address says.
ORDERS: Mapping[str, tuple[str, str]] = {
    "": ("-started_at", "-id"),
    "longest": ("-active_ms", "-id"),
    "steps": ("-step_count", "-id"),
    "tokens": ("-tokens", "-id"),
}


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What a list of runs is narrowed to; what is empty does not narrow it.

    ``status``: one of the run's, "waiting", or "approval" for what waits for a person's yes. ``since``, ``until``: when
    they began, half open.
    """

    text: str = ""
    status: str = ""
    conversation_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    tool: str = ""
    has_failed_call: bool = False


def runs(user_id: UUID, to: Narrowed) -> QuerySet[Run]:
    """With ``step_count`` and ``tokens``; the caller pages by one of ``ORDERS``."""
    of_run = Step.objects.filter(run=OuterRef("pk"))
    found = queries.runs(user_id).annotate(tokens=F("input_tokens") + F("output_tokens"))
    if to.text:
        found = found.filter(goal__icontains=to.text)
    if to.status:
        found = found.filter(_in_status(to.status))
    if to.conversation_id:
        found = found.filter(turn__conversation_id=to.conversation_id)
    if to.since:
        found = found.filter(started_at__gte=to.since)
    if to.until:
        found = found.filter(started_at__lt=to.until)
    if to.tool:
        found = found.filter(Exists(of_run.filter(action=to.tool)))
    if to.has_failed_call:
        found = found.filter(Exists(of_run.filter(status=Step.Status.ERROR)))
    return found


def ended(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.exclude(status=Run.Status.RUNNING)


def ended_of_conversation(user_id: UUID, conversation_id: UUID) -> list[UUID]:
    """Ids of the runs of a conversation whose records can be deleted."""
    found = ended(queries.runs(user_id)).filter(turn__conversation_id=conversation_id)
    return list(found.values_list("id", flat=True))


def tools_used(user_id: UUID) -> list[str]:
    """Names of the tools in the runs on record, in order of the alphabet."""
    names = Step.objects.filter(user_id=user_id).order_by("action").values_list("action", flat=True)
    return list(names.distinct()[:TOOLS_MAX])


def _in_status(status: str) -> Q:
    """A run whose turn waits is running on its own record."""
    is_waiting = Q(status=Run.Status.RUNNING, turn__status="waiting")
    match status:
        case "approval":
            return is_waiting & Q(turn__wait_reason="approval")
        case "waiting":
            return is_waiting
        case Run.Status.RUNNING:
            return Q(status=Run.Status.RUNNING) & ~is_waiting
    return Q(status=status)
