"""What each model call was given: numbers and ids, never text."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from uuid6 import uuid7


class ContextSnapshot(models.Model):
    """The composition of one model call's prompt."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="context_snapshots"
    )
    turn = models.ForeignKey("transcript.Turn", on_delete=models.CASCADE, related_name="context_snapshots")
    attempt = models.PositiveIntegerField()
    call = models.PositiveIntegerField()  # 1 for the first model call of the attempt
    window_tokens = models.PositiveIntegerField()
    reserve_output_tokens = models.PositiveIntegerField()
    # [{"name", "tokens", "cached"}], in prompt order; tokens are estimates.
    sections = models.JSONField()
    # [{"memory_id", "arms": {"cosine", "overlap"}, "score", "included", "reason"}], best first.
    recalled = models.JSONField(default=list)
    reported_input_tokens = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "turn", "attempt", "call"], name="snapshot_once_per_call"
            ),
        ]

    def __str__(self) -> str:
        return f"context of call {self.call} of turn {self.turn_id}"
