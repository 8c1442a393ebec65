"""What was done to what is remembered about a person, and who read it: ids and numbers, never what anything says."""

from typing import ClassVar, Final

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy, pgettext_lazy
from uuid6 import uuid7

from memoryapp.acting import Actor


class Tier(models.TextChoices):
    SCRATCHPAD = "scratchpad", gettext_lazy("Scratchpad")
    TRANSCRIPT = "transcript", gettext_lazy("Transcript")
    LONGTERM = "longterm", gettext_lazy("Long-term")
    ACCOUNT = "account", gettext_lazy("Account")


class Verb(models.TextChoices):
    ADDED = "added", gettext_lazy("Added")
    REINFORCED = "reinforced", gettext_lazy("Said again")
    REPLACED = "replaced", gettext_lazy("Replaced")
    HELD = "held", gettext_lazy("Kept for your word")
    CONFIRMED = "confirmed", gettext_lazy("Confirmed")
    EDITED = "edited", gettext_lazy("Edited")
    SET_ASIDE = "set_aside", gettext_lazy("Set aside as wrong")
    UNHELPFUL = "unhelpful", gettext_lazy("Found unhelpful")
    BROUGHT_BACK = "brought_back", gettext_lazy("Brought back")
    LIFETIME = "lifetime", gettext_lazy("Lifetime changed")
    FORGOT = "forgot", gettext_lazy("Forgot")
    RESTORED = "restored", gettext_lazy("Restored")
    EXPIRED = "expired", gettext_lazy("Expired")
    DELETED = "deleted", gettext_lazy("Deleted")
    REDACTED = "redacted", gettext_lazy("Redacted")
    READ = "read", pgettext_lazy("done to memories", "Read")
    EXPORTED = "exported", gettext_lazy("Exported")
    SWITCHED = "switched", gettext_lazy("Switched")
    OPENED = "opened", gettext_lazy("Opened with a reason")


# The detail of an entry about turns: it counts these, not conversations.
EXCHANGES: Final = "exchanges"


class Entry(models.Model):
    """One thing done, to one row or to ``rows`` of them at once. It outlives what it is about."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="activity")
    actor = models.CharField(max_length=9, choices=Actor)
    # Which program or admin: a token's name, a username. Of another person only the admin's own.
    actor_name = models.CharField(max_length=150, blank=True)
    verb = models.CharField(max_length=12, choices=Verb)
    tier = models.CharField(max_length=10, choices=Tier)
    # The row: a memory, an experience, a conversation, a turn, a run, a person; None when it is about several.
    subject_id = models.UUIDField(null=True, blank=True)
    rows = models.PositiveIntegerField(default=1)
    # Words of the program about it, such as a kind's slug or an admin's reason; nothing that a person said.
    detail = models.CharField(max_length=300, blank=True)
    recorded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "entries"
        indexes: ClassVar = [
            models.Index(fields=["user", "-recorded_at", "-id"], name="activity_list"),
            models.Index(
                fields=["subject_id", "-recorded_at"], name="activity_of_subject"
            ),  # one fact's page
        ]

    def __str__(self) -> str:
        return f"activity {self.id}"


class Opening(models.Model):
    """That an admin has this person's memory open. Kept here and not in a session, so that what was closed stays closed
    whatever a slow request of the same browser writes back."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    admin = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=300)  # the admin's words, which the person reads in their activity
    opened_at = models.DateTimeField()
    until = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"opening {self.id}"


class Reading(models.Model):
    """That a reader was given a memory on a day, and how often; a reply's uses are in ``context.Use``."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    memory = models.ForeignKey("longterm.Memory", on_delete=models.CASCADE, related_name="+")
    reader = models.CharField(max_length=9, choices=Actor)
    reader_name = models.CharField(max_length=150, blank=True)
    day = models.DateField()  # in UTC
    times = models.PositiveIntegerField(default=1)
    last_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            # One row per reader and day, raised by whoever reads next.
            models.UniqueConstraint(
                fields=["user", "memory", "reader", "reader_name", "day"], name="reading_once_a_day"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["user", "-day"], name="reading_by_day")]

    def __str__(self) -> str:
        return f"reading {self.id}"
