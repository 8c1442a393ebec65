from django.contrib import admin

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.transcript.models import Conversation, Message, MessageKey, PinnedLine, Summary, Turn


@admin.register(Conversation)
class ConversationAdmin(RecordAdmin):
    """Titles are content: the list shows ids."""

    list_display = ("id", "user", "last_seq", "created_at", "updated_at")
    fields = ("user", "last_seq", "use_memory", "save_memory", "is_temporary")
    readonly_fields = ("user", "last_seq")


@admin.register(Turn)
class TurnAdmin(RecordAdmin):
    list_display = ("id", "user", "seq", "status", "attempt", "error_code", "created_at", "finished_at")
    list_filter = ("status",)
    exclude = ("partial_text",)
    readonly_fields = (
        "user",
        "conversation",
        "parent",
        "is_current",
        "idempotency_key",
        "request_digest",
        "attempt",
    )


@admin.register(Message)
class MessageAdmin(RecordAdmin):
    list_display = ("id", "user", "turn", "role", "created_at")
    fields = ("user", "turn", "role", "created_at")
    readonly_fields = fields


@admin.register(Summary)
class SummaryAdmin(RecordAdmin):
    list_display = ("id", "user", "conversation", "version", "last_seq", "method", "is_stale", "created_at")
    exclude = ("text",)
    readonly_fields = (
        "user",
        "conversation",
        "version",
        "last_seq",
        "last_turn",
        "replaces",
        "method",
        "model",
    )


@admin.register(PinnedLine)
class PinnedLineAdmin(RecordAdmin):
    list_display = ("id", "user", "conversation", "kind", "created_at", "removed_at")
    exclude = ("text",)
    readonly_fields = ("user", "conversation", "turn", "kind")


@admin.register(MessageKey)
class MessageKeyAdmin(RecordAdmin):
    list_display = ("message", "user", "words", "embedding_model")
    fields = ("message", "user", "turn", "words", "embedding_model")
    readonly_fields = fields
