"""Which lifetimes of kinds were changed lately: the sweep waits with them and says what they brought about, and what
they hid is told from what has ended by itself."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Greatest, Now

from memoryapp.longterm.models import Experience, Kind, KindChange, Memory, MemoryQuerySet, fading_at
from memoryapp.longterm.models.expiry import fades_at


def lifetime_changed_at(kind: Kind) -> datetime | None:
    """When its lifetime was last changed, or a change of it taken back."""
    moved = KindChange.objects.filter(kind=kind, applied_at__isnull=False, after__has_key="ttl_days")
    at: datetime | None = moved.aggregate(at=Greatest(Max("applied_at"), Max("undone_at")))["at"]
    return at


def changed_lately(grace: timedelta) -> QuerySet[Kind]:
    """The kinds whose lifetime was changed, or set back, less than ``grace`` ago.

    The sweep passes over them: what a change hid is there to come back, however long ago it ended by the new rule.
    """
    since = Now() - grace
    moved = KindChange.objects.filter(
        Q(applied_at__gt=since) | Q(undone_at__gt=since), applied_at__isnull=False, after__has_key="ttl_days"
    )
    return Kind.objects.filter(id__in=moved.values("kind_id"))


def is_changed_since(since: datetime) -> bool:
    """Whether the lifetime of any kind was changed since, and is so still."""
    moved = KindChange.objects.filter(applied_at__gt=since, undone_at=None, after__has_key="ttl_days")
    return moved.exists()


def with_hidden_at(rows: MemoryQuerySet) -> MemoryQuerySet:
    """Of rows with ``fades_at``; adds ``hidden_at``: when a change of a lifetime ended what would be in use without it.

    None where no change did: it has ended by itself.
    """
    newest = KindChange.objects.filter(
        kind=OuterRef("kind"), applied_at__isnull=False, undone_at=None, after__has_key="ttl_days"
    ).order_by("-applied_at", "-id")
    days = newest.annotate(days=KT("before__ttl_days")).values("days")
    changed = rows.annotate(
        changed_at=Subquery(newest.values("applied_at")[:1]),
        ended_before=fades_at(F("expires_at"), F("is_kept"), Cast(Subquery(days[:1]), IntegerField())),
    )
    is_cut_off = Q(fades_at__lte=F("changed_at")) & (
        Q(ended_before=None) | Q(ended_before__gt=F("changed_at"))
    )
    return changed.annotate(hidden_at=Case(When(is_cut_off, then=F("changed_at"))))


def note_deleted(memories: Iterable[UUID], experiences: Iterable[UUID], *, grace: timedelta) -> None:
    """Inside the sweep's transaction: these rows go now. Adds to each change of a lifetime those that it brought about.

    Those are the ones that would still be there had it not been made: ``grace`` after the former end they go anyway.
    """
    gone: Mapping[str, QuerySet[Any]] = {
        Kind.Subject.STATEMENT: Memory.objects.filter(id__in=list(memories)),
        Kind.Subject.EXPERIENCE: Experience.objects.filter(id__in=list(experiences)),
    }
    newest = (
        KindChange.objects.filter(
            applied_at__isnull=False, undone_at=None, after__has_key="ttl_days", kind__subject__in=list(gone)
        )
        .select_related("kind")
        .order_by("kind_id", "-applied_at", "-id")
        .distinct("kind_id")
    )
    for change in newest:
        rows = gone[change.kind.subject].filter(kind=change.kind)
        ended = rows.annotate(before_at=fading_at(change.before["ttl_days"], subject=change.kind.subject))
        brought_about = ended.filter(Q(before_at=None) | Q(before_at__gt=Now() - grace)).count()
        if brought_about:
            KindChange.objects.filter(id=change.id).update(deleted_rows=F("deleted_rows") + brought_about)
