"""The work on one import, by a worker that may be killed anywhere: another goes on after the last record that is in.

A conversation is one transaction, and so are a hundred facts; each notes with what it wrote how far the file is.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import IO, Final
from uuid import UUID

from django.db import DataError, IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from memoryapp.errors import MemoryAppError
from memoryapp.longterm import history
from memoryapp.portability import archive_reading, operations, queries
from memoryapp.portability.archive_reading import Chat, Found, Part
from memoryapp.portability.errors import ChangedMeanwhileError, DamagedArchiveError
from memoryapp.portability.identity import moment_digest
from memoryapp.portability.importers.detecting import detect
from memoryapp.portability.importers.items import Conversation, Format
from memoryapp.portability.importers.reading import read
from memoryapp.portability.merging import (
    Item,
    Judged,
    Merging,
    Outcome,
    Sort,
    left_lesson,
    unkept_memory,
)
from memoryapp.portability.models import ImportBatch
from memoryapp.portability.restoring import Restoring
from memoryapp.receipts import queries as receipts

logger = logging.getLogger(__name__)

RECORDS_AT_ONCE: Final = 100
FAILED: Final = (
    "Something went wrong here, not with your file. Import it again, and tell your admin if it stays so."
)
CHANGED: Final = gettext_noop(
    "Something was said, learned or forgotten here while the file was brought in, so that it was stopped. "
    "What had come by then stays. Import the file again for the rest."
)


def work(batch_id: UUID) -> None:
    """Read it or bring it in, whichever it is at. Nothing to do is no error, and neither is another worker."""
    batch = operations.claim(batch_id, now=timezone.now())
    if batch is None:
        return
    try:
        if batch.attempt > operations.ATTEMPTS:
            operations.fail(batch, code="import_failed", message=FAILED, now=timezone.now())
        else:
            _work(batch)
    except operations.LostError:
        logger.info("Import %s has another worker, or was undone", batch_id)


def _work(batch: ImportBatch) -> None:
    try:
        with queries.file_of(batch) as file:
            if batch.status == ImportBatch.Status.READING:
                _look(batch, file)
            if batch.status == ImportBatch.Status.IMPORTING:
                _bring(batch, file)
    except MemoryAppError as error:
        operations.fail(batch, code=error.code, message=str(error), now=timezone.now())
    except (IntegrityError, DataError) as error:
        # Of rows that a file describes: it says of them what no row may be. Its values are in no log.
        logger.warning("Import %s holds what cannot be stored: %s", batch.id, type(error).__name__)
        why = _why_refused(batch)
        operations.fail(batch, code=why.code, message=str(why), now=timezone.now())
    except operations.LostError:
        raise
    except Exception as error:  # the edge of a job  # noqa: BLE001
        # Without the traceback's values: they are what the file holds.
        logger.error("Import %s failed: %s", batch.id, type(error).__name__)  # noqa: TRY400
        operations.fail(batch, code="import_failed", message=FAILED, now=timezone.now())


def _why_refused(batch: ImportBatch) -> MemoryAppError:
    """By the database: a restore counts on an account that holds nothing else."""
    if batch.is_restore and queries.is_changed_beside(batch):
        return ChangedMeanwhileError(CHANGED)
    return DamagedArchiveError("its records contradict each other")


def _look(batch: ImportBatch, file: IO[bytes]) -> None:
    """Foresee what would become of each record; nothing is written but the counts."""
    now = timezone.now()
    found = detect(file)
    is_restore = (
        found is Format.STRATA and queries.is_untouched(batch.user_id) and archive_reading.is_signed(file)
    )
    operations.note_format(batch, found.value, is_restore=is_restore, now=now)
    operations.begin_reading(batch, now=now)
    merging = _merging(batch)
    judged: list[Judged] = []
    position = 0
    for position, item in enumerate(_items(batch, file), 1):
        judged.append(_as_new(item) if is_restore else merging.judge(item))
        if len(judged) == RECORDS_AT_ONCE:
            operations.note_read(batch, judged, position=position, now=timezone.now())
            judged = []
    operations.note_read(batch, judged, position=position, now=timezone.now())
    operations.end_reading(batch, now=timezone.now())


def _bring(batch: ImportBatch, file: IO[bytes]) -> None:
    """The same again, in earnest, from where it was left."""
    if batch.is_restore and batch.position == 0 and not queries.is_untouched(batch.user_id):
        batch.is_restore = False  # something was said or remembered since it was looked at
        operations.note_format(batch, batch.format, is_restore=False, now=timezone.now())
    merging = _merging(batch)
    exact = Restoring(batch.user, batch.id, batch.created_at, is_exact=True)
    # What cannot be drained late: a conversation's turns are read inside its transaction, where it is brought.
    for last, group in _groups(enumerate(_items(batch, file), 1), after=batch.position):
        with transaction.atomic(durable=True):
            if batch.is_restore:
                _check_nothing_forgotten(batch)
            taken = (
                _restored(batch, exact, group, last=last)
                if batch.is_restore
                else list(map(merging.take, group))
            )
            operations.note_brought(batch, taken, position=last, now=timezone.now())
    if batch.is_restore:
        _link(batch, exact, file)
    operations.end(batch, now=timezone.now())


def _check_nothing_forgotten(batch: ImportBatch) -> None:
    """Row by row what was forgotten since would come all the same. Raises ChangedMeanwhileError."""
    history.lock_person(batch.user_id)  # no forgetting beside it, before the end of this transaction
    if receipts.receipts(batch.user_id).exists():
        raise ChangedMeanwhileError(CHANGED)


def _restored(batch: ImportBatch, exact: Restoring, group: Sequence[Item], *, last: int) -> list[Judged]:
    """``group``: a conversation, or records of one part of the archive."""
    (first, *_) = group
    if isinstance(first, Chat):
        created_at = datetime.fromisoformat(first.head["created_at"])
        row_id = exact.conversation(first, first.turns())
        return [replace(_as_new(first), row_id=row_id, digests=(moment_digest(batch.user, created_at),))]
    assert isinstance(first, Found)
    records = [one.record for one in group if isinstance(one, Found)]
    if first.part in {Part.MEMORY, Part.EXPERIENCE}:
        return _restored_facts(exact, group)
    match first.part:
        case Part.SETTINGS:
            operations.note_settings(batch, exact.settings(records[0]), now=timezone.now())
        case Part.REFUSAL:
            for record in records:
                exact.refusal(record)
        case Part.USE:
            exact.uses(records, first=last - len(records) + 1)
    return []


def _restored_facts(exact: Restoring, group: Sequence[Item]) -> list[Judged]:
    """Of facts or of lessons those that may be kept. What became of each, in order."""
    judged = list(map(_as_new, group))
    kept = [
        item
        for item, one in zip(group, judged, strict=True)
        if isinstance(item, Found) and one.outcome == Outcome.NEW
    ]
    write = exact.memories if judged[0].sort == Sort.MEMORY else exact.experiences
    ids = iter(write([item.record for item in kept]))
    return [replace(one, row_id=next(ids)) if one.outcome == Outcome.NEW else one for one in judged]


def _link(batch: ImportBatch, exact: Restoring, file: IO[bytes]) -> None:
    """Once everything is there. Done twice it changes nothing."""
    with transaction.atomic(durable=True):
        for item in archive_reading.units(file):
            if isinstance(item, Chat) and item.head.get("forked_from"):
                exact.links([("forked_from", item.head)])
            elif isinstance(item, Found) and item.part is Part.MEMORY and item.record.get("superseded_by"):
                exact.links([("superseded_by", item.record)])
    operations.note_brought(batch, [], position=batch.position, now=timezone.now())


def _items(batch: ImportBatch, file: IO[bytes]) -> Iterator[Item]:
    file.seek(0)
    if batch.format == Format.STRATA:
        return archive_reading.units(file)
    return read(file, Format(batch.format), now=batch.created_at)


def _groups(numbered: Iterable[tuple[int, Item]], *, after: int) -> Iterator[tuple[int, list[Item]]]:
    """What is written at once, with the number of its last record; a conversation stands alone.

    The groups are the same whenever the file is read, so that a position is always between two of them.
    """
    group: list[Item] = []
    last = 0
    for number, item in numbered:
        if group and (_is_alone(item) or _part(item) != _part(group[0]) or len(group) == RECORDS_AT_ONCE):
            if last > after:
                yield last, group
            group = []
        if _is_alone(item):
            if number > after:
                yield number, [item]
        else:
            group.append(item)
        last = number
    if group and last > after:
        yield last, group


def _is_alone(item: Item) -> bool:
    return isinstance(item, Chat | Conversation)


def _part(item: Item) -> object:
    return item.part if isinstance(item, Found) else type(item)


def _as_new(item: Item) -> Judged:
    """What becomes of it in an account that holds nothing."""
    match item:
        case Chat():
            return Judged(Sort.CONVERSATION, Outcome.NEW, item.head["title"])
        case Found(part=Part.MEMORY, record=record):
            reason = unkept_memory(record)
            outcome = Outcome.SKIPPED if reason else Outcome.NEW
            return Judged(Sort.MEMORY, outcome, record["statement"], reason=reason)
        case Found(part=Part.EXPERIENCE, record=record):
            return left_lesson(record) or Judged(Sort.EXPERIENCE, Outcome.NEW, record["goal"])
    return Judged("", Outcome.NEW)


def _merging(batch: ImportBatch) -> Merging:
    return Merging(batch.user, batch.id, batch.format, batch.created_at)
