"""Letting go of a turn for a while: no thread is bound while it waits."""

from dataclasses import dataclass

from memoryapp.llm.base import Retrying
from memoryapp.transcript.models import Turn

_WHY = {
    "model_rate_limited": "The model's rate limit is reached",
    "model_overloaded": "The model is overloaded",
    "model_timed_out": "The model did not answer in time",
    "model_unreachable": "The model cannot be reached",
}


@dataclass(slots=True)
class MustWait(Exception):
    """The turn cannot go on now. ``wait_s``: at most; ``message``: one sentence for people, that says why.

    ``model_failures``: calls in a row that the model did not answer.
    """

    reason: Turn.WaitReason
    message: str
    wait_s: float
    model_failures: int = 0


class HandOver(Exception):
    """This worker is about to leave."""


def for_model(event: Retrying) -> MustWait:
    why = _WHY.get(event.reason, "The model failed")
    return MustWait(Turn.WaitReason.MODEL, f"{why}.", event.wait_s, event.attempt)
