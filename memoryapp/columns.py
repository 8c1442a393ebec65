"""Whole columns of one person's rows as arrays: thousands of rows for the price of a few values.

A statement makes one row, with ``array_send(array_agg(column))`` for a column of fixed width without NULLs, and
``string_agg(column, '')`` for the packed terms. Row by row the same would take several times as long, most of it in
Python (docs/adr/0016).
"""

from collections.abc import Mapping, Sequence
from typing import Any, overload
from uuid import UUID

import numpy as np
import psycopg
from django.db import connection
from numpy.typing import NDArray
from psycopg.pq import Format

_HEADER_BYTES = 20  # of an array of one dimension, as array_send writes it; then each value behind its length
_EPOCH_S = 946_684_800  # the database counts from 2000

Ints = NDArray[np.int32]


class Ids(Sequence[UUID]):
    """A column of ids. They are made when they are asked for: few of thousands ever are."""

    def __init__(self, packed: NDArray[np.void]) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, index: int) -> UUID: ...

    @overload
    def __getitem__(self, index: slice) -> "Ids": ...

    def __getitem__(self, index: int | slice) -> "UUID | Ids":
        if isinstance(index, slice):
            return Ids(self._packed[index])
        return UUID(bytes=self._packed[index].tobytes())

    def ascending(self) -> NDArray[np.intp]:
        """In which order they grow."""
        halves = self._packed.view([("high", ">u8"), ("low", ">u8")])
        return np.lexsort((halves["low"], halves["high"]))

    def reordered(self, order: NDArray[np.intp]) -> "Ids":
        return Ids(self._packed[order])


def fetch(sql: str, parameters: Mapping[str, Any]) -> Sequence[bytes | None]:
    """The one row of a statement that aggregates columns; None for each where there was nothing."""
    connection.ensure_connection()
    # Django's own cursors take results as text only, and hexadecimal text is twice as long and slow to read.
    plain = psycopg.Cursor(connection.connection)
    plain.format = Format.BINARY
    wrapped = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrapped(plain) as cursor:  # type: ignore[arg-type]  # the stubs take what is wrapped for the wrapper
        cursor.execute(sql, parameters)
        row: Sequence[bytes | None] = cursor.fetchone()
    return row


def ids(sent: bytes | None) -> Ids:
    return Ids(_values(sent, "V16"))


def ints(sent: bytes | None, *, width: int = 4) -> Ints:
    return _values(sent, f">i{width}").astype(np.int32)


def floats(sent: bytes | None) -> NDArray[np.float32]:
    """Of a ``real`` column."""
    return _values(sent, ">f4").astype(np.float32)


def moments(sent: bytes | None) -> NDArray[np.float64]:
    """Of a ``timestamptz`` column, in seconds since 1970."""
    return _values(sent, ">i8").astype(np.float64) / 1e6 + _EPOCH_S


def packed_terms(sent: bytes | None) -> Ints:
    """As ``policies.terms`` packs them, end to end."""
    return np.frombuffer(sent or b"", "<i4").astype(np.int32, copy=False)


def reordered(values: Ints, counts: Ints, order: NDArray[np.intp]) -> Ints:
    """Runs of ``values``, ``counts`` long, put into another order."""
    starts = np.cumsum(counts) - counts
    lengths = counts[order]
    shift = np.repeat(starts[order] - (np.cumsum(lengths) - lengths), lengths)
    moved: Ints = values[shift + np.arange(len(shift))]
    return moved


def halfvec(embedding: Sequence[float]) -> str:
    """A vector as the database reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in embedding) + "]"


def halfvecs(sent: bytes | None) -> NDArray[np.float32]:
    """Of vectors of one length as ``halfvec_send`` writes them, end to end: one row each."""
    if not sent:
        return np.zeros((0, 0), np.float32)
    dimensions = int.from_bytes(sent[:2])
    # Behind a header of two 16-bit numbers, the second of no use, the 16-bit floats.
    rows = np.frombuffer(sent, [("header", ">i4"), ("value", ">f2", (dimensions,))])
    return rows["value"].astype(np.float32)


def _values(sent: bytes | None, dtype: str) -> NDArray[Any]:
    if sent is None:
        return np.zeros(0, dtype)
    pairs = np.frombuffer(sent, [("length", ">i4"), ("value", dtype)], offset=_HEADER_BYTES)
    values: NDArray[Any] = pairs["value"]
    return values
