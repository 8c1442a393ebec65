"""When two statements say the same, and when one denies the other, decided by their words. Pure.

Cosine cannot tell a repeated fact from a changed one ("lives in Lisbon" and "lives in Porto" are neighbours), so text
decides, and in doubt two statements stay two. What may differ: upper case, punctuation, contractions ("don't" and "do
not"), articles, filler words, the third person and the plural, "is living" for "lives", the order of phrases ("on
Mondays I swim") and of two things joined by "and". What may not: a number, a name, a tense, a negation, any other word,
and the order of words within a phrase, which says who does what to whom.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memoryapp.policies.reconciliation import normalise


@dataclass(frozen=True, slots=True)
class Word:
    """``stem`` is compared; where one of two words is a ``is_name``, ``text`` is."""

    text: str
    stem: str
    is_name: bool


@dataclass(frozen=True, slots=True)
class Essence:
    """A statement without what may differ: phrases in a fixed order, and whether it denies something."""

    phrases: tuple[tuple[Word, ...], ...]
    is_negative: bool

    @property
    def stems(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(word.stem for word in phrase) for phrase in self.phrases)

    @property
    def text(self) -> str:
        """The same for everything that says the same; to be hashed, not shown."""
        return " | ".join(" ".join(phrase) for phrase in self.stems)

    @property
    def anchor(self) -> str:
        """A part of a word that every statement like this one holds, in small letters; "" where there is none."""
        return anchor(stem for phrase in self.stems for stem in phrase)


MIN_ANCHOR = 3  # letters; a shorter beginning is in nearly every statement
HAN_ANCHOR = 2  # characters: a word, mostly


def anchor(stems: Iterable[str]) -> str:
    """The beginning of the longest of these stems that is written in one way only; "" where there is none."""
    known = {_beginning(stem) for stem in stems if stem not in _WRITTEN_OTHERWISE and not stem.isdigit()}
    longest = max(sorted(known), key=len, default="")
    return longest if len(longest) >= MIN_ANCHOR or not longest.isascii() else ""


def _beginning(stem: str) -> str:
    """Without a last letter that the plural changes; of what has no spaces little, for quotation marks may follow."""
    if _HAN.search(stem):
        return stem[:HAN_ANCHOR]
    return stem[:-1] if stem[-1:] in "iy" else stem


def is_same(one: str, other: str) -> bool:
    """Whether both say the same."""
    first, second = essence(one), essence(other)
    return first.phrases != () and first.stems == second.stems and _same_names(first, second)


def is_denial(one: str, other: str) -> bool:
    """Whether one says that what the other says is not so: "I eat meat", "I don't eat meat any more"."""
    first, second = essence(one), essence(other)
    if first.is_negative == second.is_negative:
        return False
    first, second = _affirmed(first), _affirmed(second)
    return first.phrases != () and first.stems == second.stems and _same_names(first, second)


@lru_cache(maxsize=4_096)
def essence(statement: str) -> Essence:
    """Each of a person's statements is compared with every new one: worth keeping."""
    words = _without_filler(list(_words(statement)))
    phrases = tuple(sorted(_phrases(words), key=lambda phrase: [word.stem for word in phrase]))
    return Essence(phrases, is_negative=any(word.stem in _NEGATIONS for word in words))


def _same_names(one: Essence, other: Essence) -> bool:
    pairs = zip(_flat(one), _flat(other), strict=True)
    return all(a.text == b.text or not (a.is_name or b.is_name) for a, b in pairs)


def _flat(essence: Essence) -> list[Word]:
    return [word for phrase in essence.phrases for word in phrase]


def _affirmed(essence: Essence) -> Essence:
    kept = (tuple(word for word in phrase if word.stem not in _NEGATIONS) for phrase in essence.phrases)
    return Essence(
        tuple(sorted(filter(None, kept), key=lambda phrase: [word.stem for word in phrase])),
        is_negative=False,
    )


def _words(statement: str) -> Iterator[Word]:
    statement = _HAN_GAP.sub("", statement.replace("’", "'").replace("ʼ", "'"))
    text = _user_as_i(_expanded(statement))
    chunks = text.split()
    for position, chunk in enumerate(chunks):
        is_name = _is_name(chunks, position)
        for word in normalise(chunk).split():
            yield from _read(word, is_name=is_name)


