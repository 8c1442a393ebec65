from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.scratchpad.models import Checkpoint, Run, Step


@admin.register(Run)
class RunAdmin(RecordAdmin):
    list_display = ("id", "user", "status", "model_calls", "input_tokens", "output_tokens", "started_at")
    list_filter = ("status",)
    exclude = ("goal", "pad")
    readonly_fields = ("user", "turn")


@admin.register(Step)
class StepAdmin(RecordAdmin):
    list_display = ("id", "user", "run", "number", "action", "status", "duration_ms", "created_at")
    exclude = ("arguments", "observation")
    readonly_fields = ("user", "run", "number", "tool_use_id", "action", "status", "origin")


@admin.register(Checkpoint)
class CheckpointAdmin(RecordAdmin):
    list_display = ("id", "user", "run", "number", "created_at")
    exclude = ("delta",)
    readonly_fields = ("user", "run", "number")
