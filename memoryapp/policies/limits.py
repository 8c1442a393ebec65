"""How far a run may go, and what it has used of that. Pure."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Limits:
    """``seconds`` of work, waiting apart; ``tokens`` in and out; ``usd``: 0 is no limit."""

    model_calls: int
    tokens: int
    seconds: float
    usd: float = 0.0

    @classmethod
    def from_json(cls, data: dict[str, float], *, otherwise: "Limits") -> Self:
        """As stored; ``otherwise`` fills what an older record does not say."""
        return cls(
            model_calls=int(data.get("model_calls", otherwise.model_calls)),
            tokens=int(data.get("tokens", otherwise.tokens)),
            seconds=data.get("seconds", otherwise.seconds),
            usd=data.get("usd", otherwise.usd),
        )

    def to_json(self) -> dict[str, float]:
        return {
            "model_calls": self.model_calls,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "usd": self.usd,
        }

    def above(self, spent: "Spent") -> "Limits":
        """The same allowance once more, on top of what is spent: for a person who says to go on."""
        return replace(
            self,
            model_calls=self.model_calls + spent.model_calls,
            tokens=self.tokens + spent.tokens,
            seconds=self.seconds + spent.seconds,
            usd=self.usd + spent.usd if self.usd else 0.0,
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """``usd`` is 0 where nobody told the model's prices."""

    model_calls: int
    tokens: int
    seconds: float
    usd: float = 0.0


def reached(limits: Limits, spent: Spent) -> str:
    """The limit that leaves no room for another model call, in words that follow "the limit of"; "" when there is."""
    if spent.model_calls >= limits.model_calls:
        return f"{limits.model_calls} steps"
    if spent.tokens >= limits.tokens:
        return f"{limits.tokens:,} tokens"
    if spent.seconds >= limits.seconds:
        return f"{limits.seconds:,.0f} seconds of work"
    if limits.usd and spent.usd >= limits.usd:
        return f"${limits.usd:,.2f}"
    return ""
