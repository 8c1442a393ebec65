"""TIER 2: what the user and the assistant said. No tool calls, no observations, no reasoning."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import MD5
from pgvector.django import HalfVectorField
from uuid6 import uuid7

from memoryapp.policies.trust import ORIGINS, Origin


class Conversation(models.Model):
    """A tree of turns of which one branch is shown; ``last_seq`` numbers that branch's turns without gaps."""

    class TitleSource(models.TextChoices):
        FIRST_WORDS = "first_words"
        MODEL = "model"
        USER = "user"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)
    title_source = models.CharField(max_length=11, choices=TitleSource, default=TitleSource.FIRST_WORDS)
    created_at = models.DateTimeField(auto_now_add=True)
    # Moved by people's turns only, never by a job: lists are sorted by it.
    updated_at = models.DateTimeField()
    last_seq = models.PositiveIntegerField(default=0)
    use_memory = models.BooleanField(default=True)
    save_memory = models.BooleanField(default=True)
    is_temporary = models.BooleanField(default=False)
    pinned_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    # Gone for everyone from now on; its owner can bring it back until the sweep deletes it for good.
    deleted_at = models.DateTimeField(null=True, blank=True)
    # As they were told: a change of the setting meanwhile does not move it.
    undo_until = models.DateTimeField(null=True, blank=True)
    forked_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="forks"
    )
    # Raised whenever words of it are changed or taken away: what was being made of them then is not kept.
    revision = models.PositiveIntegerField(default=0)
    # How many days after its last message it is deleted; 0: never; None: as the installation's rule says.
    retention_days = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            # The conversation list: newest first, keyset by (updated_at, id).
            models.Index(fields=["user", "-updated_at", "-id"], name="conversation_list"),
            # The sweep: few rows, whatever the table's size.
            models.Index(
                fields=["undo_until"], condition=Q(undo_until__isnull=False), name="conversation_deleted"
            ),
            models.Index(
                fields=["updated_at"], condition=Q(is_temporary=True), name="conversation_temporary"
            ),
            # The sweep: those with a rule of their own.
            models.Index(
                fields=["updated_at"], condition=Q(retention_days__gt=0), name="conversation_kept_for"
            ),
        ]

    def __str__(self) -> str:
        return f"conversation {self.id}"


class KeptTurns(models.Manager["Turn"]):
    """Without those that their person deleted."""

    def get_queryset(self) -> models.QuerySet["Turn"]:
        return super().get_queryset().filter(deleted_at=None)


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

    class WaitReason(models.TextChoices):
        MODEL = "model", "the model"
        APPROVAL = "approval", "your word"
        STUCK = "stuck", "your word, as it got nowhere"

    IDLE: ClassVar = (Status.QUEUED, Status.WAITING)  # no worker holds it
    LIVE: ClassVar = (Status.QUEUED, Status.RUNNING, Status.WAITING)
    RETRYABLE: ClassVar = (Status.FAILED, Status.INTERRUPTED, Status.CANCELLED)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="turns")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    # Its depth in the tree, from 1. Editing or answering anew makes a sibling: the same parent, the same number.
    seq = models.PositiveIntegerField()
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="children"
    )
    # On the branch that is shown and sent to the model: one turn per number.
    is_current = models.BooleanField(default=True)
    # When it was last taken off it: of several versions, the one seen last comes back.
    left_at = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=11, choices=Status, default=Status.QUEUED)
    idempotency_key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    # Fencing: a worker writes only WHERE attempt = the one it claimed.
    attempt = models.PositiveIntegerField(default=0)
    # How many of the attempts began since a person last asked; bounds what a poisonous turn can crash.
    attempts_left = models.PositiveSmallIntegerField(default=3)
    # Waiting: for what, until when at most (then a worker takes it up again), and the same for people.
    wait_reason = models.CharField(max_length=8, choices=WaitReason, blank=True)
    resume_at = models.DateTimeField(null=True, blank=True)
    wait_message = models.CharField(max_length=500, blank=True)
    # Running: the worker's right to it ends. Else: if no worker has taken it by then, it is nudged again.
    lease_until = models.DateTimeField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    epoch_at_start = models.PositiveIntegerField(default=0)
    # What was streamed so far, written with every lease renewal, so that a crash keeps it.
    partial_text = models.TextField(blank=True)
    # The weakest origin in any of its prompts: whoever reads its reply later reads that too.
    taint = models.CharField(max_length=16, choices=ORIGINS, default=Origin.USER_TYPED)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=100, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cache_read_tokens = models.PositiveIntegerField(default=0)
    cache_creation_tokens = models.PositiveIntegerField(default=0)
    # What the next prompt of the conversation will take after this turn, by the last call's reported usage.
    next_prompt_tokens = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Its person deleted it. While turns follow it, it keeps its place and number, and nobody is shown it.
    deleted_at = models.DateTimeField(null=True, blank=True)
    # What was deleted together comes back together; None once that is no longer possible.
    deletion_id = models.UUIDField(null=True, blank=True)
    # As its person was told: a change of the setting meanwhile does not move it.
    undo_until = models.DateTimeField(null=True, blank=True)

    objects = KeptTurns()
    # With deleted ones: for the shape of the tree, for undoing a deletion and for finishing it.
    everything = models.Manager["Turn"]()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "idempotency_key"], name="turn_idempotent"),
            models.UniqueConstraint(
                fields=["user", "conversation", "seq"], condition=Q(is_current=True), name="turn_seq_unique"
            ),
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
                fields=["lease_until"],
                condition=Q(status__in=["queued", "running", "waiting"]),
                name="turn_to_look_after",
            ),
            # What recall leaves out, few rows of a person's: read from the index alone.
            models.Index(
                fields=["user"],
                include=["id"],
                condition=Q(is_current=False)
                | Q(status__in=["queued", "running", "waiting"])
                | Q(deleted_at__isnull=False),
                name="turn_unrecalled",
            ),
            # The sweep and the undoing of a deletion: few rows, whatever the table's size.
            models.Index(
                fields=["deletion_id", "undo_until"],
                condition=Q(deletion_id__isnull=False),
                name="turn_deleted",
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.id}"


