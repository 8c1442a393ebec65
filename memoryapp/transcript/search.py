"""Full-text search over what was said, in any language.

Messages that hold all the words come first; then those that hold some, by how much the words tell. Requiring all
of them ruins recall: of a question's words the answer seldom holds every one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from memoryapp.policies.trust import Origin
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation
from memoryapp.transcript.snippets import Sequences, Snippet, Word, is_unspaced, snippet, words_in

SEARCHED_CHARS = 100_000  # of a message, by the database's function too
QUERY_MAX_CHARS = 1_000
MAX_CLAUSES = 32
MAX_TERMS = 64
SEARCHED_CONVERSATIONS = 200
SNIPPET_CHARS = 240
READ_CHARS = 4_000
LISTED_SNIPPET_CHARS = 120  # one line of a narrow list

# A message that holds only some of the words must hold this share of the heaviest one's weight: a word that every
# tenth message holds is no answer to a question with a rare word in it, though it is one when asked alone.
MIN_WEIGHT = 0.25

# What both searches begin with. ``clause``: of these terms a whole match holds one of each clause (None: a part of a
# term, which only adds weight). One word is sought as it is and by its English stem, several as a phrase. English stop
# words count only when nothing else is asked for.
TERMS = """
WITH given AS (
    SELECT term.*, transcript_words(term.raw) AS words
    FROM unnest(%(raw)s::text[], %(clause)s::int[], %(is_quoted)s::bool[], %(is_excluded)s::bool[])
        WITH ORDINALITY AS term (raw, clause, is_quoted, is_excluded, n)
), parsed AS (
    SELECT n, raw, clause, is_excluded, words,
           phraseto_tsquery('simple', words) AS phrase,
           plainto_tsquery('simple', words) || CASE
               WHEN is_quoted OR numnode(plainto_tsquery('simple', words)) > 1 THEN ''::tsquery
               ELSE plainto_tsquery('english', words) END AS any_order,
           NOT is_quoted AND numnode(plainto_tsquery('english', words)) = 0 AS is_stop,
           bool_or(is_quoted) OVER (PARTITION BY clause) AND clause IS NOT NULL AS is_must
    FROM given
), judged AS (
    SELECT *, bool_and(is_stop OR is_excluded) OVER () AS are_all_stop FROM parsed WHERE numnode(phrase) > 0
), term AS MATERIALIZED (
    SELECT * FROM judged WHERE is_excluded OR NOT is_stop OR are_all_stop
), clauses AS MATERIALIZED (
    SELECT count(DISTINCT clause) AS total, count(DISTINCT clause) FILTER (WHERE is_must) AS musts
    FROM term WHERE NOT is_excluded
)
"""

# Expects the GIN index message_search for the terms; user_id is checked on the rows it finds (or, for a person with
# few rows among many people's, the other way round). Of a long message an index keeps the first places of a word only,
# so there a phrase is sought in the text as well.
#
# ``idf`` and the length's part are BM25's (Robertson & Walker 1994; k1 0.9 and b 0.4 measured best on dialogue), over
# all of this user's messages. How often a word stands in a message is left out: it would need every hit's vector.
SEARCH_MESSAGES = """
, hit AS MATERIALIZED (
    SELECT m.id, m.tokens, term.n
    FROM term JOIN transcript_message m ON m.user_id = %(user_id)s AND m.search_vector @@ term.any_order
    WHERE numnode(term.phrase) = 1 OR m.search_vector @@ term.phrase
       OR (octet_length(m.text) > 2000 AND strpos(lower(m.text), lower(term.raw)) > 0)
), said AS MATERIALIZED (
    SELECT count(*) AS messages, greatest(avg(tokens), 1) AS length
    FROM transcript_message WHERE user_id = %(user_id)s
), weight AS MATERIALIZED (
    SELECT term.n, term.clause, term.is_must, term.is_excluded,
           ln(1 + ((SELECT messages FROM said) - count(hit.n) + 0.5) / (count(hit.n) + 0.5))::float AS idf
    FROM term LEFT JOIN hit USING (n) GROUP BY 1, 2, 3, 4
), judged_message AS (
    SELECT hit.id, sum(weight.idf) AS weight,
           count(DISTINCT clause) = (SELECT total FROM clauses) AS is_whole,
           least(min(hit.tokens) / (SELECT length FROM said), 4)::float AS relative_length
    FROM hit JOIN weight USING (n)
    GROUP BY hit.id
    HAVING NOT bool_or(is_excluded)
       AND count(DISTINCT clause) FILTER (WHERE is_must) = (SELECT musts FROM clauses)
       AND (count(DISTINCT clause) = (SELECT total FROM clauses)
            OR sum(weight.idf) >= %(min_weight)s * (SELECT max(idf) FROM weight WHERE NOT is_excluded))
), found AS (
    SELECT m.id, t.conversation_id, c.title, t.seq, m.role, m.created_at, t.taint, hit.is_whole,
           hit.weight * 1.9 / (1 + 0.9 * (0.6 + 0.4 * hit.relative_length)) AS rank
    FROM judged_message hit
    JOIN transcript_message m ON m.id = hit.id
    JOIN transcript_turn t ON t.id = m.turn_id AND (t.is_current OR NOT %(only_current)s) AND t.deleted_at IS NULL
    JOIN transcript_conversation c ON c.id = t.conversation_id AND c.user_id = %(user_id)s
     AND c.deleted_at IS NULL
     AND CASE WHEN %(conversation_id)s::uuid IS NULL THEN NOT c.is_temporary
              ELSE c.id = %(conversation_id)s END
), ordered AS (
    SELECT *, row_number() OVER (
        PARTITION BY conversation_id ORDER BY is_whole DESC, rank DESC, created_at DESC, id
    ) AS place
    FROM found
), best AS (
    SELECT * FROM ordered WHERE place = 1 OR NOT %(is_one_each)s
    ORDER BY is_whole DESC, rank DESC, created_at DESC, id
    LIMIT %(limit)s
)
SELECT best.id, conversation_id, title, seq, best.role, best.created_at, taint, rank, left(m.text, %(searched_chars)s)
FROM best JOIN transcript_message m ON m.id = best.id
ORDER BY is_whole DESC, rank DESC, best.created_at DESC, best.id
"""

# Expects the index conversation_list: one person's titles are few and short, and are folded as they are read.
SEARCH_TITLES = """
SELECT c.id
FROM transcript_conversation c,
     LATERAL (SELECT transcript_words(c.title) AS words OFFSET 0) title,
     LATERAL (SELECT to_tsvector('english', title.words) || to_tsvector('simple', title.words) AS vector OFFSET 0) v,
     LATERAL (SELECT count(DISTINCT clause) FILTER (WHERE NOT is_excluded) AS held, bool_or(is_excluded) AS is_excluded
              FROM term WHERE strpos(title.words, term.words) > 0 OR v.vector @@ term.any_order) hit
