"""What admins set while Strata runs, on top of its environment; and what each person used of a day's budget."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from uuid6 import uuid7


class Setting(models.Model):
    """One knob that is not as configured. Without a row it is."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=64, unique=True)  # as in ``Conf``
    value = models.JSONField()
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    changed_at = models.DateTimeField()
    reason = models.CharField(max_length=300)
    # Whether a change was undone to set it; ``reason`` is that change's.
    is_undoing = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"setting {self.id}"


class SettingChange(models.Model):
    """What was set at once, and why. ``before`` and ``after``: name → value, null for "as configured"."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    before = models.JSONField()
    after = models.JSONField()
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    changed_at = models.DateTimeField()
    reason = models.CharField(max_length=300)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["-changed_at", "-id"], name="setting_change_list"),
        ]

    def __str__(self) -> str:
        return f"change {self.id} of settings"


class DayUsage(models.Model):
    """What a person's replies and background jobs took in a day of theirs.

    Kept apart from turns and runs, so that deleting a chat gives nothing of the budget back.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()  # in the person's time zone
    input_tokens = models.PositiveBigIntegerField(default=0)  # cached ones too
    output_tokens = models.PositiveBigIntegerField(default=0)
    usd = models.DecimalField(max_digits=14, decimal_places=6, default=0)  # of models whose prices are known

    class Meta:
        verbose_name_plural = "usage by day"
        constraints: ClassVar = [
            # One row per day, raised by whoever spends next.
            models.UniqueConstraint(fields=["user", "day"], name="usage_once_a_day"),
        ]

    def __str__(self) -> str:
        return f"usage {self.id}"
