"""Whether words stand in a text that may have been written as JSON, and as JSON inside of that. Pure."""

import re
from collections.abc import Collection, Iterable
from typing import Final

# Of hundreds of statements few begin with the same characters: more than "The user " has.
_BEGINNING_CHARS: Final = 12
_UNIT = re.compile(r"\\+u([0-9a-f]{4})", re.IGNORECASE)
_BLANK = re.compile(r"\\+[nrtvf]")


class Needles:
    """Hundreds of texts to be looked for in thousands, as they stand: in one reading of each, by how they begin."""

    def __init__(self, needles: Iterable[str]) -> None:
        self._short: list[str] = []
        self._by_beginning: dict[str, list[str]] = {}
        for needle in set(needles):
            if len(needle) < _BEGINNING_CHARS:
                self._short.append(needle)
            else:
                self._by_beginning.setdefault(needle[:_BEGINNING_CHARS], []).append(needle)
        self._beginnings = frozenset(self._by_beginning)

    def is_one_in(self, text: str) -> bool:
        places = range(len(text) - _BEGINNING_CHARS + 1)
        begun = self._beginnings.intersection([text[at : at + _BEGINNING_CHARS] for at in places])
        likely = (needle for beginning in begun for needle in self._by_beginning[beginning])
        return any(needle in text for needle in self._short) or any(needle in text for needle in likely)


class Wanted:
    """Words to be looked for in many texts, whatever their case, their blanks and the backslashes before them."""

    def __init__(self, words: Iterable[str]) -> None:
        forms = [forms for forms in map(_forms, set(words)) if all(forms)]
        self._spaced = Needles(spaced for spaced, _ in forms)
        self._joined = Needles(joined for _, joined in forms)

    def is_in(self, text: str) -> bool:
        spaced, joined = _forms(text)
        return self._spaced.is_one_in(spaced) or self._joined.is_one_in(joined)


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
