"""When two statements say the same, and when one denies the other, decided by their words. Pure.

Cosine cannot tell a repeated fact from a changed one ("lives in Lisbon" and "lives in Porto" are neighbours), so text
decides, and in doubt two statements stay two. What may differ: upper case, punctuation, contractions ("don't" and "do
not"), articles, filler words, the third person, the plural of what has no article, number or owner, "is living" for
"lives", the order of phrases ("on Mondays I swim") and of two things joined by "and". What may not: a number, a name, a
tense, a negation, any other word, and the order of words within a phrase, which says who does what to whom.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memoryapp.policies.languages import language_of
from memoryapp.policies.reconciliation import normalise


@dataclass(frozen=True, slots=True)
class Word:
    """``stem`` is compared; of a name, and of a noun after an article, a number or an owner, ``text`` is.

    ``is_determined``: it comes after one of those, so it may be such a noun. ``is_verb``: what stands before it ("is
    living", "does not live") shows that it is none.
    """

    text: str
    stem: str
    is_name: bool = False
    is_negation: bool = False
    is_owner: bool = False
    is_determined: bool = False
    is_verb: bool = False

    def says_the_same_as(self, other: "Word") -> bool:
        if self.text == other.text:
            return True
        if self.stem != other.stem or self.is_name or other.is_name:
            return False
        is_noun = (self.is_determined or other.is_determined) and not (self.is_verb or other.is_verb)
        return not is_noun


Phrases = tuple[tuple[Word, ...], ...]


@dataclass(frozen=True, slots=True)
class Essence:
    """A statement without what may differ: phrases in a fixed order, and whether it denies something.

    ``denied``: of a negative statement what it says is not so; of "never" there are two, with "always" and without.
    """

    phrases: Phrases
    denied: tuple[Phrases, ...]

    @property
    def is_negative(self) -> bool:
        return bool(self.denied)

    @property
    def stems(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(word.stem for word in phrase) for phrase in self.phrases)

    @property
    def text(self) -> str:
        """The same for everything that says the same; to be hashed, not shown."""
        return " | ".join(" ".join(phrase) for phrase in self.stems)


def is_same(one: str, other: str) -> bool:
    """Whether both say the same."""
    first, second = essence(one), essence(other)
    return _are_same(first.phrases, second.phrases)


def is_denial(one: str, other: str) -> bool:
    """Whether one says that what the other says is not so: "I eat meat", "I don't eat meat any more"."""
    first, second = essence(one), essence(other)
    if first.is_negative == second.is_negative:
        return False
    negative, positive = (first, second) if first.is_negative else (second, first)
    return any(_are_same(denied, positive.phrases) for denied in negative.denied)


@lru_cache(maxsize=4_096)
def essence(statement: str) -> Essence:
    """Each of a person's statements is compared with every new one: worth keeping."""
    words = _without_filler(list(_in_their_places(_words(statement))))
    return Essence(_arranged(words), tuple(_denied(words)))


def _denied(words: Sequence[Word]) -> Iterator[Phrases]:
    if not any(word.is_negation for word in words):
        return
    yield _arranged([word for word in words if not word.is_negation])
    if any(_is_never(word) for word in words):
        always = Word("always", "always")
        kept = (always if _is_never(word) else word for word in words)
        yield _arranged([word for word in kept if not word.is_negation])


def _is_never(word: Word) -> bool:
    return word.is_negation and word.text == "never"


def _are_same(one: Phrases, other: Phrases) -> bool:
    if one == () or [len(phrase) for phrase in one] != [len(phrase) for phrase in other]:
        return False
    pairs = (pair for phrases in zip(one, other, strict=True) for pair in zip(*phrases, strict=True))
    return all(first.says_the_same_as(second) for first, second in pairs)


def _words(statement: str) -> Iterator[Word]:
    negations = _EVERYWHERE_NEGATIVE | _NEGATIONS.get(language_of(statement), frozenset())
    statement = _HAN_GAP.sub("", statement.replace("’", "'").replace("ʼ", "'"))
    text = _user_as_i(_expanded(statement))
    chunks = text.split()
    for position, chunk in enumerate(chunks):
        is_name, is_owner = _is_name(chunks, position), bool(_OWNER.search(chunk))
        for word in normalise(chunk).split():
            yield from _read(word, is_name=is_name, is_owner=is_owner, negations=negations)


def _read(word: str, *, is_name: bool, is_owner: bool, negations: frozenset[str]) -> Iterator[Word]:
    if _HAN.search(word):
        for part in _han_words(word):
            yield Word(part, part, is_negation=part == "not", is_owner=is_owner)
        return
    for part in _BARE_CONTRACTIONS.get(word, word).split():
        is_negation = part in negations and not is_name  # a sister called Mai, a cat called Nie
        text = _NUMBER_WORDS.get(part, part if is_name else _SPELLINGS.get(part, part))
        yield Word(text, text if is_name else stem(text), is_name, is_negation, is_owner)


def _in_their_places(words: Iterable[Word]) -> Iterator[Word]:
    """With what the words before each tell of it."""
    helper, is_determined = "", False
    for word in words:
        if word.text in _BEGINNINGS:
            is_determined = False
        is_participle = helper in _BE and word.text.endswith("ing")
        is_verb = not word.is_name and (is_participle or helper in _DO)
        root = _without_participle(word.text) if is_verb and is_participle else word.stem
        yield Word(word.text, root, word.is_name, word.is_negation, word.is_owner, is_determined, is_verb)
        if not (word.is_negation or word.text in _EMPHASIS or word.text in _FILLER - _BE - _DO):
            helper = word.text
        is_determined |= word.is_owner or word.text in _DETERMINERS or word.text[0].isdigit()


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
    is_loud = letters.isupper() and normalise(letters) in _EVERYWHERE_NEGATIVE | _NEGATIONS["en"]
    if not letters[:1].isupper() or letters in {"I", "I'm"} or is_loud:
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
    # "I am not just a doctor" does not deny that I am one.
    filler = _FILLER if any(word.is_negation for word in words) else _FILLER | _EMPHASIS
    return [word for word in _one_denial(words) if word.is_name or word.text not in filler]


def _one_denial(words: Iterable[Word]) -> Iterator[Word]:
    """ "No longer", "not any more" and "not" are one; "never" is another."""
    kept = list(words)
    is_denied = any(word.is_negation for word in kept)
    for position, word in enumerate(kept):
        after = kept[position + 1].text if position + 1 < len(kept) else ""
        before = kept[position - 1].text if position else ""
        if is_denied and (word.text == "anymore" or (word.text, after) == ("any", "more")):
            continue
        if is_denied and (before, word.text) in {("any", "more"), ("no", "longer")}:
            continue
        is_former = (word.text, after) == ("no", "longer")
        yield Word("not", "not", is_negation=True) if is_former else word


def _arranged(words: Sequence[Word]) -> Phrases:
    """Phrases in the order of the alphabet, unless their order says something.

    It does in a sentence of several clauses: "I eat before I take it", "to Rome on Monday and to Oslo on Friday".
    """
    phrases = tuple(_phrases(words))
    is_joined = any(_is_joining(phrase) and not _is_pair(phrase) for phrase in phrases)
    has_clauses = sum(word.text in _SPEAKER for word in words) > 1
    if is_joined or has_clauses:
        return phrases
    return tuple(sorted(phrases, key=lambda phrase: [word.stem for word in phrase]))


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
    """ "Tea and coffee" is "coffee and tea": two words that end a phrase, in the order of the alphabet."""
    if not _is_pair(phrase) or phrase[-3].stem <= phrase[-1].stem:
        return tuple(phrase)
    return (*phrase[:-3], phrase[-1], phrase[-2], phrase[-3])


def _is_pair(phrase: Sequence[Word]) -> bool:
    """At most a verb before it: in "I drink black tea and coffee" one of the two has an adjective."""
    return len(phrase) in {3, 4} and phrase[-2].text in _JOINING_WORDS


def _is_joining(words: Iterable[Word]) -> bool:
    return any(word.text in _JOINING_WORDS for word in words)


def listed(words: str) -> frozenset[str]:
    """The words of a string."""
    return frozenset(words.split())


def stem(word: str) -> str:
    """Without the ending of the third person or the plural; a past tense and a participle keep their own.

    The plural rules are Harman's S-stemmer (JASIS 42, 1991), which never joins two words of different meaning by much.
    """
    word = _SPELLINGS.get(word, word)
    if word in _IRREGULAR or not word.isascii() or not word.isalpha() or len(word) < 4:
        return _IRREGULAR.get(word, word)
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(?:s|x|z|ch|sh)es$", word):
        return _bare(word[:-2])
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _bare(word[:-1])
    return _bare(word)


def beginnings(stem: str) -> frozenset[str]:
    """How a word of this stem may begin in writing, in small letters; empty where a contraction may hide it."""
    if stem in _HIDDEN or stem[0].isdigit():
        return frozenset()
    if _HAN.search(stem):
        return frozenset([stem[:HAN_BEGINNING]])
    other = {word for word, form in (*_IRREGULAR.items(), *_SPELLINGS.items()) if stem in {form, _bare(form)}}
    known = {stem[:-1] if stem[-1] in "iy" else stem, *other}
    return frozenset(word for word in known if not any(word != part and part in word for part in known))


def _without_participle(word: str) -> str:
    root = word[:-3]
    if len(word) <= 5 or word in _IRREGULAR or not any(char in "aeiouy" for char in root):
        return stem(word)
    return _without_doubling(root)


def _bare(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _without_doubling(word: str) -> str:
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if is_doubled else _bare(word)


HAN_BEGINNING = 2  # characters, a word mostly; of what has no spaces little, for quotation marks may follow

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_HAN_GAP = re.compile(
    r"(?<=[\u3400-\u9fff])[\s“”「」『』《》\"]+(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])[”」』》\"]"
)
_HAN_FILLER = re.compile(
    r"^(?:其实|顺便说一下|对了)?我(?!们|的)|^其实|现在|目前|真的|非常|很(?=喜欢|爱|讨厌|想)"
)
_HAN_NEGATION = re.compile(r"不再|不(?!过|同|错|久|用|得)|没有|从不")
_USER = re.compile(r"^\s*(?:the\s+)?user\s+(?=[a-z])", re.IGNORECASE)
_OWNER = re.compile(r"\w(?:'s|s')\W*$", re.IGNORECASE)  # "Anna's dog" is not "Anna's dogs"
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
    "has": "hav", "does": "do", "goes": "go", "children": "child", "wives": "wife", "lives": "liv", "wife": "wife",
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
# A word that denies in one language is a name, a month or a preposition in the next ("Nie", "Mai", "no").
_EVERYWHERE_NEGATIVE = listed("not nicht kein keine keinen keinem keiner não nunca jamais не нет")
_NEGATIONS = {
    "en": listed("no never"),
    "de": listed("nie niemals"),
    "fr": listed("pas non"),
    "es": listed("no jamás tampoco"),
    "pt": listed("nao"),
    "it": listed("non mai no"),
    "nl": listed("niet geen nooit"),
    "pl": listed("nie nigdy"),
    "ru": listed("никогда"),
}
_BE = listed("am is are be")
_DO = listed("do does")
_FILLER = _BE | _DO | listed("a an the being actually currently now basically honestly please personally")
# What a negation may be about.
_EMPHASIS = listed("really very just already simply certainly definitely truly still also")
_DETERMINERS = listed("a an the my your his her its our their this that these those some every each another")
_SPEAKER = frozenset(["i", "ich", "je", "yo", "eu", "io", "я"])
_JOINING_WORDS = frozenset(["and", "or", "und", "oder", "et", "ou", "y", "e", "и"])
_BEGINNINGS = _SPEAKER | listed(
    "in at on to from with without for of by about into onto over under after before since until till during than "
    "between near through because when while if but instead every"
)
_AT_THE_END = frozenset(["too", "also", "though", "thanks"])
# What a contraction may hide, or another word of the same meaning stand for: no statement need hold it.
_HIDDEN = (
    _EVERYWHERE_NEGATIVE
    | frozenset().union(*_NEGATIONS.values())
    | listed("always can will shall hav i any more anymore longer")
)
_OPENING = re.compile(
    r"(?:(?:by the way|btw|fyi|just so you know|well|oh|hey|ok|okay|so|yes|note that|remember that|remember|"
    r"please remember that|please remember|please note that|as i said|like i said|i want you to know that|"
    r"you should know that|also) )+"
)
_AFTER_A_SUBJECT = listed("is was has had will can and or s")
