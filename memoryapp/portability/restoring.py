"""Rows of an archive written as they were, with the ids that they have here.

The one place outside a tier that writes its rows: a tier's operations say that something happens now, and this says
what had happened. Each call is a part of the caller's transaction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Field, GeneratedField, Model, Q

from memoryapp.accounts.models import User
from memoryapp.accounts.queries import time_zones
from memoryapp.longterm import history, tombstones
from memoryapp.longterm.models import Experience, Kind, KindRefusal, Memory
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin, weakest
from memoryapp.portability import local_ids, tables
from memoryapp.portability.archive_reading import Chat
from memoryapp.portability.errors import DamagedArchiveError
from memoryapp.portability.record_checks import TRUST
from memoryapp.portability.records import PLACE, Record
from memoryapp.portability.tables import Table
from memoryapp.transcript.keys import keep_keys
from memoryapp.transcript.models import Conversation, Turn

Row = dict[str, Any]
# Name of a setting → before and since.
Changes = Mapping[str, Sequence[Any]]

ROWS_AT_ONCE: Final = 200
TURNS_AT_ONCE: Final = 100
# One statement for a table, whatever its columns: Postgres reads the values out of JSON by their types. (The ORM fills
# "when it was made" with the present.)
INSERT: Final = (
    "INSERT INTO {table} ({columns}) SELECT {columns} FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb)"
)
# A deleted turn that others follow says nothing.
BARE: Final[Row] = {name: Turn(status=Turn.Status.COMPLETED).__dict__[name] for name in tables.TURNS.kept}
FALLBACK_KIND: Final = "preference"  # for what is of a kind that there is not here


@dataclass(frozen=True, slots=True)
class Restoring:
    """``is_exact``: this installation wrote it, and everything is believed as it stands. Else it comes from elsewhere:
    no text of it is more trusted than an import, none is read for what to remember, and nothing is kept for longer.

    Records were checked by ``record_checks`` when they were read.
    """

    user: User
    batch_id: UUID
    now: datetime
    is_exact: bool

    def settings(self, record: Record) -> Changes:
        """What is not known here stays as it is."""
        known = {
            "time_zone": time_zones(),
            "theme": User.Theme.values,
            "language": ("", *dict(settings.LANGUAGES)),
        }
        person = User.objects.filter(id=self.user.id)
        before = person.values(*tables.SETTINGS).get()
        changes = {
            name: (before[name], record[name])
            for name in tables.SETTINGS
            if record.get(name, before[name]) != before[name]
            and record[name] in known.get(name, (True, False))
        }
        person.update(**{name: value for name, (_, value) in changes.items()})
        return changes

    def refusal(self, record: Record) -> None:
        kind = Kind.objects.filter(slug=str(record.get("kind"))).first()
        if kind and not KindRefusal.objects.filter(user=self.user, kind=kind).exists():
            row = self._row(tables.REFUSALS, record, index=kind.id) | {"kind_id": kind.id}
            _insert(KindRefusal, [row])

    def conversation(self, chat: Chat, turns: Iterable[Record]) -> UUID:
        """With everything in it; what it is a copy of is told by ``links``."""
        head = self._row(tables.CONVERSATIONS, chat.head) | {"forked_from_id": None}
        if not self.is_exact:
            head["updated_at"] = self._not_later(head["updated_at"])
        _insert(Conversation, [head])
        batch: list[Record] = []
        above = {str(None)}
        for turn in turns:
            if str(turn.get("parent")) not in above:
                raise DamagedArchiveError("a turn of it stands below itself, or in another conversation")
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
        hanging: dict[str, list[Row]] = {name: [] for name in tables.OF_MEMORIES}
        for record in records:
            kind = record.get("kind")
            row = self._row(tables.MEMORIES, record) | {"superseded_by_id": None}
            row["kind_id"] = kinds.get(kind if isinstance(kind, str) else "") or kinds[FALLBACK_KIND]
            rows.append(row | self._words(row))
            for name, table in tables.OF_MEMORIES.items():
                hanging[name] += self._children(table, record, name, {"memory_id": row["id"]})
        _insert(Memory, rows)
        for name, table in tables.OF_MEMORIES.items():
            _insert(table.model, hanging[name])
        return [row["id"] for row in rows]

    def experiences(self, records: Sequence[Record]) -> list[UUID]:
        kind_id = Kind.objects.values_list("id", flat=True).get(subject=Kind.Subject.EXPERIENCE)
        rows = [self._row(tables.EXPERIENCES, record) | {"kind_id": kind_id} for record in records]
        if not self.is_exact:
            rows = [row | self._of_elsewhere(row) for row in rows]
        _insert(Experience, rows)
        return [row["id"] for row in rows]

    def uses(self, records: Sequence[Record], *, first: int) -> None:
        rows = [self._row(tables.USES, record, number=first + place) for place, record in enumerate(records)]
        used = [row["memory_id"] or row["experience_id"] for row in rows]
        there: set[UUID] = set()
        for table in (tables.MEMORIES, tables.EXPERIENCES):
            there |= set(table.rows().filter(user=self.user, id__in=used).values_list("id", flat=True))
        _insert(tables.USES.model, [row for row, id_ in zip(rows, used, strict=True) if id_ in there])

    def links(self, records: Iterable[tuple[str, Record]]) -> None:
        """What points at a row that came after it: now that all are there. ``records``: with the pointer's name."""
        for name, record in records:
            table = tables.CONVERSATIONS if name == "forked_from" else tables.MEMORIES
            rows = table.rows().filter(user=self.user)
            target = rows.filter(id=self._target(table.name, record[name])).values("id")[:1]
            rows.filter(id=self._id(table, record)).update(**{name: target})

    def _turns(self, conversation_id: UUID, records: Sequence[Record]) -> None:
        turns: list[Row] = []
        messages: list[Row] = []
        runs: list[Row] = []
        of_runs: dict[str, list[Row]] = {name: [] for name in tables.OF_RUNS}
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
            run = record["run"]
            if run:
                runs.append(self._run(run) | of_turn)
                for name, table in tables.OF_RUNS.items():
                    of_runs[name] += self._children(table, run, name, {"run_id": runs[-1]["id"]})
        _insert(Turn, turns)
        _insert(tables.MESSAGES.model, messages)
        _insert(tables.RUNS.model, runs)
        for name, table in tables.OF_RUNS.items():
            _insert(table.model, of_runs[name])
        _insert(tables.SNAPSHOTS.model, snapshots)
        _insert(tables.EXCLUSIONS.model, exclusions)
        keep_keys(self.user.id, [row["id"] for row in messages])

    def _turn(self, record: Record) -> Row:
        if record.get("is_deleted") is True:
            row = self._row(tables.TURNS, BARE | {name: record[name] for name in ("id", "parent", *PLACE)})
            row |= {"deleted_at": row["created_at"], "attempts_left": 0}
        else:
            row = self._row(tables.TURNS, record)
        return row | {"idempotency_key": f"imported:{row['id']}"}

    def _run(self, run: Record) -> Row:
        row = self._row(tables.RUNS, self._with_ids(run)) | {"memory_epoch": 0}
        return row if self.is_exact else row | {"is_kept": False, "kept_until": None}

    def _of_elsewhere(self, lesson: Row) -> Row:
        """What no file may say of a lesson: that somebody here confirmed it, and where it was learned."""
        return {
            "confidence": min(lesson["confidence"], INITIAL_CONFIDENCE[Origin.IMPORTED]),
            "confirmed_at": None,
            "seen_count": 1,
            "given_count": 0,
            "affirmed_at": self._not_later(lesson["affirmed_at"]),
            "source_run_id": None,
            "run_ids": [],
            "memory_ids": [],
        }

    def _not_later(self, moment: str) -> str:
        """Than now: what is of the future would outlive every lifetime."""
        return min(moment, self.now.isoformat(), key=datetime.fromisoformat)

    def _messages(self, record: Record, of_turn: Row) -> list[Row]:
        rows = [self._row(tables.MESSAGES, message) | of_turn for message in record["messages"]]
        if not self.is_exact:
            for row in rows:
                row["extracted_at"] = row["extracted_at"] or self.now.isoformat()
        return rows

    def _exclusions(self, record: Record, of_turn: Row) -> list[Row]:
        targets = map(self._any_target, record["exclusions"])
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
            row["replaces_id"] = before
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
        number = int(record["id"].partition(":")[2])
        rows = []
        for index, child in enumerate(record[name], 1):
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
            row[name] = self._weakened(name, record[name])
        for name, target in table.points.items():
            row[f"{name}_id"] = self._target(target, record.get(name))
        for name, target in table.many.items():
            row[name] = [self._target(target, local) for local in record[name]]
        return row

    def _number(self, table: Table, record: Record) -> int:
        number = local_ids.number_in(record["id"], table.name)
        assert number is not None
        return number

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

    def _weakened(self, name: str, value: Any) -> Any:
        """What nothing is known of is as little trusted."""
        if self.is_exact or name not in TRUST:
            return value
        return weakest([Origin(value or Origin.IMPORTED), Origin.IMPORTED])


