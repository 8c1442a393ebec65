"""What the export of another chat gives, whatever the product."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Format(StrEnum):
    """What a file was recognised as. ``STRATA`` is our own archive, which is not read here."""

    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    OPENWEBUI = "openwebui"
    LIBRECHAT = "librechat"
    MEM0 = "mem0"
    STRATA = "strata"


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class Reason(StrEnum):
    """Why something was left out or altered; what each counts is said beside it."""

    CORRUPTED = "corrupted"  # entries of the file that have not the shape of the format
    EMPTY = "empty"  # conversations in which nobody said anything
    TOO_LARGE = "too_large"  # entries above the limit of one entry
    SHORTENED = "shortened"  # texts cut at the limit of one text
    UNKNOWN_PART = "unknown_part"  # parts of messages of a sort that is not known
    DAMAGED_CHARACTER = "damaged_character"  # characters replaced or removed: NUL, half a pair, not UTF-8
    DOUBTFUL_DATE = "doubtful_date"  # dates that cannot be read or cannot be true
    EXPIRED = "expired"  # facts whose end had come
    OTHER_PERSON = "other_person"  # facts about another person than the first one in the file


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that was sent along. ``text``: what the export holds of it, often nothing."""

    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One message; never empty of both text and attachments."""

    role: Role
    text: str
    said_at: datetime | None
    model: str = ""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """One line of a conversation, oldest message first.

    ``messages`` is never empty, has no two messages of the assistant in a row, and its times never go back.
    ``branches_left``: other ways the conversation went (answers made again, questions edited), which are not in it.
    """

    external_id: str
    title: str
    started_at: datetime | None
    updated_at: datetime | None
    messages: tuple[Said, ...]
    is_archived: bool = False
    is_pinned: bool = False
    is_not_to_remember: bool = False
    branches_left: int = 0


@dataclass(frozen=True, slots=True)
class Fact:
    """What the other product had remembered. ``kind_hint``: the slug of a kind of ours, or empty."""

    text: str
    source: str
    said_at: datetime | None = None
    expires_at: datetime | None = None
    kind_hint: str = ""
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    reason: Reason
    count: int


Item = Conversation | Fact | Skipped
