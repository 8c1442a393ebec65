"""Whether what a receipt says is gone is gone, as far as the database can tell."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from memoryapp.accounts.models import User
from memoryapp.forgetting import erasures, stages
from memoryapp.longterm import tombstones
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Receipt, Sort

# Every column that can hold words, of every table with rows of one person.
COLUMNS: Final = """
SELECT held.table_name, held.column_name FROM information_schema.columns AS held
JOIN information_schema.columns AS owned
ON owned.table_schema = held.table_schema AND owned.table_name = held.table_name AND owned.column_name = 'user_id'
WHERE held.table_schema = current_schema() AND held.data_type IN ('text', 'character varying', 'jsonb')
ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    is_right: bool
    said: str


@dataclass(frozen=True, slots=True)
class Verdict:
    receipt_id: UUID
    checks: tuple[Check, ...]

    @property
    def is_right(self) -> bool:
        return all(check.is_right for check in self.checks)


def verdicts(receipt_id: UUID | None, *, text: str | None = None) -> Iterator[Verdict]:
    """Of one receipt, or of all, oldest first."""
    rows: QuerySet[Receipt] = Receipt.objects.order_by("forgotten_at", "id")
    for receipt in (rows.filter(id=receipt_id) if receipt_id else rows).iterator():
        yield verify(receipt, text=text)


def verify(receipt: Receipt, *, text: str | None = None) -> Verdict:
    """``text``: words that it took; they must be among its tombstones, and nowhere in what its person has."""
    checks = [_signature(receipt), _rows(receipt), _tombstones(receipt)]
    if text is not None:
        checks += [_among(receipt, text), _nowhere(receipt, text)]
    return Verdict(receipt.id, tuple(checks))


def _signature(receipt: Receipt) -> Check:
    is_right = receipts.signature(receipt) == receipt.signature
    return Check(
        "signature", is_right, "valid" if is_right else "not valid: the receipt or SECRET_KEY has changed"
    )


def _rows(receipt: Receipt) -> Check:
    """Hidden rows count as there once nothing can be undone any more and the sweep has been by."""
    if receipt.undone_at:
        return Check("rows", is_right=True, said="undone")
    found = stages.left(stages.gone_for_good(receipt))
    if found and receipt.finished_at is None:
        return Check("rows", is_right=True, said="can still be undone")
    count = sum(map(len, found.values()))
    return Check("rows", not count, f"{count} left" if count else "none left")


def _tombstones(receipt: Receipt) -> Check:
    """One for each memory, until they expire; an account takes its own along."""
    memories = {*stages.gone_for_good(receipt).get(Sort.MEMORY.value, ())}
    if receipt.undone_at or not memories or not User.objects.filter(id=receipt.user_id).exists():
        return Check("tombstones", is_right=True, said="none needed")
    standing = {memory for memory, *_ in tombstones.of(receipt.user_id, memories)}
    return Check("tombstones", bool(standing), f"{len(standing)} of {len(memories)} memories")


def _among(receipt: Receipt, text: str) -> Check:
    key = User.objects.filter(id=receipt.user_id).values_list("forgetting_key", flat=True).first()
    if key is None:
        return Check("text", is_right=True, said="its key went with the account")
    buried = {digest for _, digest, *_ in tombstones.of(receipt.user_id, erasures.buried(receipt))}
    is_right = not tombstones.digests(key, text).isdisjoint(buried)
    return Check("text", is_right, "is what was forgotten" if is_right else "is not what was forgotten")


def _nowhere(receipt: Receipt, text: str) -> Check:
    found = places(receipt.user_id, text)
    return Check("elsewhere", not found, "nowhere" if not found else "in " + ", ".join(found))


def places(user_id: UUID, text: str) -> list[str]:
    """The columns of this person's rows that hold these words, whatever their case."""
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS)
        columns = cursor.fetchall()
        found = []
        for table, column in columns:
            quoted, named = connection.ops.quote_name(table), connection.ops.quote_name(column)
            cursor.execute(
                f"SELECT EXISTS (SELECT FROM {quoted} WHERE user_id = %s AND {named}::text ILIKE %s)",  # noqa: S608
                [user_id, pattern],
            )
            if cursor.fetchone()[0]:
                found.append(f"{table}.{column}")
    return found
