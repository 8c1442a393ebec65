"""The journal of erasures, and its replay over a restored backup.

An erasure is a receipt and its tombstones: ids, numbers and keyed digests, as one JSON object a line. The journal lies
outside the database, so that it outlives what a restore replaces; it says what was forgotten since the backup was made,
and a restored database serves nobody before it has forgotten all of it again.

A backup holds the receipts of its day, so what it lacks is what it does not know. The last line of a receipt counts:
an undo writes another.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

from django.db import connection
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.forgetting import stages
from memoryapp.longterm import erasing as longterm
from memoryapp.longterm import tombstones
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Receipt, Scope, Sort
from memoryapp.scratchpad import records
from memoryapp.transcript import conversations, deletions, redaction

CHANGES_FOR: Final = timedelta(days=2)  # after which no receipt changes any more: the longest undo is a day
_MOMENTS: Final = ("forgotten_at", "undo_until", "undone_at", "finished_at")
_SAID: Final = ("scope", "subject", "actor", "actor_name", "items", "restored", "counts", "signature")
# What a scope that names no items takes: everything of a person from before.
_OF_PERSON: Final = {
    Sort.MEMORY: "SELECT id FROM longterm_memory WHERE user_id = %s AND recorded_at <= %s",
    Sort.EXPERIENCE: "SELECT id FROM longterm_experience WHERE user_id = %s AND recorded_at <= %s",
    Sort.CONVERSATION: "SELECT id FROM transcript_conversation WHERE user_id = %s AND created_at <= %s",
}


class JournalError(MemoryAppError):
    """The journal cannot be read, or lacks what a restore needs."""

    code = "journal"


class NotForgottenAgainError(MemoryAppError):
    """After the replay something is still there; ``details["receipts"]`` has the ids. The database must not serve."""

    code = "not_forgotten_again"


@dataclass(frozen=True, slots=True)
class Replayed:
    """``known``: erasures that the backup had already; ``repeated``: forgotten again; ``undone``: not forgotten."""

    known: int
    repeated: int
    undone: int


@dataclass(slots=True)
class _Journal:
    """What a file holds, as far as it was read: by receipt the state of its last line."""

    path: Path
    states: dict[str, str] = field(default_factory=dict)
    read_until: int = 0
    looked_at: datetime | None = None
    trimmed_before: datetime | None = None
    inode: int = 0

    def catch_up(self, file: IO[bytes]) -> None:
        """Read what others have written since; from the beginning where the file was trimmed."""
        found = os.fstat(file.fileno())
        if found.st_ino != self.inode or found.st_size < self.read_until:
            self.states, self.read_until, self.looked_at, self.trimmed_before = {}, 0, None, None
            self.inode = found.st_ino
        file.seek(self.read_until)
        for line in file:
            if line.endswith(b"\n"):
                self.read_until += len(line)
                entry = _parsed(line) or {}
                if "trimmed_before" in entry:
                    self.trimmed_before = _moment(entry["trimmed_before"])
                if "receipt" in entry:
                    self.states[entry["receipt"]["id"]] = _state(entry["receipt"])

    def add(self, file: IO[bytes], entries: Iterable[Mapping[str, Any]]) -> int:
        new = [
            entry for entry in entries if self.states.get(entry["receipt"]["id"]) != _state(entry["receipt"])
        ]
        if new:
            file.seek(self.read_until)
            file.truncate()  # half a line that a crash left
            file.write(b"".join(_line(entry) for entry in new))
            file.flush()
            os.fsync(file.fileno())
            self.read_until = file.tell()
            self.states |= {entry["receipt"]["id"]: _state(entry["receipt"]) for entry in new}
        return len(new)


@lru_cache(maxsize=4)
def _journal(path: Path) -> _Journal:
    """One per process: the file is read as a whole once, and then only what is new."""
    return _Journal(path)


def write_journal(path: Path) -> int:
    """Append every erasure that the file does not hold as it is now; how many. Raises JournalError."""
    journal = _journal(path.resolve())
    with _opened(path) as file:
        journal.catch_up(file)
        now = timezone.now()
        rows = Receipt.objects.order_by("forgotten_at", "id")
        if journal.looked_at:
            rows = rows.filter(forgotten_at__gt=journal.looked_at - CHANGES_FOR)
        if journal.trimmed_before:
            rows = rows.filter(forgotten_at__gte=journal.trimmed_before)
        unwritten = [row for row in rows.iterator() if journal.states.get(str(row.id)) != _state(_said(row))]
        written = journal.add(file, map(_entry, unwritten))
        journal.looked_at = now
    return written


def trim_journal(path: Path, *, older_than: datetime) -> int:
    """Drop erasures from before: for backups that are as old there is nothing to repeat them on. How many."""
    with _opened(path) as file:
        lines = [(line, _parsed(line)) for line in file]
        kept = [
            line for line, entry in lines
            if entry and "receipt" in entry and _moment(entry["receipt"]["forgotten_at"]) >= older_than
        ]  # fmt: skip
        dropped = sum(1 for _, entry in lines if entry and "receipt" in entry) - len(kept)
        if dropped:
            aside = path.with_name(f"{path.name}.new")
            head = _line({"trimmed_before": older_than.isoformat()})
            aside.write_bytes(head + b"".join(kept))
            aside.chmod(0o600)
            aside.replace(path)
    return dropped


def covers(path: Path, *, made_at: datetime) -> bool:
    """Whether the journal still has everything that was forgotten since."""
    with path.open("rb") as file:
        heads = (_parsed(line) for line in file)
        return not any(
            entry and "trimmed_before" in entry and _moment(entry["trimmed_before"]) > made_at
            for entry in heads
        )


def replay(lines: Iterable[bytes]) -> Replayed:
    """Forget again, for good, what this restored database still holds of each erasure that was not undone.

    Whoever was being answered when the backup was made is not any more. Tombstones and receipts come back, so that
    nothing is learned again and the receipt goes on to say how far it is gone. Harmless to repeat. Raises
    NotForgottenAgainError.
    """
    last: dict[str, dict[str, Any]] = {}
    for entry in filter(None, map(_parsed, lines)):
        if "receipt" in entry:
            last[entry["receipt"]["id"]] = entry
    erasures = sorted(last.values(), key=lambda entry: _moment(entry["receipt"]["forgotten_at"]))
    deletions.interrupt_all()
    known = sum(_again(_receipt(entry["receipt"]), entry["stones"]) for entry in erasures)
    undone = sum(1 for entry in erasures if entry["receipt"]["undone_at"])
    _verify(erasures)
    return Replayed(known=known, repeated=len(erasures) - known - undone, undone=undone)


def _again(receipt: Receipt, stones: list[list[str]]) -> bool:
    """One erasure, once more; whether the backup knew it, was it not undone."""
    known = Receipt.objects.filter(id=receipt.id).first()
    person = User.objects.filter(id=receipt.user_id).exists()
    if known and person:
        # An undo that came after the backup: what is hidden in it comes back, and all else stays as it was.
        _bring_back(receipt)
    if receipt.undone_at:
        if known:
            _keep(receipt, is_known=True)
        return False
    if known and not is_there(receipt):
        return True
    if person:
        with receipts.repeating():
            _erase(receipt, is_known=known is not None)
        _put_stones_back(receipt, stones)
    _keep(receipt, is_known=known is not None)
    return known is not None


def _bring_back(receipt: Receipt) -> None:
    back = {sort: list(map(UUID, ids)) for sort, ids in receipt.restored.items()}
    user_id = receipt.user_id
    with receipts.repeating():
        longterm.bring_back(user_id, [*back.get("memory", ()), *back.get("experience", ())])
        deletions.bring_back(user_id, back.get("turn", ()))
        conversations.restore_conversations(user_id, back.get("conversation", ()))


def _erase(receipt: Receipt, *, is_known: bool) -> None:
    user_id = receipt.user_id
    gone = {sort: {*map(UUID, ids)} for sort, ids in stages.gone_for_good(receipt).items()}
    if receipt.scope == Scope.ACCOUNT:
        accounts.erase_person(user_id)
        return
    if receipt.scope == Scope.EVERYTHING:
        for sort, sql in _OF_PERSON.items():
            gone.setdefault(sort.value, set()).update(_ids(sql, user_id, receipt.forgotten_at))
    records.erase(user_id, gone.get("run", ()))
    if not is_known:  # else it holds the mark already
        for message_id in sorted(gone.get("message", ())):
            # The words are not kept anywhere, so all of it goes.
            with suppress(NotFoundError, InvalidInputError):
                redaction.redact_message(user_id, message_id, everywhere=False)
    deletions.erase_turns(user_id, gone.get("turn", ()))
    conversations.erase_conversations(user_id, gone.get("conversation", ()))
    longterm.erase(
        user_id,
        memory_ids=gone.get("memory", ()),
        experience_ids=gone.get("experience", ()),
        now=receipt.forgotten_at,
    )


def _put_stones_back(receipt: Receipt, stones: list[list[str]]) -> None:
    if not User.objects.filter(id=receipt.user_id).exists():
        return
    tombstones.put_back(
        receipt.user_id,
        [(UUID(memory), digest, _moment(made), _moment(ends)) for memory, digest, made, ends in stones],
    )


def _keep(receipt: Receipt, *, is_known: bool) -> None:
    """As it was, but for how far it is gone: that is to be seen anew."""
    if not receipt.undone_at:
        receipt.finished_at = receipt.derived_at = receipt.stored_at = receipt.purged_at = None
    receipts.put_back(receipt, is_known=is_known)


def _verify(erasures: Iterable[Mapping[str, Any]]) -> None:
    found = [_receipt(entry["receipt"]) for entry in erasures]
    there = [str(each.id) for each in found if not each.undone_at and is_there(each)]
    if there:
        raise NotForgottenAgainError(
            f"{len(there)} of {len(found)} erasures could not be repeated: something of them is still there.",
            receipts=there,
        )


def is_there(receipt: Receipt) -> bool:
    """Whether a row is left that the receipt says is gone."""
    if receipt.scope == Scope.ACCOUNT and User.objects.filter(id=receipt.user_id).exists():
        return True
    return bool(stages.left(stages.gone_for_good(receipt)))


def _ids(sql: str, user_id: UUID, before: datetime) -> set[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [user_id, before])
        return {row[0] for row in cursor.fetchall()}


def _entry(receipt: Receipt) -> dict[str, Any]:
    return {"receipt": _said(receipt), "stones": tombstones.of(receipt.user_id, buried(receipt))}


def buried(receipt: Receipt) -> list[str] | None:
    """The memories whose tombstones belong to it; None: all of its person's."""
    return None if receipt.scope == Scope.EVERYTHING else receipt.items.get(Sort.MEMORY.value, [])


