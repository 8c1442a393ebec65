"""What ``strata.json`` holds of each table: which columns, which of them point at other rows, and what is made anew.

Both directions go by it: ``records`` reads these columns, ``restoring`` writes them, and ``tests/portability`` sees to
it that every column of every table is named here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Model, QuerySet

from memoryapp.context.models import ContextSnapshot, Exclusion, Use
from memoryapp.longterm.models import Experience, Feedback, KindRefusal, Memory, MemorySource, MemoryVersion
from memoryapp.scratchpad.models import Approval, Checkpoint, PadEdit, Run, Step
from memoryapp.transcript.models import Conversation, Message, PinnedLine, Summary, Turn

# Why a column is not moved. Each is given its default, or what ``restoring`` makes of the row's own words.
OWN: Final = "the row's own identity, which an import gives anew"
PARENT: Final = "the record that it stands in"
MADE_ANEW: Final = "made anew from the words"
MOMENTARY: Final = "of the moment: a lease, a fence, a wait or an undo that has no meaning elsewhere"


@dataclass(frozen=True, slots=True)
class Table:
    """``name``: of its rows' ids in the archive, as in "memory:12", where something points at them.

    ``kept``: columns as they are. ``points``: column → name of the table that it points at. ``many``: the same for
    arrays of ids. ``left``: column → why it is not there. ``order``: unique within the record that they stand in.
    ``required``: pointers without which the row means nothing.
    """

    name: str
    model: type[Model]
    kept: tuple[str, ...]
    order: tuple[str, ...]
    points: Mapping[str, str] = field(default_factory=dict)
    many: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()

    def rows(self) -> "QuerySet[Any]":
        """Without what is hidden."""
        return self.model._default_manager.all()  # noqa: SLF001  # Django's documented API


CONVERSATIONS: Final = Table(
    "conversation",
    Conversation,
    kept=(
        "title",
        "title_source",
        "created_at",
        "updated_at",
        "last_seq",
        "use_memory",
        "save_memory",
        "is_temporary",
        "pinned_at",
        "archived_at",
        "retention_days",
    ),
    order=("id",),
    points={"forked_from": "conversation"},
    left={"id": OWN, "user": OWN, "deleted_at": MOMENTARY, "undo_until": MOMENTARY, "revision": MOMENTARY},
)
TURNS: Final = Table(
    "turn",
    Turn,
    kept=(
        "seq",
        "is_current",
        "left_at",
        "status",
        "attempt",
        "partial_text",
        "taint",
        "error_code",
        "error_message",
        "model",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_creation_tokens",
        "next_prompt_tokens",
        "created_at",
        "started_at",
        "finished_at",
    ),
    order=("id",),
    points={"parent": "turn"},
    left={
        "id": OWN,
        "user": OWN,
        "conversation": PARENT,
        "idempotency_key": OWN,
        "request_digest": OWN,
        "deleted_at": "of a deleted turn that others follow the archive holds the bare place",
        **dict.fromkeys(
            (
                "attempts_left",
                "wait_reason",
                "resume_at",
                "wait_message",
                "lease_until",
                "stop_requested_at",
                "epoch_at_start",
                "deletion_id",
                "undo_until",
            ),
            MOMENTARY,
        ),
    },
)
MESSAGES: Final = Table(
    "message",
    Message,
    kept=("role", "text", "speaker", "extracted_at", "tokens", "change", "changed_at", "created_at"),
    order=("id",),
    left={"id": OWN, "user": OWN, "turn": PARENT, "search_vector": MADE_ANEW},
)
RUNS: Final = Table(
    "run",
    Run,
    kept=(
        "status",
        "attempt",
        "goal",
        "pad",
        "model_calls",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_creation_tokens",
        "limits",
        "active_ms",
        "has_effects",
        "judged_from",
        "started_at",
        "finished_at",
        "kept_until",
        "is_kept",
    ),
    order=("id",),
    left={
        "id": OWN,
        "user": OWN,
        "turn": PARENT,
        "memory_epoch": MOMENTARY,
        "model_failures": MOMENTARY,
    },
)
STEPS: Final = Table(
    "step",
    Step,
    kept=(
        "number",
        "round",
        "tool_use_id",
        "action",
        "arguments",
        "observation",
        "brief",
        "error",
        "status",
        "tokens",
        "duration_ms",
        "origin",
        "taint",
        "created_at",
    ),
    order=("number",),
    left={"id": OWN, "user": OWN, "run": PARENT},
)
CHECKPOINTS: Final = Table(
    "checkpoint",
    Checkpoint,
    kept=("number", "delta", "taint", "created_at"),
    order=("number",),
    left={"id": OWN, "user": OWN, "run": PARENT},
)
PAD_EDITS: Final = Table(
    "pad_edit",
    PadEdit,
    kept=("number", "op", "target", "text", "created_at", "applied_at"),
    order=("number",),
    left={"id": OWN, "user": OWN, "run": PARENT},
)
APPROVALS: Final = Table(
    "approval",
    Approval,
    kept=(
        "tool_use_id",
        "action",
        "arguments",
        "why",
        "touches",
        "source",
        "fingerprint",
        "status",
        "is_always",
        "reason",
        "created_at",
        "expires_at",
        "decided_at",
    ),
    order=("tool_use_id",),
    left={"id": OWN, "user": OWN, "run": PARENT, "nonce": "a secret of the form that asked"},
)
SNAPSHOTS: Final = Table(
    "snapshot",
    ContextSnapshot,
    kept=(
        "attempt",
        "call",
        "model",
        "window_tokens",
        "reserve_output_tokens",
        "sections",
        "recalled",
        "cut_turns",
        "estimated_input_tokens",
        "counted_input_tokens",
        "reported_input_tokens",
        "prefix_tokens",
        "created_at",
    ),
    order=("attempt", "call"),
    left={"id": OWN, "user": OWN, "turn": PARENT, "chain": "digests that only the next request compares"},
)
EXCLUSIONS: Final = Table(
    "exclusion",
    Exclusion,
    kept=("item_id",),
    order=("item_id",),
    left={"id": OWN, "user": OWN, "turn": PARENT},
)
SUMMARIES: Final = Table(
    "summary",
    Summary,
    kept=(
        "version",
        "last_seq",
        "text",
        "method",
        "trigger",
        "fallback_reason",
        "model",
        "tokens_before",
        "tokens_after",
        "input_tokens",
        "output_tokens",
        "taint",
        "created_at",
    ),
    order=("version",),
    points={"last_turn": "turn"},
    required=frozenset({"last_turn"}),
    left={
        "id": OWN,
        "user": OWN,
        "conversation": PARENT,
        "replaces": "the version before it: ``version`` says which",
        "is_stale": "one that is stale is not there",
        "deletion_ids": MOMENTARY,
    },
)
PINNED_LINES: Final = Table(
    "pinned_line",
    PinnedLine,
    kept=("kind", "text", "created_at", "removed_at"),
    order=("id",),
    points={"turn": "turn"},
    required=frozenset({"turn"}),
    left={"id": OWN, "user": OWN, "conversation": PARENT},
)
MEMORIES: Final = Table(
    "memory",
    Memory,
    kept=(
        "key",
        "statement",
        "quote",
        "channel",
        "program",
        "origin",
        "confidence",
        "status",
        "said_at",
        "happened_at",
        "valid_from",
        "valid_to",
        "recorded_at",
        "superseded_at",
        "affirmed_at",
        "expires_at",
        "is_kept",
        "version",
    ),
    order=("id",),
    points={"source_message": "message", "source_run": "run", "superseded_by": "memory"},
    left={
        "id": OWN,
        "user": OWN,
        "kind": "by its slug, for kinds are the installation's",
        "forgetting": MOMENTARY,
        **dict.fromkeys(("slot", "digest", "is_flagged", "terms", "embedding", "embedding_model"), MADE_ANEW),
    },
)
VERSIONS: Final = Table(
    "version",
    MemoryVersion,
    kept=(
        "version",
        "statement",
        "kind_slug",
        "key",
        "confidence",
        "changed_by",
        "reason",
        "recorded_at",
    ),
    order=("version",),
    left={"id": OWN, "user": OWN, "memory": PARENT},
)
SOURCES: Final = Table(
    "source",
    MemorySource,
    kept=("quote", "origin", "outcome", "said_at", "recorded_at"),
    order=("id",),
    points={"message": "message"},
    left={"id": OWN, "user": OWN, "memory": PARENT},
)
FEEDBACK: Final = Table(
    "feedback",
    Feedback,
    kept=("verdict", "confidence_before", "confidence_after", "created_at"),
    order=("id",),
    points={"turn": "turn"},
    left={"id": OWN, "user": OWN, "memory": PARENT},
)
EXPERIENCES: Final = Table(
    "experience",
    Experience,
    kept=(
        "goal",
        "tools",
        "outcome",
        "worked",
        "avoid",
        "model",
        "origin",
        "confidence",
        "confirmed_at",
        "seen_count",
        "given_count",
        "recorded_at",
        "affirmed_at",
    ),
    order=("id",),
    points={"source_run": "run"},
    many={"run_ids": "run", "memory_ids": "memory"},
    left={
        "id": OWN,
        "user": OWN,
        "kind": "the one of its sort",
        "forgetting": MOMENTARY,
        **dict.fromkeys(("embedding", "embedding_model"), MADE_ANEW),
    },
)
USES: Final = Table(
    "use",
    Use,
    kept=("rank", "score", "used_at"),
    order=("id",),
    points={"turn": "turn", "memory": "memory", "experience": "experience"},
    required=frozenset({"turn"}),
    left={"id": OWN, "user": OWN},
)
REFUSALS: Final = Table(
    "refusal",
    KindRefusal,
    kept=("created_at",),
    order=("kind__slug",),
    left={"id": OWN, "user": OWN, "kind": "by its slug, for kinds are the installation's"},
)

TABLES: Final = (
    CONVERSATIONS,
    TURNS,
    MESSAGES,
    RUNS,
    STEPS,
    CHECKPOINTS,
    PAD_EDITS,
    APPROVALS,
    SNAPSHOTS,
    EXCLUSIONS,
    SUMMARIES,
    PINNED_LINES,
    MEMORIES,
    VERSIONS,
    SOURCES,
    FEEDBACK,
    EXPERIENCES,
    USES,
    REFUSALS,
)
# Which rows stand in which records, and under what name.
OF_CONVERSATIONS: Final[Mapping[str, Table]] = {"pinned_lines": PINNED_LINES, "summaries": SUMMARIES}
OF_TURNS: Final[Mapping[str, Table]] = {"messages": MESSAGES, "snapshots": SNAPSHOTS}
OF_RUNS: Final[Mapping[str, Table]] = {
    "steps": STEPS,
    "checkpoints": CHECKPOINTS,
    "pad_edits": PAD_EDITS,
    "approvals": APPROVALS,
}
OF_MEMORIES: Final[Mapping[str, Table]] = {"versions": VERSIONS, "sources": SOURCES, "feedback": FEEDBACK}
# What other rows point at.
NUMBERED: Final = (CONVERSATIONS, TURNS, MESSAGES, RUNS, MEMORIES, EXPERIENCES)
# Of the person: what moves with them.
SETTINGS: Final = ("time_zone", "theme", "language", "uses_list_keys", "use_memory", "save_memory")
