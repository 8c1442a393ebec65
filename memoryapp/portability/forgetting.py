"""What a forgetting takes with it here: files that wait; and with everything, all that is known of imports."""

from uuid import UUID

from django.db import transaction
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.utils import timezone

from memoryapp.forgetting import operations as forgetting
from memoryapp.portability import operations
from memoryapp.portability.models import ImportBatch
from memoryapp.receipts.models import Receipt


@receiver(forgetting.everything, dispatch_uid="drop-imports")
def drop_imports(user_id: UUID, **_: object) -> None:
    """Who is at work on one waits for its row or finds it gone, and brings nothing more."""
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("Imports go with everything else, or not at all.")
    list(ImportBatch.objects.filter(user_id=user_id).order_by("id").select_for_update())
    ImportBatch.objects.filter(user_id=user_id).delete()


@receiver(post_save, sender=Receipt, dispatch_uid="discard-previews")
def discard_previews(instance: Receipt, *, created: bool, **_: object) -> None:
    """In the transaction of each forgetting: what a file says of it is shown no more, and waits no more."""
    if created:
        operations.discard_previews(instance.user_id, now=timezone.now())
