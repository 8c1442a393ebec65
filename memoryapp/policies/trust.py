"""Who says so: the trust of a memory is decided by code, never by the model.

The order and the rules follow OWASP ASI06 and the origin-binding results of arXiv 2606.24322: a memory is as trusted
as the least trusted text in the prompt that produced it, and stays so.
"""

from collections.abc import Iterable
from enum import StrEnum


class Origin(StrEnum):
    """From the strongest to the weakest."""

    USER_TYPED = "user_typed"
    USER_CONFIRMED = "user_confirmed"
    MODEL_INFERRED = "model_inferred"
    TOOL = "tool"
    IMPORTED = "imported"
    UNTRUSTED = "untrusted"

    @property
    def rank(self) -> int:
        """0 is the strongest."""
        return list(Origin).index(self)

    @property
    def is_strangers(self) -> bool:
        """Whether somebody else may have written it: not the user, nor what the operator installed."""
        return not self.is_at_least(Origin.TOOL)

    def is_at_least(self, other: "Origin") -> bool:
        return self.rank <= other.rank


# For the columns that hold one: (value, label).
ORIGINS = [(origin.value, origin.value.replace("_", " ").capitalize()) for origin in Origin]


def weakest(origins: Iterable[Origin]) -> Origin:
    """The taint of a prompt: the weakest origin in it; ``USER_TYPED`` for an empty one."""
    return max(origins, key=lambda origin: origin.rank, default=Origin.USER_TYPED)


def own_words(taint: Origin) -> Origin:
    """The origin of a statement that a person's message holds word for word, in a prompt of this taint.

    What the model concluded or a tool of the house returned cannot change words that were typed; a stranger's text can
    have led the person to type them, or can be pasted in them.
    """
    return taint if taint.is_strangers else Origin.USER_TYPED


# First guesses, moved by confirmation and correction; only their order matters for ranking (a tie-breaker).
INITIAL_CONFIDENCE: dict[Origin, float] = {
    Origin.USER_TYPED: 0.95,
    Origin.USER_CONFIRMED: 0.95,
    Origin.MODEL_INFERRED: 0.75,
    Origin.TOOL: 0.6,
    Origin.IMPORTED: 0.6,
    Origin.UNTRUSTED: 0.3,
}
