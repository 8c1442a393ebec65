"""Lexical overlap as the database will compute it, close enough to fit and test calibrations without one.

Differs from ``to_tsvector('english', …)`` on hyphenated compounds and one newer Snowball rule only (14 of
the 299 texts in ``pairs.json``, none of which decides a test).
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

import snowballstemmer

# PostgreSQL's english.stop.
STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves what which who whom this that these those am is
    are was were be been being have has had having do does did doing a an the and but if or because as until
    while of at by for with about against between into through during before after above below to from up
    down in out on off over under again further then once here there when where why how all any both each
    few more most other some such no nor not only own same so than too very s t can will just don should now
    """.split()  # noqa: SIM905  (127 quoted words would be unreadable)
)

_stemmer = snowballstemmer.stemmer("english")


def lexemes(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return frozenset(_stemmer.stemWord(word) for word in words if word not in STOP_WORDS)


def overlaps(question: str, facts: Sequence[str]) -> list[float]:
    """Per fact, the share of the question's terms found in it, weighted by their idf over ``facts``; 0..1."""
    fact_lexemes = [lexemes(fact) for fact in facts]
    df = Counter(lexeme for found in fact_lexemes for lexeme in found)
    idf = {term: math.log(1 + (len(facts) - df[term] + 0.5) / (df[term] + 0.5)) for term in lexemes(question)}
    total = sum(idf.values())
    if not total:
        return [0.0] * len(facts)
    return [sum(idf[term] for term in idf.keys() & found) / total for found in fact_lexemes]
