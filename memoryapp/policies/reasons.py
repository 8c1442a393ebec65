"""Reasons that people give for what they do to others: text that can be read. Pure."""

import re
import unicodedata
from typing import Final

from memoryapp.errors import InvalidInputError, gettext_noop
from memoryapp.policies.flags import storable
from memoryapp.policies.secrets import find_secret

LEAST_CHARS: Final = 3
# What makes a line read otherwise than it is written: embeddings, overrides and isolates.
_REORDERING: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


class ReasonMissingError(InvalidInputError):
    """Why there is no reason to keep: ``template``, filled with ``values``, so that pages can translate them."""

    code = "reason_missing"

    def __init__(self, template: str, **values: str | int) -> None:
        super().__init__(template.format(**values))
        self.template = template
        self.values = values


def cleaned(reason: str, *, max_chars: int) -> str:
    """In one line, without characters that show nothing. Raises ``ReasonMissingError``."""
    if _REORDERING.search(reason):
        raise ReasonMissingError(
            gettext_noop("Say why in plain text: this holds characters that change how it reads.")
        )
    plain = " ".join(storable(reason).split())
    if sum(map(_is_seen, plain)) < LEAST_CHARS or len(plain) > max_chars:
        raise ReasonMissingError(
            gettext_noop("Say why, in {least} to {most} characters that can be read."),
            least=LEAST_CHARS,
            most=max_chars,
        )
    secret = find_secret(plain)
    if secret:
        raise ReasonMissingError(gettext_noop("Say why without {secret}: others read it."), secret=secret)
    return plain


def _is_seen(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNPS" and character not in _BLANK_LETTERS
