from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.lifecycle.models import LifecycleRun


@admin.register(LifecycleRun)
class LifecycleRunAdmin(RecordAdmin):
    list_display = (
        "job",
        "user",
        "rows",
        "input_tokens",
        "output_tokens",
        "error_code",
        "started_at",
        "finished_at",
    )
    list_filter = ("job",)