WHERE c.user_id = %(user_id)s AND c.title <> '' AND c.deleted_at IS NULL AND NOT c.is_temporary
  AND hit.held > 0 AND hit.held = (SELECT total FROM clauses) AND NOT hit.is_excluded
"""

# No table: the stems of English words, and an empty list for a stop word.
STEM = "SELECT word, ts_lexize('english_stem', word) FROM unnest(%(words)s::text[]) AS word"

_UNSEARCHABLE = re.compile(r"[\x00\ud800-\udfff]")  # no message holds them, and Postgres takes none
_OPERAND = re.compile(r'(?P<minus>-?)"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+)')
# As a telephone writes quotation marks; and "Anna's" speaks of Anna.
_TYPOGRAPHY = str.maketrans({"“": '"', "”": '"', "„": '"', "'": " ", "’": " "})
_LONG_RUNS = re.compile(
    r"[\u0e00-\u109f\u1780-\u17ff]"
)  # letters of an alphabet say less than a Han character does


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """``snippet``: the part that matched, as pieces ``(text, is_match)``; ``rank`` orders, it is not a probability.

    ``taint``: the weakest origin in the turn's prompts.
    """

    message_id: UUID
    conversation_id: UUID
    title: str
    seq: int
    role: str
    said_at: datetime
    taint: Origin
    rank: float
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase that is sought.

    Terms of one clause stand for each other; without a clause it is a part of another term.
    """

    raw: str
    clause: int | None
    is_quoted: bool = False
    is_excluded: bool = False


def search_messages(
    user_id: UUID,
    text: str,
    *,
    limit: int,
    conversation_id: UUID | None = None,
    only_current: bool = False,
    snippet_chars: int = SNIPPET_CHARS,
) -> list[FoundMessage]:
    """The user's messages that hold all the words, best first, and up to ``limit`` those that hold some.

    ``text`` may hold "phrases", which a message must hold; -words, which it must not; and ``or`` between words. Where:
    in every conversation that is neither temporary nor deleted, or in the one asked for; ``only_current``: not in turns
    that were edited or answered anew since.
    """
    return _search(
        user_id,
        _terms(text),
        limit=limit,
        conversation_id=conversation_id,
        only_current=only_current,
        snippet_chars=snippet_chars,
    )


def search_conversations(user_id: UUID, text: str) -> tuple[QuerySet[Conversation], dict[UUID, Snippet]]:
    """The conversations whose title holds the text or in which it was said, newest first, archived ones too.

    With them, by id, the best of what was said.
    """
    text = _UNSEARCHABLE.sub(" ", text[:QUERY_MAX_CHARS])
    terms = _terms(text)
    hits = _search(
        user_id,
        terms,
        limit=SEARCHED_CONVERSATIONS,
        conversation_id=None,
        only_current=False,
        snippet_chars=LISTED_SNIPPET_CHARS,
        is_one_each=True,
    )
    said = {hit.conversation_id: hit.snippet for hit in hits}
    titled = [row_id for (row_id,) in _execute(SEARCH_TITLES, terms, user_id=user_id)]
    rows = queries.conversation_list(user_id, archived=None).filter(
        Q(title__icontains=text.strip()) | Q(id__in=[*titled, *said])
    )
    return rows, said


