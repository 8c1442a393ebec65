"""What happens to a new statement next to what is already known. Pure: rows in, a decision out, no model asked."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memoryapp.policies.trust import Origin

KEY = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")


class Outcome(StrEnum):
    ADDED = "added"
    REINFORCED = "reinforced"
    SUPERSEDED = "superseded"
    CONFLICT = "conflict"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Known:
    """A live memory that the candidate may touch. ``affirmed_at``: when it was last said or confirmed."""

    id: UUID
    origin: Origin
    affirmed_at: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """``target``: the memory reinforced, superseded or in conflict."""

    outcome: Outcome
    target: UUID | None = None


def normalise(statement: str) -> str:
    """The form in which two statements are the same one: compatibility characters, case and punctuation ignored.

    Words, numbers, signs and their order stay, in any script: "invoice 1041" is not "invoice 1042", "I don't" is not "I
    do", "C" is not "C#", blood type A- is not A+, and a vowel sign makes another word. Idempotent.
    """
    text, folded = statement, _folded(statement)
    while folded != text:  # what was joined may compose, and what composed may fold again (UAX #15)
        text, folded = folded, _folded(folded)
    return folded


def says(text: str, statement: str) -> bool:
    """Whether ``text`` holds the very words of ``statement``."""
    return f" {normalise(statement)} " in f" {normalise(text)} "


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
    before the live value of its key was last affirmed is a conflict: late news does not overturn newer news silently.
    """
    is_settled = origin != Origin.UNTRUSTED and not needs_confirmation
    if same_statement and is_settled:
        return Decision(Outcome.REINFORCED, same_statement.id)
    if not is_settled:
        return Decision(Outcome.PENDING)
    if same_key is None:
        return Decision(Outcome.ADDED)
    if origin.is_at_least(same_key.origin) and said_at >= same_key.affirmed_at:
        return Decision(Outcome.SUPERSEDED, same_key.id)
    return Decision(Outcome.CONFLICT, same_key.id)


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _SIGN.sub(lambda sign: sign[1] or " ", text.translate(_SIGNIFICANT))
    return unicodedata.normalize("NFKC", " ".join(text.split()))


class _Significance(dict[int, str | None]):
    """A table for ``str.translate``, filled as characters come: None joins what is around it, a space parts it."""

    def __missing__(self, code: int) -> str | None:
        self[code] = found = _significance(chr(code))
        return found


def _significance(char: str) -> str | None:
    category = unicodedata.category(char)
    if char in _MINUS:
        return "-"
    if char in _JOINING or category == "Cf" or _is_variation_selector(char):
        return None
    is_kept = category[0] in "LMN" or (category[0] == "S" and category != "Sk") or char in _SIGNS
    return char if is_kept else " "


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


_MINUS = frozenset("-−‐‑")
_SIGNS = frozenset("%&§#")
# Apostrophes ("don't" is "dont"), and letters that show nothing: Hangul fillers, the combining grapheme joiner.
_JOINING = frozenset("'’ʼ\u115f\u1160\u034f")
# A dash is kept before a number and at the end of a word, "#" at the end of a word; elsewhere they part words.
_SIGN = re.compile(r"((?<![^\s#-])-(?=\d)|(?<=[^\s#-])[#-](?![^\s#-]))|[#-]")
_SIGNIFICANT = _Significance()
