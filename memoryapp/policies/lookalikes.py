"""Words in a text, in whatever characters they are written: "café" in one character less or more, in wide letters, with
a soft hyphen in it. Pure.

Two texts look alike when they are equal without case, compatibility forms and characters that show nothing: NFKC and
case folding (Unicode, chapters 3.11 and 3.13), and the property Default_Ignorable_Code_Point. Two names, and two
statements of which one was forgotten, also do when letters of other scripts are taken for the Latin ones that they look
like (UTS #39, confusables.txt).
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from memoryapp.policies.languages import LETTER

# DerivedCoreProperties.txt of Unicode 14 and later: soft hyphens, zero widths, directions, fillers, selectors, tags.
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# Cyrillic, Greek, Armenian and Latin letters, capitals and small ones; below each that of ASCII that it looks like.
_LATIN: Final = str.maketrans(
    "\u0410\u0412\u0421\u0415\u050c\u041d\u0406\u04c0\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0474\u051c"
    "\u0425\u0423\u04ae\u042c"
    "\u0430\u0441\u0501\u0435\u04bd\u04bb\u0456\ua647\u0458\u043a\u04cf\u043e\u0440\u051b\u0433\u0455\u0475"
    "\u0461\u051d\u0445\u0443\u04af"
    "\u0391\u0392\u0395\u03dc\u0397\u0399\u037f\u039a\u039c\u03fa\u039d\u039f\u03a1\u03a4\u03a7\u03a5\u0396"
    "\u03b1\u03b9\u03f3\u03ba\u03bf\u03c1\u1d26\u03c5\u03bd\u03b3"
    "\u0555\u054f\u054d"
    "\u0584\u0581\u0570\u0578\u0585\u0563\u057d\u0561"
    "\ua7b4\u01a6\ua7b3\u0184\u0196"
    "\u0251\u1d04\uab32\uab35\u018d\u0261\u0131\u0269\u026a\u01c0\u1d0f\u1d11\uab3d\uab48\u01bd\ua731\u1d1c"
    "\ua79f\u1d20\u026f\u1d21\u0263\u028f\u1d22",
    "ABCEGHIIJKMOPSTVW"
    "XYYb"
    "acdeehiijklopqrsv"
    "wwxyy"
    "ABEFHIJKMMNOPTXYZ"
    "aijkopruvy"
    "OSU"
    "fghnoquw"
    "BRXbl"
    "acefggiiilooorssu"
    "uvwwyyz",
)


class Sought:
    """Words to be found wherever they seem to stand, whatever their case and the blanks between them.

    ``whole``: not inside longer words.
    """

    def __init__(self, words: str, *, whole: bool = False) -> None:
        parts = _folded(words).split()
        pattern = r"\s+".join(map(re.escape, parts))
        self._pattern = re.compile(bounded(pattern) if whole else pattern) if parts else None

    def __bool__(self) -> bool:
        """Whether there is anything to be seen in them."""
        return self._pattern is not None

    def is_in(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(_folded(text)) is not None

    def found_in(self, text: str) -> list[str]:
        """The words as they stand in the text, each time."""
        return [text[begin:end] for begin, end in self._places(text)]

    def replaced(self, text: str, mark: str) -> str:
        """The text with ``mark`` in place of the words; the rest of it is as it was."""
        parts, at = [], 0
        for begin, end in self._places(text):
            parts += [text[at:begin], mark]
            at = end
        return "".join([*parts, text[at:]])

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where they stand, in order and apart: of a character that is more than one of theirs, all is taken."""
        if self._pattern is None or not self.is_in(text):
            return
        units = list(_units(text))
        folded = [_folded(unit) for unit in units]
        # Where each unit begins, in the text and when folded.
        begins = [0, *accumulate(map(len, units))]
        folded_begins = [0, *accumulate(map(len, folded))]
        taken = 0
        for match in self._pattern.finditer("".join(folded)):
            first = bisect_right(folded_begins, match.start()) - 1
            last = bisect_right(folded_begins, match.end() - 1) - 1
            begin, end = max(begins[first], taken), begins[last + 1]
            if begin < end:
                yield begin, end
                taken = end


def bounded(pattern: str) -> str:
    """The pattern where it does not begin or end within a word of a script that puts blanks between words."""
    return rf"(?:(?<!{LETTER})|(?!{LETTER})){pattern}(?:(?!{LETTER})|(?<!{LETTER}))"


def plain(text: str) -> str:
    """In the characters that it looks like: compatibility forms and what shows nothing are gone, the case stays."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", text))


def latin(text: str) -> str:
    """With the Latin letters that letters of other scripts look like; all else stays."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text).translate(_LATIN)
    return unicodedata.normalize("NFC", apart)


def shapes(name: str) -> frozenset[str]:
    """Two names that share one can be taken for each other."""
    return frozenset({_folded(name), _folded(latin(plain(name)))})


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", plain(text).casefold())


def _units(text: str) -> Iterator[str]:
    """The text in parts that fold by themselves: a character with the marks and the unseen ones that follow it."""
    begin = 0
    for place, char in enumerate(text):
        if place > begin and not _goes_on(char):
            yield text[begin:place]
            begin = place
    if begin < len(text):
        yield text[begin:]


def _goes_on(char: str) -> bool:
    """Whether it belongs to the character before it: it may become one with it."""
    if char.isascii():
        return False
    first = unicodedata.normalize("NFKD", char)[0]
    is_part_of_syllable = "\u1160" <= first <= "\u11ff"  # a vowel or an ending of Hangul
    return is_part_of_syllable or unicodedata.category(first).startswith("M") or bool(_UNSEEN.match(char))
