"""Memories: what is known of a person, in what words before, from where, and what they said of it."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy
from pgvector.django import HalfVectorField
from uuid6 import uuid7

from memoryapp.longterm.models.expiry import KeptManager, fades_at
from memoryapp.longterm.models.kinds import Kind
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import ORIGINS, Origin

VERDICTS = [(verdict.value, verdict.value.replace("_", " ").title()) for verdict in Verdict]


class MemoryQuerySet(models.QuerySet["Memory"]):
    def for_user(self, user_id: UUID) -> "MemoryQuerySet":
        return self.filter(user_id=user_id)

    def with_expiry(self) -> "MemoryQuerySet":
        """Adds ``fades_at``: the moment after which the row is never read (None: kept for ever)."""
        return self.annotate(fades_at=fades_at(F("expires_at"), F("is_kept")))

    def extendable(self, *, now: datetime) -> "MemoryQuerySet":
        """What would expire on a later day if it were affirmed now; ``extended_at``: when then."""
        extended_at = fades_at(F("expires_at"), F("is_kept"), affirmed_at=Value(now, models.DateTimeField()))
        return self.with_expiry().annotate(extended_at=extended_at).filter(extended_at__gt=F("fades_at"))

    def live(self) -> "MemoryQuerySet":
        """What may be recalled: active and not faded, by the database's clock, whether or not a sweep ran."""
        return self.unfaded().filter(status=Memory.Status.ACTIVE)

    def unfaded(self) -> "MemoryQuerySet":
        """With what ends later and what never does: asked in this order, most rows have their end worked out once."""
        return self.with_expiry().filter(Q(fades_at__gt=Now()) | Q(fades_at=None))


