"""The bytes of a JSON file, mended where a strict parser or the database would refuse them."""

import codecs
import re
from collections.abc import Callable
from typing import Final, Protocol

from memoryapp.portability.importers.errors import FileTooLargeError, UnreadableFileError

# The parser looks at all of an unfinished text again with each chunk: 64 kB take ten times as long for 50 MB.
CHUNK_BYTES: Final = 256 * 1024
_BOM: Final = codecs.BOM_UTF8
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}".encode()
# All that JSON allows nowhere, NUL first of all; tabs and ends of lines are allowed between values.
_CONTROL: Final = bytes(set(range(0x20)) - set(b"\t\n\r"))
# A backslash escaped, a whole surrogate pair, half of one, a NUL. The first two are matched to be left alone.
_ESCAPE: Final = re.compile(
    rb"\\(?:\\"
    rb"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|(u0000))"
)
# What may be the beginning of an escape, or of a pair, that the next chunk goes on with.
_UNFINISHED: Final = re.compile(
    rb"\\(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?))?\Z"
)
_LONGEST_UNFINISHED: Final = 11
# Python refuses to read whole numbers of more than 4,300 digits, and ijson 3.6.0 crashes the process where it does.
_MOST_DIGITS: Final = 1_000
_DIGITS: Final = b"0123456789"
_TWO_DIGITS: Final = re.compile(rb"[0-9]{2}")
_LONG_NUMBER: Final = re.compile(rb"[0-9]{%d}" % _MOST_DIGITS)


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class CleanBytes:
    """A file of bytes to read JSON from: valid UTF-8, no NUL, no half of a surrogate pair, no byte order mark.

    ``damaged`` counts what was replaced or removed, ``on_read`` is told how many bytes of the original were read.
    Refuses to go on after ``token_bytes`` without a text that begins or ends: they are one text, and a parser keeps
    all of it. Refuses numbers of a thousand digits.
    """

    def __init__(self, raw: Readable, *, token_bytes: int, on_read: Callable[[int], None]) -> None:
        self.damaged = 0
        self._raw = raw
        self._token_bytes = token_bytes
        self._on_read = on_read
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = b""
        self._since_token = 0
        self._is_first = True
        self._is_in_text = False
        self._digits = 0  # at the end of what was given out

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """About as much as asked for; nothing at the end of the file only."""
        if size == 0:
            return b""
        while True:
            raw = self._raw.read(CHUNK_BYTES)
            self._on_read(len(raw))
            clean = self._cleaned(raw, is_last=not raw)
            quotes = _quotes(clean)
            self._refuse_long_numbers(clean)
            self._is_in_text ^= quotes % 2 == 1
            self._since_token = 0 if quotes else self._since_token + len(clean)
            if self._since_token > self._token_bytes:
                raise FileTooLargeError(limit=self._token_bytes)
            if clean or not raw:
                return clean

    def _cleaned(self, raw: bytes, *, is_last: bool) -> bytes:
        if self._is_first:
            raw, self._is_first = raw.removeprefix(_BOM), False
        allowed = raw.translate(None, _CONTROL)
        self.damaged += len(raw) - len(allowed)
        chunk = self._held + self._valid_utf8(allowed, is_last=is_last)
        self._held = b""
        if not is_last:
            start = _unfinished_from(chunk)
            chunk, self._held = chunk[:start], chunk[start:]
        if b"\\ud" in chunk or b"\\uD" in chunk or b"\\u0000" in chunk:
            chunk = _ESCAPE.sub(self._mended, chunk)
        return chunk

    def _refuse_long_numbers(self, chunk: bytes) -> None:
        """In texts they are allowed: whether one is in a text is a matter of how many quotes stand before it."""
        leading = len(chunk) - len(chunk.lstrip(_DIGITS))
        if self._digits + leading >= _MOST_DIGITS and not self._is_in_text:
            raise UnreadableFileError
        # A look at every 500th byte tells most chunks to be free of them, at a hundredth of the cost.
        may_have = _TWO_DIGITS.search(chunk[:: _MOST_DIGITS // 2])
        for number in _LONG_NUMBER.finditer(chunk) if may_have else ():
            if self._is_in_text == _quotes(chunk[: number.start()]) % 2:
                raise UnreadableFileError
        trailing = len(chunk) - len(chunk.rstrip(_DIGITS))
        self._digits = trailing + (self._digits if trailing == len(chunk) else 0)

    def _valid_utf8(self, chunk: bytes, *, is_last: bool) -> bytes:
        if chunk.isascii() and not self._decoder.getstate()[0] and not is_last:
            return chunk
        decoded = self._decoder.getstate()[0] + chunk
        text = self._decoder.decode(chunk, is_last).encode()
        decoded = decoded[: len(decoded) - len(self._decoder.getstate()[0])]
        self.damaged += text.count(_REPLACEMENT) - decoded.count(_REPLACEMENT)
        return text

    def _mended(self, escape: re.Match[bytes]) -> bytes:
        if escape.lastindex is None:
            return escape[0]
        self.damaged += 1
        return rb"\ufffd" if escape.lastindex == 1 else b""


def _unfinished_from(chunk: bytes) -> int:
    """Where an escape begins whose rest may follow in the next chunk; else the end."""
    start = max(0, len(chunk) - _LONGEST_UNFINISHED)
    while found := _UNFINISHED.search(chunk, start):
        before = chunk[: found.start()]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return found.start()
        start = found.start() + 1  # itself escaped: the text "\u…", not an escape
    return len(chunk)


def _quotes(chunk: bytes) -> int:
    """How many begin or end a text, which those that are escaped do not; ``chunk`` begins with no half of an escape."""
    without_backslashes = chunk.replace(rb"\\", b"")
    return without_backslashes.count(b'"') - without_backslashes.count(rb"\"")
