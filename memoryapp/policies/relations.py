"""How a new statement stands to one that is known: the same, another answer to the same question, or neither. Pure."""

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum

from memoryapp.policies.likeness import beginnings, essence, is_denial, is_same
from memoryapp.policies.slots import slot_of

MIN_ANCHOR = 3  # letters; a shorter part is in nearly every statement
MAX_ANCHOR = 40  # letters; the time to find a part grows with the cube of its length
# Of an object whose words are written in several ways ("favourite colour"): what questions about it have in common.
_ASKED_BY = {"favourite": "favo"}
# Letters that are one character in some texts, and fold to these (UAX #15).
_LIGATURES = (("ss", "ß"), ("fi", "ﬁ"), ("fl", "ﬂ"))
# "I only drink green tea, never coffee": what is denied there is not what is said.
_CONTRAST = re.compile(r",\s+(?:and |but )?(?:never|not)\s[^,;]+$", re.IGNORECASE)


class Relation(StrEnum):
    SAME = "same"
    RIVAL = "rival"  # both cannot hold at the same time
    APART = "apart"


def relation(new: str, known: str) -> Relation:
    """By their texts alone; keys, origins and times are the business of ``reconciliation.decide``."""
    if is_same(new, known):
        return Relation.SAME
    slot = slot_of(new)
    if is_denial(new, known) or (slot and slot == slot_of(known)):
        return Relation.RIVAL
    return Relation.APART


def without_contrast(statement: str) -> str:
    """What it says, without that from which it sets itself off at its end."""
    return _CONTRAST.sub("", statement)


def anchors(statement: str) -> frozenset[str]:
    """Parts of words, in small letters, of which every statement that is not apart from this one holds one as written.

    "" among them: there is no such part, and every statement is to be compared. Empty: nothing is said. But for those
    that share a slot without an object: they are found by their key.
    """
    words = [stem for phrase in essence(statement).stems for stem in phrase]
    if not words:
        return frozenset()
    slot, _, thing = slot_of(statement).partition(":")
    found = _anchor(words, statement)
    if slot in _ASKED_BY:
        found |= {_ASKED_BY[slot]}
    elif thing:
        found |= _anchor(thing.replace("|", " ").split(), statement)
    return frozenset([""]) if "" in found else found


def _anchor(stems: Iterable[str], statement: str) -> frozenset[str]:
    """The parts for one of these stems: for that whose shortest part is the longest."""
    choices = [_as_written(beginnings(stem), statement) for stem in sorted(set(stems))]
    longest = max(filter(None, choices), key=lambda parts: min(map(len, parts)), default=frozenset([""]))
    return longest if all(map(_is_telling, longest)) else frozenset([""])


def _is_telling(part: str) -> bool:
    return len(part) >= MIN_ANCHOR or not (part.isascii() or _is_cased(part))


def _is_cased(part: str) -> bool:
    return part.upper() != part


def _as_written(forms: frozenset[str], statement: str) -> frozenset[str]:
    written = statement.lower()
    parts = {form if len(forms) > 1 else _longest_common(form, written) for form in forms}
    parts = {max(_plain_runs(part), key=len, default="") for part in parts}
    return frozenset(spelt for part in parts for spelt in _spellings(part))


def _longest_common(word: str, written: str) -> str:
    """Of "o'reilly" and "straße" the part that holds neither apostrophe nor ß: normalised and as written alike."""
    runs = (
        run[start : start + length]
        for run in _plain_runs(word[:MAX_ANCHOR])
        for length in range(len(run), 0, -1)
        for start in range(len(run) - length + 1)
    )
    return max((run for run in runs if run in written), key=len, default="")


def _plain_runs(word: str) -> list[str]:
    """Between the letters that may be written as one character or as two (é)."""
    return "".join(" " if _is_composed(char) else char for char in word).split()


def _is_composed(char: str) -> bool:
    return unicodedata.decomposition(char) != "" or unicodedata.combining(char) != 0


def _spellings(part: str) -> set[str]:
    return {part} | {part.replace(letters, sign) for letters, sign in _LIGATURES}
