from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.portability.models import ImportBatch, ImportFile, ImportItem


@admin.register(ImportBatch)
class ImportBatchAdmin(RecordAdmin):
    list_display = ("id", "user", "format", "status", "size_bytes", "created_at", "finished_at")
    list_filter = ("status", "format")
    # Without samples, which are what a file says.
    fields = (
        *("user", "format", "size_bytes", "status", "is_preview", "is_restore", "position", "total"),
        *("counts", "skipped", "error_code", "attempt", "lease_until"),
        *("created_at", "finished_at", "undone_at"),
    )
    readonly_fields = fields


@admin.register(ImportFile)
class ImportFileAdmin(RecordAdmin):
    list_display = ("id", "user", "batch", "number")
    fields = ("user", "batch", "number")
    readonly_fields = fields


@admin.register(ImportItem)
class ImportItemAdmin(RecordAdmin):
    list_display = ("id", "user", "batch", "sort", "number", "outcome")
    list_filter = ("sort", "outcome")
    fields = ("user", "batch", "sort", "number", "outcome", "row_id")
    readonly_fields = fields