def _said(receipt: Receipt) -> dict[str, Any]:
    said = {
        "id": str(receipt.id),
        "user_id": str(receipt.user_id),
        "subject_id": str(receipt.subject_id or ""),
        **{name: getattr(receipt, name) for name in _SAID},
    }
    moments = {name: getattr(receipt, name) for name in _MOMENTS}
    return said | {name: moment.isoformat() if moment else None for name, moment in moments.items()}


def _receipt(said: Mapping[str, Any]) -> Receipt:
    return Receipt(
        id=UUID(said["id"]),
        user_id=UUID(said["user_id"]),
        subject_id=UUID(said["subject_id"]) if said["subject_id"] else None,
        **{name: said[name] for name in _SAID},
        **{name: _moment(said[name]) if said[name] else None for name in _MOMENTS},
    )


def _state(said: Mapping[str, Any]) -> str:
    """What can change of a receipt, and must be known to repeat it."""
    back = sum(map(len, said["restored"].values()))
    return f"{bool(said['undone_at'])} {back}"


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":"), sort_keys=True).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    """None for half a line at the end, which a crash left."""
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
    except ValueError as error:
        raise JournalError("The journal of erasures holds a line that is not JSON.") from error
    if not isinstance(found, dict):
        raise JournalError("The journal of erasures holds a line that is no erasure.")
    return found


def _moment(text: str) -> datetime:
    found = parse_datetime(text)
    if found is None:
        raise JournalError("The journal of erasures holds a moment that cannot be read.")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """For one process at a time; the lock lies beside it, for trimming puts another file in its place."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise JournalError(f"Cannot write the journal of erasures at {path}: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            yield file
    finally:
        os.close(lock)
