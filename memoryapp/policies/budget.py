"""How the model's window is shared out. Pure arithmetic over tokens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """All in tokens. Output is reserved first; what is left over is history's."""

    window_tokens: int
    reserve_output_tokens: int
    fixed_tokens: int
    scratchpad_tokens: int

    @property
    def history_tokens(self) -> int:
        """window − reserved output − system and tools − scratchpad; never negative."""
        left = self.window_tokens - self.reserve_output_tokens - self.fixed_tokens - self.scratchpad_tokens
        return max(left, 0)


def newest_that_fit(turn_tokens: list[int], *, allowance_tokens: int) -> int:
    """How many of the newest whole turns fit; ``turn_tokens`` is in order, oldest first."""
    used = 0
    for count, tokens in enumerate(reversed(turn_tokens)):
        used += tokens
        if used > allowance_tokens:
            return count
    return len(turn_tokens)
