"""How one text became another, word by word. Pure."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Sort = Literal["same", "added", "removed"]

# Longer texts are shown as replaced whole: comparing takes time that grows with the square of their words.
MAX_WORDS: Final = 800
# A text of which less than this share stays is easier to read as two texts than as a patchwork.
LEAST_SHARE: Final = 0.3
_PIECE: Final = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words. ``sort``: whether it is in both texts, in the new one only, or in the old one only."""

    sort: Sort
    text: str


def changes(old: str, new: str) -> list[Piece]:
    """In reading order; the texts of "same" and "removed" make up ``old``, those of "same" and "added" ``new``."""
    one, other = _PIECE.findall(old), _PIECE.findall(new)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if max(len(one), len(other)) > MAX_WORDS or matcher.ratio() < LEAST_SHARE:
        return [Piece(sort, text) for sort, text in _whole(old, new) if text]
    return list(_merged(_pieces(matcher, one, other)))


def _whole(old: str, new: str) -> list[tuple[Sort, str]]:
    return [("same", new)] if old == new else [("removed", old), ("added", new)]


def _pieces(matcher: "difflib.SequenceMatcher[str]", one: list[str], other: list[str]) -> Iterator[Piece]:
    for tag, from_, to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            yield Piece("same", "".join(one[from_:to]))
            continue
        if to > from_:
            yield Piece("removed", "".join(one[from_:to]))
        if new_to > new_from:
            yield Piece("added", "".join(other[new_from:new_to]))


def _merged(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """A space alone between two changes is a part of both: "Porto today" for "Lisbon now" is one change, not two."""
    waiting: dict[Sort, str] = {"removed": "", "added": ""}
    between = ""
    for piece in pieces:
        if piece.sort == "same" and piece.text.isspace() and any(waiting.values()):
            between += piece.text
            continue
        if piece.sort == "same":
            yield from _flushed(waiting)
            waiting = {"removed": "", "added": ""}
            yield Piece("same", between + piece.text)
        else:
            if between:
                waiting = {sort: text + between for sort, text in waiting.items()}
            waiting[piece.sort] += piece.text
        between = ""
    yield from _flushed(waiting)
    if between:
        yield Piece("same", between)


def _flushed(waiting: dict[Sort, str]) -> Iterator[Piece]:
    for sort, text in waiting.items():
        if text:
            yield Piece(sort, text)
