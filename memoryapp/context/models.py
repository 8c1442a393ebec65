"""What each model call was given: numbers and ids, never text."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
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
    model = models.CharField(max_length=100, blank=True)
    window_tokens = models.PositiveIntegerField()
    reserve_output_tokens = models.PositiveIntegerField()
    # [{"name", "tokens", "cached"}], in prompt order; tokens are estimates.
    sections = models.JSONField()
    # [{"memory_id" or "experience_id", "arms": {"cosine", "overlap"}, "confidence", "score", "included", "reason"}],
    # of each sort best first.
    recalled = models.JSONField(default=list)
    cut_turns = models.PositiveIntegerField(default=0)  # older turns that found no room
    # The whole request: by the local estimate, by the counting endpoint when it was asked, as billed.
    estimated_input_tokens = models.PositiveIntegerField(default=0)
    counted_input_tokens = models.PositiveIntegerField(null=True, blank=True)
    reported_input_tokens = models.PositiveIntegerField(null=True, blank=True)
    # How many tokens it began with that the conversation's previous request began with too.
    prefix_tokens = models.PositiveIntegerField(default=0)
    # [[digest of the prompt up to here, tokens of this part]]: what the next request is compared with.
    chain = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "turn", "attempt", "call"], name="snapshot_once_per_call"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["model", "-created_at"],
                condition=Q(reported_input_tokens__gt=0),
                name="snapshot_reported",
            ),
        ]

    def __str__(self) -> str:
        return f"context of call {self.call} of turn {self.turn_id}"


class Use(models.Model):
    """That a reply was given a memory or an experience: the first call of the turn that held it."""

    # Scores of what was not ranked against anything: what a tool answered, and below zero what stands in every prompt
    # without the message having called for it.
    LOOKED_UP: ClassVar = 0.0
    AT_HAND: ClassVar = -1.0

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    turn = models.ForeignKey("transcript.Turn", on_delete=models.CASCADE, related_name="+")
    memory = models.ForeignKey(
        "longterm.Memory", on_delete=models.CASCADE, null=True, blank=True, related_name="uses"
    )
    experience = models.ForeignKey(
        "longterm.Experience", on_delete=models.CASCADE, null=True, blank=True, related_name="uses"
    )
    rank = models.PositiveSmallIntegerField()  # 1 was the best of its sort
    score = models.FloatField()
    used_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "turn", "memory"], condition=~Q(memory=None), name="use_memory_once"
            ),
            models.UniqueConstraint(
                fields=["user", "turn", "experience"],
                condition=~Q(experience=None),
                name="use_experience_once",
            ),
            models.CheckConstraint(condition=Q(memory=None) ^ Q(experience=None), name="use_of_one_thing"),
        ]
        indexes: ClassVar = [
            # A fact's page, counts in lists.
            models.Index(fields=["memory", "-used_at"], name="use_of_memory"),
            models.Index(fields=["user", "-used_at"], name="use_by_day"),  # the chart of the overview
        ]

    def __str__(self) -> str:
        return f"use {self.id}"


class Exclusion(models.Model):
    """That a reply is made without something: its person asked for an answer without it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    turn = models.ForeignKey("transcript.Turn", on_delete=models.CASCADE, related_name="+")
    # A memory, an experience or a past message; what has been forgotten since needs no excluding.
    item_id = models.UUIDField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "turn", "item_id"], name="exclusion_once"),
        ]

    def __str__(self) -> str:
        return f"exclusion {self.id}"
