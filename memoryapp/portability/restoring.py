"""Rows of an archive written as they were, with the ids that they have here.

The one place outside a tier that writes its rows: a tier's operations say that something happens now, and this says
what had happened. Each call is a part of the caller's transaction.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import (
    BooleanField,
    CharField,
    DateTimeField,
    Field,
    FloatField,
    GeneratedField,
    IntegerField,
    JSONField,
    Model,
    TextField,
)

from memoryapp.accounts.models import User
from memoryapp.accounts.queries import time_zones
from memoryapp.longterm import history, tombstones
from memoryapp.longterm.models import Experience, Kind, Memory
from memoryapp.policies.trust import Origin, weakest
from memoryapp.portability import local_ids, tables
from memoryapp.portability.archive_reading import Chat, DamagedArchiveError
from memoryapp.portability.records import ENDED, PLACE, Record
from memoryapp.portability.tables import Table
from memoryapp.transcript.keys import keep_keys
from memoryapp.transcript.models import Conversation, Turn

Row = dict[str, Any]

ROWS_AT_ONCE: Final = 200
TURNS_AT_ONCE: Final = 100
# One statement for a table, whatever its columns: Postgres reads the values out of JSON by their types. (The ORM fills
# "when it was made" with the present.)
INSERT: Final = (
    "INSERT INTO {table} ({columns}) SELECT {columns} FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb)"
)
OF_RUNS: Final = {
    "steps": tables.STEPS,
    "checkpoints": tables.CHECKPOINTS,
    "pad_edits": tables.PAD_EDITS,
    "approvals": tables.APPROVALS,
}
OF_MEMORIES: Final = {"versions": tables.VERSIONS, "sources": tables.SOURCES, "feedback": tables.FEEDBACK}
FALLBACK_KIND: Final = "preference"  # for what is of a kind that there is not here


@dataclass(frozen=True, slots=True)
class Restoring:
    """``is_exact``: everything is believed as it stands. Else it comes from elsewhere: no text of it is more trusted
    than an import, and none of it is read for what to remember."""

    user: User
    batch_id: UUID
    now: datetime
    is_exact: bool

    def settings(self, record: Record) -> None:
        """What is not known here stays as it is."""
        known = {
            "time_zone": time_zones(),
            "theme": User.Theme.values,
            "language": ("", *dict(settings.LANGUAGES)),
        }
        changes = {
            name: record[name]
            for name in tables.SETTINGS
            if name in record and record[name] in known.get(name, (True, False))
        }
        User.objects.filter(id=self.user.id).update(**changes)

    def refusal(self, record: Record) -> None:
        kind = Kind.objects.filter(slug=str(record.get("kind"))).first()
        if kind and not tables.REFUSALS.model._default_manager.filter(user=self.user, kind=kind).exists():  # noqa: SLF001
            row = self._row(tables.REFUSALS, record, index=kind.id) | {"kind_id": kind.id}
            _insert(tables.REFUSALS.model, [row])

    def conversation(self, chat: Chat, turns: Iterable[Record]) -> UUID:
        """With everything in it; what it is a copy of is told by ``links``."""
        head = self._row(tables.CONVERSATIONS, chat.head) | {"forked_from_id": None}
        _insert(Conversation, [head])
        batch: list[Record] = []
        above = {str(None)}
        for turn in turns:
            if str(turn.get("parent")) not in above:
                raise _wrong(tables.TURNS, "parent")  # below itself, or in another conversation
            above.add(str(turn.get("id")))
            batch.append(turn)
            if len(batch) == TURNS_AT_ONCE:
                self._turns(head["id"], batch)
                batch = []
        self._turns(head["id"], batch)
        self._endings(chat, head["id"])
        id_: UUID = head["id"]
        return id_

    def memories(self, records: Sequence[Record]) -> list[UUID]:
        """What replaced them is told by ``links``."""
        kinds = dict(Kind.objects.filter(subject=Kind.Subject.STATEMENT).values_list("slug", "id"))
        rows = []
        hanging: dict[str, list[Row]] = {name: [] for name in OF_MEMORIES}
        for record in records:
            kind = record.get("kind")
            row = self._row(tables.MEMORIES, record) | {"superseded_by_id": None}
            row["kind_id"] = kinds.get(kind if isinstance(kind, str) else "") or kinds[FALLBACK_KIND]
            rows.append(row | self._words(row))
            for name, table in OF_MEMORIES.items():
                hanging[name] += self._children(table, record, name, {"memory_id": row["id"]})
        _insert(Memory, rows)
        for name, table in OF_MEMORIES.items():
            _insert(table.model, hanging[name])
        return [row["id"] for row in rows]

    def experiences(self, records: Sequence[Record]) -> list[UUID]:
        kind_id = Kind.objects.values_list("id", flat=True).get(subject=Kind.Subject.EXPERIENCE)
        rows = [self._row(tables.EXPERIENCES, record) | {"kind_id": kind_id} for record in records]
        if not self.is_exact:
            for row in rows:
                row["origin"] = weakest([Origin(row["origin"]), Origin.IMPORTED])
                row |= {"source_run_id": None, "run_ids": [], "memory_ids": []}
        _insert(Experience, rows)
        return [row["id"] for row in rows]

    def uses(self, records: Sequence[Record], *, first: int) -> None:
        rows = [self._row(tables.USES, record, number=first + place) for place, record in enumerate(records)]
        _insert(tables.USES.model, rows)

    def links(self, records: Iterable[tuple[str, Record]]) -> None:
        """What points at a row that came after it: now that all are there. ``records``: with the pointer's name."""
        for name, record in records:
            table = tables.CONVERSATIONS if name == "forked_from" else tables.MEMORIES
            target = self._target(table.name, record.get(name))
            rows = table.model._default_manager.filter(id=self._id(table, record), user=self.user)  # noqa: SLF001
            if target:
                rows.update(**{name: target})

    def _turns(self, conversation_id: UUID, records: Sequence[Record]) -> None:
        turns: list[Row] = []
        messages: list[Row] = []
        runs: list[Row] = []
        of_runs: dict[str, list[Row]] = {name: [] for name in OF_RUNS}
        snapshots: list[Row] = []
        exclusions: list[Row] = []
        for record in records:
            turn = self._turn(record) | {"conversation_id": conversation_id}
            turns.append(turn)
            if turn.get("deleted_at"):
                continue
            of_turn = {"turn_id": turn["id"]}
            messages += self._messages(record, of_turn)
            snapshots += self._children(tables.SNAPSHOTS, record, "snapshots", of_turn)
            exclusions += self._exclusions(record, of_turn)
            run = _record(record, "run")
            if run:
                runs.append(self._row(tables.RUNS, self._with_ids(run)) | of_turn | {"memory_epoch": 0})
                for name, table in OF_RUNS.items():
                    of_runs[name] += self._children(table, run, name, {"run_id": runs[-1]["id"]})
        _insert(Turn, turns)
        _insert(tables.MESSAGES.model, messages)
        _insert(tables.RUNS.model, runs)
        for name, table in OF_RUNS.items():
            _insert(table.model, of_runs[name])
        _insert(tables.SNAPSHOTS.model, snapshots)
        _insert(tables.EXCLUSIONS.model, exclusions)
        keep_keys(self.user.id, [row["id"] for row in messages])

    def _turn(self, record: Record) -> Row:
        if record.get("is_deleted") is True:
            bare = {name: Turn._meta.get_field(name).get_default() for name in tables.TURNS.kept}  # type: ignore[union-attr]  # noqa: SLF001
            bare |= {name: record.get(name) for name in ("id", "parent", *PLACE)}
            row = self._row(tables.TURNS, bare | {"status": Turn.Status.COMPLETED.value})
            row |= {"deleted_at": row["created_at"], "attempts_left": 0}
        else:
            row = self._row(tables.TURNS, record)
            row["taint"] = self._taint(row["taint"])
        return row | {"idempotency_key": f"imported:{row['id']}"}

    def _messages(self, record: Record, of_turn: Row) -> list[Row]:
        rows = [self._row(tables.MESSAGES, message) | of_turn for message in _records(record, "messages")]
        if not self.is_exact:
            for row in rows:
                row["extracted_at"] = row["extracted_at"] or self.now.isoformat()
        return rows

    def _exclusions(self, record: Record, of_turn: Row) -> list[Row]:
        found = record.get("exclusions")
        targets = [self._any_target(local) for local in found] if isinstance(found, list) else []
        number = self._number(tables.TURNS, record)
        return [
            {
                "id": local_ids.new_id(self.batch_id, "exclusion", number, index),
                "user_id": self.user.id,
                "item_id": target,
                **of_turn,
            }
            for index, target in enumerate(filter(None, targets), 1)
        ]

    def _endings(self, chat: Chat, conversation_id: UUID) -> None:
        ending = (chat.ending or {}) | {"id": chat.head.get("id")}
        of_it = {"conversation_id": conversation_id}
        _insert(tables.PINNED_LINES.model, self._children(tables.PINNED_LINES, ending, "pinned_lines", of_it))
        summaries = self._children(tables.SUMMARIES, ending, "summaries", of_it)
        before = None
        for row in summaries:
            row |= {"replaces_id": before, "taint": self._taint(row["taint"])}
            before = row["id"]
        _insert(tables.SUMMARIES.model, summaries)

    def _words(self, row: Row) -> Row:
        """What is made anew from a memory's words."""
        memory = Memory()
        digest = tombstones.statement_digest(self.user.forgetting_key, row["statement"])
        history.word(memory, row["statement"], digest=digest)
        return {
            "digest": digest,
            "slot": memory.slot,
            "terms": "\\x" + bytes(memory.terms).hex(),
            "is_flagged": memory.is_flagged,
        }

    def _children(self, table: Table, record: Record, name: str, parent: Row) -> list[Row]:
        """The rows that stand in a record."""
        number = self._number_of_any(record)
        rows = []
        for index, child in enumerate(_records(record, name), 1):
            found = self._with_ids(child) if table is tables.SNAPSHOTS else child
            rows.append(self._row(table, found, number=number, index=index) | parent)
        return rows

    def _row(self, table: Table, record: Record, *, number: int | None = None, index: int = 0) -> Row:
        if table in tables.NUMBERED:
            number = self._number(table, record)
        row: Row = {
            "id": local_ids.new_id(self.batch_id, table.name, number or 0, index),
            "user_id": self.user.id,
        }
        for name in table.kept:
            row[name] = checked(table, name, record.get(name))
        for name, target in table.points.items():
            row[f"{name}_id"] = self._target(target, record.get(name))
        for name, target in table.many.items():
            row[name] = [self._target(target, local) for local in _list(record.get(name))]
        return row

    def _number(self, table: Table, record: Record) -> int:
        number = local_ids.number_in(record.get("id"), table.name)
        if number is None:
            raise _wrong(table, "id")
        return number

    def _number_of_any(self, record: Record) -> int:
        name, _, number = str(record.get("id")).partition(":")
        if not number.isdecimal() or int(number) > local_ids.MAX_NUMBER:
            raise DamagedArchiveError(f"This archive is damaged: a {name[:20]} of it has no number.")
        return int(number)

    def _id(self, table: Table, record: Record) -> UUID:
        return local_ids.new_id(self.batch_id, table.name, self._number(table, record))

    def _target(self, name: str, local: object) -> UUID | None:
        number = local_ids.number_in(local, name)
        return local_ids.new_id(self.batch_id, name, number) if number else None

    def _any_target(self, local: object) -> UUID | None:
        return next(filter(None, (self._target(table.name, local) for table in tables.NUMBERED)), None)

    def _with_ids(self, record: Record) -> Record:
        text = json.dumps(record, ensure_ascii=False)
        found: Record = json.loads(local_ids.with_new_ids(text, self._any_target))
        return found

    def _taint(self, taint: str) -> str:
        return taint if self.is_exact else weakest([Origin(taint), Origin.IMPORTED])


