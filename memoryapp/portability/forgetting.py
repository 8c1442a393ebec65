"""What forgetting everything takes with it here: files that were brought, and all that is known of them."""

from uuid import UUID

from django.db import transaction
from django.dispatch import receiver

from memoryapp.forgetting import operations
from memoryapp.portability.models import ImportBatch


@receiver(operations.everything, dispatch_uid="drop-imports")
def drop_imports(user_id: UUID, **_: object) -> None:
    """Who is at work on one waits for its row or finds it gone, and brings nothing more."""
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("Imports go with everything else, or not at all.")
    list(ImportBatch.objects.filter(user_id=user_id).order_by("id").select_for_update())
    ImportBatch.objects.filter(user_id=user_id).delete()
