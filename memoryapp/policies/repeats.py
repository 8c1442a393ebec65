"""Where a text repeats what was said: sentences that repeat a statement, words that a correction took away. Pure.

A sentence does that holds every word of the statement that counts: of "I keep a heron called Wotan" also "You keep a
heron called Wotan, don't you?". Small words do not count, and a word is the same in all its forms (``terms``).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from memoryapp.policies.terms import sought, term_hash, terms

_END: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*")
_SPEAKER: Final = re.compile(
    "user|.*我.*"
)  # as a model calls the person, or they themselves; nobody says it to them


def repeats(text: str, statements: Iterable[str]) -> list[str]:
    """The sentences of ``text`` that repeat one of these, as they stand there."""
    wanted = [words for statement in statements if (words := _words(statement)) and _has_all(text, words)]
    return [sentence for sentence in _sentences(text) if any(_has_all(sentence, words) for words in wanted)]


def left(text: str, *, before: str, after: str) -> list[str]:
    """The words of ``before`` that ``after`` has not, as ``text`` first writes them; those side by side as one."""
    kept = _hashes(after)
    gone = frozenset().union(*(word for word in _words(before) if word.isdisjoint(kept)))
    if gone.isdisjoint(map(term_hash, terms(text))):
        return []
    runs: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        if gone.isdisjoint(_hashes(word[0])):
            continue
        if runs and text[runs[-1][1] : word.start()].isspace():
            runs[-1] = (runs[-1][0], word.end())
        else:
            runs.append(word.span())
    found = [text[begin:end] for begin, end in runs]
    return list({said.casefold(): said for said in reversed(found)}.values())[::-1]


def _hashes(text: str) -> set[int]:
    return {form for word in _words(text) for form in word}


def _words(statement: str) -> list[frozenset[int]]:
    """Of each word that counts the hashes of its forms."""
    return [frozenset(word.variants) for word in sought(statement).words if not _SPEAKER.fullmatch(word.text)]


def _has_all(text: str, words: Iterable[frozenset[int]]) -> bool:
    held = {term_hash(term) for term in terms(text)}
    return all(not word.isdisjoint(held) for word in words)


def _sentences(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, _END.split(text)))
