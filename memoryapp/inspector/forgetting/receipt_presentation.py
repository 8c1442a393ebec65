"""What receipts say: what was asked for, how much it was, and how far it is gone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.utils.translation import gettext, gettext_lazy, pgettext

from memoryapp.forgetting.stages import Outlook, Place, Progress
from memoryapp.inspector.activity_presentation import who
from memoryapp.inspector.forgetting.scope_presentation import TierCount, by_tier, of_items, receipt_title
from memoryapp.receipts.models import Receipt

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

_PLACES: Final[Mapping[Place, "StrPromise"]] = {
    Place.READS: gettext_lazy("What anybody reads: pages, searches, replies, exports, programs"),
    Place.ROWS: gettext_lazy("The rows in the database"),
    Place.DERIVED: gettext_lazy("What was made of it: summaries, lessons, titles"),
    Place.STORES: gettext_lazy("What is on its way: queues and caches"),
    Place.FILES: gettext_lazy("The files on this server, logs too"),
    Place.BACKUPS: gettext_lazy("Backups"),
    Place.EXPORTS: gettext_lazy("Copies that you exported, and what programs read before"),
    Place.PROVIDER: gettext_lazy("The company whose model answered you, if one did"),
}


@dataclass(frozen=True, slots=True)
class StageRow:
    """``at``: since when, or by when; ``note``: what there is to say besides."""

    where: str
    progress: str
    at: datetime | None
    note: str


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """``state``: undoable, back, partly_back, gone or pending."""

    id: UUID
    title: str
    who: str
    forgotten_at: datetime
    undo_until: datetime | None
    undone_at: datetime | None
    state: str
    counts: Sequence[TierCount]
    restored: Sequence[TierCount]
    signature: str


def receipt_row(
    receipt: Receipt, kind_labels: Mapping[str, str], *, is_own: bool, now: datetime
) -> ReceiptRow:
    """``is_own``: its person reads it."""
    return ReceiptRow(
        id=receipt.id,
        title=receipt_title(receipt, kind_labels),
        who=who(receipt.actor, receipt.actor_name, is_own=is_own),
        forgotten_at=receipt.forgotten_at,
        undo_until=receipt.undo_until,
        undone_at=receipt.undone_at,
        state=_state(receipt, now=now),
        counts=by_tier(of_items(receipt.items) | receipt.counts),
        restored=by_tier(of_items(receipt.restored)),
        signature=receipt.signature,
    )


def stage_rows(outlooks: Sequence[Outlook]) -> list[StageRow]:
    return [
        StageRow(str(_PLACES[each.where]), each.progress.value, each.at, _note(each)) for each in outlooks
    ]


def _state(receipt: Receipt, *, now: datetime) -> str:
    if receipt.undone_at:
        return "back"
    if receipt.undo_until and receipt.undo_until > now and not receipt.finished_at:
        return "undoable"
    return "gone" if receipt.purged_at else "pending"


def _note(each: Outlook) -> str:
    match each.where, each.progress:
        case Place.EXPORTS, _:
            return gettext("Delete them where you keep them.")
        case Place.PROVIDER, _ if each.at is None:
            return gettext("Whoever runs this server has not said how long it keeps what it was sent.")
        case Place.PROVIDER, _:
            return gettext("As whoever runs this server says.")
        case _, Progress.PENDING if each.at is None:
            return pgettext("a stage", "When whoever runs this server cleans its files; no time is set.")
    return ""
