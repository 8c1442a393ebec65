"""Writes of receipts, each a part of the transaction that forgets: what is forgotten has one, or stays."""

import hashlib
import hmac
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from memoryapp.acting import current
from memoryapp.receipts.models import Receipt, Scope, Sort

Items = Mapping[Sort, Collection[UUID]]


@dataclass(slots=True)
class _Gathered:
    """What several tiers forget at once. ``undo_until``: the earliest of theirs; None as soon as one has none."""

    items: dict[str, set[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    undo_until: list[datetime | None] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)

    def add(
        self, items: Items, counts: Mapping[str, int], undo_until: datetime | None, act_id: UUID | None
    ) -> None:
        for sort, ids in items.items():
            self.items.setdefault(sort.value, set()).update(map(str, ids))
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number
        if any(items.values()):
            self.undo_until.append(undo_until)
        if act_id:
            self.acts.append(str(act_id))


@dataclass(slots=True)
class Written:
    """``receipt``: once the block around it has ended; None where nothing was forgotten."""

    receipt: Receipt | None = None


_gathered: ContextVar[_Gathered | None] = ContextVar("gathered", default=None)


def issue(
    user_id: UUID,
    scope: Scope,
    *,
    items: Items,
    now: datetime,
    undo_until: datetime | None = None,
    act_id: UUID | None = None,
    counts: Mapping[str, int] | None = None,
    subject: str = "",
    subject_id: UUID | None = None,
) -> None:
    """Within the caller's transaction: these are forgotten, by whoever acts.

    ``undo_until``: until when they can come back; None: they are gone. ``act_id``: by what the tier undoes it, where it
    is not by the items themselves. ``counts``: what else went with them, by name.
    Inside ``together`` it becomes a part of that receipt. Without items there is nothing to say.
    """
    gathered = _gathered.get()
    if gathered is None:
        gathered = _Gathered()
        gathered.add(items, counts or {}, undo_until, act_id)
        _write(user_id, scope, gathered, now=now, subject=subject, subject_id=subject_id)
    else:
        gathered.add(items, counts or {}, undo_until, act_id)


@contextmanager
def together(
    user_id: UUID, scope: Scope, *, now: datetime, subject: str = "", subject_id: UUID | None = None
) -> Iterator[Written]:
    """What is forgotten inside, within one transaction around this, has one receipt."""
    gathered, written = _Gathered(), Written()
    token = _gathered.set(gathered)
    try:
        yield written
    finally:
        _gathered.reset(token)
    written.receipt = _write(user_id, scope, gathered, now=now, subject=subject, subject_id=subject_id)


@contextmanager
def repeating() -> Iterator[None]:
    """What is forgotten inside has its receipt already: a restored backup forgets it once more."""
    token = _gathered.set(_Gathered())
    try:
        yield
    finally:
        _gathered.reset(token)


def put_back(receipt: Receipt, *, is_known: bool) -> None:
    """As a restored backup had it, or lacked it. ``is_known``: there is a row of it."""
    with transaction.atomic(durable=True):
        receipt.save(force_insert=not is_known, force_update=is_known)


def take_back(user_id: UUID, items: Items, *, now: datetime) -> None:
    """Within the caller's transaction: an undo brought these back."""
    back = {sort.value: set(map(str, ids)) for sort, ids in items.items() if ids}
    holding = Q()
    for sort, ids in back.items():
        holding |= Q(**{f"items__{sort}__has_any_keys": sorted(ids)})  # of an array: any of its strings
    if not holding:
        return
    rows = Receipt.objects.select_for_update().filter(holding, user_id=user_id, undone_at=None)
    for receipt in rows.order_by("id"):
        for sort, ids in back.items():
            known = {*receipt.items.get(sort, ())} & ids
            if known:
                receipt.restored[sort] = sorted({*receipt.restored.get(sort, ()), *known})
        if all(receipt.restored.get(sort) == ids for sort, ids in receipt.items.items()):
            receipt.undone_at = now
        receipt.save(update_fields=["restored", "undone_at"])


def end_undo(receipt: Receipt) -> None:
    """Within the caller's transaction: what has not come back does not any more. Once more changes nothing."""
    still_open = Receipt.objects.filter(id=receipt.id, undone_at=None, undo_until__gt=Now())
    still_open.update(undo_until=Now())


def signature(receipt: Receipt) -> str:
    """HMAC-SHA256 under the installation's key of what a receipt says for ever, hex."""
    said = {
        "id": str(receipt.id),
        "user": str(receipt.user_id),
        "scope": receipt.scope,
        "subject": receipt.subject,
        "subject_id": str(receipt.subject_id or ""),
        "actor": [receipt.actor, receipt.actor_name],
        "items": receipt.items,
        "counts": receipt.counts,
        "forgotten_at": receipt.forgotten_at.isoformat(),
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def _write(
    user_id: UUID, scope: Scope, gathered: _Gathered, *, now: datetime, subject: str, subject_id: UUID | None
) -> Receipt | None:
    items = {sort: sorted(ids) for sort, ids in gathered.items.items() if ids}
    if not items and scope not in {Scope.EVERYTHING, Scope.ACCOUNT}:
        return None
    undoable = [moment for moment in gathered.undo_until if moment is not None]
    is_final = len(undoable) < len(gathered.undo_until) or not undoable
    acting = current()
    receipt = Receipt(
        user_id=user_id,
        scope=scope,
        subject=subject,
        subject_id=subject_id,
        actor=acting.actor,
        actor_name=acting.name,
        items=items,
        acts=gathered.acts,
        counts={name: number for name, number in sorted(gathered.counts.items()) if number},
        forgotten_at=now,
        undo_until=None if is_final else min(undoable),
    )
    receipt.signature = signature(receipt)
    receipt.save(force_insert=True)
    return receipt
