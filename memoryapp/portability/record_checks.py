"""Whether a record of an archive says what its rows may hold. Nothing in a file is believed before.

What a constraint of the database sees, such as two rows in one place, is left to it.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import (
    BooleanField,
    CharField,
    DateTimeField,
    Field,
    FloatField,
    IntegerField,
    JSONField,
    TextField,
)
from django.utils import timezone

from memoryapp.policies.trust import Origin
from memoryapp.portability import local_ids, tables
from memoryapp.portability.errors import DamagedArchiveError
from memoryapp.portability.records import ENDED, PLACE, Record
from memoryapp.portability.shapes import has_its_shape
from memoryapp.portability.tables import Table

# The longest text that any setting lets in: see ``conf.message_max_chars``. What tools answer is kept shorter.
MAX_TEXT_CHARS: Final = 1_000_000
TRUST: Final = frozenset({"origin", "taint"})
PAST: Final = frozenset({"started_at", "finished_at"})  # of what has ended: see ``records.ENDED``
SKEW: Final = timedelta(days=1)  # of the clock where the archive was written


def check_settings(record: Record) -> None:
    """What they may be here is seen when they are set.

    As the others it raises DamagedArchiveError, which says what is wrong and no word of the record.
    """
    if not all(isinstance(value, str | bool) for value in record.values()):
        raise DamagedArchiveError("a setting of it has no proper value")


def check_conversation(record: Record) -> None:
    _check(tables.CONVERSATIONS, record)
    if record["is_temporary"] and record["save_memory"]:
        raise DamagedArchiveError("a temporary conversation is not remembered")


def check_turn(record: Record) -> None:
    if record.get("is_deleted") is True:
        _check(tables.TURNS, record, only=PLACE)
        return
    _check(tables.TURNS, record)
    _check_within(tables.OF_TURNS, record)
    if not isinstance(record.get("exclusions"), list):
        raise _wrong(tables.TURNS, "exclusions")
    run = record.get("run")
    if run is not None:
        _check(tables.RUNS, run)
        _check_within(tables.OF_RUNS, run)


def check_conversation_end(record: Record) -> None:
    _check_within(tables.OF_CONVERSATIONS, record)


def check_memory(record: Record) -> None:
    _check(tables.MEMORIES, record)
    _check_within(tables.OF_MEMORIES, record)


def check_experience(record: Record) -> None:
    _check(tables.EXPERIENCES, record)


def check_use(record: Record) -> None:
    _check(tables.USES, record)


def check_refusal(record: Record) -> None:
    _check(tables.REFUSALS, record)


def is_moment(value: object) -> bool:
    """Whether the database can hold it and every zone show it: with its zone, of the years 2 to 9998 in UTC. What
    Postgres would make of "now" or "infinity" is no moment that somebody wrote down."""
    if not isinstance(value, str):
        return False
    try:
        moment = datetime.fromisoformat(value)
        return moment.tzinfo is not None and 1 < moment.astimezone(UTC).year < 9999
    except (ValueError, OverflowError):
        return False


def _check_within(nested: Mapping[str, Table], record: Record) -> None:
    for name, table in nested.items():
        rows = record.get(name)
        if not isinstance(rows, list):
            raise DamagedArchiveError(f"its {name} are no list")
        for row in rows:
            _check(table, row)


def _check(table: Table, record: object, *, only: tuple[str, ...] | None = None) -> None:
    if not isinstance(record, dict):
        raise DamagedArchiveError(f"a {table.name} of it is no record")
    if table in tables.NUMBERED and local_ids.number_in(record.get("id"), table.name) is None:
        raise _wrong(table, "id")
    for name in only or table.kept:
        if not _is_proper(table, name, record.get(name)):
            raise _wrong(table, name)
    for name, target in {} if only else table.many.items():
        targets = record.get(name)
        if not isinstance(targets, list) or not all(local_ids.number_in(one, target) for one in targets):
            raise _wrong(table, name)


def _is_proper(table: Table, name: str, value: Any) -> bool:
    column = _column(table, name)
    if value is None:
        return column.null
    if isinstance(column, JSONField):
        return has_its_shape(table.name, name, value)
    if value == "" and isinstance(column, CharField | TextField):
        return column.blank or not (column.choices or name in TRUST)
    return (
        _is_of_its_type(column, value)
        and _is_within_its_bounds(column, value)
        and (name not in PAST or _is_past(value))
        and (name not in TRUST or value in list(Origin))
        # Nothing goes on because a file says so.
        and not (name == "status" and value in ENDED.get(table.name, {}))
    )


def _column(table: Table, name: str) -> "Field[Any, Any]":
    column = table.model._meta.get_field(name)  # noqa: SLF001  # Django's documented API
    assert isinstance(column, Field)
    return column


_TYPES: Final[Mapping[type, type | tuple[type, ...]]] = {
    BooleanField: bool,
    IntegerField: int,
    FloatField: (int, float),
    CharField: str,
    TextField: str,
}


def _is_of_its_type(column: "Field[Any, Any]", value: object) -> bool:
    if isinstance(column, DateTimeField):
        return is_moment(value)
    types = next((types for kind, types in _TYPES.items() if isinstance(column, kind)), ())
    return isinstance(value, types) and (isinstance(column, BooleanField) or not isinstance(value, bool))


def _is_past(moment: str) -> bool:
    return datetime.fromisoformat(moment) <= timezone.now() + SKEW


def _is_within_its_bounds(column: "Field[Any, Any]", value: Any) -> bool:
    """By the column's own validators: its length, its range, its choices."""
    if isinstance(value, str) and len(value) > MAX_TEXT_CHARS:
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if column.choices and value not in dict(column.flatchoices):
        return False
    try:
        column.run_validators(value)
    except ValidationError:
        return False
    return True


def _wrong(table: Table, name: str) -> DamagedArchiveError:
    return DamagedArchiveError(f"a {table.name} of it has no proper {name}")
