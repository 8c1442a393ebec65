"""``account.json``: what is true of this account alone, and does not move with an import."""

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from allauth.account.models import EmailAddress
from django.db.models import QuerySet

from memoryapp.accounts.models import ApiToken, SignInLink, User
from memoryapp.activity.models import Entry, Opening, Reading
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.portability.local_ids import LocalIds
from memoryapp.portability.models import ImportBatch
from memoryapp.receipts.models import Receipt
from memoryapp.scratchpad.models import Grant
from memoryapp.tooling.models import ServerUse
from memoryapp.tuning.models import DayUsage

ROWS_AT_ONCE: Final = 1_000
PERSON: Final = (
    "username",
    "email",
    "first_name",
    "last_name",
    "is_staff",
    "is_superuser",
    "is_active",
    "date_joined",
    "last_login",
    "memory_visited_at",
)
# Never a secret nor what it is made of: of tokens the name and the beginning, of links the times.
TOLD: Final[Mapping[str, tuple[Any, tuple[str, ...]]]] = {
    "addresses": (EmailAddress, ("email", "verified", "primary")),
    "tokens": (ApiToken, ("name", "prefix", "created_at", "expires_at", "last_used_at", "revoked_at")),
    "sign_in_links": (SignInLink, ("is_invitation", "created_at", "expires_at", "used_at")),
    "permissions_of_tools": (Grant, ("conversation_id", "action", "created_at")),
    "servers_of_tools": (ServerUse, ("conversation_id", "server__name", "created_at")),
    "opened_by_admins": (Opening, ("admin__username", "reason", "opened_at", "until", "closed_at")),
    "activity": (
        Entry,
        ("recorded_at", "actor", "actor_name", "verb", "tier", "subject_id", "rows", "detail"),
    ),
    "read_by": (Reading, ("memory_id", "reader", "reader_name", "day", "times", "last_at")),
    "receipts": (
        Receipt,
        (
            "id",
            "scope",
            "subject",
            "subject_id",
            "actor",
            "actor_name",
            "items",
            "restored",
            "counts",
            "forgotten_at",
            "undo_until",
            "undone_at",
            "finished_at",
            "derived_at",
            "stored_at",
            "purged_at",
            "signature",
        ),
    ),
    "used_by_day": (DayUsage, ("day", "input_tokens", "output_tokens", "usd")),
    "background_jobs": (
        LifecycleRun,
        ("job", "subject_id", "rows", "input_tokens", "output_tokens", "error_code", "finished_at"),
    ),
    "imports": (ImportBatch, ("created_at", "format", "status", "size_bytes", "finished_at", "undone_at")),
}


def lines(user_id: UUID, ids: LocalIds) -> Iterator[str]:
    """One row per line; rows that are in ``strata.json`` by what they are called there."""
    person = User.objects.filter(id=user_id).values(*PERSON).get()
    yield f'{{"person":{_encoded(person, ids)}'
    for name, (model, columns) in TOLD.items():
        yield f',\n"{name}":['
        rows: QuerySet[Any] = model.objects.filter(user_id=user_id).order_by("id").values(*columns)
        for number, row in enumerate(rows.iterator(ROWS_AT_ONCE)):
            yield (",\n" if number else "\n") + _encoded(row, ids)
        yield "]"
    yield "}\n"


def _encoded(row: Mapping[str, Any], ids: LocalIds) -> str:
    def plain(value: object) -> str:
        match value:
            case UUID():
                return ids.of_any(value) or str(value)
            case datetime() | date():
                return value.isoformat()
            case Decimal():
                return str(value)
        raise TypeError(type(value).__name__)

    return json.dumps(row, ensure_ascii=False, default=plain)
