from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.context.models import ContextSnapshot, Exclusion, Use


@admin.register(ContextSnapshot)
class ContextSnapshotAdmin(RecordAdmin):
    list_display = ("id", "user", "turn", "attempt", "call", "reported_input_tokens", "created_at")
    readonly_fields = ("user", "turn", "attempt", "call", "sections", "recalled")


@admin.register(Use)
class UseAdmin(RecordAdmin):
    list_display = ("id", "user", "turn", "memory", "experience", "rank", "used_at")
    fields = ("user", "turn", "memory", "experience", "rank", "score", "used_at")
    readonly_fields = fields


@admin.register(Exclusion)
class ExclusionAdmin(RecordAdmin):
    list_display = ("id", "user", "turn", "item_id")
    fields = ("user", "turn", "item_id")
    readonly_fields = fields
