"""Compressed data inside of other data: found by how it begins, unpacked as it is read.

What looks like a beginning and is none ends at its first bytes. Nothing is unpacked at once and nothing without end:
``OUTPUT_BYTES`` is what a call may give, and a stream that gives more than ``LIMIT_BYTES`` in all is left there.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import zstandard

OUTPUT_BYTES: Final = 1 << 20
LIMIT_BYTES: Final = 1 << 30
_ZIP_HEADER_BYTES: Final = 30
_ZIP_DEFLATED: Final = 8


class Unpacking(Protocol):
    """One compressed stream. ``is_over``: it ended, or was none."""

    is_over: bool

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes unpack to, in blocks."""


class _Zlib:
    def __init__(self, bits: int) -> None:
        self.is_over = False
        self._stream = zlib.decompressobj(bits)
        self._given = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self.is_over:
            try:
                block = self._stream.decompress(data, OUTPUT_BYTES)
            except zlib.error:
                self.is_over = True
                return
            data = self._stream.unconsumed_tail
            self._given += len(block)
            self.is_over = self._stream.eof or self._given > LIMIT_BYTES
            if block:
                yield block


class _Zstandard:
    def __init__(self) -> None:
        self.is_over = False
        # A window larger than what the format asks every reader to have is nobody's ordinary file.
        self._stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj(
            write_size=OUTPUT_BYTES
        )
        self._given = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        step = OUTPUT_BYTES // 16  # it has no limit for what a call gives, but bytes in bound bytes out
        for start in range(0, len(data), step):
            if self.is_over:
                return
            try:
                block = self._stream.decompress(data[start : start + step])
            except zstandard.ZstdError:
                self.is_over = True
                return
            self._given += len(block)
            self.is_over = self._stream.eof or self._given > LIMIT_BYTES
            if block:
                yield block


class _Zip:
    """A member of a ZIP from its local header on; one that is stored as it is is read as it is, by others."""

    def __init__(self) -> None:
        self.is_over = False
        self._header = b""
        self._body: _Zlib | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._body is None:
            self._header += data
            data = self._after_header()
        if self._body is not None and not self.is_over:
            yield from self._body.feed(data)
            self.is_over = self._body.is_over

    def _after_header(self) -> bytes:
        """What of the member itself is here; opens it, or ends it where there is nothing to unpack."""
        held = self._header
        if len(held) < _ZIP_HEADER_BYTES:
            return b""
        if int.from_bytes(held[8:10], "little") != _ZIP_DEFLATED:
            self.is_over = True
            return b""
        names = int.from_bytes(held[26:28], "little") + int.from_bytes(held[28:30], "little")
        if len(held) < _ZIP_HEADER_BYTES + names:
            return b""
        self._body, self._header = _Zlib(-zlib.MAX_WBITS), b""
        return held[_ZIP_HEADER_BYTES + names :]


@dataclass(frozen=True, slots=True)
class Kind:
    """``signs``: how its streams begin."""

    name: str
    signs: "re.Pattern[bytes]"
    open: Callable[[], Unpacking]


KINDS: Final = (
    Kind("gzip", re.compile(rb"\x1f\x8b\x08"), lambda: _Zlib(zlib.MAX_WBITS | 16)),
    Kind("zstd", re.compile(rb"\x28\xb5\x2f\xfd"), _Zstandard),
    Kind("zip", re.compile(rb"PK\x03\x04"), _Zip),
    # As pg_dump's own format and PNG hold it. Two bytes are no sure sign: the next ones decide.
    Kind("zlib", re.compile(rb"x[\x01\x5e\x9c\xda]"), lambda: _Zlib(zlib.MAX_WBITS)),
)


def beginnings(data: bytes, *, before: int) -> Iterator[tuple[int, Kind]]:
    """Where a compressed stream may begin in ``data``, at a place ``before`` that one."""
    for kind in KINDS:
        for match in kind.signs.finditer(data):
            if match.start() < before:
                yield match.start(), kind
