"""As which bytes a word can lie in a file: the encodings that programs write text in."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

UTF_8: Final = "UTF-8"
SIGN_LETTERS: Final = 3  # by which all words of a run begin
BASE64_OFFSETS: Final = 3  # a word begins at the first, second or third byte of a group


@dataclass(frozen=True, slots=True)
class Pattern:
    """``data`` is exactly what stands in a file; ``encoding`` is for people.

    ``sign``: its first bytes, which the forms of other words that begin alike share. To look for a few signs is
    quicker than to look for every form of every word.
    """

    encoding: str
    data: bytes
    sign: bytes


def patterns(word: str) -> tuple[Pattern, ...]:
    """All but those that ``interrupted`` finds. No two are equal; each is long enough to occur by nothing but the word.

    ``word`` is ASCII, of eight letters at least.
    """
    found = {pattern.data: pattern for pattern in _all(word)}
    return tuple(found.values())


def _all(word: str) -> Iterator[Pattern]:
    data = word.encode()
    yield Pattern("upper case", data.upper(), data.upper()[:SIGN_LETTERS])
    for digits in (data.hex(), data.hex().upper()):
        yield Pattern("hex", digits.encode(), digits.encode()[: 2 * SIGN_LETTERS])
    for escape in ("&#x{:x};", "&#x{:X};", "&#X{:x};", "&#X{:X};", "&#{};"):
        yield Pattern("HTML", _escaped(data, escape), b"&#")
    for escape in ("\\u{:04x}", "\\u{:04X}"):
        yield Pattern("JSON \\u", _escaped(data, escape), b"\\u00")
    for escape in ("%{:02x}", "%{:02X}"):
        yield Pattern("URL", _escaped(data, escape), _escaped(data, escape)[:2])
    for offset in range(BASE64_OFFSETS):
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            whole = _whole_characters(encode(bytes(offset) + data), offset, len(data))
            yield Pattern("base64", whole, whole[:SIGN_LETTERS])


def _escaped(data: bytes, escape: str) -> bytes:
    return "".join(escape.format(byte) for byte in data).encode()


def _whole_characters(encoded: bytes, offset: int, length: int) -> bytes:
    """Those that no byte before or after the word has a part in: six bits each."""
    return encoded[-(-offset * 8 // 6) : (offset + length) * 8 // 6]


# What may stand between two letters: the high byte of UTF-16, and how the compressions of PostgreSQL (pglz) and Redis
# (LZF) count the bytes that they copy as they are. A word whose letters do not repeat is copied.
_BETWEEN: Final = rb"[\x00-\x1f]?"


def interrupted(word: str) -> "re.Pattern[bytes]":
    """Finds the word as it is, in UTF-16, and broken up by a compression; ``name`` tells which."""
    return re.compile(_BETWEEN.join(re.escape(letter).encode() for letter in word))


def name(found: bytes, word: str) -> str:
    """Which encoding a match of ``interrupted`` is in. Of UTF-16 both byte orders look alike from inside."""
    if len(found) == len(word):
        return UTF_8
    if found == "\x00".join(word).encode():
        return "UTF-16"
    return "pglz or LZF"


def longest(word: str) -> int:
    """No form of the word takes more bytes."""
    return max(len(pattern.data) for pattern in patterns(word))
