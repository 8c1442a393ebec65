"""Letting go of a turn for a while: no thread is bound while it waits."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext_noop

from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import Retrying
from memoryapp.transcript.models import Turn

_WHY = {
    "model_rate_limited": gettext_noop("The model's rate limit is reached."),
    "model_overloaded": gettext_noop("The model is overloaded."),
    "model_timed_out": gettext_noop("The model did not answer in time."),
    "model_unreachable": gettext_noop("The model cannot be reached."),
}
_FAILED = gettext_noop("The model failed.")


@dataclass(slots=True)
class MustWait(Exception):
    """The turn cannot go on now. ``wait_s`` or ``until``: at most; ``message``: one sentence for people, that says why.

    ``model_failures``: calls in a row that the model did not answer.
    """

    reason: Turn.WaitReason
    message: str
    wait_s: float = 0
    until: datetime | None = None
    model_failures: int = 0


class LimitReachedError(MemoryAppError):
    """The run used up its steps, its tokens, its time or its money: ``limit``, in words."""

    code = "run_limit_reached"

    def __init__(self, limit: str) -> None:
        super().__init__(f"This took as much as one message may: the limit of {limit} is reached.")


class HandOver(Exception):
    """This worker is about to leave."""


def for_model(event: Retrying) -> MustWait:
    why = _WHY.get(event.reason, _FAILED)
    return MustWait(Turn.WaitReason.MODEL, why, wait_s=event.wait_s, model_failures=event.attempt)
