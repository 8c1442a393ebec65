"""A server's own messages, kept small, for the day it does not start."""

from pathlib import Path
from typing import IO

from memoryapp.embedded.data_directory import DataDirectory

_MAX_BYTES = 1_000_000
_TAIL_LINES = 8


class ServerLog:
    def __init__(self, data: DataDirectory, name: str) -> None:
        self._data = data
        self._name = f"{name}.log"

    def open(self) -> IO[bytes]:
        """Append, or begin anew once it has grown. The directory is ours: the server cannot redirect it."""
        path = self._path
        is_large = path.exists() and path.stat().st_size > _MAX_BYTES
        return path.open("wb" if is_large else "ab")

    def tail(self) -> str:
        """The last lines, which say why it ended."""
        return "\n".join(self._path.read_text(errors="replace").splitlines()[-_TAIL_LINES:])

    @property
    def _path(self) -> Path:
        return self._data.private("logs") / self._name