class Message(models.Model):
    """What one side said in a turn, in full, for as long as the conversation lives.

    Unless its person changes it: then the words before are kept nowhere.
    """

    class Change(models.TextChoices):
        CORRECTED = "corrected", "Corrected"
        REDACTED = "redacted", "Redacted"

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="messages")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="messages")
    role = models.CharField(max_length=9, choices=Role)
    text = models.TextField()
    # Who said it, where that is not simply the user or the assistant: a person's name in an imported chat.
    speaker = models.CharField(max_length=60, blank=True)
    # When its statements were taken into long-term memory (None: not looked at yet); user messages only.
    extracted_at = models.DateTimeField(null=True, blank=True)
    tokens = models.PositiveIntegerField(default=0)  # the local estimate, made when it was written
    change = models.CharField(max_length=9, choices=Change, blank=True)  # by its person, the last one
    changed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # The words of any language, folded; made by a function of the database, so that queries fold alike.
    search_vector = models.GeneratedField(
        expression=Func(F("text"), function="transcript_search_vector"),
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


class MessageKey(models.Model):
    """By what recall finds a message: its terms and its vector. Derived from the message: it can be made again."""

    message = models.OneToOneField(Message, on_delete=models.CASCADE, primary_key=True, related_name="key")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")
    # Copies of what never changes, so that a search reads keys alone: the message's own row is several times as wide.
    conversation_id = models.UUIDField()
    position = models.PositiveIntegerField()  # in it: twice the turn's number, and one more for the assistant
    said_at = models.DateTimeField()
    speaker = models.IntegerField(default=0)  # as ``policies.dialogue.speaker_key`` makes it
    # As ``policies.terms`` packs them: hashes, in the order of the text.
    terms = models.BinaryField()
    # As ``policies.dialogue`` packs them: what the text says about itself (a question, the first person, a time).
    traits = models.PositiveSmallIntegerField(default=0)
    words = models.PositiveIntegerField(default=0)
    embedding = HalfVectorField(null=True, blank=True)  # no fixed dimension: models differ, rows say which
    embedding_model = models.CharField(max_length=100, blank=True)  # empty: none yet

    class Meta:
        indexes: ClassVar = [
            # The embedding backlog: what is not of the current model, few rows whatever the table's size.
            models.Index(fields=["embedding_model", "message"], name="message_key_model"),
        ]

    def __str__(self) -> str:
        return f"key of message {self.message_id}"


class Summary(models.Model):
    """One version of the rolled-up summary: turns 1..``last_seq`` of the branch that ends in ``last_turn``.

    It stands for exactly those turns, so it is usable while ``last_turn`` is on the current branch.
    """

    class Method(models.TextChoices):
        MODEL = "model"
        EXTRACTIVE = "extractive"
        EDITED = "edited"

    class Trigger(models.TextChoices):
        AFTER_TURN = "after_turn"
        BEFORE_TURN = "before_turn"
        TOO_LONG = "too_long"
        MANUAL = "manual"
        EDIT = "edit"
        REBUILD = "rebuild"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="summaries")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="summaries")
    version = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    last_turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="summaries")
    # The version that was in use before it, whatever it covered.
    replaces = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="replaced_by"
    )
    text = models.TextField()
    method = models.CharField(max_length=10, choices=Method)
    trigger = models.CharField(max_length=11, choices=Trigger, default=Trigger.AFTER_TURN)
    # Why a model's summary was not used; empty when one was, or none was asked for.
    fallback_reason = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=100, blank=True)
    tokens_before = models.PositiveIntegerField()
    tokens_after = models.PositiveIntegerField()
    # What making it cost, as the provider reported.
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    # Made from something that was forgotten since: unused until rebuilt.
    is_stale = models.BooleanField(default=False)
    # Made from turns of these deletions: usable again when all are undone, gone with the first that is final.
    deletion_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    # The weakest origin in what it was made from.
    taint = models.CharField(max_length=16, choices=ORIGINS, default=Origin.USER_TYPED)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "summaries"
        constraints: ClassVar = [
            # Two compactions at once: one wins.
            models.UniqueConstraint(
                fields=["user", "conversation", "version"], name="summary_version_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"summary {self.id} v{self.version}"


class PinnedLine(models.Model):
    """Words of a turn that stand verbatim above the summary in every prompt, for as long as the turn is current."""

    class Kind(models.TextChoices):
        GOAL = "goal"
        CONSTRAINT = "constraint"
        PIN = "pin"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="pinned_lines")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="pinned_lines")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="pinned_lines")
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    # A person took it off: code does not pin the same words again.
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint("user", "turn", MD5("text"), name="pinned_line_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["conversation", "created_at"], name="pinned_line_list")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
