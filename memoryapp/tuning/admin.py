from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.tuning.models import DayUsage, Setting, SettingChange


@admin.register(Setting)
class SettingAdmin(RecordAdmin):
    """To look at: the page of the tiers checks what is set, and keeps who set it."""

    list_display = ("name", "value", "changed_by", "changed_at", "reason", "is_undoing")
    fields = list_display
    readonly_fields = fields


@admin.register(SettingChange)
class SettingChangeAdmin(RecordAdmin):
    list_display = ("id", "changed_by", "changed_at", "reason", "undone_at")
    fields = ("before", "after", "changed_by", "changed_at", "reason", "undone_at", "undone_by")
    readonly_fields = fields


@admin.register(DayUsage)
class DayUsageAdmin(RecordAdmin):
    list_display = ("id", "user", "day", "input_tokens", "output_tokens", "usd")
    fields = ("user", "day", "input_tokens", "output_tokens", "usd")
    readonly_fields = fields