def _read(word: str, *, is_name: bool) -> Iterator[Word]:
    if _HAN.search(word):
        yield from (Word(part, part, is_name=False) for part in _han_words(word))
        return
    for part in _BARE_CONTRACTIONS.get(word, word).split():
        counted = _NUMBER_WORDS.get(part, part)
        yield Word(counted, counted if is_name else stem(counted), is_name)


def _han_words(word: str) -> list[str]:
    """The denial of a Chinese statement as a word of its own; the rest as it stands: its order says who does what."""
    said = _HAN_FILLER.sub("", word)
    found = _HAN_NEGATION.search(said)
    if found is None:
        return [said] if said else []
    # "不吃肉了" is "no longer": the particle goes with the denial.
    rest = (said[: found.start()] + said[found.end() :]).removesuffix("了")
    return ["not", rest] if rest else ["not"]


def _expanded(text: str) -> str:
    for pattern, words in _CONTRACTIONS:
        text = pattern.sub(words, text)
    return text


def _user_as_i(text: str) -> str:
    """A model speaks of "the user"; the person says "I"."""
    return _USERS.sub("my ", _USER.sub("I ", text, count=1), count=1)


def _is_name(chunks: Sequence[str], position: int) -> bool:
    """Capitals inside a sentence; at its beginning when a verb follows that a subject has: "James is …"."""
    letters = chunks[position].lstrip("\"'“”‘([{¿¡«„")
    if not letters[:1].isupper() or letters in {"I", "I'm"}:
        return False
    if position > 0 and chunks[position - 1][-1:] not in ".!?:":
        return True
    return position + 1 < len(chunks) and normalise(chunks[position + 1]) in _AFTER_A_SUBJECT


def _without_filler(words: list[Word]) -> list[Word]:
    text = " ".join(word.text for word in words)
    opening = _OPENING.match(text)
    if opening:
        words = words[len(opening[0].split()) :]
    if words and words[-1].text in _AT_THE_END:
        words = words[:-1]
    return [word for word in _one_denial(words) if word.is_name or word.text not in _FILLER]


def _one_denial(words: Iterable[Word]) -> Iterator[Word]:
    """ "No longer", "not any more" and "not" are one; "never" is another."""
    kept = list(words)
    is_denied = any(word.stem in _NEGATIONS for word in kept)
    for position, word in enumerate(kept):
        after = kept[position + 1].text if position + 1 < len(kept) else ""
        before = kept[position - 1].text if position else ""
        if is_denied and (word.text == "anymore" or (word.text, after) == ("any", "more")):
            continue
        if is_denied and (before, word.text) in {("any", "more"), ("no", "longer")}:
            continue
        yield Word("not", "not", is_name=False) if (word.text, after) == ("no", "longer") else word


def _phrases(words: Iterable[Word]) -> Iterator[tuple[Word, ...]]:
    """Runs of words, each beginning at a preposition, a conjunction or the speaker."""
    phrase: list[Word] = []
    for word in words:
        if phrase and word.text in _BEGINNINGS:
            yield _in_order(phrase)
            phrase = []
        if word.text not in _SPEAKER:
            phrase.append(word)
    if phrase:
        yield _in_order(phrase)


def _in_order(phrase: Sequence[Word]) -> tuple[Word, ...]:
    """ "Tea and coffee" is "coffee and tea": single words around "and" or "or", in the order of the alphabet."""
    words = list(phrase)
    for position in range(1, len(words) - 1):
        if words[position].text in _JOINING_WORDS and words[position + 1].stem < words[position - 1].stem:
            words[position - 1], words[position + 1] = words[position + 1], words[position - 1]
    return tuple(words)


def listed(words: str) -> frozenset[str]:
    """The words of a string."""
    return frozenset(words.split())


def stem(word: str) -> str:
    """Without the ending of the third person, the plural or the present participle; a past tense keeps its own.

    The plural rules are Harman's S-stemmer (JASIS 42, 1991), which never joins two words of different meaning by much.
    """
    word = _SPELLINGS.get(word, word)
    if word in _IRREGULAR or not word.isascii() or not word.isalpha() or len(word) < 4:
        return _IRREGULAR.get(word, word)
    if word.endswith("ing") and _has_vowel(word[:-3]) and len(word) > 5:
        return _without_doubling(word[:-3])
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(?:s|x|z|ch|sh)es$", word):
        return _bare(word[:-2])
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _bare(word[:-1])
    return _bare(word)


