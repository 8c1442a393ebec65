"""Reads of imports."""

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import IO
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext

from memoryapp.errors import NotFoundError
from memoryapp.portability.models import ImportBatch, ImportFile, ImportItem
from memoryapp.portability.tables import CONVERSATIONS, EXPERIENCES, MEMORIES
from memoryapp.receipts import queries as receipts

ORDER = ("-created_at", "-id")


def imports(user_id: UUID) -> QuerySet[ImportBatch]:
    """Newest first."""
    return ImportBatch.objects.filter(user_id=user_id).order_by(*ORDER)


def get_import(user_id: UUID, batch_id: UUID) -> ImportBatch:
    """Raises NotFoundError, for a stranger's likewise."""
    found = imports(user_id).filter(id=batch_id).first()
    if found is None:
        raise NotFoundError(gettext("There is no such import."))
    return found


def is_untouched(user_id: UUID) -> bool:
    """Whether the account holds nothing and has never had anything forgotten: an archive can be restored as it was."""
    return not _holds_more(user_id, than=[]) and not receipts.receipts(user_id).exists()


def is_changed_beside(batch: ImportBatch) -> bool:
    """Whether a restore is not alone any more: something else came, or something was forgotten."""
    brought = ImportItem.objects.filter(user_id=batch.user_id, batch=batch).exclude(row_id=None)
    than = list(brought.values_list("row_id", flat=True))
    return _holds_more(batch.user_id, than=than) or receipts.receipts(batch.user_id).exists()


def _holds_more(user_id: UUID, *, than: Collection[UUID | None]) -> bool:
    return any(
        table.model._base_manager.filter(user=user_id).exclude(id__in=than).exists()  # noqa: SLF001  # with what is hidden
        for table in (CONVERSATIONS, MEMORIES, EXPERIENCES)
    )


@contextmanager
def file_of(batch: ImportBatch) -> Iterator[IO[bytes]]:
    """The whole file, as it came, for as long as it is read; it has no name that anybody could find it by."""
    parts = ImportFile.objects.filter(user_id=batch.user_id, batch=batch)
    with tempfile.TemporaryFile() as whole:
        for number in range(parts.count()):  # one at a time: an iterator may hold all of them
            whole.write(parts.values_list("data", flat=True).get(number=number))
        whole.seek(0)
        yield whole
