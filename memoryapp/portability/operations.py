"""Writes of imports, each one transaction: what is brought, how far a worker is, and taking it back."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext, gettext_noop

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import experience_queries, forgettings, withdrawal
from memoryapp.nudges import IMPORT, nudge
from memoryapp.portability import queries, restoring
from memoryapp.portability.errors import (
    FileTooBigError,
    ImportInProgressError,
    NotReadyError,
    TooManyWaitingError,
)
from memoryapp.portability.merging import BROUGHT, Judged
from memoryapp.portability.models import ImportBatch, ImportFile, ImportItem
from memoryapp.portability.restoring import Changes
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Scope
from memoryapp.transcript import conversations, importing
from memoryapp.transcript import queries as transcript

Status = ImportBatch.Status

PART_BYTES: Final = 1024 * 1024
LEASE: Final = timedelta(minutes=2)  # of a worker; renewed with everything it writes
ATTEMPTS: Final = 5  # of workers that died of one file
KEPT: Final = timedelta(hours=24)  # a file that nobody applies
WAITING_MOST: Final = 3  # of them at once: each takes up to ``import_max_mb``
SAMPLES: Final = 5  # of each outcome
SAMPLE_CHARS: Final = 160
FORGOTTEN_MEANWHILE: Final = gettext_noop(
    "Something was forgotten since this file was read. Choose the file again."
)


class LostError(Exception):
    """Another worker has the import, or it was taken back."""


def receive(user_id: UUID, parts: Iterable[bytes], *, is_preview: bool, now: datetime) -> ImportBatch:
    """Keep a file and have it read. ``is_preview``: nothing is brought in before ``apply``.

    Raises FileTooBigError, ImportInProgressError, TooManyWaitingError, InvalidInputError for an empty one.
    """
    with transaction.atomic(durable=True):
        User.objects.select_for_update(no_key=True).get(id=user_id)  # one after the other
        _check_room(user_id)
        batch = ImportBatch.objects.create(user_id=user_id, created_at=now, is_preview=is_preview)
        batch.size_bytes = _keep(batch, parts)
        if not batch.size_bytes:
            raise InvalidInputError(gettext("This file is empty. Choose another one."), field="file")
        batch.save(update_fields=["size_bytes"])
        nudge(IMPORT, batch.id)
    return batch


def apply(user_id: UUID, batch_id: UUID) -> ImportBatch:
    """Bring in what was shown. Raises NotFoundError, NotReadyError."""
    with transaction.atomic(durable=True):
        batch = _locked(user_id, batch_id)
        if batch.status != Status.READY:
            raise NotReadyError(
                gettext("Only an import that was read and waits can be brought in."),
                import_status=batch.status,
            )
        ImportBatch.objects.filter(id=batch.id).update(
            status=Status.IMPORTING, position=0, counts={}, skipped={}, samples={}, lease_until=None
        )
        nudge(IMPORT, batch.id)
    return queries.get_import(user_id, batch_id)


def undo(user_id: UUID, batch_id: UUID, *, now: datetime) -> ImportBatch:
    """Forget everything that came with it, as one act, and stop it where it is at work.

    What was brought is forgotten as anything else is: it can be brought back for as long, and then it is gone for good.
    Raises NotFoundError, NotReadyError when that was done already, ReplyInProgressError.
    """
    with transaction.atomic(durable=True):
        User.objects.select_for_update(no_key=True).get(id=user_id)
        batch = _locked(user_id, batch_id)
        if batch.status == Status.UNDONE:
            raise NotReadyError(gettext("This import was undone already."), import_status=batch.status)
        with receipts.together(user_id, Scope.BATCH, now=now, subject=batch.format, subject_id=batch.id):
            _forget_brought(batch, now=now)
        restoring.take_back_refusals(user_id, batch.id)
        restoring.take_back_settings(user_id, batch.settings_changes)
        _drop_file(batch)
        batch.status, batch.undone_at, batch.samples = Status.UNDONE, now, {}
        batch.attempt += 1  # whoever is at it may not go on
        batch.save(update_fields=["status", "undone_at", "samples", "attempt"])
    return batch


def claim(batch_id: UUID, *, now: datetime) -> ImportBatch | None:
    """The import for a worker that takes it up; None when there is nothing to do or somebody does it."""
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    mine = ImportBatch.objects.filter(free, id=batch_id, status__in=ImportBatch.AT_WORK)
    if not mine.update(attempt=F("attempt") + 1, lease_until=now + LEASE):
        return None
    return ImportBatch.objects.select_related("user").get(id=batch_id)


def note_read(batch: ImportBatch, judged: Sequence[Judged], *, position: int, now: datetime) -> None:
    """How far the reading is, and what it found. Raises LostError."""
    _tally(batch, judged)
    if batch.is_preview:
        _sample(batch, judged)
    batch.position = position
    _save(batch, "position", "counts", "skipped", "samples", now=now)


def note_brought(batch: ImportBatch, judged: Sequence[Judged], *, position: int, now: datetime) -> None:
    """The same of what was brought in, within the caller's transaction: both are so, or neither. Raises LostError."""
    numbers = {
        sort: ImportItem.objects.filter(user_id=batch.user_id, batch=batch, sort=sort).count()
        for sort in {one.sort for one in judged if one.sort}
    }
    items = []
    for one, digest, outcome in _noted(judged):
        numbers[one.sort] += 1
        items.append(
            ImportItem(
                user_id=batch.user_id,
                batch=batch,
                sort=one.sort,
                number=numbers[one.sort],
                digest=digest,
                outcome=outcome,
                row_id=one.row_id,
            )
        )
    ImportItem.objects.bulk_create(items)
    _tally(batch, judged)
    batch.position = position
    _save(batch, "position", "counts", "skipped", now=now)


