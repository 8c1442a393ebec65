"""One person's rows as the records of an archive, in its order, a few at a time.

The caller holds one transaction with one view of the database around all of it, so that what points at a row finds it.
What is being forgotten, what was deleted and what has expired is in no read, and so in no record.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from memoryapp.accounts.models import User
from memoryapp.longterm.models import Experience, Memory
from memoryapp.portability import tables
from memoryapp.portability.local_ids import LocalIds, Numbers
from memoryapp.portability.tables import Table
from memoryapp.scratchpad.models import Approval, Run
from memoryapp.transcript.models import Turn

Record = dict[str, Any]
One = TypeVar("One")

# At once in memory. A turn comes with its run, which may have taken many steps.
CONVERSATIONS_AT_ONCE: Final = 50
TURNS_AT_ONCE: Final = 100
ROWS_AT_ONCE: Final = 500

SHOWN_TURNS: Final = Q(deleted_at=None, conversation__deleted_at=None)
OF_SHOWN_TURNS: Final = Q(turn__deleted_at=None, turn__conversation__deleted_at=None)
# What is going on now is nothing that can go on elsewhere.
ENDED: Final[Mapping[str, Mapping[str, str]]] = {
    "turn": dict.fromkeys(Turn.LIVE, Turn.Status.INTERRUPTED.value),
    "run": {Run.Status.RUNNING: Run.Status.CANCELLED.value},
    "approval": {Approval.Status.PENDING: Approval.Status.EXPIRED.value},
}
PLACE: Final = ("seq", "is_current", "left_at", "created_at", "finished_at")


@dataclass(frozen=True, slots=True)
class Conversation:
    """``turns`` are read as they are asked for, before the next conversation is."""

    head: Record
    turns: Iterator[Record]
    summaries: Sequence[Record]
    pinned_lines: Sequence[Record]


@dataclass(slots=True)
class Records:
    """What the archive of one person holds."""

    user_id: UUID
    ids: LocalIds = field(init=False)
    counts: dict[str, int] = field(init=False)
    _places: set[UUID] = field(init=False)

    def __post_init__(self) -> None:
        self._places = self._needed_places()
        numbers = {table.name: Numbers(_ids(self._numbered(table))) for table in tables.NUMBERED}
        self.ids = LocalIds(numbers)
        self.counts = {name: len(rows) for name, rows in numbers.items()}

    def settings(self) -> Record:
        found: Record = User.objects.filter(id=self.user_id).values(*tables.SETTINGS).get()
        return found

    def refusals(self) -> list[Record]:
        rows = tables.REFUSALS.rows().filter(user=self.user_id).order_by(*tables.REFUSALS.order)
        return [
            {"kind": row["kind__slug"], "created_at": _plain(row["created_at"])}
            for row in rows.values("kind__slug", "created_at")
        ]

    def conversations(self) -> Iterator[Conversation]:
        table = tables.CONVERSATIONS
        rows = self._numbered(table).order_by("id").values("id", *_columns(table))
        for chunk in _chunks(rows.iterator(CONVERSATIONS_AT_ONCE), CONVERSATIONS_AT_ONCE):
            yield from self._with_turns(chunk)

    def memories(self) -> Iterator[Record]:
        table = tables.MEMORIES
        rows = self._numbered(table).order_by("id").values("id", "kind__slug", *_columns(table))
        for chunk in _chunks(rows.iterator(ROWS_AT_ONCE), ROWS_AT_ONCE):
            ids = [row["id"] for row in chunk]
            hanging = {
                "versions": self._children(tables.VERSIONS, "memory", ids),
                "sources": self._children(tables.SOURCES, "memory", ids),
                "feedback": self._children(tables.FEEDBACK, "memory", ids),
            }
            for row in chunk:
                record = self._named(table, row) | {"kind": row["kind__slug"]}
                yield record | {name: rows.get(row["id"], []) for name, rows in hanging.items()}

    def experiences(self) -> Iterator[Record]:
        table = tables.EXPERIENCES
        rows = self._numbered(table).order_by("id").values("id", *_columns(table))
        for row in rows.iterator(ROWS_AT_ONCE):
            yield self._named(table, row)

    def uses(self) -> Iterator[Record]:
        table = tables.USES
        rows = table.rows().filter(OF_SHOWN_TURNS, user=self.user_id).order_by(*table.order)
        for row in rows.values(*_columns(table)).iterator(ROWS_AT_ONCE):
            record = self._record(table, row)
            if record and (record["memory"] or record["experience"]):
                yield record

    def _numbered(self, table: Table) -> QuerySet[Any]:
        """The rows of this table that are in the archive."""
        match table.name:
            case "conversation":
                return table.rows().filter(user=self.user_id, deleted_at=None)
            case "turn":
                is_there = SHOWN_TURNS | Q(id__in=self._places)
                return Turn.everything.filter(is_there, user=self.user_id)
            case "message" | "run":
                return table.rows().filter(OF_SHOWN_TURNS, user=self.user_id)
            case "memory":
                return Memory.objects.for_user(self.user_id).unfaded()
            case _:
                return Experience.objects.for_user(self.user_id).unfaded()

    def _needed_places(self) -> set[UUID]:
        """Deleted turns that kept ones follow: without their places those would have other numbers."""
        mine = Turn.everything.filter(user=self.user_id, conversation__deleted_at=None)
        deleted = dict(mine.exclude(deleted_at=None).values_list("id", "parent_id"))
        followed = mine.filter(deleted_at=None, parent__in=list(deleted)).values_list("parent_id", flat=True)
        needed: set[UUID] = set()
        ahead = list(followed) if deleted else []
        while ahead:
            place = ahead.pop()
            if place in deleted and place not in needed:
                needed.add(place)
                ahead.append(deleted[place])
        return needed

    def _with_turns(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Conversation]:
        ids = [row["id"] for row in rows]
        turns = self._numbered(tables.TURNS).filter(conversation__in=ids).order_by("conversation_id", "id")
        found: dict[UUID, list[UUID]] = {id_: [] for id_ in ids}
        for conversation_id, turn_id in turns.values_list("conversation_id", "id"):
            found[conversation_id].append(turn_id)
        stream = self._turns([turn_id for id_ in ids for turn_id in found[id_]])
        summaries = self._children(tables.SUMMARIES, "conversation", ids, Q(is_stale=False, deletion_ids=[]))
        lines = self._children(tables.PINNED_LINES, "conversation", ids)
        for row in rows:
            yield Conversation(
                self._named(tables.CONVERSATIONS, row),
                islice(stream, len(found[row["id"]])),
                summaries.get(row["id"], []),
                lines.get(row["id"], []),
            )

    def _turns(self, ids: Sequence[UUID]) -> Iterator[Record]:
        for chunk in _chunks(iter(ids), TURNS_AT_ONCE):
            yield from self._whole_turns(chunk)

    def _whole_turns(self, ids: Sequence[UUID]) -> Iterator[Record]:
        rows = Turn.everything.filter(id__in=ids).values("id", "deleted_at", *_columns(tables.TURNS))
        by_id = {row["id"]: row for row in rows}
        shown = [id_ for id_ in ids if by_id[id_]["deleted_at"] is None]
        messages = self._children(tables.MESSAGES, "turn", shown)
        runs = self._runs(shown)
        snapshots = self._children(tables.SNAPSHOTS, "turn", shown)
        exclusions = self._children(tables.EXCLUSIONS, "turn", shown)
        for id_ in ids:
            record = self._named(tables.TURNS, by_id[id_])
            if by_id[id_]["deleted_at"]:
                kept = {name: record[name] for name in ("id", "parent", *PLACE)}
                yield kept | {"is_deleted": True}
                continue
            record["messages"] = messages.get(id_, [])
            record["run"] = runs.get(id_)
            record["snapshots"] = self._without_ids(snapshots.get(id_, []))
            excluded = [self.ids.of_any(row["item_id"]) for row in exclusions.get(id_, [])]
            record["exclusions"] = sorted(filter(None, excluded))
            yield record

    def _runs(self, turn_ids: Sequence[UUID]) -> dict[UUID, Record]:
        table = tables.RUNS
        rows = list(table.rows().filter(turn__in=turn_ids).values("id", "turn_id", *_columns(table)))
        ids = [row["id"] for row in rows]
        hanging = {
            "steps": self._children(tables.STEPS, "run", ids),
            "checkpoints": self._children(tables.CHECKPOINTS, "run", ids),
            "pad_edits": self._children(tables.PAD_EDITS, "run", ids),
            "approvals": self._children(tables.APPROVALS, "run", ids),
        }
        runs = {}
        for row in rows:
            whole = self._named(table, row) | {name: of.get(row["id"], []) for name, of in hanging.items()}
            runs[row["turn_id"]] = self._without_ids(whole)
        return runs

    def _children(
        self, table: Table, parent: str, ids: Sequence[UUID], condition: Q | None = None
    ) -> dict[UUID, list[Record]]:
        """What stands in these records, by the id of the row that it belongs to."""
        rows = table.rows().filter(condition or Q(), **{f"{parent}__in": ids}).order_by(*table.order)
        is_numbered = table in tables.NUMBERED
        found: dict[UUID, list[Record]] = {}
        for row in rows.values(f"{parent}_id", *(["id"] if is_numbered else []), *_columns(table)):
            record = self._named(table, row) if is_numbered else self._record(table, row)
            if record is not None:
                found.setdefault(row[f"{parent}_id"], []).append(record)
        return found

    def _named(self, table: Table, row: Mapping[str, Any]) -> Record:
        return {"id": self.ids.of(table.name, row["id"])} | (self._record(table, row) or {})

    def _record(self, table: Table, row: Mapping[str, Any]) -> Record | None:
        """None when what it must point at is not in the archive."""
        record = {name: _plain(row[name]) for name in table.kept}
        for name, target in table.points.items():
            record[name] = self.ids.of(target, row[f"{name}_id"])
        for name, target in table.many.items():
            record[name] = [local for id_ in row[name] if (local := self.ids.of(target, id_))]
        if "status" in record:
            record["status"] = ENDED.get(table.name, {}).get(record["status"], record["status"])
        return None if any(record[name] is None for name in table.required) else record

    def _without_ids(self, value: One) -> One:
        """With the ids that stand anywhere in it as they are called in the archive."""
        named: One = json.loads(self.ids.in_text(json.dumps(value, ensure_ascii=False)))
        return named


def _columns(table: Table) -> list[str]:
    return [*table.kept, *(f"{name}_id" for name in table.points), *table.many]


def _ids(rows: QuerySet[Any]) -> Iterator[UUID]:
    return rows.order_by("id").values_list("id", flat=True).iterator(10_000)


def _plain(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def _chunks(rows: Iterable[One], size: int) -> Iterator[list[One]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, size)):
        yield chunk
