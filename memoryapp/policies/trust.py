"""Who says so: the trust of a memory is decided by code, never by the model.

The order and the rules follow OWASP ASI06 and the origin-binding results of arXiv 2606.24322: a memory is as trusted
as the least trusted text in the prompt that produced it, and stays so.
"""

import re
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

    def is_at_least(self, other: "Origin") -> bool:
        return self.rank <= other.rank


def weakest(origins: Iterable[Origin]) -> Origin:
    """The taint of a prompt: the weakest origin in it; ``USER_TYPED`` for an empty one."""
    return max(origins, key=lambda origin: origin.rank, default=Origin.USER_TYPED)


# First guesses, moved by confirmation and correction; only their order matters for ranking (a tie-breaker).
INITIAL_CONFIDENCE: dict[Origin, float] = {
    Origin.USER_TYPED: 0.95,
    Origin.USER_CONFIRMED: 0.95,
    Origin.MODEL_INFERRED: 0.75,
    Origin.TOOL: 0.6,
    Origin.IMPORTED: 0.6,
    Origin.UNTRUSTED: 0.3,
}

_SECRET_PATTERNS: dict[str, re.Pattern[str]] = {
    "an API key": re.compile(
        r"\b(?:sk-[A-Za-z0-9_-]{16,}|github_pat_\w{20,}|gh[pousr]_\w{20,}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,}"
        r"|AKIA[A-Z0-9]{16}|glpat-[\w-]{16,}|npm_\w{30,}|strata_[\w-]{20,})"
    ),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "a signed token": re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    "a password": re.compile(
        r"\b(?:password|passphrase|passcode|pin(?: code)?|one[- ]time code|otp|cvv|cvc)\b"
        r"(?:\s+\w+){0,3}?\s*(?:is|was|=|:)\s*['\"]?\S{3,}",
        re.IGNORECASE,
    ),
    "a social security number": re.compile(r"\b\d{3}-\d{2}-\d{4}\b"),
}
_CARD = re.compile(r"\b(?:\d[ -]?){13,19}\b")


def find_secret(text: str) -> str | None:
    """What kind of secret ``text`` holds ("a password"), or None. Secrets are never stored as memories."""
    for name, pattern in _SECRET_PATTERNS.items():
        if pattern.search(text):
            return name
    if any(_passes_luhn(match.group()) for match in _CARD.finditer(text)):
        return "a card number"
    return None


def _passes_luhn(text: str) -> bool:
    """ISO/IEC 7812-1, annex B."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
