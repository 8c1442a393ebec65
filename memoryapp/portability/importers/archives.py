"""The JSON documents of an uploaded file: itself, or those in its ZIP archive and in archives within that one."""

import errno
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from io import SEEK_END
from types import TracebackType
from typing import IO, Final, Self

from memoryapp.portability.importers.clean_bytes import CHUNK_BYTES, Readable
from memoryapp.portability.importers.errors import (
    FileTooLargeError,
    PasswordProtectedError,
    UnknownFormatError,
    UnreadableFileError,
    UnsafeArchiveError,
)
from memoryapp.portability.importers.limits import Limits

_ZIP_MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06")
_HEAD_BYTES: Final = 1024
_ENCRYPTED: Final = 0x1
# The others unpack a few kilobytes to any size in one step.
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Below, no ratio is suspicious: a short list of the same rows packs well.
_SUSPICIOUS_BYTES: Final = 1024 * 1024
_IN_MEMORY_BYTES: Final = 1024 * 1024
_OUTSIDE: Final = re.compile(r"[/\\]|[A-Za-z]:|.*\x00|(?:.*[/\\])?\.\.(?:[/\\]|$)", re.DOTALL)
_NUMBERS: Final = re.compile(r"(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Document:
    """``name``: within its archive, with slashes; empty for a file that came alone."""

    name: str
    size: int
    open: Callable[[], Readable]


class Upload:
    """An uploaded file, opened: ``documents`` are its JSON files, sorted by name with numbers in order.

    Nothing is ever unpacked under a name of the archive's choice: archives within the archive go to unnamed temporary
    files, everything else is unpacked while it is read. Close it, or use it as a context manager.
    """

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        self._limits = limits
        self._left = limits.total_bytes
        self._open = ExitStack()
        self.documents: tuple[Document, ...] = ()
        with ExitStack() as on_error:
            on_error.callback(self._open.close)
            self.documents = tuple(self._found(file))
            on_error.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._open.close()

    def _found(self, file: IO[bytes]) -> Iterator[Document]:
        size = file.seek(0, SEEK_END)
        file.seek(0)
        head = file.read(_HEAD_BYTES)
        if head.startswith(_ZIP_MAGIC):
            yield from self._in_archive(file, deep=1)
            return
        if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")):
            raise UnknownFormatError
        self._count(size)
        yield Document(name="", size=size, open=lambda: _rewound(file))

    def _in_archive(self, file: IO[bytes], *, deep: int) -> Iterator[Document]:
        if deep > self._limits.archives_deep:
            raise UnsafeArchiveError(reason="nested")
        with _refusing():
            archive = self._open.enter_context(
                zipfile.ZipFile(_ShortReads(file, self._limits.directory_bytes))
            )
        for member in sorted(archive.infolist(), key=lambda one: _in_order(one.filename)):
            _check_name(member)
            name = member.filename.replace("\\", "/")
            if _is_noise(name) or not name.lower().endswith((".json", ".zip")):
                continue
            self._check(member)
            if name.lower().endswith(".json"):
                yield Document(name, member.file_size, partial(_Member, archive, member))
            else:
                yield from self._in_archive(self._unpacked(archive, member), deep=deep + 1)

    def _check(self, member: zipfile.ZipInfo) -> None:
        if member.flag_bits & _ENCRYPTED:
            raise PasswordProtectedError
        if member.compress_type not in _METHODS:
            raise UnsafeArchiveError(reason="method")
        most = self._limits.unpacked_ratio * max(1, member.compress_size)
        if member.file_size > max(_SUSPICIOUS_BYTES, most):
            raise UnsafeArchiveError(reason="ratio")
        self._count(member.file_size)

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise FileTooLargeError(limit=self._limits.total_bytes)

    def _unpacked(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
        """ZIP is read from its end, and a packed stream cannot jump there."""
        unpacked = self._open.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES))  # noqa: SIM115  # it is entered
        packed = _Member(archive, member)
        while chunk := packed.read(CHUNK_BYTES):
            unpacked.write(chunk)
        return unpacked


class _ShortReads:
    """Lets ``zipfile`` read what it likes except a central directory without end, which it would read at once."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most

    def read(self, size: int = -1) -> bytes:
        data = b"" if size > self._most else self._file.read(size if size >= 0 else self._most + 1)
        if size > self._most or len(data) > self._most:
            raise FileTooLargeError(limit=self._most)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


class _Member:
    """A file of an archive, unpacked while it is read: to its declared size at most, and its checksum is compared."""

    def __init__(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        with _refusing():
            self._file = archive.open(member)

    def read(self, size: int) -> bytes:
        with _refusing():
            return self._file.read(size)


def _rewound(file: IO[bytes]) -> Readable:
    file.seek(0)
    return file


@contextmanager
def _refusing() -> Iterator[None]:
    """All that ``zipfile`` raises over archives that are broken, or made to break it."""
    try:
        yield
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError, OverflowError, IndexError
    ) as error:  # fmt: skip
        raise UnreadableFileError from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # a seek to before the beginning; anything else is our disk's
            raise
        raise UnreadableFileError from error


def _check_name(member: zipfile.ZipInfo) -> None:
    if _OUTSIDE.match(member.orig_filename):
        raise UnsafeArchiveError(reason="name")


def _is_noise(name: str) -> bool:
    """What macOS adds to every archive it packs."""
    *folders, base = name.split("/")
    return "__MACOSX" in folders or base.startswith("._")


def _in_order(name: str) -> list[tuple[int, str]]:
    """``conversations-2`` before ``conversations-10``."""
    return [
        (int(part), "") if part.isdecimal() and part.isascii() else (0, part) for part in _NUMBERS.split(name)
    ]
