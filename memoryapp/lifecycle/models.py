"""What the background did, without content: which job, for whom, when, how it ended."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from uuid6 import uuid7


class LifecycleRun(models.Model):
    """One run of a background job. ``subject_id``: the row it worked on, when it was about one."""

    class Job(models.TextChoices):
        EMBEDDING = "embedding"
        COMPACTION = "compaction"
        EXTRACTION = "extraction"
        PROMOTION = "promotion"
        EXPIRY = "expiry"
        TITLE = "title"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # None: a sweep over everyone's rows.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="lifecycle_runs",
    )
    job = models.CharField(max_length=12, choices=Job)
    subject_id = models.UUIDField(null=True, blank=True)
    rows = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    error_code = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["job", "-finished_at"], name="lifecycle_run_list"),
            # How the newest runs about one row went, before it is tried again.
            models.Index(fields=["subject_id", "job", "-finished_at"], name="lifecycle_run_of_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.job} {self.id}"
