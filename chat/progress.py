"""What a worker knows of the turn it answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chat import events
from memoryapp.context.assembly import ContextWindow, Link
from memoryapp.context.recall import Recall
from memoryapp.llm.base import Usage
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad.models import Run
from memoryapp.scratchpad.pad import Pad
from memoryapp.transcript.models import Turn
from memoryapp.transcript.operations import Claim


@dataclass(slots=True)
class Progress:
    """What the run has so far. ``said`` is what the reader has seen, across all model calls."""

    claim: Claim
    turn: Turn
    run: Run
    pad: Pad
    taint: Origin
    window: ContextWindow
    chain: Sequence[Link]
    recalled: Recall
    checkpoints: int
    deadline: float
    keep: Callable[[str], None]
    said: str = ""
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    counted_tokens: int | None = None
    has_shrunk: bool = False

    def publish(self, event: events.Event) -> None:
        events.publish(self.claim.turn_id, event, attempt=self.claim.attempt)

    def say(self, delta: str) -> None:
        """Show it to the readers, and count it to the reply."""
        self.said += delta
        self.keep(self.said)
        self.publish({"type": "text", "delta": delta})
