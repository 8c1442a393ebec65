"""Kinds of facts: their rules, what admins change of them, and which a person refuses."""

from typing import ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy
from uuid6 import uuid7

# A century: dates stay within what Postgres and Python can add. It stands in two messages below, too.
MAX_DAYS = 36_500
DAYS = (MinValueValidator(1), MaxValueValidator(MAX_DAYS))
DAYS_OR_NONE = (MinValueValidator(0), MaxValueValidator(MAX_DAYS))


class Kind(models.Model):
    """A sort of fact and its rule. Data, edited by admins; the rationale is shown wherever the lifetime is."""

    class Shape(models.TextChoices):
        KEYED = "keyed", gettext_lazy("One value per key")
        FREE = "free", gettext_lazy("Free text")

    class Subject(models.TextChoices):
        STATEMENT = "statement", gettext_lazy("Statements about a person")
        EXPERIENCE = "experience", gettext_lazy("Experiences of the assistant")
        RUN = "run", gettext_lazy("Scratchpad records")

    slug = models.SlugField(unique=True)
    label = models.CharField(max_length=60)
    subject = models.CharField(max_length=10, choices=Subject, default=Subject.STATEMENT)
    shape = models.CharField(
        max_length=5,
        choices=Shape,
        default=Shape.FREE,
        help_text=gettext_lazy(
            "Whether facts of this kind usually have one current value, such as a city. A description: it "
            "changes no behaviour."
        ),
    )
    ttl_days = models.PositiveIntegerField(
        gettext_lazy("lifetime in days"),
        null=True,
        blank=True,
        validators=DAYS_OR_NONE,
        help_text=gettext_lazy(
            "Empty: for ever. A change applies at once, to old memories too: what is older than a shortened "
            "lifetime is hidden immediately, and the sweep, which runs every minute, deletes it for good. Scratchpad "
            "records may have 0: the pad, the steps and the checkpoints of a run are deleted when it ends."
        ),
    )
    is_always_used = models.BooleanField(
        default=False,
        help_text=gettext_lazy("In every prompt, not only when it matters."),
    )
    half_life_days = models.PositiveIntegerField(
        gettext_lazy("half-life in days"),
        null=True,
        blank=True,
        validators=DAYS,
        help_text=gettext_lazy(
            "After so many days without being affirmed, a memory counts half as recent when recall ranks it. "
            "Empty: age does not matter. Nothing is hidden or deleted by it."
        ),
    )
    min_confidence = models.FloatField(default=0.0)
    needs_confirmation = models.BooleanField(default=False)
    rationale = models.CharField(max_length=300)
    position = models.PositiveSmallIntegerField(default=100)

    class Meta:
        constraints: ClassVar = [
            # Runs and experiences find their rule by subject: there is one of each.
            models.UniqueConstraint(
                fields=["subject"], condition=~Q(subject="statement"), name="kind_one_per_subject"
            ),
            models.CheckConstraint(
                condition=Q(min_confidence__range=(0, 1)), name="kind_min_confidence_range"
            ),
            models.CheckConstraint(condition=~Q(rationale=""), name="kind_has_rationale"),
            # A memory with a lifetime of no days would go on arrival; one of millions overflows the date.
            models.CheckConstraint(
                condition=Q(ttl_days=None) | Q(ttl_days__range=(1, MAX_DAYS)) | Q(ttl_days=0, subject="run"),
                name="kind_ttl_range",
                violation_error_message=gettext_lazy("A lifetime is 1 to 36,500 days, or empty for ever."),
            ),
            models.CheckConstraint(
                condition=Q(half_life_days=None) | Q(half_life_days__range=(1, MAX_DAYS)),
                name="kind_half_life_range",
                violation_error_message=gettext_lazy("A half-life is 1 to 36,500 days, or empty."),
            ),
        ]

    def __str__(self) -> str:
        return self.label

    def clean(self) -> None:
        """Says beside the field what the constraint would say about the whole form."""
        if self.ttl_days == 0 and self.subject != self.Subject.RUN:
            raise ValidationError(
                {
                    "ttl_days": gettext(
                        "Ensure this value is greater than or equal to 1: only run records may go at once."
                    )
                }
            )


class KindRefusal(models.Model):
    """That a person never wants anything of a kind to be remembered."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="kind_refusals")
    kind = models.ForeignKey(Kind, on_delete=models.CASCADE, related_name="refusals")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "kind"], name="kind_refusal_once"),
        ]

    def __str__(self) -> str:
        return f"refusal {self.id}"


class KindChange(models.Model):
    """One change of a kind's rule: made, or to come. It acts from ``applies_at`` on, unless withdrawn before."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.ForeignKey(Kind, on_delete=models.CASCADE, related_name="changes")
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # Field → value, of the fields that differ.
    before = models.JSONField()
    after = models.JSONField()
    # What the preview said when it was decided: [{"days", "rows", "users", "kept_rows"}].
    preview = models.JSONField(default=list)
    # What it said of the rows that stay and end on another day: {"rows", "users", "ended_at", "ends_at"}.
    moved = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(auto_now_add=True)
    applies_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)  # withdrawn before it acted, or undone after
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # What it really did: rows that were hidden when it acted, and those of them that the sweep has deleted since.
    hidden_rows = models.PositiveIntegerField(default=0)
    deleted_rows = models.PositiveIntegerField(default=0)
    undo_hidden_rows = models.PositiveIntegerField(default=0)  # rows that undoing it has hidden

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["kind", "-created_at", "-id"], name="kind_change_list"),
            models.Index(
                fields=["applies_at"],
                condition=Q(applied_at__isnull=True, undone_at__isnull=True),
                name="kind_change_to_come",
            ),
        ]

    def __str__(self) -> str:
        return f"change {self.id} of a kind"
