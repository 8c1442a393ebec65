"""What a worker knows of the turn it answers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chat import events
from chat.tools import Toolbox
from memoryapp.conf import Conf
from memoryapp.context.assembly import ContextWindow, Link
from memoryapp.context.recall import Recall
from memoryapp.llm.base import Cancellation, Usage
from memoryapp.policies.limits import Limits, Spent
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad.models import Run, Step
from memoryapp.scratchpad.operations import Spending
from memoryapp.scratchpad.pad import Pad
from memoryapp.transcript.claims import Claim
from memoryapp.transcript.models import Turn
from memoryapp.tuning import queries as tuning


@dataclass(slots=True)
class Progress:
    """What the run has so far. ``said`` is what the reader has seen, across all model calls.

    ``taint``: the weakest origin in the prompt, whatever part of it it came with.

    ``settled_chars``: of that, what a worker that takes over would say again by itself. ``usage`` and ``calls`` are
    those of the whole run.
    """

    claim: Claim
    turn: Turn
    run: Run
    cancellation: Cancellation
    tools: Toolbox
    steps: list[Step]
    pad: Pad
    taint: Origin
    window: ContextWindow
    chain: Sequence[Link]
    recalled: Recall
    checkpoints: int
    keep: Callable[[str], None]
    usage: Usage
    calls: int
    said: str = ""
    settled_chars: int = 0
    counted_tokens: int | None = None
    has_shrunk: bool = False
    began_at: float = field(default_factory=time.monotonic)

    @property
    def limits(self) -> Limits:
        return Limits.from_json(self.run.limits, otherwise=allowance(tuning.conf()))

    @property
    def active_ms(self) -> int:
        """What workers spent on the run until now, waiting apart."""
        return self.run.active_ms + round((time.monotonic() - self.began_at) * 1000)

    @property
    def spent(self) -> Spent:
        return _spent(self.usage, calls=self.calls, active_ms=self.active_ms)

    def spending(self, usage: Usage | None = None) -> Spending:
        """For the run's account. ``usage``: of a model call that has ended."""
        return Spending(usage, self.active_ms)

    def publish(self, event: events.Event) -> None:
        events.publish(self.claim.turn_id, event, attempt=self.claim.attempt)

    def say(self, delta: str) -> None:
        """Show it to the readers, and count it to the reply."""
        self.said += delta
        self.keep(self.said)
        self.publish({"type": "text", "delta": delta})

    def settle(self) -> None:
        """What was said until now is kept with a checkpoint."""
        self.settled_chars = len(self.said)


def allowance(conf: Conf) -> Limits:
    """How far a run may go before a person says to go on."""
    return Limits(
        model_calls=conf.run_max_steps,
        tokens=conf.run_max_tokens,
        seconds=conf.run_max_seconds,
        usd=conf.run_max_usd,
    )


def usage_of(run: Run) -> Usage:
    """What the run's model calls took so far."""
    cached = run.cache_read_tokens + run.cache_creation_tokens
    return Usage(
        input_tokens=run.input_tokens - cached,
        output_tokens=run.output_tokens,
        cache_read_tokens=run.cache_read_tokens,
        cache_creation_tokens=run.cache_creation_tokens,
    )


def spent_by(run: Run) -> Spent:
    """As far as it is recorded."""
    return _spent(usage_of(run), calls=run.model_calls, active_ms=run.active_ms)


def _spent(usage: Usage, *, calls: int, active_ms: int) -> Spent:
    conf = tuning.conf()
    tokens_in, tokens_out = usage.total_input_tokens, usage.output_tokens
    usd = conf.for_model(conf.chat_model).usd(input_tokens=tokens_in, output_tokens=tokens_out)
    return Spent(
        model_calls=calls,
        tokens=tokens_in + tokens_out,
        seconds=active_ms / 1000,
        usd=usd or 0.0,
    )
