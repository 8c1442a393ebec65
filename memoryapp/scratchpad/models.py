"""TIER 1: the state of one run. Kept for a short time as a record, never loaded into another run."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from memoryapp.scratchpad.pad import Op


class Run(models.Model):
    """The work on one turn. A retried or resumed turn goes on with the same run."""

    class Status(models.TextChoices):
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs")
    turn = models.OneToOneField("transcript.Turn", on_delete=models.CASCADE, related_name="run")
    status = models.CharField(max_length=9, choices=Status, default=Status.RUNNING)
    # Fencing: the attempt of the turn that owns the run; a worker of an older attempt may not write.
    attempt = models.PositiveIntegerField()
    # The person's memory epoch when it began: a record that a forgetting overtook is not kept.
    memory_epoch = models.PositiveIntegerField()
    goal = models.TextField()
    # The Pad as JSON: see pad.py for its shape.
    pad = models.JSONField(default=dict)
    model_calls = models.PositiveIntegerField(default=0)
    # Input as a whole, and what of it the provider's cache gave and took.
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cache_read_tokens = models.PositiveIntegerField(default=0)
    cache_creation_tokens = models.PositiveIntegerField(default=0)
    # How far it may go: see policies.limits. Absolute, so that a worker that takes over knows what is left.
    limits = models.JSONField(default=dict)
    # Time that a worker spent on it; waiting does not count.
    active_ms = models.PositiveIntegerField(default=0)
    # Calls in a row that the provider did not answer, so that waits grow across workers.
    model_failures = models.PositiveSmallIntegerField(default=0)
    # A call had effects elsewhere: it must not begin again from nothing, whatever is still known of it.
    has_effects = models.BooleanField(default=False)
    # Steps up to this one are no longer held against it: a person said to go on.
    judged_from = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Its person wants the record longer than the rule keeps it: until then, or for ever.
    kept_until = models.DateTimeField(null=True, blank=True)
    is_kept = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(status__in=["running", "completed", "failed", "cancelled"]),
                name="run_status_known",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["user", "-started_at", "-id"], name="run_list"),  # the inspector's list
            models.Index(fields=["finished_at"], name="run_record_age"),  # the sweep of old records
        ]

    def __str__(self) -> str:
        return f"run {self.id}"


class Step(models.Model):
    """One tool call: what was asked, what came back."""

    class Status(models.TextChoices):
        RUNNING = (
            "running"  # begun, and its effect outlives a crash: it is not begun again unless that is safe
        )
        OK = "ok"
        ERROR = "error"
        REFUSED = "refused"  # not run: it failed before, or a person said no
        REPEATED = "repeated"  # not run: an equal call had answered already

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="steps")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    # The checkpoint that asked for it: calls of one round were made before the model read any of their results.
    round = models.PositiveIntegerField(default=0)
    tool_use_id = models.CharField(max_length=128)
    action = models.CharField(max_length=128)
    arguments = models.JSONField()
    # In full, as far as it is kept; the model reads a part of a long one, and a pointer to the rest.
    observation = models.TextField(blank=True)
    brief = models.TextField(blank=True)  # the same in a few words
    error = models.TextField(blank=True)  # why it failed
    status = models.CharField(max_length=8, choices=Status)
    tokens = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    # The trust of what came back, and of everything in the prompt with it (see policies.trust).
    origin = models.CharField(max_length=16)
    taint = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "run", "number"], name="step_number_unique"),
            # A tool with side effects takes effect once per (run, tool_use_id), also when redelivered.
            models.UniqueConstraint(fields=["user", "run", "tool_use_id"], name="step_once_per_tool_use"),
        ]

    def __str__(self) -> str:
        return f"step {self.number} of run {self.run_id}"


class Checkpoint(models.Model):
    """What one model call and its tools added to the run: a delta, so storage grows linearly with steps."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="checkpoints")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="checkpoints")
    number = models.PositiveIntegerField()
    # Messages to append, in the form of llm.messages_json.
    delta = models.JSONField()
    # The weakest origin in the run's prompt after this round (see policies.trust).
    taint = models.CharField(max_length=16)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "run", "number"], name="checkpoint_number_unique"),
        ]

    def __str__(self) -> str:
        return f"checkpoint {self.number} of run {self.run_id}"


class PadEdit(models.Model):
    """What a person did to the pad of a run that goes on.

    Rows of their own: the worker that has the run writes the pad, and would write over them. It takes them up before
    its next model call (``edits.take_up``).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="pad_edits")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="edits")
    number = models.PositiveIntegerField()
    op = models.CharField(max_length=16, choices=[(op.value, op.value.replace("_", " ")) for op in Op])
    # The entry as the pad had it: a fact's key, a line, a call.
    target = models.TextField(blank=True)
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    applied_at = models.DateTimeField(null=True, blank=True)  # since when it is in the run's own pad

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "run", "number"], name="pad_edit_number_unique"),
            models.CheckConstraint(condition=Q(op__in=[op.value for op in Op]), name="pad_edit_op_known"),
        ]
        indexes: ClassVar = [
            # What a worker looks for before each model call: nearly always nothing.
            models.Index(fields=["run"], condition=Q(applied_at=None), name="pad_edit_waiting"),
        ]

    def __str__(self) -> str:
        return f"edit {self.number} of the pad of run {self.run_id}"


class Approval(models.Model):
    """A call that waits for a person's word, and the word: good for these very arguments, once."""

    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="approvals")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="approvals")
    tool_use_id = models.CharField(max_length=128)
    action = models.CharField(max_length=128)
    arguments = models.JSONField()
    why = models.TextField(blank=True)  # what the assistant said before it asked
    touches = models.CharField(max_length=300, blank=True)
    source = models.CharField(max_length=200, blank=True)  # who offers the tool
    fingerprint = models.CharField(max_length=16, blank=True)  # of the tool as it was then
    # A decision names it: a page that showed another call cannot decide this one.
    nonce = models.CharField(max_length=43)
    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING)
    is_always = models.BooleanField(default=False)  # also for later calls of the tool in the conversation
    reason = models.CharField(max_length=500, blank=True)  # of a denial, for the model
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "run", "tool_use_id"], name="approval_once_per_tool_use"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "approved", "denied", "expired"]),
                name="approval_status_known",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["user"], condition=Q(status="pending"), name="approval_pending"),
        ]

    def __str__(self) -> str:
        return f"approval {self.id}"


class Grant(models.Model):
    """That a tool need not ask any more in a conversation, as long as it stays what it was."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tool_grants")
    conversation = models.ForeignKey(
        "transcript.Conversation", on_delete=models.CASCADE, related_name="tool_grants"
    )
    action = models.CharField(max_length=128)
    fingerprint = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "conversation", "action", "fingerprint"], name="grant_once"
            ),
        ]

    def __str__(self) -> str:
        return f"grant {self.id}"
