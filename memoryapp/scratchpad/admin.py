from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.scratchpad.models import Approval, Checkpoint, Grant, PadEdit, Run, Step


@admin.register(Run)
class RunAdmin(RecordAdmin):
    list_display = ("id", "user", "status", "model_calls", "input_tokens", "output_tokens", "started_at")
    list_filter = ("status",)
    exclude = ("goal", "pad")
    readonly_fields = ("user", "turn")


@admin.register(Step)
class StepAdmin(RecordAdmin):
    list_display = ("id", "user", "run", "number", "action", "status", "duration_ms", "created_at")
    exclude = ("arguments", "observation", "brief", "error")
    readonly_fields = ("user", "run", "number", "tool_use_id", "action", "status", "origin")


@admin.register(Checkpoint)
class CheckpointAdmin(RecordAdmin):
    list_display = ("id", "user", "run", "number", "created_at")
    exclude = ("delta",)
    readonly_fields = ("user", "run", "number")


@admin.register(PadEdit)
class PadEditAdmin(RecordAdmin):
    list_display = ("id", "user", "run", "number", "op", "created_at", "applied_at")
    exclude = ("target", "text")
    readonly_fields = ("user", "run", "number", "op")


@admin.register(Approval)
class ApprovalAdmin(RecordAdmin):
    list_display = ("id", "user", "run", "action", "status", "created_at", "decided_at")
    list_filter = ("status",)
    exclude = ("arguments", "why", "touches", "reason", "nonce")
    readonly_fields = ("user", "run", "tool_use_id", "action", "source", "status")


@admin.register(Grant)
class GrantAdmin(RecordAdmin):
    list_display = ("id", "user", "conversation", "action", "created_at")
    readonly_fields = ("user", "conversation", "action", "fingerprint")
