"""Experiences: what finished runs taught."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now
from pgvector.django import VectorField
from uuid6 import uuid7

from memoryapp.longterm.models.expiry import NEVER, NOT_KEPT, KeptManager, fades_at
from memoryapp.longterm.models.kinds import Kind
from memoryapp.policies.trust import ORIGINS, Origin

# As ``Experience.waits``.
_WAITS = Q(confirmed_at=None) & (Q(origin=Origin.UNTRUSTED) | Q(kind__needs_confirmation=True))


class ExperienceQuerySet(models.QuerySet["Experience"]):
    def for_user(self, user_id: UUID) -> "ExperienceQuerySet":
        return self.filter(user_id=user_id)

    def with_expiry(self) -> "ExperienceQuerySet":
        """Adds ``fades_at``; an experience follows its kind, nobody keeps one or gives it a date."""
        return self.annotate(fades_at=fades_at(NEVER, NOT_KEPT))

    def extendable(self, *, now: datetime) -> "ExperienceQuerySet":
        """What would expire on a later day if it were affirmed now; ``extended_at``: when then."""
        extended_at = fades_at(NEVER, NOT_KEPT, affirmed_at=Value(now, models.DateTimeField()))
        return self.with_expiry().annotate(extended_at=extended_at).filter(extended_at__gt=F("fades_at"))

    def unfaded(self) -> "ExperienceQuerySet":
        return self.with_expiry().filter(Q(fades_at=None) | Q(fades_at__gt=Now()))

    def live(self) -> "ExperienceQuerySet":
        """What may be recalled: not faded, sure enough for its kind, and confirmed where a person has to."""
        return self.unfaded().filter(~_WAITS, confidence__gte=F("kind__min_confidence"))

    def waiting(self) -> "ExperienceQuerySet":
        """What nothing uses before its person says that it helped."""
        return self.unfaded().filter(_WAITS)

    def resting(self) -> "ExperienceQuerySet":
        """What is too unsure to be recalled."""
        return self.unfaded().filter(~_WAITS, confidence__lt=F("kind__min_confidence"))


class Experience(models.Model):
    """What finished runs taught: goal, tools, outcome, what worked and what to avoid."""

    class Outcome(models.TextChoices):
        SUCCEEDED = "succeeded"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="experiences")
    kind = models.ForeignKey(Kind, on_delete=models.PROTECT, related_name="experiences")
    # The first run that taught it; its record goes long before the lesson does.
    source_run = models.ForeignKey(
        "scratchpad.Run", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # The newest runs that taught it, so that each counts once, and a forgetting that reaches one reaches it.
    run_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    # Memories that the model had before it in them: a paraphrase of one that is forgotten is found by its id.
    memory_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    goal = models.TextField()
    tools = models.JSONField(default=list)  # names in order of the alphabet
    outcome = models.CharField(max_length=9, choices=Outcome)
    worked = models.TextField(blank=True)
    avoid = models.TextField(blank=True)
    model = models.CharField(max_length=100, blank=True)  # who put it into words; empty: made by code
    origin = models.CharField(max_length=16, choices=ORIGINS)  # immutable: a trigger refuses changes
    confidence = models.FloatField()
    # When a person first said that it helped: what comes from untrusted text is of no use before that.
    confirmed_at = models.DateTimeField(null=True, blank=True)
    seen_count = models.PositiveIntegerField(default=1)  # runs that taught it
    given_count = models.PositiveIntegerField(default=0)  # prompts that it was in
    recorded_at = models.DateTimeField(auto_now_add=True)
    affirmed_at = models.DateTimeField()
    forgetting = models.ForeignKey(
        "Forgetting", on_delete=models.CASCADE, null=True, blank=True, related_name="experiences"
    )  # as of a memory
    embedding = VectorField(null=True, blank=True)  # of the goal
    embedding_model = models.CharField(max_length=100, blank=True)

    objects = KeptManager.from_queryset(ExperienceQuerySet)()
    everything = models.Manager.from_queryset(ExperienceQuerySet)()  # as for memories

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "source_run"], condition=~Q(source_run=None), name="experience_once_per_run"
            ),
            models.CheckConstraint(condition=Q(confidence__range=(0, 1)), name="experience_confidence_range"),
            models.CheckConstraint(
                condition=Q(origin__in=[o.value for o in Origin]), name="experience_origin_known"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["user", "-recorded_at", "-id"], name="experience_list"),
            models.Index(fields=["embedding_model", "id"], name="experience_model"),  # as above
        ]

    def __str__(self) -> str:
        return f"experience {self.id}"

    @property
    def waits(self) -> bool:
        """Whether nothing uses it before its person says that it helped; ``kind`` comes with it."""
        return self.confirmed_at is None and (self.origin == Origin.UNTRUSTED or self.kind.needs_confirmation)
