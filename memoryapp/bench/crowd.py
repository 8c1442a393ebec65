"""Many people's rows for ``bench recall``, within seconds: a pool of made-up sentences, dealt out in the database.

Everybody's rows lie in a random order, so that one person's are as far apart as they can be: worse than in any real
installation, where a conversation's messages come one after the other.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memoryapp.accounts.models import User
from memoryapp.policies import dialogue
from memoryapp.policies import terms as words

TURNS_PER_CONVERSATION: Final = 50
_SEED: Final = 20_261_130
_SAID_ON: Final = date(2026, 11, 30)
_SYLLABLES: Final = (
    "ba",
    "de",
    "fi",
    "go",
    "lu",
    "ma",
    "ne",
    "pi",
    "ro",
    "su",
    "ta",
    "ve",
    "wi",
    "xo",
    "ka",
    "le",
)
_VOCABULARY: Final = 20_000
# Of a message's length in words (log-normal): the half of them have twenty or fewer, few more than two hundred.
_MEDIAN_WORDS, _SPREAD = 20, 1.0

EMPTY: Final = "TRUNCATE accounts_user CASCADE"
# The database's own checks of references would take longer than the rows: what is dealt refers to what was dealt.
TRUSTED: Final = "SET session_replication_role = replica"
CHECKED_AGAIN: Final = "RESET session_replication_role"
TIDY: Final = "VACUUM ANALYZE"
MAKE_POOL: Final = """
CREATE TEMP TABLE pool (n int PRIMARY KEY, text text, terms bytea, traits smallint, words int, embedding halfvec)
"""
FILL_POOL: Final = "COPY pool FROM STDIN (FORMAT binary)"
DEAL_PEOPLE: Final = """
CREATE TEMP TABLE person AS
SELECT * FROM unnest(%(ids)s::uuid[], %(shares)s::int[]) WITH ORDINALITY AS person (id, share, n)
"""
# ``hashint8`` shuffles, in the same way every time.
DEAL_FACTS: Final = """
INSERT INTO longterm_memory (
    id, user_id, kind_id, key, slot, statement, digest, quote, channel, program, origin, confidence, status, is_flagged,
    said_at, valid_from, recorded_at, affirmed_at, is_kept, version, terms, embedding, embedding_model)
SELECT uuidv7(), person.id, kind.id, '', '', pool.text, md5(person.n || ' ' || g), '', 'chat', '', 'user_typed', 0.9,
       'active', false, now(), now(), now(), now(), false, 1, pool.terms, pool.embedding, %(model_id)s
FROM person
CROSS JOIN LATERAL generate_series(1, person.share) g
JOIN pool ON pool.n = (g + 131 * person.n) %% %(pool)s
JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n, count(*) OVER () AS kinds
      FROM longterm_kind WHERE subject = 'statement' AND NOT is_always_used) kind ON kind.n = g %% kind.kinds
ORDER BY hashint8(g * 1000 + person.n)
"""
DEAL_CONVERSATIONS: Final = """
INSERT INTO transcript_conversation (
    id, user_id, title, title_source, created_at, updated_at, last_seq, use_memory, save_memory, is_temporary,
    revision)
SELECT uuidv7(), person.id, 'Conversation ' || g, 'model', now(), now(), %(turns)s, true, true, false, 0
FROM person CROSS JOIN LATERAL generate_series(1, ceil(person.share / (2.0 * %(turns)s))::int) g
"""
DEAL_TURNS: Final = """
CREATE TEMP TABLE turn AS
SELECT uuidv7() AS id, person.id AS user_id, person.n, conversation.id AS conversation_id,
       1 + g %% %(turns)s AS seq, g, hashint8(g * 1000 + person.n) AS place
FROM person
CROSS JOIN LATERAL generate_series(0, person.share / 2 - 1) g
JOIN (SELECT id, user_id, row_number() OVER (PARTITION BY user_id ORDER BY id) - 1 AS n
      FROM transcript_conversation) conversation
  ON conversation.user_id = person.id AND conversation.n = g / %(turns)s
"""
KEEP_TURNS: Final = """
INSERT INTO transcript_turn (
    id, user_id, conversation_id, seq, is_current, status, idempotency_key, request_digest, attempt, attempts_left,
    wait_reason, wait_message, epoch_at_start, partial_text, taint, error_code, error_message, model, input_tokens,
    output_tokens, cache_read_tokens, cache_creation_tokens, next_prompt_tokens, created_at)
SELECT id, user_id, conversation_id, seq, true, 'completed', id::text, '', 1, 0, '', '', 0, '', 'user_typed', '', '',
       'bench', 1000, 100, 0, 0, 1000, now()