def note_settings(batch: ImportBatch, changes: Changes, *, now: datetime) -> None:
    """Within the caller's transaction: what the import changed, so that ``undo`` can take it back. Raises LostError."""
    batch.settings_changes = changes
    _save(batch, "settings_changes", now=now)


def note_format(batch: ImportBatch, name: str, *, is_restore: bool, now: datetime) -> None:
    batch.format, batch.is_restore = name, is_restore
    _save(batch, "format", "is_restore", now=now)


def begin_reading(batch: ImportBatch, *, now: datetime) -> None:
    """From the beginning: nothing was written yet."""
    batch.position, batch.counts, batch.skipped, batch.samples = 0, {}, {}, {}
    _save(batch, "position", "counts", "skipped", "samples", now=now)


def end_reading(batch: ImportBatch, *, now: datetime) -> None:
    """All of it is known: it waits for its person, or goes on."""
    batch.total = batch.position
    batch.status = Status.READY if batch.is_preview else Status.IMPORTING
    if not batch.is_preview:
        batch.position, batch.counts, batch.skipped, batch.samples = 0, {}, {}, {}
    _save(batch, "total", "status", "position", "counts", "skipped", "samples", now=now)
    if batch.is_preview:
        ImportBatch.objects.filter(id=batch.id).update(lease_until=now + KEPT, attempt=0)


def end(batch: ImportBatch, *, now: datetime) -> None:
    with transaction.atomic(durable=True):
        batch.status, batch.finished_at = Status.DONE, now
        _save(batch, "status", "finished_at", now=now)
        _drop_file(batch)


def fail(batch: ImportBatch, *, code: str, message: str, now: datetime) -> None:
    """What was brought in before stays, until it is undone."""
    with transaction.atomic(durable=True):
        _fail(batch, code=code, message=message, now=now)


def give_up_waiting(*, now: datetime) -> int:
    """Drop files that were read and that nobody applied within a day; how many."""
    waiting = ImportBatch.objects.filter(status=Status.READY, lease_until__lte=now)
    return sum(_give_up(batch_id, now=now) for batch_id in waiting.values_list("id", flat=True))


def discard_previews(user_id: UUID, *, now: datetime) -> None:
    """Within the caller's transaction: drop the files that wait for their person's word, and what was shown of them."""
    waiting = ImportBatch.objects.select_for_update().filter(
        user_id=user_id, is_preview=True, status__in=[Status.READING, Status.READY]
    )
    for batch in waiting.order_by("id"):
        _fail(batch, code="forgotten_meanwhile", message=FORGOTTEN_MEANWHILE, now=now)
        ImportBatch.objects.filter(id=batch.id).update(attempt=F("attempt") + 1)  # who reads it may not go on


def unattended(*, now: datetime) -> list[UUID]:
    """Imports whose worker is gone, or whose nudge was lost."""
    rows = ImportBatch.objects.filter(status__in=ImportBatch.AT_WORK, created_at__lte=now - LEASE)
    return list(rows.filter(Q(lease_until=None) | Q(lease_until__lte=now)).values_list("id", flat=True)[:100])


def _check_room(user_id: UUID) -> None:
    busy = queries.imports(user_id).filter(status__in=ImportBatch.AT_WORK).first()
    if busy:
        raise ImportInProgressError(
            gettext("Another file is being imported. Wait until it is through, or stop it."),
            import_id=str(busy.id),
        )
    if queries.imports(user_id).filter(status=Status.READY).count() >= WAITING_MOST:
        said = gettext("{n} imports wait for your word. Bring one in or take one back first.")
        raise TooManyWaitingError(said.format(n=WAITING_MOST), limit=WAITING_MOST)


