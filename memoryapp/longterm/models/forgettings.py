"""What was taken away or changed at once: for an undo while there is one, and against coming back after."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7


class Forgetting(models.Model):
    """One act of forgetting, without what: until ``undo_until`` its person can undo it, then the sweep finishes it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="forgettings")
    memories_count = models.PositiveIntegerField(default=0)
    experiences_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    undo_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)  # past undoing: the rows are gone
    undone_at = models.DateTimeField(null=True, blank=True)
    # Records of runs that went at once and stay gone: told once, to whoever forgets, and not kept.
    records_count: int = 0

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "-created_at", "-id"], name="forgetting_list"),
            # The sweep: few rows, whatever the table's size.
            models.Index(
                fields=["undo_until"],
                condition=Q(finished_at__isnull=True, undone_at__isnull=True),
                name="forgetting_open",
            ),
        ]

    def __str__(self) -> str:
        return f"forgetting {self.id}"


class Tombstone(models.Model):
    """That something was forgotten, without what: it keeps old text from teaching it again."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tombstones")
    memory_id = models.UUIDField()
    # Of which it is a part, while that can be undone: undoing takes it away.
    forgetting = models.ForeignKey(
        Forgetting, on_delete=models.SET_NULL, null=True, blank=True, related_name="tombstones"
    )
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "digest"], name="tombstone_lookup"),  # asked before every write
        ]

    def __str__(self) -> str:
        return f"tombstone {self.id}"


class LifetimeChange(models.Model):
    """What the lifetimes or kinds were that a person changed at once, to be given back within the hour."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    made_at = models.DateTimeField()
    # Of each memory: "id", "is_kept", "expires_at" and "affirmed_at" as ISO moments, "kind" (the slug), and "left": the
    # same as the change left it. Nothing that it says.
    before = models.JSONField()

    def __str__(self) -> str:
        return f"lifetimes before {self.id}"