def is_same_lesson(user_id: UUID, record: Record) -> bool:
    """Whether the person has the same one already, also when it is being forgotten."""
    words = {name: record.get(name) for name in ("goal", "worked", "avoid")}
    return Experience.everything.for_user(user_id).filter(**words).exists()


def give_end(user_id: UUID, memory_id: UUID, *, expires_at: datetime | None, is_kept: bool) -> None:
    """The end that its person had given it elsewhere."""
    Memory.objects.for_user(user_id).filter(id=memory_id).update(expires_at=expires_at, is_kept=is_kept)


def checked(table: Table, name: str, value: Any) -> Any:
    """A value as its column may hold it. Raises DamagedArchiveError: what Postgres would make of "now" or "infinity"
    is no moment that somebody wrote down."""
    column = table.model._meta.get_field(name)  # noqa: SLF001  # Django's documented API
    assert isinstance(column, Field)
    if value is None and column.null:
        return None
    if not _is_of_its_type(column, value):
        raise _wrong(table, name)
    if column.choices and value not in dict(column.flatchoices) and value != "":
        raise _wrong(table, name)
    if name == "status" and value in ENDED.get(table.name, {}):
        raise _wrong(table, name)  # nothing goes on because a file says so
    return value


def _is_of_its_type(column: "Field[Any, Any]", value: object) -> bool:  # noqa: PLR0911
    match column:
        case DateTimeField():
            return isinstance(value, str) and is_moment(value)
        case BooleanField():
            return isinstance(value, bool)
        case IntegerField():
            return isinstance(value, int) and not isinstance(value, bool)
        case FloatField():
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case CharField() | TextField():
            return isinstance(value, str)
        case JSONField():
            return value is not None
    return False


