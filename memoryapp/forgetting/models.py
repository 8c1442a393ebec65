"""The purge of bytes: when what was deleted left the files of the servers, and how that went."""

from typing import ClassVar

from django.db import models
from uuid6 import uuid7


class Purge(models.Model):
    """One run of the purge. Without an error and with an end, everything deleted before its beginning is gone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    # [{"name", "seconds", "detail"}] in order; the last one has no seconds while it runs.
    steps = models.JSONField(default=list)
    bytes_before = models.BigIntegerField(null=True, blank=True)
    bytes_after = models.BigIntegerField(null=True, blank=True)
    # Why something may be left, in the program's words: what to do about it.
    error = models.CharField(max_length=500, blank=True)
    # Table → writes counted by the server when it was rewritten last, and "epoch": since when the server counts.
    written = models.JSONField(default=dict)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["-started_at", "-id"], name="purge_list")]

    def __str__(self) -> str:
        return f"purge {self.id}"
