"""TIER 2: what the user and the assistant said. No tool calls, no observations, no reasoning."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Left
from uuid6 import uuid7

SEARCHED_CHARS = 100_000


class Conversation(models.Model):
    """A sequence of turns; ``last_seq`` is the row counter that numbers them without gaps."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Moved by people's turns only, never by a job: lists are sorted by it.
    updated_at = models.DateTimeField()
    last_seq = models.PositiveIntegerField(default=0)
    use_memory = models.BooleanField(default=True)
    save_memory = models.BooleanField(default=True)
    is_temporary = models.BooleanField(default=False)

    class Meta:
        indexes: ClassVar = [
            # The conversation list: newest first, keyset by (updated_at, id).
            models.Index(fields=["user", "-updated_at", "-id"], name="conversation_list"),
        ]

    def __str__(self) -> str:
        return f"conversation {self.id}"


class Turn(models.Model):
    """One user message and the work to answer it: the queue of record for replies."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        WAITING = "waiting"
        COMPLETED = "completed"
        FAILED = "failed"
        INTERRUPTED = "interrupted"
        CANCELLED = "cancelled"

    LIVE: ClassVar = (Status.QUEUED, Status.RUNNING, Status.WAITING)
    RETRYABLE: ClassVar = (Status.FAILED, Status.INTERRUPTED, Status.CANCELLED)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="turns")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    seq = models.PositiveIntegerField()
    status = models.CharField(max_length=11, choices=Status, default=Status.QUEUED)
    idempotency_key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    # Fencing: a worker writes only WHERE attempt = the one it claimed.
    attempt = models.PositiveIntegerField(default=0)
    # How many of the attempts began since a person last asked; bounds what a poisonous turn can crash.
    attempts_left = models.PositiveSmallIntegerField(default=3)
    # Running: the worker's right to it ends. Queued: if no worker has taken it by then, it is nudged again.
    lease_until = models.DateTimeField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    epoch_at_start = models.PositiveIntegerField(default=0)
    # What was streamed so far, written with every lease renewal, so that a crash keeps it.
    partial_text = models.TextField(blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=100, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cache_read_tokens = models.PositiveIntegerField(default=0)
    cache_creation_tokens = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "idempotency_key"], name="turn_idempotent"),
            models.UniqueConstraint(fields=["user", "conversation", "seq"], name="turn_seq_unique"),
            # One turn at a time in a conversation, whatever the queue delivers.
            models.UniqueConstraint(
                fields=["user", "conversation"],
                condition=Q(status__in=["running", "waiting"]),
                name="turn_one_running",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=[
                        "queued",
                        "running",
                        "waiting",
                        "completed",
                        "failed",
                        "interrupted",
                        "cancelled",
                    ]
                ),
                name="turn_status_known",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["conversation", "seq"], name="turn_in_order"),
            # The reaper: few rows, whatever the table's size.
            models.Index(
                fields=["lease_until"], condition=Q(status__in=["queued", "running"]), name="turn_reapable"
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.id}"


class Message(models.Model):
    """What one side said in a turn, in full, for as long as the conversation lives."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="messages")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="messages")
    role = models.CharField(max_length=9, choices=Role)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    # Stemmed English beside unstemmed words, so that other languages are found by their words too. Of a very long
    # message its beginning: a tsvector holds a megabyte at most, and a text beyond it could not be stored at all.
    search_vector = models.GeneratedField(
        expression=SearchVector(Left("text", SEARCHED_CHARS), config="english")
        + SearchVector(Left("text", SEARCHED_CHARS), config="simple"),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "turn", "role"], name="message_one_per_role"),
        ]
        indexes: ClassVar = [GinIndex(fields=["search_vector"], name="message_search")]

    def __str__(self) -> str:
        return f"{self.role} message {self.id}"


class Summary(models.Model):
    """One version of the rolled-up summary; it covers turns 1..``last_seq`` exactly once."""

    class Method(models.TextChoices):
        MODEL = "model"
        EXTRACTIVE = "extractive"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="summaries")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="summaries")
    version = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    text = models.TextField()
    method = models.CharField(max_length=10, choices=Method)
    model = models.CharField(max_length=100, blank=True)
    tokens_before = models.PositiveIntegerField()
    tokens_after = models.PositiveIntegerField()
    # Made from something that was forgotten since: unused until rebuilt.
    is_stale = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "summaries"
        constraints: ClassVar = [
            # Two compactions of the same range: one wins.
            models.UniqueConstraint(
                fields=["user", "conversation", "version"], name="summary_version_unique"
            ),
            models.UniqueConstraint(fields=["user", "conversation", "last_seq"], name="summary_range_unique"),
        ]

    def __str__(self) -> str:
        return f"summary {self.id} v{self.version}"
