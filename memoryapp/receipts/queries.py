"""Reads of receipts."""

from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext

from memoryapp.errors import NotFoundError
from memoryapp.receipts.models import Receipt

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
