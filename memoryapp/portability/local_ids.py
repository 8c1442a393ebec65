"""Ids in an archive: "memory:12" is the twelfth of the memories in it, in whatever installation it is read.

In a text that names a row, such as what a tool answered, the same stands in brackets: ⟦memory:12⟧.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, overload
from uuid import UUID

_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NAMED: Final = re.compile(r"⟦([a-z]+:\d{1,9})⟧")
_LOCAL: Final = re.compile(r"([a-z]+):([1-9]\d{0,8})\Z")


class Numbers(Sequence[bytes]):
    """The ids of one table's rows, in order: 16 bytes each, so that a million of them are 16 MB."""

    def __init__(self, ids: Iterable[UUID]) -> None:
        self._packed = bytearray()
        for id_ in ids:
            self._packed += id_.bytes

    def __len__(self) -> int:
        return len(self._packed) // 16

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return bytes(self._packed[16 * index : 16 * index + 16])

    def of(self, id_: UUID) -> int | None:
        """Its number, from 1; None for what is not among them."""
        place = bisect_left(self, id_.bytes)
        return place + 1 if place < len(self) and self[place] == id_.bytes else None


class LocalIds:
    """What the rows of one archive are called in it."""

    def __init__(self, numbers: Mapping[str, Numbers]) -> None:
        self._numbers = numbers

    def of(self, table: str, id_: UUID | None) -> str | None:
        """None for what is not in the archive."""
        number = self._numbers[table].of(id_) if id_ else None
        return f"{table}:{number}" if number else None

    def of_any(self, id_: UUID) -> str | None:
        return next(filter(None, (self.of(table, id_) for table in self._numbers)), None)

    def in_text(self, text: str) -> str:
        """With the ids of rows replaced by what they are called; any other id stays as it is."""
        return _ID.sub(self._named, text)

    def _named(self, found: re.Match[str]) -> str:
        local = self.of_any(UUID(found[0]))
        return f"⟦{local}⟧" if local else found[0]


def number_in(local: object, table: str) -> int | None:
    """The number in "memory:12"; None for anything else."""
    found = _LOCAL.match(local) if isinstance(local, str) else None
    return int(found[2]) if found and found[1] == table else None


def with_new_ids(text: str, new_id: Callable[[str], UUID | None]) -> str:
    """``LocalIds.in_text`` undone, with the ids that the rows have here."""
    return _NAMED.sub(lambda found: str(new_id(found[1]) or found[0]), text)


def new_id(batch_id: UUID, table: str, number: int, index: int = 0) -> UUID:
    """The id that an import gives to a record, or to the ``index``-th row that stands in it.

    Always the same, so that whatever points at it can be written before or after it and by another worker; and rising
    with the number, so that another export counts the rows in the same order. Of version 7, made in the moment when
    the import began.
    """
    moment = batch_id.int >> 80
    salt = int.from_bytes(hashlib.sha256(f"{batch_id} {table}".encode()).digest()[:3], "big") >> 4
    rest = number << 44 | index << 20 | salt  # 30, 24 and 20 bits
    return UUID(int=moment << 80 | 7 << 76 | rest >> 62 << 64 | 2 << 62 | rest & (2**62 - 1))
