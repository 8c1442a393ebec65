from typing import Any

from django.contrib import admin
from django.db import models
from django.forms import Field, ModelForm, Textarea
from django.http import HttpRequest
from django.utils import timezone

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.longterm import kind_changes
from memoryapp.longterm.models import (
    Experience,
    Feedback,
    Forgetting,
    Kind,
    KindChange,
    KindRefusal,
    LifetimeChange,
    Memory,
    MemorySource,
    MemoryVersion,
    Tombstone,
)


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

    def get_readonly_fields(self, request: HttpRequest, obj: Kind | None = None) -> tuple[str, ...]:  # noqa: ARG002  # Django's signature
        """What the program and the API know a kind by is given once; a rule that is to change is not changed before."""
        if obj is None:
            return ()
        is_fixed = kind_changes.to_come(obj).exists()
        return ("slug", "subject", *(kind_changes.FIELDS if is_fixed else ()))

    def save_model(
        self,
        request: HttpRequest,
        obj: Kind,
        form: "ModelForm[Kind]",
        change: bool,  # noqa: FBT001  # Django's signature
    ) -> None:
        """A rule changes by a row of its history, here too. Django has opened the transaction."""
        if not change:
            super().save_model(request, obj, form, change)
            return
        values = {name: form.cleaned_data[name] for name in form.changed_data}
        values.pop("position", None)
        kind_changes.change_within(obj.slug, values, changed_by=request.user.pk, now=timezone.now())
        obj.save(update_fields=["position"])

    def has_delete_permission(self, request: HttpRequest, obj: Kind | None = None) -> bool:
        """The rules for runs and experiences stay: the program needs one of each."""
        is_needed = obj is not None and obj.subject != Kind.Subject.STATEMENT
        return not is_needed and super().has_delete_permission(request, obj)

    def formfield_for_dbfield(
        self, db_field: "models.Field[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> Field | None:
        if db_field.name == "rationale":
            kwargs["widget"] = Textarea(attrs={"rows": 3, "cols": 80})
        return super().formfield_for_dbfield(db_field, request, **kwargs)


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
        "is_flagged",
        "version",
        "recorded_at",
        "affirmed_at",
    )
    list_filter = ("kind", "status", "origin", "is_flagged")
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

    def has_delete_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        """Only together with their person: alone a memory is forgotten, by its owner, which leaves a tombstone."""
        address = request.resolver_match.url_name if request.resolver_match else None
        return not (address or "").startswith("longterm_memory_") and super().has_delete_permission(
            request, obj
        )


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


@admin.register(Feedback)
class FeedbackAdmin(RecordAdmin):
    list_display = ("id", "user", "memory", "verdict", "confidence_before", "confidence_after", "created_at")
    fields = ("user", "memory", "turn", "verdict", "confidence_before", "confidence_after")
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


@admin.register(Forgetting)
class ForgettingAdmin(RecordAdmin):
    list_display = (
        "id",
        "user",
        "memories_count",
        "experiences_count",
        "created_at",
        "undo_until",
        "finished_at",
    )
    fields = (
        "user",
        "memories_count",
        "experiences_count",
        "created_at",
        "undo_until",
        "finished_at",
        "undone_at",
    )
    readonly_fields = fields


@admin.register(KindRefusal)
class KindRefusalAdmin(RecordAdmin):
    list_display = ("id", "user", "kind", "created_at")
    fields = ("user", "kind", "created_at")
    readonly_fields = fields


@admin.register(KindChange)
class KindChangeAdmin(RecordAdmin):
    list_display = ("id", "kind", "changed_by", "created_at", "applies_at", "applied_at", "undone_at")
    fields = (
        "kind",
        "changed_by",
        "before",
        "after",
        "preview",
        "applies_at",
        "applied_at",
        "hidden_rows",
        "deleted_rows",
        "undone_at",
        "undone_by",
    )
    readonly_fields = fields


@admin.register(LifetimeChange)
class LifetimeChangeAdmin(RecordAdmin):
    list_display = ("id", "user", "made_at")
    fields = ("user", "made_at", "before")
    readonly_fields = fields
