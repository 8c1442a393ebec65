"""Whether words stand in a text that may have been written as JSON, and as JSON inside of that. Pure."""

import re
from collections.abc import Collection, Iterable

_UNIT = re.compile(r"\\+u([0-9a-f]{4})", re.IGNORECASE)
_BLANK = re.compile(r"\\+[nrtvf]")


class Wanted:
    """Words to be looked for in many texts, whatever their case, their blanks and the backslashes before them."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [forms for forms in map(_forms, set(words)) if all(forms)]

    def is_in(self, text: str) -> bool:
        spaced, joined = _forms(text)
        return any(one in spaced or other in joined for one, other in self._words)


def holds_any(texts: Collection[str], words: Iterable[str]) -> bool:
    """Whether one of the words stands in one of the texts as it is, whatever the case."""
    told = "\0".join(texts).casefold()
    return any(word.casefold() in told for word in words)


def _forms(text: str) -> tuple[str, str]:
    """Without escapes, and in one with blanks for those that may have meant one: in ``C:\\new`` nobody can tell."""
    plain = _UNIT.sub(lambda unit: chr(int(unit[1], 16)), text)
    # Pairs of surrogates are characters again.
    plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace").casefold()
    return _bare(_BLANK.sub(" ", plain)), _bare(plain)


def _bare(text: str) -> str:
    return " ".join(text.replace("\\", "").split())
