from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.longterm.models import Experience, Kind, Memory, MemorySource, MemoryVersion, Tombstone


@admin.register(Kind)
class KindAdmin(admin.ModelAdmin):
    list_display = (
        "slug",
        "label",
        "subject",
        "shape",
        "ttl_days",
        "is_always_used",
        "needs_confirmation",
        "rationale",
    )
    ordering = ("position", "id")


@admin.register(Memory)
class MemoryAdmin(RecordAdmin):
    """Rows without what they say: reading other people's memories is not an admin's daily work."""

    list_display = (
        "id",
        "user",
        "kind",
        "status",
        "origin",
        "confidence",
        "version",
        "recorded_at",
        "affirmed_at",
    )
    list_filter = ("kind", "status", "origin")
    fields = (
        "user",
        "kind",
        "status",
        "origin",
        "channel",
        "confidence",
        "affirmed_at",
        "expires_at",
        "is_kept",
    )
    readonly_fields = ("user", "kind", "status", "origin", "channel", "affirmed_at")


@admin.register(MemoryVersion)
class MemoryVersionAdmin(RecordAdmin):
    list_display = ("id", "user", "memory", "version", "changed_by", "recorded_at")
    fields = ("user", "memory", "version", "changed_by", "reason")
    readonly_fields = fields


@admin.register(MemorySource)
class MemorySourceAdmin(RecordAdmin):
    list_display = ("id", "user", "memory", "origin", "outcome", "said_at")
    fields = ("user", "memory", "message", "origin", "outcome", "said_at")
    readonly_fields = fields


@admin.register(Experience)
class ExperienceAdmin(RecordAdmin):
    list_display = ("id", "user", "outcome", "origin", "confidence", "recorded_at")
    fields = ("user", "source_run", "outcome", "origin", "confidence")
    readonly_fields = ("user", "source_run", "outcome", "origin")


@admin.register(Tombstone)
class TombstoneAdmin(RecordAdmin):
    list_display = ("id", "user", "memory_id", "created_at", "expires_at")
    readonly_fields = ("user", "memory_id", "digest", "created_at", "expires_at")
