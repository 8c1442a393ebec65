"""The measurements of ``bench inspector``, in a process that has a database and the real embedder."""

import json
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
from memoryapp.bench.crowd import gather, questions
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row
from memoryapp.embeddings.registry import get_embedder
from memoryapp.longterm import forgettings, queries
from memoryapp.scratchpad.pad import Pad

GOAL_MS: Final = 150
GOAL_KB: Final = 100
BULK_GOAL_MS: Final = 2_000
ROOMS: Final = ("inspector", "policies")

Say = Callable[[str], None]

# What a person's rows bring along: where each fact was said, which replies used it, what was done, and the runs.
DEAL_SOURCES: Final = """
INSERT INTO longterm_memorysource (id, user_id, memory_id, message_id, quote, origin, outcome, said_at, recorded_at)
SELECT gen_random_uuid(), fact.user_id, fact.id, said.id, fact.statement, 'user_typed', 'added', now(), now()
FROM (SELECT id, user_id, statement, row_number() OVER (ORDER BY id) AS n FROM longterm_memory
      WHERE user_id = %(user_id)s) fact
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM transcript_message
      WHERE user_id = %(user_id)s AND role = 'user') said
  ON said.n = 1 + fact.n %% (SELECT count(*) FROM transcript_message WHERE user_id = %(user_id)s AND role = 'user')
"""
DEAL_USES: Final = """
INSERT INTO context_use (id, user_id, turn_id, memory_id, rank, score, used_at)
SELECT gen_random_uuid(), turn.user_id, turn.id, fact.id, place, 0.5,
       turn.created_at - (turn.n %% 90) * interval '1 day'
FROM (SELECT id, user_id, created_at, row_number() OVER (ORDER BY id) AS n FROM transcript_turn
      WHERE user_id = %(user_id)s) turn
CROSS JOIN generate_series(1, 5) place
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n, count(*) OVER () AS facts FROM longterm_memory
      WHERE user_id = %(user_id)s) fact ON fact.n = 1 + (turn.n * 7 + place * 131) %% fact.facts
ON CONFLICT DO NOTHING
"""
DEAL_ENTRIES: Final = """
INSERT INTO activity_entry (id, user_id, actor, actor_name, verb, tier, subject_id, rows, detail, recorded_at)
SELECT gen_random_uuid(), user_id, 'assistant', '', 'added', 'longterm', id, 1, '',
       recorded_at - (row_number() OVER (ORDER BY id)) * interval '5 minutes'
FROM longterm_memory WHERE user_id = %(user_id)s
"""
DEAL_RUNS: Final = """
INSERT INTO scratchpad_run (
    id, user_id, turn_id, status, attempt, memory_epoch, goal, pad, model_calls, input_tokens, output_tokens,
    cache_read_tokens, cache_creation_tokens, limits, active_ms, model_failures, has_effects, judged_from, started_at,
    finished_at, is_kept)
SELECT uuidv7(), user_id, id, 'completed', 1, 0, 'A goal', %(pad)s, 1, 1000, 100, 0, 0, '{}', 900, 0, false, 0, now(),
       now(), false
FROM transcript_turn WHERE user_id = %(user_id)s LIMIT 2000
"""


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
    user = _person(sizes)
    client = Client()
    client.force_login(user)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        rows = [row for name, address in _pages(user, client) for row in _page(name, address, client, sizes)]
    return [*rows, *_forgetting(user.id, sizes)]


def _person(sizes: Sizes) -> User:
    embedder = get_embedder()
    [user_id] = gather(
        [sizes.facts],
        pool=sizes.pool,
        dimensions=embedder.dimensions,
        model_id=embedder.model_id,
        turns_per_conversation=2,
    )
    pad = json.dumps(Pad(goal="A goal").to_json())
    with connection.cursor() as cursor:
        for statement in (DEAL_SOURCES, DEAL_USES, DEAL_ENTRIES, DEAL_RUNS):
            cursor.execute(statement, {"user_id": user_id} | ({"pad": pad} if "%(pad)s" in statement else {}))
        cursor.execute("VACUUM ANALYZE")
    user = User.objects.get(id=user_id)
    user.is_staff = user.is_superuser = True
    user.save()
    return user


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