def is_same_lesson(user_id: UUID, record: Record) -> bool:
    """Whether the person has the same one already, also when it is being forgotten."""
    words = {name: record.get(name) for name in ("goal", "worked", "avoid")}
    return Experience.everything.for_user(user_id).filter(**words).exists()


def give_end(user_id: UUID, memory_id: UUID, *, expires_at: datetime) -> None:
    """The end that a file gives it, where that is sooner than its kind's: a file lengthens no life."""
    rows = Memory.objects.for_user(user_id).with_expiry().filter(id=memory_id)
    rows.filter(Q(fades_at=None) | Q(fades_at__gt=expires_at)).update(expires_at=expires_at)


def take_back_settings(user_id: UUID, changes: Changes) -> None:
    """But for those that were changed once more since."""
    for name, (before, since) in changes.items():
        User.objects.filter(id=user_id, **{name: since}).update(**{name: before})


def take_back_refusals(user_id: UUID, batch_id: UUID) -> None:
    """Those that ``refusal`` wrote."""
    kinds = Kind.objects.values_list("id", flat=True)
    ids = [local_ids.new_id(batch_id, tables.REFUSALS.name, 0, kind_id) for kind_id in kinds]
    KindRefusal.objects.filter(user=user_id, id__in=ids).delete()


def _insert(model: type[Model], rows: Sequence[Row]) -> None:
    """Every column that a row does not name gets its default."""
    columns = _columns(model)
    quote = connection.ops.quote_name
    statement = INSERT.format(
        table=quote(model._meta.db_table),  # noqa: SLF001  # Django's documented API
        columns=", ".join(map(quote, columns)),
    )
    for start in range(0, len(rows), ROWS_AT_ONCE):
        whole = [
            {name: _value(column, row) for name, column in columns.items()}
            for row in rows[start : start + ROWS_AT_ONCE]
        ]
        with connection.cursor() as cursor:
            cursor.execute(statement, [json.dumps(whole, ensure_ascii=False, default=str)])


def _columns(model: type[Model]) -> "dict[str, Field[Any, Any]]":
    fields = model._meta.concrete_fields  # noqa: SLF001  # Django's documented API
    return {field.column: field for field in fields if field.column and not isinstance(field, GeneratedField)}


def _value(column: "Field[Any, Any]", row: Mapping[str, Any]) -> Any:
    if column.attname in row:
        return row[column.attname]
    default = column.get_default()
    return "\\x" + default.hex() if isinstance(default, bytes) else default
