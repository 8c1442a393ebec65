"""That something was forgotten or taken back, without its text: keyed digests of it, and the stones that hold them."""

import hmac
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.longterm.models import Experience, Forgetting, Memory, MemoryQuerySet, MemoryVersion, Tombstone
from memoryapp.policies.likeness import essence
from memoryapp.policies.lookalikes import latin
from memoryapp.policies.reconciliation import normalise

STONES_AT_ONCE = 5_000  # in one statement
# Somebody who forgets 10,000 facts leaves 30,000 stones: as objects they would take as long as all the rest.
PUT = """
INSERT INTO longterm_tombstone (id, user_id, memory_id, forgetting_id, digest, created_at, expires_at)
SELECT gen_random_uuid(), %(user_id)s, memory_id, %(forgetting_id)s, digest, %(created_at)s, %(expires_at)s
FROM unnest(%(memory_ids)s::uuid[], %(digests)s::text[]) AS stone (memory_id, digest)
"""


def statement_digest(forgetting_key: bytes | memoryview, statement: str) -> str:
    """HMAC-SHA256 of the normalised statement under the user's own key, hex."""
    return hmac.digest(bytes(forgetting_key), normalise(statement).encode(), "sha256").hex()


def digests(forgetting_key: bytes | memoryview, statement: str) -> set[str]:
    """Of the statement, and of everything that says the same in other words, or in letters that look like its own: what
    a tombstone keeps out."""
    return {
        statement_digest(forgetting_key, form)
        for said in {statement, latin(statement)}
        for form in (said, f"same as {essence(said).text}")
    }


def lesson_digest(forgetting_key: bytes | memoryview, goal: str, worked: str, avoid: str) -> str:
    """Of a lesson that was learned from a run."""
    return statement_digest(forgetting_key, f"lesson {goal}\n{worked}\n{avoid}")


def place_digest(forgetting_key: bytes | memoryview, said_at: datetime, quote: str) -> str:
    """Of these words of one message and of its copies, which were said when it was; whatever is made of them."""
    return statement_digest(forgetting_key, f"{said_at.astimezone(UTC).isoformat()} {quote}")


def turn_digest(forgetting_key: bytes | memoryview, turn_id: UUID) -> str:
    """Of a whole turn in which something was said that is forgotten or taken back, whatever the words."""
    return statement_digest(forgetting_key, f"turn {turn_id}")


def forgotten_turns(user_id: UUID, turn_ids: Iterable[UUID]) -> set[UUID]:
    """Those of these in which something was said that is forgotten or taken back: they are not recalled."""
    key = User.objects.values_list("forgetting_key", flat=True).get(id=user_id)
    turns = {turn_digest(key, turn_id): turn_id for turn_id in turn_ids}
    buried = Tombstone.objects.filter(user_id=user_id, digest__in=turns, expires_at__gt=Now())
    return {turns[digest] for digest in buried.values_list("digest", flat=True)}


def newest(user_id: UUID, digests: Iterable[str]) -> Tombstone | None:
    """The newest of them."""
    return (
        Tombstone.objects.filter(user_id=user_id, digest__in=list(digests), expires_at__gt=Now())
        .order_by("-created_at")
        .first()
    )


def of(user_id: UUID, memory_ids: Iterable[UUID | str] | None) -> list[tuple[str, str, str, str]]:
    """Of these memories (None: of all that was forgotten): which, the digest, since when and until when, as text."""
    rows = Tombstone.objects.filter(user_id=user_id).order_by("id")
    if memory_ids is not None:
        rows = rows.filter(memory_id__in=list(memory_ids))
    return [
        (str(stone.memory_id), stone.digest, stone.created_at.isoformat(), stone.expires_at.isoformat())
        for stone in rows
    ]


def put_back(user_id: UUID, stones: Iterable[tuple[UUID, str, datetime, datetime]]) -> None:
    """Those of these that are not there; as ``of`` names them."""
    there = set(Tombstone.objects.filter(user_id=user_id).values_list("memory_id", "digest"))
    Tombstone.objects.bulk_create(
        (
            Tombstone(user_id=user_id, memory_id=memory, digest=digest, created_at=made, expires_at=ends)
            for memory, digest, made, ends in stones
            if (memory, digest) not in there
        ),
        batch_size=STONES_AT_ONCE,
    )


def bury(memory: Memory, gone: MemoryQuerySet, *, now: datetime, also: Iterable[str] = ()) -> None:
    """A tombstone for every wording that these rows ever had, and for the digests in ``also``."""
    key = memory.user.forgetting_key
    former = MemoryVersion.objects.filter(user_id=memory.user_id, memory__in=gone)
    statements = {*gone.values_list("statement", flat=True), *former.values_list("statement", flat=True)}
    buried = {*also, *(digest for said in statements for digest in digests(key, said))}
    put(memory.user_id, {(memory.id, digest) for digest in buried}, now=now)


def bury_lessons(
    user_id: UUID, lessons: QuerySet[Experience], *, now: datetime, forgetting: Forgetting | None = None
) -> None:
    """A tombstone for the words of each; ``forgetting``: as in ``put``."""
    key = User.objects.values_list("forgetting_key", flat=True).get(id=user_id)
    rows = lessons.values_list("id", "goal", "worked", "avoid")
    stones = [(id_, lesson_digest(key, goal, worked, avoid)) for id_, goal, worked, avoid in rows]
    put(user_id, stones, now=now, forgetting=forgetting)


def put(
    user_id: UUID,
    stones: Iterable[tuple[UUID, str]],
    *,
    now: datetime,
    forgetting: Forgetting | None = None,
) -> None:
    """``stones``: a memory and a digest each; ``forgetting``: whose undoing takes them away.

    They are taken as they are made: working all of them out first would leave the database waiting in a transaction,
    which it ends after some seconds.
    """
    remaining = iter(stones)
    with connection.cursor() as cursor:
        while some := set(islice(remaining, STONES_AT_ONCE)):
            cursor.execute(
                PUT,
                {
                    "user_id": user_id,
                    "memory_ids": [memory_id for memory_id, _ in some],
                    "digests": [digest for _, digest in some],
                    "forgetting_id": forgetting.id if forgetting else None,
                    "created_at": now,
                    "expires_at": now + timedelta(days=get_conf().tombstone_days),
                },
            )
