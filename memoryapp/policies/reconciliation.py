"""What happens to a new statement next to what is already known. Pure: rows in, a decision out, no model asked."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memoryapp.policies.trust import Origin

_SEPARATORS = re.compile(r"[\W_]+", re.UNICODE)
KEY = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")


class Outcome(StrEnum):
    ADDED = "added"
    REINFORCED = "reinforced"
    SUPERSEDED = "superseded"
    CONFLICT = "conflict"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Known:
    """A live memory that the candidate may touch."""

    id: UUID
    origin: Origin
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """``target``: the memory reinforced, superseded or in conflict."""

    outcome: Outcome
    target: UUID | None = None


def normalise(statement: str) -> str:
    """The form in which two statements are the same one: compatibility characters, case and punctuation ignored.

    Words, numbers and their order stay, in any script: "invoice 1041" is not "invoice 1042", "I don't" is not "I do".
    """
    folded = unicodedata.normalize("NFKC", statement).casefold().replace("'", "").replace("’", "")
    return _SEPARATORS.sub(" ", folded).strip()


def decide(
    *,
    origin: Origin,
    said_at: datetime,
    needs_confirmation: bool,
    same_statement: Known | None,
    same_key: Known | None,
) -> Decision:
    """Reinforce what is known, supersede by an origin at least as strong, else let the person settle it.

    A statement from untrusted text, or of a kind that needs confirmation, waits whatever it says. One that was said
    before the live value of its key is a conflict: late news does not overturn the newer one silently.
    """
    is_settled = origin != Origin.UNTRUSTED and not needs_confirmation
    if same_statement and is_settled:
        return Decision(Outcome.REINFORCED, same_statement.id)
    if not is_settled:
        return Decision(Outcome.PENDING)
    if same_key is None:
        return Decision(Outcome.ADDED)
    if origin.is_at_least(same_key.origin) and said_at >= same_key.said_at:
        return Decision(Outcome.SUPERSEDED, same_key.id)
    return Decision(Outcome.CONFLICT, same_key.id)
