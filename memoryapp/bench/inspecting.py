"""The measurements of ``bench inspector``, in a process that has a database and the real embedder."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.bench.acquaintance import well_known
from memoryapp.bench.crowd import questions
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row
from memoryapp.embeddings.registry import get_embedder
from memoryapp.longterm import forgettings, queries

GOAL_MS: Final = 150
GOAL_KB: Final = 100
BULK_GOAL_MS: Final = 2_000
ROOMS: Final = ("inspector", "policies")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """``facts``: of the person whose pages are looked at, who has as many messages, in conversations of two turns."""

    facts: int = 10_000
    pool: int = 2_000
    repeats: int = 15
    forgotten: int = 1_000


def measure(sizes: Sizes, say: Say) -> list[Row]:
    """Raises ``BenchFailedError`` for a database with people in it: it would be emptied."""
    if User.objects.exists():
        raise BenchFailedError("This database is in use. The bench starts servers of its own.")
    embedder = get_embedder()
    say("Loading the embedding model …")
    embedder.embed_queries(questions(1))
    say(f"A person with {sizes.facts:,} facts in {sizes.facts // 4:,} conversations …")
    user = well_known(sizes.facts, pool=sizes.pool)
    user.is_staff = user.is_superuser = True
    user.save()
    client = Client()
    client.force_login(user)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        rows = [row for name, address in _pages(user, client) for row in _page(name, address, client, sizes)]
    return [*rows, *_forgetting(user.id, sizes)]


def _pages(user: User, client: Client) -> Iterator[tuple[str, str]]:
    """Every page of the inspector and of the policies that answers, and the list of facts in its heavier states."""
    ids = _ids(user)
    for room in ROOMS:
        for name, parameters in _routes(room):
            if not parameters <= ids.keys():
                continue
            address = reverse(f"{room}:{name}", kwargs={each: ids[each] for each in parameters})
            response = client.get(address)
            if response.status_code == 200 and response.headers["Content-Type"].startswith("text/html"):
                yield f"{room}:{name}", address
    facts = reverse("inspector:facts")
    word = questions(1)[0].split()[0]
    for state in (f"q={word}", "sort=expires", "kind=preference", "group=kind", "status=all"):
        yield f"inspector:facts?{state.replace(word, '…')}", f"{facts}?{state}"


def _routes(room: str) -> Iterator[tuple[str, set[str]]]:
    """Names of a room's routes and the names of their parameters."""
    _, resolver = get_resolver().namespace_dict[room]
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern) and pattern.name:
            yield pattern.name, set(pattern.pattern.converters)


def _ids(user: User) -> Mapping[str, object]:
    """Of one row of each sort, by the name that addresses give it."""
    memory = queries.memories(user.id).order_by("id")[0]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.id, t.id, t.conversation_id FROM scratchpad_run r JOIN transcript_turn t ON t.id = r.turn_id"
            " WHERE r.user_id = %s LIMIT 1",
            [user.id],
        )
        run_id, turn_id, conversation_id = cursor.fetchone()
    return {
        "memory_id": memory.id,
        "run_id": run_id,
        "turn_id": turn_id,
        "conversation_id": conversation_id,
        "slug": memory.kind.slug,
        "user_id": user.id,
    }


def _page(name: str, address: str, client: Client, sizes: Sizes) -> list[Row]:
    client.get(address)
    with CaptureQueriesContext(connection) as asked:
        size = len(client.get(address).content)
    statements = len(asked)  # the next request empties the log
    times = [_ms(lambda: client.get(address)) for _ in range(sizes.repeats)]
    return [
        Row(f"{name}, p50", float(np.percentile(times, 50)), "ms"),
        Row(f"{name}, p95", float(np.percentile(times, 95)), "ms", GOAL_MS),
        Row(f"{name}, HTML", size / 1000, "kB", GOAL_KB),
        Row(f"{name}, statements", statements, ""),
    ]


def _forgetting(user_id: UUID, sizes: Sizes) -> list[Row]:
    """Many at once, in such a way that it can be undone; undoing it; and for good."""
    ids: Sequence[UUID] = list(queries.memories(user_id).values_list("id", flat=True)[: sizes.forgotten])
    what = f"{len(ids):,} facts"
    began = time.perf_counter()
    done = forgettings.forget(user_id, ids, now=timezone.now())
    forgotten = time.perf_counter()
    forgettings.undo(user_id, done.id, now=timezone.now())
    undone = time.perf_counter()
    forgettings.forget(user_id, ids, now=timezone.now(), is_final=True)
    return [
        Row(f"forgetting {what}", (forgotten - began) * 1000, "ms", BULK_GOAL_MS),
        Row(f"undoing that for {what}", (undone - forgotten) * 1000, "ms"),
        Row(f"forgetting {what} for good", (time.perf_counter() - undone) * 1000, "ms", BULK_GOAL_MS),
    ]


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
