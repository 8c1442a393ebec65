"""How long the records of runs stay: by the rule, longer for a person who wants them, and gone on request."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Scope, Sort
from memoryapp.scratchpad import listing, queries
from memoryapp.scratchpad.models import Approval, Checkpoint, Grant, PadEdit, Run, Step

MORE_DAYS = 7
LAST: Final = datetime(9999, 12, 30, tzinfo=UTC)  # a moment in every zone


class Keeping(StrEnum):
    """For how long a person wants a record."""

    LONGER = "longer"  # a week more than now
    FOR_EVER = "for_ever"
    BY_RULE = "by_rule"


def keep(
    user_id: UUID, run_ids: Collection[UUID], keeping: Keeping, *, rule_days: int | None, now: datetime
) -> int:
    """Say for how long these records stay; how many of them there are. ``rule_days``: as for ``goes_at``."""
    with transaction.atomic(durable=True):
        runs = list(_of_person(user_id, run_ids).select_for_update(of=("self",), no_key=True))
        for run in runs:
            _set(run, keeping, rule_days=rule_days, now=now)
        Run.objects.bulk_update(runs, ["kept_until", "is_kept"])
        if runs:
            activity.note(
                user_id,
                Verb.LIFETIME,
                tier=Tier.SCRATCHPAD,
                subject_id=runs[0].id if len(runs) == 1 else None,
                rows=len(runs),
                detail=keeping,
            )
    return len(runs)


def goes_at(run: Run, *, rule_days: int | None) -> datetime | None:
    """When the record goes; None when it stays, or when that is not known yet because the run goes on.

    ``rule_days``: how long the rule keeps records after their runs ended; None for ever.
    """
    if run.is_kept or rule_days is None or run.finished_at is None:
        return None
    by_rule = _later(run.finished_at, days=rule_days)
    return max(by_rule, run.kept_until) if run.kept_until else by_rule


def delete(user_id: UUID, run_ids: Collection[UUID]) -> int:
    """Delete the records of those of these runs that have ended; how many."""
    with transaction.atomic(durable=True):
        return delete_within(user_id, run_ids)


def erase(user_id: UUID, run_ids: Collection[UUID]) -> None:
    """Delete these in whatever state: a restored backup holds what was gone."""
    Run.objects.filter(user_id=user_id, id__in=list(run_ids)).delete()


def delete_within(user_id: UUID, run_ids: Collection[UUID]) -> int:
    """``delete``, as a part of the caller's transaction."""
    ended = listing.ended(_of_person(user_id, run_ids)).select_for_update(of=("self",))
    found = [run.id for run in ended]
    Run.objects.filter(user_id=user_id, id__in=found).delete()
    if found:
        activity.note(
            user_id,
            Verb.DELETED,
            tier=Tier.SCRATCHPAD,
            subject_id=found[0] if len(found) == 1 else None,
            rows=len(found),
        )
    receipts.issue(user_id, Scope.RUN, items={Sort.RUN: found}, now=timezone.now())
    return len(found)


def delete_everything_within(user_id: UUID) -> dict[str, int]:
    """Within the caller's transaction: all records of this person, of runs that go on, too; how many. What a worker
    writes at the same time makes the commit fail: then try again."""
    counts = count_everything(user_id)
    accounts.delete_rows(user_id, (Step, Checkpoint, PadEdit, Approval, Grant, Run))
    return counts


def count_everything(user_id: UUID) -> dict[str, int]:
    """How many records there are, also of runs that go on."""
    return {"records": Run.objects.filter(user_id=user_id).count()}


def drop_old(*, older_than_days: int) -> int:
    """Delete the records of runs that ended longer ago and that nobody keeps (the database's clock); how many."""
    with transaction.atomic(durable=True):
        old = _unkept(Run.objects.filter(finished_at__lte=Now() - timedelta(days=older_than_days)))
        count = old.count()
        old.delete()
    return count


def drop_unkept(user_id: UUID, turn_id: UUID) -> None:
    """Delete the record of a turn that has ended, where records are not kept at all, unless its person keeps it."""
    with transaction.atomic(durable=True):
        _unkept(listing.ended(Run.objects.filter(user_id=user_id, turn_id=turn_id))).delete()


def _set(run: Run, keeping: Keeping, *, rule_days: int | None, now: datetime) -> None:
    stays_until = max(filter(None, [now, run.kept_until, goes_at(run, rule_days=rule_days)]))
    run.is_kept = keeping == Keeping.FOR_EVER
    run.kept_until = _later(stays_until, days=MORE_DAYS) if keeping == Keeping.LONGER else None


def _later(moment: datetime, *, days: int) -> datetime:
    try:
        return min(moment + timedelta(days=days), LAST)
    except OverflowError:
        return LAST


def _of_person(user_id: UUID, run_ids: Collection[UUID]) -> QuerySet[Run]:
    return queries.on_record(user_id).filter(id__in=run_ids).order_by("id")  # of two at once, each locks so


def _unkept(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.filter(Q(kept_until=None) | Q(kept_until__lte=Now()), is_kept=False)
