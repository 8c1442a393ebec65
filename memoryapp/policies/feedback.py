"""What a person's word about a memory is worth: how sure it is afterwards. Pure.

With c the confidence before, 0..1:

| verdict      | afterwards                  | because |
|--------------|-----------------------------|---------|
| confirmed    | max(0.95, c + (1 - c) / 2)  | half of the doubt goes; it is at least as sure as what a person typed |
| corrected    | 0.95                        | the words are the person's own now, however sure the old ones were |
| wrong        | c / 4                       | and it is set aside, for a kind may ask for no confidence at all |
| not relevant | max(min(c, 0.5), 0.95 c)    | it is about one question more than about the memory: not below a half |

Confidence is a tie-breaker of recall (``policies.ranking``), and what a kind asks at least of its memories.
"""

from enum import StrEnum

from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin

DOUBT_LEFT = 0.5
WRONG_FACTOR = 0.25
NOT_RELEVANT_FACTOR = 0.95
NOT_RELEVANT_FLOOR = 0.5


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    WRONG = "wrong"
    NOT_RELEVANT = "not_relevant"


def confidence_after(verdict: Verdict, confidence: float) -> float:
    """``confidence`` as the table above moves it; within 0..1 for a value within 0..1."""
    typed = INITIAL_CONFIDENCE[Origin.USER_CONFIRMED]
    match verdict:
        case Verdict.CONFIRMED:
            return max(typed, 1 - (1 - confidence) * DOUBT_LEFT)
        case Verdict.CORRECTED:
            return typed
        case Verdict.WRONG:
            return confidence * WRONG_FACTOR
        case Verdict.NOT_RELEVANT:
            return max(min(confidence, NOT_RELEVANT_FLOOR), confidence * NOT_RELEVANT_FACTOR)
