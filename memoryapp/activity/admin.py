from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.activity.models import Entry, Opening, Reading


@admin.register(Entry)
class EntryAdmin(RecordAdmin):
    list_display = ("id", "user", "actor", "actor_name", "verb", "tier", "rows", "recorded_at")
    list_filter = ("actor", "verb", "tier")
    fields = ("user", "actor", "actor_name", "verb", "tier", "subject_id", "rows", "detail")
    readonly_fields = fields


@admin.register(Opening)
class OpeningAdmin(RecordAdmin):
    list_display = ("id", "user", "admin", "opened_at", "until", "closed_at")
    fields = ("user", "admin", "reason", "opened_at", "until", "closed_at")
    readonly_fields = fields


@admin.register(Reading)
class ReadingAdmin(RecordAdmin):
    list_display = ("id", "user", "memory", "reader", "reader_name", "day", "times")
    fields = ("user", "memory", "reader", "reader_name", "day", "times", "last_at")
    readonly_fields = fields
