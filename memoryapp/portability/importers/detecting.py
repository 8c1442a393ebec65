"""What a file is an export of, by the shape of its first entries."""

from collections.abc import Iterator
from itertools import islice
from typing import IO, Final

from memoryapp.portability.importers.archives import Document, Upload
from memoryapp.portability.importers.clean_bytes import CleanBytes
from memoryapp.portability.importers.errors import (
    FileTooLargeError,
    NothingToImportError,
    UnknownFormatError,
    UnreadableFileError,
)
from memoryapp.portability.importers.formats import READERS
from memoryapp.portability.importers.items import Format
from memoryapp.portability.importers.json_entries import Unbuilt, entries
from memoryapp.portability.importers.limits import DEFAULT_LIMITS, Limits
from memoryapp.portability.importers.values import Value, mapping

STRATA_DOCUMENT: Final = "strata.json"
# A list may begin with corrupted entries, an archive with files of other sorts.
_ENTRIES: Final = 20
_DOCUMENTS: Final = 50


def detect(file: IO[bytes], *, limits: Limits = DEFAULT_LIMITS) -> Format:
    """Which format ``file`` (binary, seekable) has; raises ``ImportFileError`` if none of them, or if it is refused."""
    with Upload(file, limits) as upload:
        if any(document.name.rpartition("/")[2] == STRATA_DOCUMENT for document in upload.documents):
            return Format.STRATA
        return _of_entries(upload.documents, limits)


def _of_entries(documents: tuple[Document, ...], limits: Limits) -> Format:
    """An archive may hold broken files that are not ours: what is wrong with one is raised only if none is known."""
    is_empty = True
    wrong: UnreadableFileError | FileTooLargeError | None = None
    for document in _likely_first(documents):
        try:
            for entry in islice(_entries(document, limits), _ENTRIES):
                if found := _format_of(entry):
                    return found
                is_empty = False
                if entry is Unbuilt.TOO_LARGE:
                    wrong = wrong or FileTooLargeError(limit=limits.entry_bytes)
        except (UnreadableFileError, FileTooLargeError) as error:
            wrong = wrong or error
    if wrong:
        raise wrong
    raise NothingToImportError if is_empty and documents else UnknownFormatError


def _likely_first(documents: tuple[Document, ...]) -> Iterator[Document]:
    """The documents under the names that products use, then others, as many as may be looked at."""
    named = [
        one for one in documents if one.name.rpartition("/")[2].startswith(("conversations", "memories"))
    ]
    others = [one for one in documents if one not in named]
    return islice((*named, *others), _DOCUMENTS)


def _entries(document: Document, limits: Limits) -> Iterator[Value | Unbuilt]:
    stream = CleanBytes(document.open(), token_bytes=limits.token_bytes, on_read=lambda _: None)
    return entries(stream, unread=(), entry_bytes=limits.entry_bytes)


def _format_of(entry: Value | Unbuilt) -> Format | None:
    if mapping(entry).get("format") == Format.STRATA:
        return Format.STRATA
    return next((name for name, reader in READERS.items() if reader.recognises(entry)), None)
