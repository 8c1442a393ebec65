"""What servers and programs say of themselves, kept small: for the day one does not start.

A log is a file that everybody appends to, ``<name>.log``; once it has grown it is ended: its lines become
``<name>.log.1``, those from before one number more, and of the oldest nothing is left.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import IO, Final

MAX_BYTES: Final = 1_000_000
ENDED_KEPT: Final = 3
_TAIL_LINES: Final = 8


class Log:
    """The directory is ours: whoever writes cannot redirect it."""

    def __init__(self, directory: Path, name: str) -> None:
        self._path = directory / f"{name}.log"

    def open(self) -> IO[bytes]:
        """For appending: to what is ended meanwhile, too."""
        return self._path.open("ab")

    def write(self, line: str) -> None:
        """With the time. A disk that is full ends nobody's work."""
        with suppress(OSError), self.open() as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {line}\n".encode())

    def tail(self) -> str:
        """The last lines, which say why it ended."""
        return "\n".join(self._path.read_text(errors="replace").splitlines()[-_TAIL_LINES:])


def end_large(directory: Path) -> None:
    for path in directory.glob("*.log"):
        if path.stat().st_size > MAX_BYTES:
            _end(path)


def end_all(directory: Path) -> None:
    for path in directory.glob("*.log"):
        if path.stat().st_size:
            _end(path)


def drop_ended(directory: Path, *, before: datetime) -> int:
    """Delete what was ended before then, whatever its number; how many files."""
    old = [path for path in _ended(directory) if path.stat().st_mtime < before.timestamp()]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def _ended(directory: Path) -> Iterator[Path]:
    return directory.glob("*.log.[0-9]*")


def _end(path: Path) -> None:
    """Copied and emptied, not renamed: a server goes on writing to the file that it was given."""
    numbered = [path.with_name(f"{path.name}.{number}") for number in range(ENDED_KEPT, 0, -1)]
    for older, newer in pairwise(numbered):
        if newer.exists():
            newer.replace(older)
    shutil.copyfile(path, numbered[-1])
    os.truncate(path, 0)
