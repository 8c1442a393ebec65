"""Pieces of vectors, to be found in bytes at any position.

A vector gives its text away to whoever can invert it, so it is looked for like a word: as three floats of 32 bits in a
row, or six of 16 bits, in either byte order, as it was stored and at unit length (as an HNSW index keeps it). The
pieces lie end to end: of twice as many floats in a row at least one is whole.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

PIECE_BYTES: Final = 12
_INDEX_BITS: Final = 24  # the low ones of a piece's first four bytes; the table has room for as many
_MASK: Final = (1 << _INDEX_BITS) - 1

_LEAST_DISTINCT_BYTES: Final = 6  # a run of zeros, or one float again and again, is no vector's alone
_FORMATS: Final = ("<f4", ">f4", "<f2", ">f2")


class Fragments:
    """What a set of vectors is found by."""

    def __init__(self, vectors: Iterable[Sequence[float]] = ()) -> None:
        self._pieces = frozenset(_distinct(piece for vector in vectors for piece in _pieces(vector)))
        self._table = np.zeros(1 << _INDEX_BITS, dtype=np.bool_)
        for piece in self._pieces:
            self._table[int.from_bytes(piece[:4], "little") & _MASK] = True

    def __len__(self) -> int:
        return len(self._pieces)

    def starts_in(self, data: bytes) -> list[int]:
        """Where in ``data`` a piece begins that ends in it, in order."""
        return [start for start in self._possible(data) if data[start : start + PIECE_BYTES] in self._pieces]

    def _possible(self, data: bytes) -> Collection[int]:
        """Where the first four bytes could be a piece's: all that are, and few others."""
        if not self._pieces:
            return ()
        found: list[NDArray[np.int64]] = []
        for phase in range(4):
            count = (len(data) - phase) // 4
            if count > 0:
                words = np.frombuffer(data, "<u4", count=count, offset=phase)
                found.append(np.flatnonzero(self._table.take(words & _MASK)) * 4 + phase)
        starts: list[int] = np.sort(np.concatenate(found)).tolist() if found else []
        return starts


def _pieces(vector: Sequence[float]) -> Iterator[bytes]:
    values = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(values))
    for each in (values, values / length if length else values):
        for form in _FORMATS:
            data = each.astype(form).tobytes()
            for start in range(0, len(data) - PIECE_BYTES + 1, PIECE_BYTES):
                yield data[start : start + PIECE_BYTES]


def _distinct(pieces: Iterable[bytes]) -> Iterator[bytes]:
    return (piece for piece in pieces if len(set(piece)) >= _LEAST_DISTINCT_BYTES)