def _search(
    user_id: UUID,
    terms: Sequence[Term],
    *,
    limit: int,
    conversation_id: UUID | None,
    only_current: bool,
    snippet_chars: int,
    is_one_each: bool = False,
) -> list[FoundMessage]:
    rows = _execute(
        SEARCH_MESSAGES,
        terms,
        user_id=user_id,
        limit=limit,
        conversation_id=conversation_id,
        only_current=only_current,
        is_one_each=is_one_each,
        min_weight=MIN_WEIGHT,
        searched_chars=SEARCHED_CHARS,
    )
    texts = [_place_of(terms, row[-1]) if is_one_each else row[-1] for row in rows]
    words = [words_in(text) for text in texts]
    sought = _sought(terms, words)
    snippets = [
        snippet(text, text_words, sought, max_chars=snippet_chars)
        for text, text_words in zip(texts, words, strict=True)
    ]
    return [
        FoundMessage(*(*place, Origin(taint), rank, part))
        for (*place, taint, rank, _), part in zip(rows, snippets, strict=True)
    ]


def _place_of(terms: Sequence[Term], text: str) -> str:
    """A part of a long text around the longest term in it as it is written; else all of it.

    A list may show hundreds of long messages, and to read 100,000 characters for words takes 40 ms or more.
    """
    if len(text) <= READ_CHARS:
        return text
    lowered = text.lower()
    raws = sorted((term.raw.lower() for term in terms if not term.is_excluded), key=len, reverse=True)
    place = next((found for raw in raws if (found := lowered.find(raw)) >= 0), None)
    return text if place is None else text[max(0, place - READ_CHARS // 2) : place + READ_CHARS // 2]


def _execute(sql: str, terms: Sequence[Term], **parameters: Any) -> list[tuple[Any, ...]]:
    """The rows, whose columns the statement names."""
    columns: dict[str, Any] = {
        "raw": [term.raw for term in terms],
        "clause": [term.clause for term in terms],
        "is_quoted": [term.is_quoted for term in terms],
        "is_excluded": [term.is_excluded for term in terms],
    }
    with connection.cursor() as cursor:
        cursor.execute(TERMS + sql, {**columns, **parameters})
        return list(cursor.fetchall())


def _terms(text: str) -> list[Term]:
    """What is asked for, then the parts of it: a long query's first words."""
    text = _UNSEARCHABLE.sub(" ", text[:QUERY_MAX_CHARS]).translate(_TYPOGRAPHY)
    terms: list[Term] = []
    clause, is_alternative = 0, False
    for operand in _OPERAND.finditer(text):
        if (operand["bare"] or "").lower() == "or" and terms:
            is_alternative = True
            continue
        clause += 0 if is_alternative else 1
        is_alternative = False
        terms.append(_term(operand, clause))
    terms = [term for term in terms if words_in(term.raw)][:MAX_CLAUSES]
    return [*terms, *_parts(terms)][:MAX_TERMS]


def _term(operand: re.Match[str], clause: int) -> Term:
    if operand["quoted"] is not None:
        return Term(operand["quoted"], clause, is_quoted=True, is_excluded=bool(operand["minus"]))
    bare = operand["bare"]
    return Term(bare.removeprefix("-"), clause, is_excluded=bare.startswith("-"))


def _parts(terms: Sequence[Term]) -> list[Term]:
    """The parts of "ORD-2041" or of a sentence without spaces: who has some of them has some of the words."""
    whole = {term.raw for term in terms}
    parts = [
        part
        for term in terms
        if not (term.is_quoted or term.is_excluded)
        for part in _parts_of([word.text for word in words_in(term.raw)])
    ]
    return [Term(part, None) for part in dict.fromkeys(parts) if part not in whole]


def _parts_of(words: Sequence[str]) -> list[str]:
    if len(words) < 2:
        return []
    parts: list[str] = []
    for is_run, group in groupby(words, key=is_unspaced):
        run = list(group)
        if not is_run:
            parts += run
            continue
        size = min(len(run), 4 if _LONG_RUNS.match(run[0]) else 2)
        parts += ["".join(run[place : place + size]) for place in range(len(run) - size + 1)]
    return parts


def _sought(terms: Sequence[Term], texts: Sequence[Sequence[Word]]) -> Sequences:
    """The words to mark: what was asked for, its other English forms in these texts, and no stop words."""
    asked = {tuple(word.text for word in words_in(term.raw)) for term in terms if not term.is_excluded} - {()}
    single = {what[0] for what in asked if len(what) == 1}
    beginnings = {word[:2] for word in single}
    written = {
        word.text for words in texts for word in words if word.text[:2] in beginnings and word.text.isascii()
    }
    with connection.cursor() as cursor:
        cursor.execute(STEM, {"words": sorted(single | written)})
        stems = {word: tuple(stem) for word, stem in cursor.fetchall()}
    wanted = {stems[word] for word in single} - {()}
    forms = {(word,) for word in single | written if stems[word] in wanted}
    phrases = {what for what in asked if len(what) > 1}
    return (forms | phrases) or asked
