"""What was forgotten, without what: for its person to see, for the operator to prove, for a restore to repeat."""

from enum import StrEnum
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy
from uuid6 import uuid7

from memoryapp.acting import Actor


class Scope(models.TextChoices):
    """What was asked for."""

    MEMORY = "memory", gettext_lazy("Facts")
    MEMORY_AND_SOURCE = "memory_and_source", gettext_lazy("Facts, and where they were said")
    EXPERIENCE = "experience", gettext_lazy("Lessons")
    CONVERSATION = "conversation", gettext_lazy("Conversations")
    TURNS = "turns", gettext_lazy("Messages")
    REDACTION = "redaction", gettext_lazy("Words in messages")
    RUN = "run", gettext_lazy("Records of runs")
    SOURCE = "source", gettext_lazy("All from one place")
    RECENT = "recent", gettext_lazy("The last hours")
    KIND = "kind", gettext_lazy("All of one kind")
    EVERYTHING = "everything", gettext_lazy("Everything")
    ACCOUNT = "account", gettext_lazy("The account")
    BATCH = "batch", gettext_lazy("An import")


class Sort(StrEnum):
    """Of which sort an item is."""

    MEMORY = "memory"
    EXPERIENCE = "experience"
    CONVERSATION = "conversation"
    TURN = "turn"
    MESSAGE = "message"  # redacted, or corrected
    RUN = "run"


class Receipt(models.Model):
    """One act of forgetting, from the moment it was out of every read to the moment its bytes were gone.

    It names ids and numbers, never what anything said, and is no row of its person: it outlives the account.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user_id = models.UUIDField()
    scope = models.CharField(max_length=20, choices=Scope)
    # Which kind, place or time, as the program names it; which row.
    subject = models.CharField(max_length=60, blank=True)
    subject_id = models.UUIDField(null=True, blank=True)
    actor = models.CharField(max_length=9, choices=Actor)
    actor_name = models.CharField(max_length=150, blank=True)
    # ``Sort`` → ids of what went, and of these what came back by an undo.
    items = models.JSONField(default=dict)
    restored = models.JSONField(default=dict)
    # By what tiers undo it: ids of forgettings and of deletions of turns.
    acts = models.JSONField(default=list)
    # What else went with it and does not come back: name → number of rows.
    counts = models.JSONField(default=dict)
    forgotten_at = models.DateTimeField()
    undo_until = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)  # all of it came back
    finished_at = models.DateTimeField(null=True, blank=True)  # no row of it is left
    derived_at = models.DateTimeField(null=True, blank=True)  # nor anything that was made of it
    stored_at = models.DateTimeField(null=True, blank=True)  # nor anything in Redis, queues and caches
    purged_at = models.DateTimeField(null=True, blank=True)  # nor any byte in the files of this server
    signature = models.CharField(max_length=64)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user_id", "-forgotten_at", "-id"], name="receipt_list"),
            # What is not through all stages: few rows, whatever the table's size.
            models.Index(
                fields=["forgotten_at"],
                condition=Q(undone_at__isnull=True, purged_at__isnull=True),
                name="receipt_open",
            ),
        ]

    def __str__(self) -> str:
        return f"receipt {self.id}"
