"""How the model's window is shared out. Pure arithmetic over tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoryapp.llm.base import ModelLimits

# In a window so small that the longest reply would fill it, a quarter is for the reply and the rest for input.
OUTPUT_SHARE = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """All in tokens. Output is reserved first; what is left over is history's."""

    window_tokens: int
    reserve_output_tokens: int
    fixed_tokens: int
    scratchpad_tokens: int

    @property
    def input_tokens(self) -> int:
        """What a prompt may hold at most: window − reserved output; never negative."""
        return max(self.window_tokens - self.reserve_output_tokens, 0)

    @property
    def history_tokens(self) -> int:
        """window − reserved output − system and tools − scratchpad; never negative."""
        return max(self.input_tokens - self.fixed_tokens - self.scratchpad_tokens, 0)


def share_out(limits: ModelLimits, *, fixed_tokens: int = 0, scratchpad_tokens: int = 0) -> Budget:
    """The budget of a prompt. ``limits``: with the longest reply that model and configuration allow."""
    return Budget(
        window_tokens=limits.window_tokens,
        reserve_output_tokens=min(limits.max_output_tokens, limits.window_tokens // OUTPUT_SHARE),
        fixed_tokens=fixed_tokens,
        scratchpad_tokens=scratchpad_tokens,
    )


def newest_that_fit(turn_tokens: Sequence[int], *, allowance_tokens: int) -> int:
    """How many of the newest whole turns fit; ``turn_tokens`` is in order, oldest first."""
    used = 0
    for count, tokens in enumerate(reversed(turn_tokens)):
        used += tokens
        if used > allowance_tokens:
            return count
    return len(turn_tokens)
