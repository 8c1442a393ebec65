"""What search compares of a text: stemmed words, pairs of signs where words have no spaces, numbers and names.

A term is kept as a hash of 32 bits, so that ten thousand messages are one array. A stored text is stemmed in its
own language; a question is too short to be sure of its language, so each of its words stands for all its variants.
"""

import re
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

import numpy as np
import Stemmer
from numpy.typing import NDArray

from memoryapp.policies.languages import (
    DEFAULT,
    LETTER,
    SNOWBALL,
    UNSPACED,
    language_of,
    plausible_languages,
    small_words,
    without_accents,
)

Ints = NDArray[np.int32]
Indices = NDArray[np.int64]

# A message of this length is a pasted document; the rest would only weigh down its other words.
MAX_TERMS: Final = 4_000
# A question longer than this is a pasted text as well.
MAX_SOUGHT: Final = 64

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip

_APOSTROPHES = re.compile(r"['’ʼ＇`]")
# Whole: e-mail addresses, hosts, versions, ORD-2041, 2023-05-08, 3.14; their parts follow as words of their own.
# They begin where a word begins and give nothing back: else a long text without spaces takes the square of its length.
_JOINED = re.compile(rf"(?<!{LETTER}){LETTER}++(?:[-_.@/:+#]{LETTER}++)++")
_IDEOGRAPH = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")
_NUMBERED = re.compile(r"(?<!\d)(\d++)([年月日号點点時时歳岁])")
_WORDS = re.compile(rf"(?P<run>[{UNSPACED}]+)|{LETTER}+")  # "在Berlin工作" is three
_ISO_DATE = re.compile(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b")

_local = threading.local()


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a question: the hashes it may be stored under, and how often it was asked for."""

    text: str
    variants: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Sought:
    """A question's distinct words, in order of first use."""

    words: tuple[Word, ...]


def terms(text: str, *, said_on: date | None = None) -> list[str]:
    """The terms of a stored text, in order, at most ``MAX_TERMS``; a date adds its day, month and year."""
    language = language_of(text)
    left_out = small_words(language)
    found = [_stem(word, language) for word in _words(_folded(text)) if word not in left_out]
    return found[:MAX_TERMS] + (_date_terms(said_on) if said_on else [])


def packed(terms: Sequence[str]) -> bytes:
    """The terms as int32 hashes, little endian."""
    return np.fromiter(map(term_hash, terms), np.dtype("<i4"), len(terms)).tobytes()


def sought(text: str) -> Sought:
    """What a question looks for; at most ``MAX_SOUGHT`` words."""
    languages = plausible_languages(text)
    left_out = small_words(languages[0])  # not the others': a hat is something, though German has it
    folded = _folded(text)
    counts = Counter(word for word in [*_words(folded), *_dates(folded)] if word not in left_out)
    words: dict[tuple[int, ...], Word] = {}
    for word, count in counts.items():
        variants = tuple(sorted({term_hash(variant) for variant in _variants(word, languages)}))
        if variants in words:  # paint, painting
            count += words[variants].count  # noqa: PLW2901
        words[variants] = Word(word, variants, count)
    return Sought(tuple(words.values())[:MAX_SOUGHT])


def places(sought: Sought, terms: Ints, counts: Ints) -> tuple[Indices, Indices]:
    """Where in ``terms`` a word of the question stands, and in which row: ``counts`` says how many each row has."""
    variants = np.array([variant for word in sought.words for variant in word.variants], np.int32)
    found = np.flatnonzero(np.isin(terms, variants))
    return found, np.searchsorted(np.cumsum(counts), found, side="right")


@lru_cache(maxsize=100_000)
def term_hash(term: str) -> int:
    """The same in every process and on every machine: CRC-32 of the UTF-8, signed."""
    unsigned = zlib.crc32(term.encode("utf-8", "surrogatepass"))
    return unsigned - (1 << 32) if unsigned >= 1 << 31 else unsigned


def _folded(text: str) -> str:
    return _APOSTROPHES.sub("", unicodedata.normalize("NFKC", text).casefold())


def _words(folded: str) -> Iterator[str]:
    for joined in _JOINED.finditer(folded):
        yield joined.group()
    for number, unit in _NUMBERED.findall(folded):
        yield number + unit
    for word in _WORDS.finditer(_NUMBERED.sub(r"\1 ", folded)):
        yield from _cut(word["run"]) if word["run"] else (word.group(),)


def _cut(run: str) -> Iterator[str]:
    """Neighbouring signs, since nothing tells where a word ends; Chinese ones also alone: many are words."""
    yield from (run[start : start + 2] for start in range(max(len(run) - 1, 1)))
    if len(run) > 1:
        yield from _IDEOGRAPH.findall(run)


def _stem(word: str, language: str) -> str:
    if not word.isalpha() or language not in SNOWBALL:
        return without_accents(word)
    if word.isascii() and language in {"ru", "el", "ar", "hi"}:
        language = DEFAULT
    stemmer = _stemmer(language)
    return without_accents(stemmer.stemWord(word))


def _stemmer(language: str) -> Stemmer.Stemmer:
    """One per thread: they keep state while they work."""
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(SNOWBALL[language])
    return stemmers[language]


def _variants(word: str, languages: Iterable[str]) -> Iterator[str]:
    yield without_accents(word)
    for language in languages:
        yield _stem(word, language)


def _date_terms(day: date) -> list[str]:
    return [str(day.day), _stem(MONTHS[day.month - 1], DEFAULT), str(day.year)]


def _dates(folded: str) -> Iterator[str]:
    """Dates that a question writes in figures, in the words that a message's date is stored with."""
    for year, month, day in _ISO_DATE.findall(folded):
        yield from _date_words(year, month, day)
    for number, unit in _NUMBERED.findall(folded):
        yield from _date_words(*(number if unit == sign else "" for sign in "年月日"))


def _date_words(year: str, month: str, day: str) -> Iterator[str]:
    yield from (str(int(number)) for number in (year, day) if number)
    if month and 1 <= int(month) <= len(MONTHS):
        yield MONTHS[int(month) - 1]
