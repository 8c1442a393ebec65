"""What a message still says beside the facts that were taken from it. Pure."""

import re
from collections.abc import Iterable

from memoryapp.policies.terms import terms

# Of a message's terms, the share that facts must say for it to be no news beside them; the rest is mostly what joins
# sentences ("by the way", "as I said").
COVERED_SHARE = 0.6
_GAPS = re.compile(r"(?:\s*…[\s.,;:!]*)+")


def without(text: str, quotes: Iterable[str]) -> str:
    """The text with "…" for each of these parts of it."""
    for quote in sorted(filter(None, quotes), key=len, reverse=True):
        text = text.replace(quote, "…")
    return _GAPS.sub(" … ", text).strip()


def is_covered(text: str, statements: Iterable[str]) -> bool:
    """Whether the statements say most of what the text says, by their words."""
    said = terms(text)
    stated = {term for statement in statements for term in terms(statement)}
    return sum(term in stated for term in said) >= COVERED_SHARE * len(said)
