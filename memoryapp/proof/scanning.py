"""Looking for words and vectors in bytes of any length, in bounded memory.

A scanner reads blocks of any size; what lies across the edge of two is found like what lies inside of one, and is
counted once. Compressed streams inside are unpacked and looked through the same way.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from memoryapp.proof import encodings, members
from memoryapp.proof.encodings import Pattern
from memoryapp.proof.fragments import PIECE_BYTES, Fragments

BLOCK_BYTES: Final = 1 << 18  # stays in the processor's cache while it is looked through again and again
DEPTH: Final = 3  # a gzip in a zip in a gzip, and no further
OPEN_AT_ONCE: Final = 64  # compressed streams; most are none, and end at once
VECTOR: Final = "vector"
NUMBERS: Final = "vector in digits"


@dataclass(slots=True)
class Found:
    """What a scan found: how often the stem of each sought word stands there, by encoding. ``bytes_``: read."""

    bytes_: int = 0
    hits: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, stem: str, encoding: str) -> None:
        self.hits.setdefault(stem, Counter())[encoding] += 1

    def of(self, stem: str) -> Counter[str]:
        return self.hits.get(stem, Counter())

    def __iadd__(self, other: "Found") -> "Found":
        self.bytes_ += other.bytes_
        for stem, counted in other.hits.items():
            self.hits.setdefault(stem, Counter()).update(counted)
        return self


class Scanner:
    """Finds ``stems`` in every encoding, and ``fragments`` of vectors as a hit of the first stem.

    The stems begin alike (``encodings.SIGN_LETTERS``), so that a further one costs next to nothing. ``numbers``: pieces
    of vectors as they are printed, each of which costs a search of its own: for what is short and in plain text.
    """

    def __init__(
        self, *stems: str, fragments: Fragments | None = None, numbers: Sequence[bytes] = ()
    ) -> None:
        self.stems = stems
        self.numbers = numbers
        self.fragments = fragments or Fragments()
        self._interrupted = [(stem, encodings.interrupted(stem)) for stem in stems]
        self._by_sign: dict[bytes, list[tuple[str, Pattern]]] = {}
        for stem in stems:
            for pattern in encodings.patterns(stem):
                self._by_sign.setdefault(pattern.sign, []).append((stem, pattern))
        self.reach = max([PIECE_BYTES, *(encodings.longest(stem) for stem in stems), *map(len, numbers)])

    def scan(self, blocks: Iterable[bytes]) -> Found:
        found = Found()
        stream = _Stream(self, found)
        for block in blocks:
            found.bytes_ += len(block)
            stream.feed(block)
        stream.close()
        return found

    def scan_file(self, path: Path) -> Found:
        """Nothing where the file went away meanwhile."""
        try:
            with path.open("rb") as file:
                return self.scan(iter(lambda: file.read(BLOCK_BYTES), b""))
        except FileNotFoundError:
            return Found()

    def starts_in(self, data: bytes) -> Iterator[tuple[int, str, str]]:
        """Where, which stem, in which encoding: of all that begins in ``data`` and ends in it."""
        for stem, interrupted in self._interrupted:
            for match in interrupted.finditer(data):
                yield match.start(), stem, encodings.name(match.group(), stem)
        for sign, patterns in self._by_sign.items():
            start = data.find(sign)
            while start >= 0:
                for stem, pattern in patterns:
                    if data.startswith(pattern.data, start):
                        yield start, stem, pattern.encoding
                start = data.find(sign, start + 1)
        for start in self.fragments.starts_in(data):
            yield start, self.stems[0], VECTOR
        for number in self.numbers:
            if (start := data.find(number)) >= 0:
                yield start, self.stems[0], NUMBERS


class _Stream:
    """One sequence of bytes. What begins within the last ``reach`` bytes waits for the next block."""

    def __init__(self, scanner: Scanner, found: Found, *, inside: str = "", depth: int = 0) -> None:
        self._scanner = scanner
        self._found = found
        self._inside = inside
        self._depth = depth
        self._held = b""
        self._members: list[tuple[members.Unpacking, _Stream]] = []

    def feed(self, block: bytes) -> None:
        self._pass_on(block)
        data = self._held + block
        settled = max(0, len(data) - self._scanner.reach)
        self._look(data, before=settled)
        self._held = data[settled:]

    def close(self) -> None:
        self._look(self._held, before=len(self._held))
        self._held = b""
        for _, stream in self._members:
            stream.close()
        self._members.clear()

    def _look(self, data: bytes, *, before: int) -> None:
        """Count what begins before that place; what begins after it is seen again."""
        if not data.strip(b"\x00"):
            return  # much of a database's files is empty
        for start, stem, encoding in self._scanner.starts_in(data):
            if start < before:
                self._found.add(stem, encoding + self._inside)
        if self._depth < DEPTH:
            for start, kind in members.beginnings(data, before=before):
                self._open(kind, data[start:])

    def _open(self, kind: members.Kind, data: bytes) -> None:
        if len(self._members) >= OPEN_AT_ONCE:
            return
        stream = _Stream(
            self._scanner, self._found, inside=f"{self._inside} in {kind.name}", depth=self._depth + 1
        )
        self._go_on(kind.open(), stream, data)

    def _pass_on(self, block: bytes) -> None:
        going, self._members = self._members, []
        for unpacking, stream in going:
            self._go_on(unpacking, stream, block)

    def _go_on(self, unpacking: members.Unpacking, stream: "_Stream", data: bytes) -> None:
        for block in unpacking.feed(data):
            stream.feed(block)
        if unpacking.is_over:
            stream.close()
        else:
            self._members.append((unpacking, stream))


def files_under(directory: Path, *, is_wanted: Callable[[Path], bool] = lambda _: True) -> Iterator[Path]:
    """Every regular file, in order of its path; directories that go away meanwhile are passed over."""
    for root, directories, names in os.walk(directory):
        directories.sort()
        for name in sorted(names):
            path = Path(root, name)
            if path.is_file() and not path.is_symlink() and is_wanted(path):
                yield path