def is_moment(value: str) -> bool:
    """Whether the database can hold it: with its zone, and not before the year 1 in UTC."""
    try:
        moment = datetime.fromisoformat(value)
        return moment.tzinfo is not None and moment.astimezone(UTC).year > 1
    except (ValueError, OverflowError):
        return False


def _insert(model: type[Model], rows: Sequence[Row]) -> None:
    """Every column that a row does not name gets its default."""
    columns = [
        field
        for field in model._meta.concrete_fields  # noqa: SLF001  # Django's documented API
        if not isinstance(field, GeneratedField)
    ]
    quote = connection.ops.quote_name
    statement = INSERT.format(
        table=quote(model._meta.db_table),  # noqa: SLF001
        columns=", ".join(quote(column.column) for column in columns),  # type: ignore[arg-type]
    )
    for start in range(0, len(rows), ROWS_AT_ONCE):
        whole = [
            {column.column: _value(column, row) for column in columns}
            for row in rows[start : start + ROWS_AT_ONCE]
        ]
        with connection.cursor() as cursor:
            cursor.execute(statement, [json.dumps(whole, ensure_ascii=False, default=str)])


def _value(column: "Field[Any, Any]", row: Mapping[str, Any]) -> Any:
    if column.attname in row:
        return row[column.attname]
    default = column.get_default()
    return "\\x" + default.hex() if isinstance(default, bytes) else default


def _records(record: Record, name: str) -> list[Record]:
    found = _list(record.get(name))
    if not all(isinstance(one, dict) for one in found):
        raise DamagedArchiveError(f"This archive is damaged: its {name} are no records.")
    return found


def _record(record: Record, name: str) -> Record | None:
    found = record.get(name)
    return found if isinstance(found, dict) else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _wrong(table: Table, name: str) -> DamagedArchiveError:
    return DamagedArchiveError(f"This archive is damaged: a {table.name} of it has no proper {name}.")
