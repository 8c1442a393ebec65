from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.forgetting.models import Purge


@admin.register(Purge)
class PurgeAdmin(RecordAdmin):
    list_display = ("id", "started_at", "finished_at", "bytes_before", "bytes_after", "error")
    fields = ("started_at", "finished_at", "bytes_before", "bytes_after", "error", "steps", "written")
    readonly_fields = fields