def _bare(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _without_doubling(word: str) -> str:
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if is_doubled else _bare(word)


def _has_vowel(word: str) -> bool:
    return any(char in "aeiouy" for char in word)


_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_HAN_GAP = re.compile(
    r"(?<=[\u3400-\u9fff])[\s“”「」『』《》\"]+(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])[”」』》\"]"
)
_HAN_FILLER = re.compile(
    r"^(?:其实|顺便说一下|对了)?我(?!们|的)|^其实|现在|目前|真的|非常|很(?=喜欢|爱|讨厌|想)"
)
_HAN_NEGATION = re.compile(r"不再|不(?!过|同|错|久|用|得)|没有|从不")
_USER = re.compile(r"^\s*(?:the\s+)?user\s+(?=[a-z])", re.IGNORECASE)
_USERS = re.compile(r"^\s*(?:the\s+)?user's\s+", re.IGNORECASE)
_CONTRACTIONS = [
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"\bcan't\b", "can not"),
        (r"\bcannot\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\bshan't\b", "shall not"),
        (r"\bain't\b", "am not"),
        (r"n't\b", " not"),
        (r"\bi'm\b", "I am"),
        (r"\b(it|he|she|that|there|what|who)'s\b", r"\1 is"),
        (r"'re\b", " are"),
        (r"'ve\b", " have"),
        (r"'ll\b", " will"),
        # "My sister's a doctor", not "my sister's doctor".
        (r"'s(?=\s+(?:an?|the|not|my|called|named)\b)", " is"),
    )
]
_BARE_CONTRACTIONS = {
    "dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not", "arent": "are not",
    "wasnt": "was not", "werent": "were not", "cant": "can not", "wont": "will not", "havent": "have not",
    "hasnt": "has not", "im": "i am", "ive": "i have",
}  # fmt: skip
_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTED.split(), 1)}
_IRREGULAR = {
    "has": "have", "does": "do", "goes": "go", "children": "child", "wives": "wife", "lives": "liv", "wife": "wife",
    "men": "man", "women": "woman", "people": "people", "news": "news", "during": "during", "nothing": "nothing",
    "something": "something", "anything": "anything", "everything": "everything", "morning": "morning",
    "evening": "evening", "always": "always", "its": "its", "his": "his", "hers": "hers", "this": "this",
    "yes": "yes", "was": "was", "as": "as", "us": "us", "is": "is", "spring": "spring", "string": "string",
}  # fmt: skip
_SPELLINGS = {
    "colour": "color",
    "colours": "colors",
    "favourite": "favorite",
    "favourites": "favorites",
    "grey": "gray",
}
_NEGATIONS = frozenset(
    {"not", "no", "never", "nicht", "kein", "keine", "keinen", "não", "nao", "pas", "jamais", "nie", "non",
     "не", "нет", "nunca", "mai"}
)  # fmt: skip
_FILLER = listed(
    "a an the am is are be being do does really very actually just currently now already basically simply "
    "certainly definitely honestly truly still please personally also my"
)
_SPEAKER = frozenset(["i", "ich", "je", "yo", "eu", "io", "я"])
_JOINING_WORDS = frozenset(["and", "or", "und", "oder", "et", "ou", "y", "e", "и"])
_BEGINNINGS = _SPEAKER | listed(
    "in at on to from with without for of by about into onto over under after before since until till during than "
    "between near through because when while if but instead every"
)
_AT_THE_END = frozenset(["too", "also", "though", "thanks"])
# What a contraction, an irregular form or another spelling may hide: no statement need hold it as it stands.
_WRITTEN_OTHERWISE = (
    _NEGATIONS
    | listed("can not will shall am is are have do does i my")
    | frozenset(form for word, form in _IRREGULAR.items() if not word.startswith(form))
    | frozenset(_bare(word) for word in (*_SPELLINGS.values(), "have"))
)
_OPENING = re.compile(
    r"(?:(?:by the way|btw|fyi|just so you know|well|oh|hey|ok|okay|so|yes|note that|remember that|remember|"
    r"please remember that|please remember|please note that|as i said|like i said|i want you to know that|"
    r"you should know that|also) )+"
)
_AFTER_A_SUBJECT = listed("is was has had will can and or s")
