"""What recall has considered for a question, and the verdict on each: facts, past messages, experiences."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from memoryapp.longterm.models import Experience, Memory
from memoryapp.policies.trust import Origin
from memoryapp.transcript.queries import PastMessage

Sort = Literal["fact", "turn", "experience"]
What = TypeVar("What", Memory, PastMessage, Experience)

ALWAYS_USED = "always used"
OVER_STANDING = "over the limit of what is always used"
BY_KEY = "asked by key"
RELEVANT = "relevant"
SIMILAR_GOAL = "a similar goal"
BELOW_CUTOFF = "below the cutoff"
OVER_BUDGET = "over budget"
BETTER_GIVEN = "better ones were given"
SAME_WORDS = "the same words are in already"
SOURCE_OF_FACT = "a fact from it is in already"
REPLACED = "what it says was replaced"
ONLY_A_QUESTION = "only a question"
WAITS = "what it says waits for a word"
UNAVAILABLE = "memory unavailable"


@dataclass(frozen=True, slots=True)
class Considered:
    """One candidate: how it was found, its calibrated confidence, and the verdict.

    ``arms``: a number for each way in which it was compared, None where it could not be. ``score`` orders candidates
    of all sorts; ``confidence`` is the probability that it answers the question (None for what is always used, unless
    the question called for it), or of an experience how near its goal is. ``excerpt``: what of a message stands in the
    prompt, where that is not all of it. ``trust``: of a fact, where its person's word makes it more than its origin.
    """

    what: Memory | PastMessage | Experience
    arms: Mapping[str, float | None]
    confidence: float | None
    score: float
    included: bool
    reason: str
    excerpt: str = ""
    trust: Origin | None = None

    @property
    def sort(self) -> Sort:
        match self.what:
            case Memory():
                return "fact"
            case PastMessage():
                return "turn"
            case _:
                return "experience"

    @property
    def is_at_hand(self) -> bool:
        """Whether it is always used, and the question did not call for it."""
        return self.reason == ALWAYS_USED and not self.arms

    @property
    def memory(self) -> Memory:
        """Of a fact. Raises TypeError for other sorts."""
        return _is(self.what, Memory)

    @property
    def message(self) -> PastMessage:
        """Of a turn. Raises TypeError for other sorts."""
        return _is(self.what, PastMessage)

    @property
    def experience(self) -> Experience:
        """Of an experience. Raises TypeError for other sorts."""
        return _is(self.what, Experience)

    @property
    def text(self) -> str:
        """Its own words: a statement, a message, a goal."""
        match self.what:
            case Memory():
                return self.what.statement
            case PastMessage():
                return self.what.text
            case _:
                return self.what.goal

    @property
    def taint(self) -> Origin:
        """What it brings into a prompt."""
        return self.trust or Origin(
            self.what.taint if isinstance(self.what, PastMessage) else self.what.origin
        )


def left_out(item: Considered, reason: str) -> Considered:
    return replace(item, included=False, reason=reason)


def _is(what: object, sort: type[What]) -> What:
    if not isinstance(what, sort):
        raise TypeError(f"It is a {type(what).__name__}, not a {sort.__name__}.")
    return what
