"""How a new statement stands to one that is known: the same, another answer to the same question, or neither. Pure."""

from enum import StrEnum

from memoryapp.policies.likeness import anchor, essence, is_denial, is_same
from memoryapp.policies.slots import slot_of

# Of an object whose words are written in several ways ("favourite colour"): what questions about it have in common.
_ASKED_BY = {"favourite": "favo"}


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


def anchors(statement: str) -> frozenset[str]:
    """Parts of words, in small letters, of which every statement that is not apart from this one holds one.

    But for those that share a slot without an object: they are found by their key.
    """
    slot, _, thing = slot_of(statement).partition(":")
    about = _ASKED_BY.get(slot) or anchor(thing.replace("|", " ").split())
    return frozenset(filter(None, (essence(statement).anchor, about)))
