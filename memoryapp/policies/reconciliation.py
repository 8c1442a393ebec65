"""What happens to a new statement next to what is already known. Pure: rows in, a decision out, no model asked."""

import re
import unicodedata
from collections.abc import Sequence
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
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that the candidate may touch.

    ``origin``: the strongest that ever said or confirmed it. ``affirmed_at``: when that was last done. ``held_until``:
    when a former value was replaced or taken for wrong; None for a live one.
    """

    id: UUID
    origin: Origin
    affirmed_at: datetime
    held_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """``target``: the memory reinforced, superseded (the first of them), in conflict, or known already."""

    outcome: Outcome
    target: UUID | None = None


def normalise(statement: str) -> str:
    """The form in which two statements are the same one: compatibility characters, case and punctuation ignored.

    Words, numbers, signs and their order stay, in any script: "invoice 1041" is not "invoice 1042", "1.5" is not "15",
    10⁵ is not 105, "I don't" is not "I do", "C" is not "C#", blood type A- is not A+, and a vowel sign makes another
    word. Idempotent.
    """
    if statement.isascii() and statement.isalnum():
        return statement.lower()  # most words of most statements: nothing else is done to them below
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
    same: Known | None = None,
    rivals: Sequence[Known] = (),
    former: Known | None = None,
) -> Decision:
    """What becomes of a statement beside what is known. In this order:

    1. ``same``, a live memory, says it already: reinforced; from an untrusted text it changes nothing and is ignored.
    2. ``former``, a replaced one, said it, and it was said before that was replaced: old news, ignored.
    3. It comes from an untrusted text, or its kind needs confirmation: it waits, whatever it says.
    4. ``rivals``, live memories that cannot hold beside it (another value of the same key, a denial), are superseded by
       an origin at least as strong that spoke no earlier than each was last affirmed. How often a rival was said does
       not count. Else it is a conflict: neither a weaker source nor late news overturns anything silently.
    5. It is added.
    """
    if same:
        return Decision(Outcome.IGNORED if origin == Origin.UNTRUSTED else Outcome.REINFORCED, same.id)
    if former and former.held_until and said_at <= former.held_until:
        return Decision(Outcome.IGNORED, former.id)
    if origin == Origin.UNTRUSTED or needs_confirmation:
        return Decision(Outcome.PENDING)
    for rival in rivals:
        if not origin.is_at_least(rival.origin) or said_at < rival.affirmed_at:
            return Decision(Outcome.CONFLICT, rival.id)
    return Decision(Outcome.SUPERSEDED, rivals[0].id) if rivals else Decision(Outcome.ADDED)


def affirms(origin: Origin, *, held: Origin) -> bool:
    """Whether saying a known statement again makes it younger: a tool or an import does not for what a person said."""
    return origin.is_at_least(held) or origin.is_at_least(Origin.MODEL_INFERRED)


def _folded(text: str) -> str:
    text = _RAISED.sub(r"^\g<0>", _FRACTION.sub(r" \g<0>", _QUOTE_IN_NUMBER.sub(" ", text)))
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
_SIGNS = frozenset("%&§#^.,")
# Apostrophes ("don't" is "dont"), and letters that show nothing: Hangul fillers, the combining grapheme joiner.
_JOINING = frozenset("'’ʼ\u115f\u1160\u034f")
# A dash is kept before a number and at the end of a word, "#" at the end of a word, a point and a comma inside a
# number, a point also before one (".5"); elsewhere they part words.
_SIGN = re.compile(
    r"((?<![^\s#.,-])-(?=\d)|(?<=[^\s#.,-])[#-](?![^\s#.,-])|(?<=\d)[.,](?=\d)|(?<!\S)\.(?=\d))|[#.,-]"
)
# What NFKC would run into the number before it: 10⁵, 1½. And what joins letters only: 5'11.
_RAISED = re.compile("(?<=\\S)[⁰¹²³⁴-⁹⁺⁻]+")
_FRACTION = re.compile(r"(?<=\d)[¼-¾⅐-⅞↉]")
_QUOTE_IN_NUMBER = re.compile(r"(?<=\d)['’ʼ](?=\d)")
_SIGNIFICANT = _Significance()