FROM turn ORDER BY place
"""
DEAL_MESSAGES: Final = """
CREATE TEMP TABLE message AS
SELECT uuidv7() AS id, turn.id AS turn_id, turn.user_id, turn.conversation_id, 2 * turn.seq + side AS position, side,
       turn.place, pool.n AS pool
FROM turn CROSS JOIN generate_series(0, 1) side
JOIN pool ON pool.n = (2 * turn.g + side + 131 * turn.n) %% %(pool)s
"""
KEEP_MESSAGES: Final = """
INSERT INTO transcript_message (id, user_id, turn_id, role, text, speaker, change, tokens, created_at)
SELECT message.id, user_id, turn_id, CASE side WHEN 0 THEN 'user' ELSE 'assistant' END, pool.text, '', '', 30, now()
FROM message JOIN pool ON pool.n = message.pool ORDER BY place, side
"""
KEEP_KEYS: Final = """
INSERT INTO transcript_messagekey (
    message_id, user_id, turn_id, conversation_id, position, said_at, speaker, terms, traits, words, embedding,
    embedding_model)
SELECT message.id, user_id, turn_id, conversation_id, position, now(), 0, pool.terms, pool.traits, pool.words,
       pool.embedding, %(model_id)s
FROM message JOIN pool ON pool.n = message.pool ORDER BY place, side
"""
FORGET_DEALING: Final = "DROP TABLE IF EXISTS pool, person, turn, message"


def gather(
    shares: Sequence[int],
    *,
    pool: int,
    dimensions: int,
    model_id: str,
    turns_per_conversation: int = TURNS_PER_CONVERSATION,
) -> list[UUID]:
    """Empty the database and fill it with people who have so many facts and as many messages each; their ids."""
    _execute(FORGET_DEALING, EMPTY)
    ids = [User.objects.create_user(f"person-{number}").id for number in range(len(shares))]
    _execute(MAKE_POOL)
    _fill(pool, dimensions)
    _execute(
        TRUSTED,
        DEAL_PEOPLE,
        *(DEAL_FACTS, DEAL_CONVERSATIONS, DEAL_TURNS, KEEP_TURNS, DEAL_MESSAGES, KEEP_MESSAGES, KEEP_KEYS),
        *(CHECKED_AGAIN, FORGET_DEALING, TIDY),
        ids=ids,
        shares=list(shares),
        turns=turns_per_conversation,
        pool=pool,
        model_id=model_id,
    )
    return ids


def questions(count: int) -> list[str]:
    """Of eight words each, some of them frequent."""
    chance = np.random.default_rng(_SEED + 1)
    return [" ".join(map(word, _frequent_first(chance, 8))) + "?" for _ in range(count)]


def word(number: int) -> str:
    """A made-up one; each number's is another."""
    syllables = []
    while True:
        number, which = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[which])
        if number == 0:
            return "".join(syllables) + "n"


def _execute(*statements: str, **parameters: Any) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, _named_in(statement, parameters) or None)


def _named_in(statement: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if f"%({name})s" in statement}


def _fill(size: int, dimensions: int) -> None:
    """As the binary form of COPY wants it: a header, then for each row its fields behind their lengths."""
    with connection.cursor() as cursor, cursor.copy(FILL_POOL) as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0))
        for number, (text, vector) in enumerate(_sentences(size, dimensions)):
            fields = (
                struct.pack(">i", number),
                text.encode(),
                words.packed(words.terms(text, said_on=_SAID_ON)),
                struct.pack(">h", dialogue.traits(text)),
                struct.pack(">i", len(text.split())),
                struct.pack(">hh", dimensions, 0) + vector.tobytes(),
            )
            copy.write(struct.pack(">h", len(fields)))
            for field in fields:
                copy.write(struct.pack(">i", len(field)) + field)
        copy.write(struct.pack(">h", -1))


def _sentences(size: int, dimensions: int) -> Iterator[tuple[str, NDArray[np.float16]]]:
    chance = np.random.default_rng(_SEED)
    lengths = np.clip(chance.lognormal(np.log(_MEDIAN_WORDS), _SPREAD, size), 3, 1_000).astype(int)
    for length in lengths:
        vector = chance.normal(size=dimensions)
        unit = vector / np.linalg.norm(vector)
        yield " ".join(map(word, _frequent_first(chance, length))), unit.astype(">f2")


def _frequent_first(chance: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Numbers of words by Zipf's law."""
    return chance.zipf(1.3, count) % _VOCABULARY
