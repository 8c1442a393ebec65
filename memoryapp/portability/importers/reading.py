"""Exports of other chats, item by item."""

from collections.abc import Generator, Iterator
from datetime import datetime
from types import TracebackType
from typing import IO, Self

from memoryapp.portability.importers.archives import Document, Upload
from memoryapp.portability.importers.clean_bytes import CleanBytes
from memoryapp.portability.importers.errors import UnknownFormatError
from memoryapp.portability.importers.formats import READERS
from memoryapp.portability.importers.items import Format, Item, Reason
from memoryapp.portability.importers.json_entries import Unbuilt, entries
from memoryapp.portability.importers.ledger import Ledger
from memoryapp.portability.importers.limits import DEFAULT_LIMITS, Limits
from memoryapp.portability.importers.reader import Reader


class Reading:
    """An iterator over the items of one file; ``bytes_read`` of ``bytes_total`` (unpacked) is how far it is.

    Closes itself at the end and on an error; ``close`` it, or use it as a context manager, to stop before.
    """

    def __init__(self, upload: Upload, reader: Reader) -> None:
        documents = [one for one in upload.documents if reader.is_document(one.name)]
        # Somebody may have packed a renamed file.
        self._documents = documents or list(upload.documents)
        self._upload = upload
        self._reader = reader
        self._items = self._read()
        self.bytes_read = 0
        self.bytes_total = sum(one.size for one in self._documents)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        return next(self._items)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._items.close()
        self._upload.close()

    def _read(self) -> Generator[Item, None, None]:
        with self._upload:
            for document in self._documents:
                yield from self._of_document(document)
            yield from self._reader.remaining()
            yield from self._reader.ledger.skipped()

    def _of_document(self, document: Document) -> Iterator[Item]:
        ledger = self._reader.ledger
        limits = ledger.limits
        stream = CleanBytes(document.open(), token_bytes=limits.token_bytes, on_read=self._count)
        for entry in entries(stream, unread=self._reader.unread, entry_bytes=limits.entry_bytes):
            if isinstance(entry, Unbuilt):
                ledger.leave_out(Reason.TOO_LARGE)
            else:
                yield from self._reader.items(entry)
        ledger.leave_out(Reason.DAMAGED_CHARACTER, stream.damaged)

    def _count(self, size: int) -> None:
        self.bytes_read += size


def read(
    file: IO[bytes],
    file_format: Format,
    *,
    now: datetime,
    limits: Limits = DEFAULT_LIMITS,
) -> Reading:
    """The conversations and facts of ``file`` (binary, seekable), then what was left out, one ``Skipped`` a reason.

    Memory is bounded by the largest entry, not by the file. Bad entries are counted and passed over; only
    ``ImportFileError`` is raised, here or while iterating, where the file as a whole is broken, hostile or of another
    sort. ``file_format`` is what ``detect`` said, but for Strata's own archive, which is not read here.
    """
    if file_format not in READERS:
        raise UnknownFormatError(format=file_format)
    upload = Upload(file, limits)
    return Reading(upload, READERS[file_format](Ledger(now=now, limits=limits)))
