"""TIER 3: what is worth keeping across conversations, for how long, and who says so."""

from typing import ClassVar, TypeVar
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from pgvector.django import HalfVectorField, VectorField
from uuid6 import uuid7

from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import ORIGINS, Origin

MAX_DAYS = 36_500  # a century: dates stay within what Postgres and Python can add
DAYS = (MinValueValidator(1), MaxValueValidator(MAX_DAYS))
DAYS_OR_NONE = (MinValueValidator(0), MaxValueValidator(MAX_DAYS))
VERDICTS = [(verdict.value, verdict.value.replace("_", " ").title()) for verdict in Verdict]


class Kind(models.Model):
    """A sort of fact and its rule. Data, edited by admins; the rationale is shown wherever the lifetime is."""

    class Shape(models.TextChoices):
        KEYED = "keyed", "One value per key"
        FREE = "free", "Free text"

    class Subject(models.TextChoices):
        STATEMENT = "statement", "Statements about a person"
        EXPERIENCE = "experience", "Experiences of the assistant"
        RUN = "run", "Scratchpad records"

    slug = models.SlugField(unique=True)
    label = models.CharField(max_length=60)
    subject = models.CharField(max_length=10, choices=Subject, default=Subject.STATEMENT)
    shape = models.CharField(
        max_length=5,
        choices=Shape,
        default=Shape.FREE,
        help_text="Whether facts of this kind usually have one current value, such as a city. A description: it "
        "changes no behaviour.",
    )
    ttl_days = models.PositiveIntegerField(
        "lifetime in days",
        null=True,
        blank=True,
        validators=DAYS_OR_NONE,
        help_text="Empty: for ever. A change applies at once, to old memories too: what is older than a shortened "
        "lifetime is hidden immediately, and the sweep, which runs every minute, deletes it for good. Scratchpad "
        "records may have 0: the pad, the steps and the checkpoints of a run are deleted when it ends.",
    )
    is_always_used = models.BooleanField(
        default=False, help_text="In every prompt, not only when it matters."
    )
    half_life_days = models.PositiveIntegerField(
        "half-life in days",
        null=True,
        blank=True,
        validators=DAYS,
        help_text="After so many days without being affirmed, a memory counts half as recent when recall ranks it. "
        "Empty: age does not matter. Nothing is hidden or deleted by it.",
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
                violation_error_message=f"A lifetime is 1 to {MAX_DAYS:,} days, or empty for ever.",
            ),
            models.CheckConstraint(
                condition=Q(half_life_days=None) | Q(half_life_days__range=(1, MAX_DAYS)),
                name="kind_half_life_range",
                violation_error_message=f"A half-life is 1 to {MAX_DAYS:,} days, or empty.",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    def clean(self) -> None:
        """Says beside the field what the constraint would say about the whole form."""
        if self.ttl_days == 0 and self.subject != self.Subject.RUN:
            raise ValidationError(
                {
                    "ttl_days": "Ensure this value is greater than or equal to 1: only run records may go at once."
                }
            )


def fading_at(ttl_days: int | None, *, subject: str) -> models.Func:
    """When rows of this subject would fade if their kind had this lifetime."""
    ttl = models.Value(ttl_days, output_field=models.IntegerField())
    if subject == Kind.Subject.EXPERIENCE:
        return _fades_at(_NEVER, _NOT_KEPT, ttl)
    return _fades_at(F("expires_at"), F("is_kept"), ttl)


_NEVER = models.Value(None, output_field=models.DateTimeField())
_NOT_KEPT = models.Value(value=False)


def _fades_at(
    expires_at: models.Expression | F,
    is_kept: models.Expression | F,
    ttl_days: models.Expression | F | None = None,
) -> models.Func:
    """Of a row with ``affirmed_at``, a kind and a user."""
    return models.Func(
        F("affirmed_at"),
        ttl_days or F("kind__ttl_days"),
        expires_at,
        is_kept,
        F("user__time_zone"),
        function="memory_fades_at",
        output_field=models.DateTimeField(),
    )


Row = TypeVar("Row", bound=models.Model)


class KeptManager(models.Manager[Row]):
    """Without what is being forgotten: no read path has to remember to leave it out."""

    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().filter(forgetting=None)


class MemoryQuerySet(models.QuerySet["Memory"]):
    def for_user(self, user_id: UUID) -> "MemoryQuerySet":
        return self.filter(user_id=user_id)

    def with_expiry(self) -> "MemoryQuerySet":
        """Adds ``fades_at``: the moment after which the row is never read (None: kept for ever)."""
        return self.annotate(fades_at=_fades_at(F("expires_at"), F("is_kept")))

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
        CHAT = "chat", "the chat"
        EXTRACTION = "extraction", "a conversation, read afterwards"
        INSPECTOR = "inspector", "the memory page"
        API = "api", "a program"
        IMPORT = "import", "an import"

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
            # Every count of what is in use or expires: read from the index alone, for a row is 2.7 kB with its vector.
            models.Index(
                fields=["user", "status", "kind"],
                include=["affirmed_at", "expires_at", "is_kept", "recorded_at"],
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


class ExperienceQuerySet(models.QuerySet["Experience"]):
    def for_user(self, user_id: UUID) -> "ExperienceQuerySet":
        return self.filter(user_id=user_id)

    def with_expiry(self) -> "ExperienceQuerySet":
        """Adds ``fades_at``; an experience follows its kind, nobody keeps one or gives it a date."""
        return self.annotate(fades_at=_fades_at(_NEVER, _NOT_KEPT))

    def unfaded(self) -> "ExperienceQuerySet":
        return self.with_expiry().filter(Q(fades_at=None) | Q(fades_at__gt=Now()))

    def live(self) -> "ExperienceQuerySet":
        """What may be recalled: not faded, sure enough for its kind, and confirmed where a person has to."""
        needs_word = Q(origin=Origin.UNTRUSTED) | Q(kind__needs_confirmation=True)
        return self.unfaded().filter(
            ~needs_word | Q(confirmed_at__isnull=False), confidence__gte=F("kind__min_confidence")
        )


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


class Forgetting(models.Model):
    """One act of forgetting, without what: until ``undo_until`` its person can undo it, then the sweep finishes it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="forgettings")
    memories_count = models.PositiveIntegerField(default=0)
    experiences_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    undo_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)  # past undoing: the rows are gone
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "-created_at", "-id"], name="forgetting_list"),
            # The sweep: few rows, whatever the table's size.
            models.Index(
                fields=["undo_until"],
                condition=Q(finished_at__isnull=True, undone_at__isnull=True),
                name="forgetting_open",
            ),
        ]

    def __str__(self) -> str:
        return f"forgetting {self.id}"


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
    created_at = models.DateTimeField(auto_now_add=True)
    applies_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)  # withdrawn before it acted, or taken back after
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # What it really did: rows that were hidden when it acted, and those of them that the sweep has deleted since.
    hidden_rows = models.PositiveIntegerField(default=0)
    deleted_rows = models.PositiveIntegerField(default=0)

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


class Tombstone(models.Model):
    """That something was forgotten, without what: it keeps old text from teaching it again."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tombstones")
    memory_id = models.UUIDField()
    # Of which it is a part, while that can be undone: undoing takes it away.
    forgetting = models.ForeignKey(
        Forgetting, on_delete=models.SET_NULL, null=True, blank=True, related_name="tombstones"
    )
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "digest"], name="tombstone_lookup"),  # asked before every write
        ]

    def __str__(self) -> str:
        return f"tombstone {self.id}"


class LifetimeChange(models.Model):
    """What the lifetimes were that a person changed at once, to be given back within the hour."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    made_at = models.DateTimeField()
    # Of each memory: "id", "is_kept", "expires_at" and "affirmed_at" as ISO moments; nothing that it says.
    before = models.JSONField()

    def __str__(self) -> str:
        return f"lifetimes before {self.id}"
