from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.receipts.models import Receipt


@admin.register(Receipt)
class ReceiptAdmin(RecordAdmin):
    list_display = ("id", "user_id", "scope", "actor", "forgotten_at", "finished_at", "purged_at")
    list_filter = ("scope",)
    fields = (
        *("user_id", "scope", "subject", "subject_id", "actor", "actor_name", "items", "restored", "counts"),
        *("forgotten_at", "undo_until", "undone_at", "finished_at", "derived_at", "stored_at", "purged_at"),
    )
    readonly_fields = fields
