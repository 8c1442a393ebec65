"""Somebody who has kept a great deal: facts, each with where it was said, the replies that used them, and runs."""

import json
from typing import Final

from django.db import connection

from memoryapp.accounts.models import User
from memoryapp.bench.crowd import gather
from memoryapp.embeddings.registry import get_embedder
from memoryapp.scratchpad.pad import Pad

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


def well_known(facts: int, *, pool: int) -> User:
    """Empty the database and fill it with one person who has so many facts and messages, two turns a conversation."""
    embedder = get_embedder()
    [user_id] = gather(
        [facts],
        pool=pool,
        dimensions=embedder.dimensions,
        model_id=embedder.model_id,
        turns_per_conversation=2,
    )
    pad = json.dumps(Pad(goal="A goal").to_json())
    with connection.cursor() as cursor:
        for statement in (DEAL_SOURCES, DEAL_USES, DEAL_ENTRIES, DEAL_RUNS):
            cursor.execute(statement, {"user_id": user_id} | ({"pad": pad} if "%(pad)s" in statement else {}))
        cursor.execute("VACUUM ANALYZE")
    return User.objects.get(id=user_id)
