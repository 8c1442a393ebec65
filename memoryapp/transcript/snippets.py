"""Where in a text the words are that a search sought: the folding of ``transcript_words``, with places."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# The same characters as in the database's function, where it says why. Its answers are what is found; a difference
# between the two versions of Unicode would only cost a mark in a snippet.
_UNSPACED = (
    r"\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3031-\u312f\u3190-\u31ff\u3400-\u4dbf"
    r"\u4e00-\ua4cf\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LEFT_OUT = (
    r"\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    r"\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff"
)
_INDIC = r"\u0900-\u0963\u0970-\u0dff"  # their vowel signs are no letters to Python
_FOLDED_LETTERS = str.maketrans(
    {
        "ø": "o",
        "đ": "d",
        "ł": "l",
        "ħ": "h",
        "ŧ": "t",
        "ı": "i",
        "ς": "σ",
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
    }
)
_IGNORED = re.compile(f"[{_LEFT_OUT}]")
# A run of decomposed Hangul, one character of a script without spaces with the accents on it, or a word.
_WORD = re.compile(
    f"[\\u1100-\\u11ff]+|[{_UNSPACED}][{_LEFT_OUT}\\u3099\\u309a]*"
    f"|(?:(?![{_UNSPACED}])[^\\W_]|[{_LEFT_OUT}{_INDIC}])+"
)
_FOLDED_WORD = re.compile(f"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\\W_]|[{_INDIC}])+")
_SPACE = re.compile(r"\s+")

Snippet = tuple[tuple[str, bool], ...]
Sequences = Collection[tuple[str, ...]]


class Word(NamedTuple):  # made by the ten thousand: four times as fast as a frozen dataclass
    """A folded word and the part of the text that it stands for."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Match:
    start: int
    end: int
    what: tuple[str, ...]


def words_in(text: str) -> list[Word]:
    """Every word in order; half-width or decomposed characters may share a place."""
    folded: dict[str, list[str]] = {}  # most words of a text come again
    words: list[Word] = []
    for found in _WORD.finditer(text):
        written = found.group()
        if written not in folded:
            folded[written] = _folded(written)
        start, end = found.span()
        words += [Word(word, start, end) for word in folded[written]]
    return words


def is_unspaced(word: str) -> bool:
    """Whether it is one character of a script that writes no spaces between words."""
    return len(word) == 1 and re.match(f"[{_UNSPACED}]", word) is not None


def snippet(text: str, words: Sequence[Word], sought: Sequences, *, max_chars: int) -> Snippet:
    """The part of the text that holds most of what was sought, on one line, as pieces ``(text, is_match)``.

    ``words`` are those of the text. At most ``max_chars`` of it, with an ellipsis where it goes on; its beginning when
    nothing sought is in it.
    """
    matches = list(_matches(words, sought))
    start, end = _window(text, matches, max_chars=max_chars)
    pieces: list[tuple[str, bool]] = [("…", False)] if start else []
    at = start
    for match in matches:
        if match.end > at and match.start < end:
            pieces.append((text[at : max(at, match.start)], False))
            pieces.append((text[max(at, match.start) : min(match.end, end)], True))
            at = min(match.end, end)
    pieces += [(text[at:end], False), ("…" if end < len(text) else "", False)]
    return _joined(pieces)


def _folded(written: str) -> list[str]:
    if written.isascii():
        return [written.lower()]
    bare = _IGNORED.sub("", unicodedata.normalize("NFKD", written))
    return _FOLDED_WORD.findall(unicodedata.normalize("NFC", bare).lower().translate(_FOLDED_LETTERS))


def _matches(words: Sequence[Word], sought: Sequences) -> Iterator[_Match]:
    """In order of their places; they may overlap."""
    beginning_with: dict[str, list[tuple[str, ...]]] = {}
    for what in sought:
        beginning_with.setdefault(what[0], []).append(what)
    for place, word in enumerate(words):
        for what in beginning_with.get(word.text, ()):
            run = words[place : place + len(what)]
            if tuple(each.text for each in run) == what:
                yield _Match(word.start, run[-1].end, what)


def _window(text: str, matches: Sequence[_Match], *, max_chars: int) -> tuple[int, int]:
    """The half-open part with the most different things sought, the first of several; a quarter of it leads up."""
    if len(text) <= max_chars:
        return 0, len(text)
    lead = max_chars // 4
    first = max(
        range(len(matches)),
        key=lambda place: (_variety(matches, place, max_chars - lead), -place),
        default=None,
    )
    start = 0 if first is None else max(0, min(matches[first].start - lead, len(text) - max_chars))
    kept_until = max_chars if first is None else matches[first].start
    start = _after_space(text, start, kept_until)
    return start, _before_space(text, start, min(start + max_chars, len(text)))


def _variety(matches: Sequence[_Match], place: int, max_chars: int) -> int:
    until = bisect_left(matches, matches[place].start + max_chars, lo=place, key=lambda match: match.end)
    return len({match.what for match in matches[place:until]})


def _after_space(text: str, start: int, limit: int) -> int:
    """The next beginning of a word, where one is near; never inside what is drawn as one character."""
    if start == 0:
        return 0
    space = _SPACE.search(text, start - 1, min(limit, start + 20))
    return space.end() if space else _whole_character(text, start)


def _before_space(text: str, start: int, end: int) -> int:
    if end == len(text):
        return end
    near = max(start, end - 20)
    last = max((text.rfind(space, near, end + 1) for space in " \n"), default=-1)
    return last if last > start else _whole_character(text, end)


def _whole_character(text: str, place: int) -> int:
    """Back to where the character at this place begins: its accents, joiners and skin tones belong to it."""
    while 0 < place < len(text) and (_continues(text[place]) or text[place - 1] == "\u200d"):
        place -= 1
    return place


def _continues(character: str) -> bool:
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character in "\u200d\ufe0f"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _joined(pieces: Sequence[tuple[str, bool]]) -> Snippet:
    """Without empty pieces, neighbours of a kind in one, and white space as single spaces."""
    joined: list[tuple[str, bool]] = []
    for piece, is_match in pieces:
        text = _SPACE.sub(" ", piece)
        if joined and joined[-1][1] == is_match:
            joined[-1] = (joined[-1][0] + text, is_match)
        elif text:
            joined.append((text, is_match))
    return tuple(joined)