class Memory(models.Model):
    """One statement about its user."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        PENDING = "pending"
        CONFLICT = "conflict"
        SUPERSEDED = "superseded"

    class Channel(models.TextChoices):
        CHAT = "chat", gettext_lazy("the chat")
        EXTRACTION = "extraction", gettext_lazy("a conversation, read afterwards")
        INSPECTOR = "inspector", gettext_lazy("the memory page")
        API = "api", gettext_lazy("a program")
        IMPORT = "import", gettext_lazy("an import")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories")
    kind = models.ForeignKey(Kind, on_delete=models.PROTECT, related_name="memories")
    key = models.CharField(max_length=100, blank=True)
    # The question its words answer, where that has one answer at a time; whatever the key, or without one.
    slot = models.CharField(max_length=100, blank=True)
    statement = models.TextField()
    # HMAC of the normalised statement: uniqueness without an index on the text, which would outlive a deletion.
    digest = models.CharField(max_length=64)
    quote = models.TextField(blank=True)
    channel = models.CharField(max_length=10, choices=Channel)
    # Which program said it, by its token's name; empty for people and the assistant.
    program = models.CharField(max_length=150, blank=True)
    source_message = models.ForeignKey(
        "transcript.Message", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    source_run = models.ForeignKey(
        "scratchpad.Run", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    origin = models.CharField(max_length=16, choices=ORIGINS)  # immutable: a trigger refuses changes
    confidence = models.FloatField()
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    # Shaped like an instruction to the assistant: for the person's eye, whoever said it.
    is_flagged = models.BooleanField(default=False)
    said_at = models.DateTimeField()
    # When what it tells of happened or will happen, where it says so; dates begin at the user's midnight.
    happened_at = models.DateTimeField(null=True, blank=True)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    recorded_at = models.DateTimeField(auto_now_add=True)
    superseded_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    # Lifetimes count from here; moved by affirmation only, never by reading or by a job.
    affirmed_at = models.DateTimeField()
    # A person's own choice: an explicit end, or for ever.
    expires_at = models.DateTimeField(null=True, blank=True)
    is_kept = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)
    # Set by a forgetting that can still be undone: out of every read (``objects`` leaves it out) and every constraint.
    forgetting = models.ForeignKey(
        "Forgetting", on_delete=models.CASCADE, null=True, blank=True, related_name="memories"
    )
    # As ``policies.terms`` packs them: by what words find it.
    terms = models.BinaryField(default=b"")
    embedding = HalfVectorField(null=True, blank=True)  # no fixed dimension: models differ, rows say which
    embedding_model = models.CharField(max_length=100, blank=True)

    objects = KeptManager.from_queryset(MemoryQuerySet)()
    # With what is being forgotten: for undoing that and for finishing it, nothing else.
    everything = models.Manager.from_queryset(MemoryQuerySet)()

    class Meta:
        verbose_name_plural = "memories"
        constraints: ClassVar = [
            # One live truth per key, and no statement twice, however many writers there are.
            models.UniqueConstraint(
                fields=["user", "key"],
                condition=Q(status="active", forgetting=None) & ~Q(key=""),
                name="memory_key_unique",
            ),
            models.UniqueConstraint(
                fields=["user", "digest"],
                condition=Q(status="active", forgetting=None),
                name="memory_statement_unique",
            ),
            models.CheckConstraint(condition=Q(confidence__range=(0, 1)), name="memory_confidence_range"),
            models.CheckConstraint(
                condition=Q(origin__in=[o.value for o in Origin]), name="memory_origin_known"
            ),
            models.CheckConstraint(
                condition=Q(status__in=["active", "pending", "conflict", "superseded"]),
                name="memory_status_known",
            ),
        ]
        indexes: ClassVar = [
            # Every read starts from the user; the exact per-user scan of recall needs nothing more.
            models.Index(fields=["user", "status", "-recorded_at", "-id"], name="memory_list"),
            # The embedding backlog: what is not of the current model, few rows whatever the table's size.
            models.Index(fields=["embedding_model", "id"], name="memory_model"),
            # Every count of what is in use or expires, and which expire first: read from the index alone, for a row is
            # 2.7 kB with its vector.
            models.Index(
                fields=["user", "status", "kind"],
                include=["affirmed_at", "expires_at", "is_kept", "recorded_at", "channel", "id"],
                condition=Q(forgetting=None),
                name="memory_ends",
            ),
            # Undoing and finishing: few rows, whatever the table's size.
            models.Index(
                fields=["forgetting"], condition=Q(forgetting__isnull=False), name="memory_forgetting"
            ),
        ]

    def __str__(self) -> str:
        return f"memory {self.id}"


class MemoryVersion(models.Model):
    """What a memory said before and since each change; it goes with the memory."""

    class Author(models.TextChoices):
        USER = "user", "you"
        ASSISTANT = "assistant", "the assistant"
        SYSTEM = "system", "Strata"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memory_versions"
    )
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    statement = models.TextField()
    kind_slug = models.SlugField()
    key = models.CharField(max_length=100, blank=True)
    confidence = models.FloatField()
    changed_by = models.CharField(max_length=9, choices=Author)
    reason = models.CharField(max_length=200)
    recorded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "memory", "version"], name="memory_version_unique"),
        ]

    def __str__(self) -> str:
        return f"version {self.version} of memory {self.memory_id}"


class MemorySource(models.Model):
    """One place where a memory was said. A statement is taken from the same message once."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memory_sources"
    )
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="sources")
    message = models.ForeignKey(
        "transcript.Message", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    quote = models.TextField(blank=True)
    origin = models.CharField(max_length=16, choices=ORIGINS)
    outcome = models.CharField(max_length=10)
    said_at = models.DateTimeField()
    recorded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "memory", "message"], condition=~Q(message=None), name="memory_source_once"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["user", "message"], name="memory_source_message"),  # chips under a reply
        ]

    def __str__(self) -> str:
        return f"source {self.id} of memory {self.memory_id}"


class Feedback(models.Model):
    """What a person said of a memory, once per reply that used it; ``policies.feedback`` says what it is worth."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="feedback")
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="feedback")
    # The turn whose reply it is about; None: about the memory as such.
    turn = models.ForeignKey(
        "transcript.Turn", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    verdict = models.CharField(max_length=12, choices=VERDICTS)
    confidence_before = models.FloatField()
    confidence_after = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "feedback"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "memory", "turn", "verdict"],
                condition=~Q(turn=None),
                name="feedback_once_per_reply",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["memory", "created_at"], name="feedback_list")]

    def __str__(self) -> str:
        return f"feedback {self.id}"