def _keep(batch: ImportBatch, parts: Iterable[bytes]) -> int:
    limit_mb = get_conf().import_max_mb
    size, number, held = 0, 0, bytearray()
    for part in parts:
        held += part
        size += len(part)
        if size > limit_mb * PART_BYTES:
            raise FileTooBigError(
                gettext("A file of at most {n} MB can be imported. Split the export.").format(n=limit_mb),
                limit_mb=limit_mb,
            )
        while len(held) >= PART_BYTES:
            _store(batch, number, bytes(held[:PART_BYTES]))
            number += 1
            del held[:PART_BYTES]
    if held:
        _store(batch, number, bytes(held))
    return size


def _give_up(batch_id: UUID, *, now: datetime) -> bool:
    """False for one that its person applied or took back in this very moment."""
    with transaction.atomic(durable=True):
        rows = ImportBatch.objects.select_for_update().filter(id=batch_id, status=Status.READY)
        batch = rows.first()
        if batch is None:
            return False
        _fail(
            batch, code="import_expired", message="Nobody applied it within a day. Import it again.", now=now
        )
    return True


def _store(batch: ImportBatch, number: int, data: bytes) -> None:
    ImportFile.objects.create(user_id=batch.user_id, batch=batch, number=number, data=data)


def _fail(batch: ImportBatch, *, code: str, message: str, now: datetime) -> None:
    batch.status, batch.finished_at, batch.samples = Status.FAILED, now, {}
    batch.error_code, batch.error_message = code, message[:500]
    _save(batch, "status", "finished_at", "samples", "error_code", "error_message", now=now)
    _drop_file(batch)


def _drop_file(batch: ImportBatch) -> None:
    ImportFile.objects.filter(user_id=batch.user_id, batch=batch).delete()


def _locked(user_id: UUID, batch_id: UUID) -> ImportBatch:
    queries.get_import(user_id, batch_id)
    return ImportBatch.objects.select_for_update().get(user_id=user_id, id=batch_id)


def _save(batch: ImportBatch, *columns: str, now: datetime) -> None:
    """Raises LostError when another worker has it by now, or it was taken back."""
    values = {column: getattr(batch, column) for column in columns}
    mine = ImportBatch.objects.filter(id=batch.id, attempt=batch.attempt).exclude(status=Status.UNDONE)
    if not mine.update(lease_until=now + LEASE, **values):
        raise LostError


def _noted(judged: Sequence[Judged]) -> Iterator[tuple[Judged, str, str]]:
    """Each with its digests: but for the first they say only by what else the same row is known."""
    for one in filter(lambda one: one.sort, judged):
        first, *others = one.digests or ("",)
        yield one, first, one.outcome
        for digest in others if one.row_id else ():
            yield one, digest, ImportItem.Outcome.DUPLICATE


def _tally(batch: ImportBatch, judged: Sequence[Judged]) -> None:
    for one in judged:
        if one.sort:
            of_outcome = batch.counts.setdefault(str(one.outcome), {})
            of_outcome[str(one.sort)] = of_outcome.get(str(one.sort), 0) + one.count
        if one.reason and one.count:
            batch.skipped[one.reason] = batch.skipped.get(one.reason, 0) + one.count


def _sample(batch: ImportBatch, judged: Sequence[Judged]) -> None:
    for one in judged:
        samples = batch.samples.setdefault(str(one.outcome), [])
        if one.text and len(samples) < SAMPLES:
            samples.append({"sort": str(one.sort), "text": " ".join(one.text[:1000].split())[:SAMPLE_CHARS]})


def _forget_brought(batch: ImportBatch, *, now: datetime) -> None:
    user_id = batch.user_id
    items = ImportItem.objects.filter(user_id=user_id, batch=batch, outcome__in=BROUGHT).exclude(row_id=None)
    of_sort: dict[str, list[UUID]] = {sort: [] for sort in ImportItem.Sort}
    for sort, row_id in items.values_list("sort", "row_id"):
        if row_id:
            of_sort[sort].append(row_id)
    withdrawal.forget_brought_within(user_id, of_sort[ImportItem.Sort.MEMORY], now=now)
    experiences = experience_queries.by_ids(user_id, of_sort[ImportItem.Sort.EXPERIENCE])
    if experiences:
        forgettings.forget_experiences_within(user_id, list(experiences), now=now)
    brought = of_sort[ImportItem.Sort.CONVERSATION]
    conversations.delete_conversations_within(user_id, brought)
    for turn_id in transcript.conversations_of(user_id, brought):  # added to what there was before
        importing.discontinue_within(user_id, turn_id, now=now)
