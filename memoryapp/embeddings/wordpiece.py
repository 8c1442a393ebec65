"""BERT's uncased WordPiece tokenizer, written out because the package that has it brings 35 MB along.

Normalisation and splitting follow the reference (``BertNormalizer``, ``BertPreTokenizer`` and ``WordPiece``
of ``tokenizers``) step by step, in its order; ``tests/data/wordpiece.json`` holds ids that it produced. One
difference is meant: ``[SEP]`` and the like in a text are words, not control tokens. Another is of no weight:
Python knows a newer Unicode, so marks of rare scripts added since are dropped here and unknown there.
"""

import unicodedata
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

# A word longer than this is unknown as a whole, as in the reference; it also bounds the greedy search.
_MAX_WORD_CHARS = 100

# Unassigned characters (Cn) stay, as in the reference.
_CONTROL = frozenset({"Cc", "Cf", "Co", "Cs"})

_CJK_RANGES = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # the reference has B920 where Unicode has B820: the model was trained with it
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Texts to token ids, framed by [CLS] and [SEP]."""

    def __init__(self, vocabulary: Path, *, max_tokens: int) -> None:
        lines = vocabulary.read_text(encoding="utf-8").split("\n")
        self._ids = {token: number for number, token in enumerate(lines) if token}
        self._max_tokens = max_tokens

    def encode(self, text: str) -> list[int]:
        """At least [CLS] and [SEP], at most ``max_tokens``; what is beyond is cut."""
        pieces = chain.from_iterable(self._split(word) for word in _words(text))
        return [self._ids["[CLS]"], *islice(pieces, self._max_tokens - 2), self._ids["[SEP]"]]

    def _split(self, word: str) -> list[int]:
        """The longest known piece first, again and again; a word with any unknown rest is one [UNK]."""
        unknown = [self._ids["[UNK]"]]
        if len(word) > _MAX_WORD_CHARS:
            return unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            end = len(word)
            prefix = "##" if start else ""
            while end > start and prefix + word[start:end] not in self._ids:
                end -= 1
            if end == start:
                return unknown
            pieces.append(self._ids[prefix + word[start:end]])
            start = end
        return pieces


def _words(text: str) -> Iterator[str]:
    """Lower-case words without accents; every punctuation character is a word of its own."""
    for chunk in _normalise(text).split(" "):
        start = 0
        for position, char in enumerate(chunk):
            if _is_punctuation(char):
                if position > start:
                    yield chunk[start:position]
                yield char
                start = position + 1
        if start < len(chunk):
            yield chunk[start:]


def _normalise(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", "".join(map(_clean, text)))
    # Lower-cased one by one: str.lower() on a whole word would write a final sigma, the reference does not.
    return "".join(char.lower() for char in decomposed if unicodedata.category(char) != "Mn")


def _clean(char: str) -> str:
    """Nothing for control characters, a space for any space, ideographs set apart, the rest as it is."""
    category = unicodedata.category(char)
    if char in "\t\n\r" or category.startswith("Z"):
        return " "
    if category in _CONTROL or char == "\ufffd":
        return ""
    return f" {char} " if _is_ideograph(char) else char


def _is_ideograph(char: str) -> bool:
    return char >= "\u3400" and any(low <= ord(char) <= high for low, high in _CJK_RANGES)


def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return (
            not char.isalnum()
        )  # spaces and control characters are gone by now, and BERT counts $+<=>^`|~ in
    return unicodedata.category(char).startswith("P")
