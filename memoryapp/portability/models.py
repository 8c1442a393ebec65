"""An import: the file as it came, how far it is, and what became of each record in it."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy, pgettext_lazy
from uuid6 import uuid7


class ImportBatch(models.Model):
    """One file that a person brought, and everything that was made of it."""

    class Status(models.TextChoices):
        READING = "reading", gettext_lazy("Being read")
        READY = "ready", gettext_lazy("Ready")
        IMPORTING = "importing", gettext_lazy("Being brought in")
        DONE = "done", pgettext_lazy("an import", "Done")
        FAILED = "failed", pgettext_lazy("an import", "Failed")
        UNDONE = "undone", pgettext_lazy("an import", "Undone")

    AT_WORK: ClassVar = (Status.READING, Status.IMPORTING)
    HAS_FILE: ClassVar = (*AT_WORK, Status.READY)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="imports")
    created_at = models.DateTimeField()
    # As a program names it: "strata", "chatgpt"; empty until the file was looked at.
    format = models.CharField(max_length=20, blank=True)
    size_bytes = models.PositiveBigIntegerField(default=0)
    status = models.CharField(max_length=9, choices=Status, default=Status.READING)
    # Stops when it has been read, for its person to look at.
    is_preview = models.BooleanField(default=False)
    # An archive into an account that holds nothing: row by row as it was. Decided once, when the import begins.
    is_restore = models.BooleanField(default=False)
    # Records that are through, in the order of the file, in what is being done now; and how many there are.
    position = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    # Outcome → sort → how many; and reason → how many were skipped for it.
    counts = models.JSONField(default=dict)
    skipped = models.JSONField(default=dict)
    # Name → what it was before a restore and what it is since, so that an undo takes it back.
    settings_changes = models.JSONField(default=dict)
    # Outcome → beginnings of a few of them, for the preview alone: they go with the file.
    samples = models.JSONField(default=dict)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=500, blank=True)
    # Fencing: a worker writes only WHERE attempt = the one it claimed, and whoever has no lease left is replaced.
    attempt = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "import batches"
        indexes: ClassVar = [
            models.Index(fields=["user", "-created_at", "-id"], name="import_list"),
            # The sweep: few rows, whatever the table's size.
            models.Index(
                fields=["lease_until"],
                condition=Q(status__in=["reading", "ready", "importing"]),
                name="import_to_look_after",
            ),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(status__in=["reading", "ready", "importing", "done", "failed", "undone"]),
                name="import_status_known",
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.id}"


class ImportFile(models.Model):
    """One part of the file, in order. It goes as soon as the file is not needed any more."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "batch", "number"], name="import_part_once"),
        ]

    def __str__(self) -> str:
        return f"part {self.number} of import {self.batch_id}"


class ImportItem(models.Model):
    """What became of one record of a file: it is done once, and can be undone."""

    class Sort(models.TextChoices):
        CONVERSATION = "conversation", gettext_lazy("Conversations")
        MEMORY = "memory", gettext_lazy("Facts")
        EXPERIENCE = "experience", gettext_lazy("Lessons")

    class Outcome(models.TextChoices):
        NEW = "new", pgettext_lazy("in an import", "New")
        CHANGED = "changed", pgettext_lazy("in an import", "Changed")
        DUPLICATE = "duplicate", pgettext_lazy("in an import", "Known already")
        CONFLICTING = "conflicting", pgettext_lazy("in an import", "Against what is known")
        FORGOTTEN = "forgotten", pgettext_lazy("in an import", "Forgotten before")
        SKIPPED = "skipped", pgettext_lazy("in an import", "Left out")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="items")
    sort = models.CharField(max_length=12, choices=Sort)
    number = models.PositiveIntegerField()  # among those of its sort, in the order of the file
    # Keyed digest of what the other program calls it: the same conversation in a later file is known by it. Further
    # items of the same row, as duplicates, hold what else it is known by: when it began, and all that was said in it.
    digest = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=11, choices=Outcome)
    # The row that it became; None when it became none.
    row_id = models.UUIDField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "batch", "sort", "number"], name="import_item_once"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["user", "digest"], condition=~Q(digest=""), name="import_item_known"
            ),  # asked for each conversation of a file
        ]

    def __str__(self) -> str:
        return f"record {self.number} of import {self.batch_id}"
