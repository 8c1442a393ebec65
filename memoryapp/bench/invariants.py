"""What must hold of turns, whatever happens to processes: looked up in the database and in Redis."""

import json
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from redis import Redis

# A note of every change of a turn's status, by the database itself: nothing that a worker does escapes it.
TAKE_NOTES = """
CREATE TABLE bench_transition (
    turn_id uuid, was text, became text, attempt int, at timestamptz DEFAULT clock_timestamp()
);
CREATE FUNCTION bench_note_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bench_transition VALUES (NEW.id, OLD.status, NEW.status, NEW.attempt);
    RETURN NEW;
END $$;
CREATE TRIGGER bench_note_transition AFTER UPDATE OF status ON transcript_turn
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION bench_note_transition();
"""
# Without a person who retries, which no fault does.
POSSIBLE = {
    *(("queued", became) for became in ("running", "cancelled")),
    *(("waiting", became) for became in ("running", "queued", "cancelled")),
    *(
        ("running", became)
        for became in ("queued", "waiting", "completed", "failed", "interrupted", "cancelled")
    ),
}
UNFINISHED: LiteralString = """
SELECT count(*) FROM transcript_turn WHERE status IN ('queued', 'running', 'waiting')
"""
# A run at work for a turn that has ended, a tool call begun in one, turns out of order, a transaction left open.
ORPHANED: LiteralString = """
SELECT
  (SELECT count(*) FROM scratchpad_run r JOIN transcript_turn t ON t.id = r.turn_id
    WHERE r.status = 'running' AND t.status NOT IN ('queued', 'running', 'waiting'))
+ (SELECT count(*) FROM scratchpad_step s JOIN scratchpad_run r ON r.id = s.run_id
    WHERE s.status = 'running' AND r.status = 'completed')
+ (SELECT count(*) FROM transcript_conversation c
    WHERE c.last_seq <> (SELECT count(*) FROM transcript_turn t WHERE t.conversation_id = c.id AND t.is_current))
+ (SELECT count(*) FROM pg_stat_activity
    WHERE state LIKE 'idle in transaction%' AND state_change < clock_timestamp() - interval '2 s')
"""
TRANSITIONS: LiteralString = "SELECT was, became, count(*) FROM bench_transition GROUP BY was, became"
ENDED_TWICE: LiteralString = """
SELECT count(*) FROM (
    SELECT turn_id FROM bench_transition
    WHERE became NOT IN ('queued', 'running', 'waiting') GROUP BY turn_id HAVING count(*) > 1
) AS twice
"""
ENDED: LiteralString = """
SELECT t.id, t.status, coalesce(m.text, '') FROM transcript_turn t
LEFT JOIN transcript_message m ON m.turn_id = t.id AND m.role = 'assistant'
WHERE t.status NOT IN ('queued', 'running', 'waiting')
"""


@dataclass(frozen=True, slots=True)
class Violations:
    """``lost``: turns that never end. ``duplicated``: that end twice, or differently for readers. ``orphaned``: rows
    that nothing will finish. ``impossible``: changes of status that there are not. ``unlike``: replies that differ
    from what their readers saw."""

    lost: int
    duplicated: int
    orphaned: int
    impossible: int
    unlike: int

    @property
    def all(self) -> int:
        return self.lost + self.duplicated + self.orphaned + self.impossible + self.unlike


def check(database_url: str, redis_url: str) -> Violations:
    """How much does not hold at this moment, of everything that is stored."""
    with (
        psycopg.connect(database_url, autocommit=True) as database,
        Redis.from_url(redis_url, decode_responses=True) as redis,
    ):
        turns = [
            (status, reply, *_seen(redis, turn_id))
            for turn_id, status, reply in database.execute(ENDED).fetchall()
        ]
        changes = database.execute(TRANSITIONS).fetchall()
        return Violations(
            lost=_count(database, UNFINISHED),
            duplicated=_count(database, ENDED_TWICE)
            + sum(ends not in ([status], []) for status, _, ends, _ in turns),
            orphaned=_count(database, ORPHANED),
            impossible=sum(times for was, became, times in changes if (was, became) not in POSSIBLE),
            unlike=sum(bool(ends) and seen.strip() != reply.strip() for _, reply, ends, seen in turns),
        )


def _count(database: "psycopg.Connection[Any]", query: LiteralString) -> int:
    row = database.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _seen(redis: Redis, turn_id: object) -> tuple[list[str], str]:
    """How the turn ended for a reader who saw all of its events, and with which text."""
    newest, text, ends = 0, "", list[str]()
    rows: Any = redis.xrange(f"turn:{turn_id}")
    for _, fields in rows:
        attempt, event = int(fields["attempt"]), json.loads(fields["event"])
        if attempt < newest:
            continue
        newest = attempt
        match event["type"]:
            case "start":
                text = ""
            case "text":
                text += event["delta"]
            case "end":
                ends.append(event["status"])
    return ends, text
