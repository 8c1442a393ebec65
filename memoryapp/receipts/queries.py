"""Reads of receipts."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from memoryapp.errors import NotFoundError
from memoryapp.receipts.models import Receipt, Scope, Sort

ORDER = ("-forgotten_at", "-id")


def receipts(user_id: UUID) -> QuerySet[Receipt]:
    """Newest first."""
    return Receipt.objects.filter(user_id=user_id).order_by(*ORDER)


def get_receipt(user_id: UUID, receipt_id: UUID) -> Receipt:
    """Raises NotFoundError, for a stranger's likewise."""
    found = receipts(user_id).filter(id=receipt_id).first()
    if found is None:
        raise NotFoundError(gettext("There is no such receipt."))
    return found


def receipt_of(user_id: UUID, *, scope: Scope, subject_id: UUID) -> Receipt | None:
    """The newest about this row."""
    return receipts(user_id).filter(scope=scope, subject_id=subject_id).first()


def of_acts(user_id: UUID, act_ids: Collection[UUID]) -> dict[UUID, Receipt]:
    """By the act that took something, its receipt; what went by it is not read."""
    wanted = set(map(str, act_ids))
    rows = receipts(user_id).filter(acts__has_any_keys=sorted(wanted)) if wanted else Receipt.objects.none()
    return {UUID(act): row for row in rows.only("scope", "acts") for act in wanted & {*row.acts}}


def of_items(user_id: UUID, item_ids: Collection[UUID], *, since: datetime) -> dict[UUID, UUID]:
    """By what went since then, the newest receipt of it. By the index of the list."""
    wanted = {str(item_id) for item_id in item_ids}
    holding = Q()
    for sort in Sort:
        holding |= Q(**{f"items__{sort}__has_any_keys": sorted(wanted)})
    rows = receipts(user_id).filter(holding, forgotten_at__gte=since) if wanted else Receipt.objects.none()
    return {
        UUID(item_id): row_id
        for row_id, items in rows.reverse().values_list("id", "items")
        for ids in items.values()
        for item_id in wanted.intersection(ids)
    }
