"""How well each message of a person's conversations answers a question. Pure numpy over arrays of one person.

Scores are absolute: a score means the same for every question and every person, so that one cutoff can say
"nothing was found". ``docs/recall.md`` has the formulas, their sources and what the constants were measured on.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryapp.embeddings.base import LEXICAL_ONLY, Calibration, DialogueWeights
from memoryapp.policies import cues
from memoryapp.policies.languages import language_of, small_words
from memoryapp.policies.terms import Indices, Ints, Sought, places, sought, term_hash, terms

Floats = NDArray[np.float64]

_SIDES = (False, True)

# BM25F (Zaragoza et al. 2004): a message's own words and, at a share, those of its neighbours.
K1: Final = 0.9
B: Final = 0.4
PREVIOUS: Final = 0.5  # the other side's last message: the question that this one answers
OWN: Final = 0.2  # the same side's message before that
NEXT: Final = 0.2  # the other side's reply
# As if there were at least so many messages: of a handful none says how rare a word is, and words that nobody used
# would weigh so much that nothing is found before there are vectors.
FEW: Final = 20
NEIGHBOUR_TERMS: Final = 40  # of a long neighbour only the beginning
# Of an assistant's words about a subject few are worth a memory of their own.
ASSISTANT: Final = 0.3
# The question names one of several people: what the others said counts less.
UNNAMED: Final = 0.7
# Messages of a conversation that is about the question as a whole.
SESSION: Final = 0.25
SESSION_TOP: Final = 3
# What a message that answers looks like; shares of the mean of the ten best.
PRIOR_TOP: Final = 10
FIRST_PERSON_SHARE: Final = 0.06
LENGTH_SHARE: Final = 0.15
FULL_LENGTH_WORDS: Final = 40
TIME_SHARE: Final = 0.2
QUESTION_SHARE: Final = -0.1  # between people; to an assistant much is told in questions

FIRST_PERSON: Final = 1
TIME: Final = 2
QUESTION: Final = 4
TO_FORGET: Final = 8


@dataclass(frozen=True, slots=True)
class Passages:
    """n messages of one person, ordered by session, then position. ``terms``: all of theirs, end to end."""

    session: Ints
    position: Ints
    is_assistant: NDArray[np.bool_]
    speaker: Ints  # ``speaker_key`` of a named person, 0 for the user or the assistant
    said_at: Floats  # seconds since 1970
    traits: Ints  # ``traits`` of the text
    words: Ints
    counts: Ints  # how many of ``terms`` are each message's
    terms: Ints
    cosine: NDArray[np.float32]  # to the question; nan without a vector


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: its words, whether for a time, whether for something that the assistant said."""

    sought: Sought
    asks_when: bool
    asks_for_reply: bool

    def names(self, speaker: int) -> bool:
        return any(speaker in word.variants for word in self.sought.words)


@dataclass(frozen=True, slots=True)
class Scores:
    """One number per passage. ``base``: words and meaning alone. ``score``: orders. ``confidence``: 0..1."""

    lexical: Floats
    base: Floats
    score: Floats
    confidence: Floats


def traits(text: str) -> int:
    """What a text says about itself: bits ``FIRST_PERSON``, ``TIME``, ``QUESTION`` and ``TO_FORGET``."""
    return (
        FIRST_PERSON * cues.speaks_of_itself(text)
        | TIME * cues.tells_a_time(text)
        | QUESTION * cues.ends_in_a_question(text)
        | TO_FORGET * cues.asks_to_forget(text)
    )


def speaker_key(name: str) -> int:
    """By which a question that says a name finds the speaker: the first of its words. 0 for no name."""
    return next(map(term_hash, terms(name)), 0)


def question(text: str) -> Question:
    return Question(sought(text), cues.asks_when(text), cues.asks_for_a_reply(text))


def in_first_person(text: str, names: Sequence[str]) -> str:
    """The question as the speakers would ask it: their names become I and my, as in what they said.

    A name is one by its capital letter, unless nothing in the question has one: *Will* is not *will*.
    """
    language = language_of(text)
    pronoun = cues.PRONOUNS.get(language)
    if pronoun is None:
        return text
    flags = re.IGNORECASE if text.islower() else re.NOFLAG
    for name in names:
        if not name or (flags and name.lower() in small_words(language)):
            continue
        is_word = r"\b" if name.isascii() else ""
        if language == "en":
            text = re.sub(rf"{is_word}{re.escape(name)}['’]s\b", "my", text, flags=flags)
        text = re.sub(f"{is_word}{re.escape(name)}{is_word}", pronoun, text, flags=flags)
    return text


def is_to_forget(passages: Passages) -> NDArray[np.bool_]:
    """Which ask the assistant to forget something, or answer that: they say again what is not to be told any more."""
    asks = _has(passages, TO_FORGET) & ~passages.is_assistant & (passages.speaker == 0)
    follows = passages.is_assistant & (passages.position == np.r_[-1, passages.position[:-1]] + 1)
    same = passages.session == np.r_[-1, passages.session[:-1]]
    return np.asarray(asks | (np.r_[False, asks[:-1]] & follows & same), np.bool_)


def score(question: Question, passages: Passages, calibration: Calibration) -> Scores:
    """Every passage against the question, in the order of the passages."""
    if not len(passages.counts):
        return Scores(*[np.zeros(0)] * 4)
    has_vectors = not np.isnan(passages.cosine).all()
    weights = calibration.dialogue if has_vectors else LEXICAL_ONLY.dialogue
    lexical = _lexical(question.sought, passages)
    base = _base(lexical, passages.cosine, weights) * _side(question, passages) * _named(question, passages)
    confidence = 1 / (1 + np.exp(-(weights.bias + weights.slope * base)))
    ranked = base + SESSION * _session_mean(base, passages.session)
    ranked = ranked + _prior(ranked, question, passages)
    return Scores(lexical, base, ranked, confidence)


def _base(lexical: Floats, cosine: NDArray[np.float32], weights: DialogueWeights) -> Floats:
    """Words and meaning on one scale; a message without a vector yet is taken to be as near as most are."""
    known = ~np.isnan(cosine)
    if not known.any():
        return (1 - weights.dense) * lexical
    near = np.where(known, cosine, cosine[known].mean()).astype(np.float64)
    combined: Floats = (1 - weights.dense) * lexical + weights.dense * near
    return combined


def _lexical(sought: Sought, passages: Passages) -> Floats:
    """BM25F over a message and its neighbours, as a share of what a perfect message would reach; 0..1."""
    size = len(passages.counts)
    own, clipped = _frequencies(sought, passages)
    document_frequency = (own > 0).sum(axis=0)
    length = passages.counts.astype(np.float64)
    clipped_length = np.r_[np.minimum(length, NEIGHBOUR_TERMS), 0]  # where there is no neighbour: index -1
    weighted = own
    for neighbour, share in _neighbours(passages):
        weighted = weighted + share * clipped[neighbour]
        length = length + share * clipped_length[neighbour]
    idf = np.log(1 + (max(size, FEW) - document_frequency + 0.5) / (document_frequency + 0.5))
    asked = idf * np.array([word.count for word in sought.words])
    if not asked.sum():
        return np.zeros(size)
    norm = K1 * (1 - B + B * length / max(length.mean(), 1e-9))
    share_found: Floats = (weighted / (weighted + norm[:, None])) @ asked / asked.sum()
    return share_found


def _frequencies(sought: Sought, passages: Passages) -> tuple[Floats, Floats]:
    """How often each passage has each word; and the same within its first ``NEIGHBOUR_TERMS`` terms.

    The latter has a row of zeros at its end.
    """
    size, width = len(passages.counts), len(sought.words)
    own, clipped = np.zeros((size, width)), np.zeros((size + 1, width))
    hits, passage = places(sought, passages.terms, passages.counts)
    starts = np.cumsum(passages.counts) - passages.counts
    is_early = hits - starts[passage] < NEIGHBOUR_TERMS
    found = passages.terms[hits]
    for column, word in enumerate(sought.words):
        is_word = np.isin(found, word.variants)
        own[:, column] = np.bincount(passage[is_word], minlength=size)
        clipped[:-1, column] = np.bincount(passage[is_word & is_early], minlength=size)
    return own, clipped


def _neighbours(passages: Passages) -> list[tuple[Indices, float]]:
    """Per kind of neighbour the index of each passage's (-1: none) and its share."""
    size = len(passages.counts)
    index = np.arange(size)
    side = passages.is_assistant
    earlier = {which: _shifted(np.maximum.accumulate(np.where(side == which, index, -1))) for which in _SIDES}
    later = {
        which: size - 1 - _shifted(np.maximum.accumulate(np.where(side[::-1] == which, index, -1)))[::-1]
        for which in _SIDES
    }
    found = [
        (np.where(side, earlier[False], earlier[True]), PREVIOUS),
        (np.where(side, earlier[True], earlier[False]), OWN),
        (np.where(side, later[False], later[True]), NEXT),
    ]
    return [(_within_session(neighbour, passages.session), share) for neighbour, share in found]


def _shifted(indices: Indices) -> Indices:
    return np.concatenate([[-1], indices[:-1]])


def _within_session(neighbour: Indices, session: Ints) -> Indices:
    exists = (neighbour >= 0) & (neighbour < len(session))
    same = session[np.where(exists, neighbour, 0)] == session
    return np.where(exists & same, neighbour, -1)


def _side(question: Question, passages: Passages) -> Floats:
    """An assistant's message counts less, unless it is asked for; with a name it is a person."""
    is_reply = passages.is_assistant & (passages.speaker == 0)
    return np.where(is_reply & (not question.asks_for_reply), ASSISTANT, 1.0)


def _named(question: Question, passages: Passages) -> Floats:
    """One of the people is asked about: the others count less; the user and the assistant as ever."""
    named = [int(key) for key in np.unique(passages.speaker) if key and question.names(int(key))]
    if len(named) != 1:
        return np.ones(len(passages.speaker))
    return np.where((passages.speaker == 0) | (passages.speaker == named[0]), 1.0, UNNAMED)


def _session_mean(ranked: Floats, session: Ints) -> Floats:
    """For each passage the mean of the best ``SESSION_TOP`` of its session."""
    starts = np.flatnonzero(np.r_[True, session[1:] != session[:-1]])
    sizes = np.diff(np.r_[starts, len(session)])
    order = np.lexsort((-ranked, session))
    rank = np.arange(len(session)) - np.repeat(starts, sizes)
    best = np.where(rank < SESSION_TOP, ranked[order], 0.0)
    means = np.add.reduceat(best, starts) / np.minimum(sizes, SESSION_TOP)
    return np.repeat(means, sizes)


def _prior(ranked: Floats, question: Question, passages: Passages) -> Floats:
    """What answers look like, measured by the best that was found: nothing found, nothing added."""
    top = min(PRIOR_TOP, len(ranked))
    scale = np.partition(ranked, -top)[-top:].mean()
    words = np.maximum(passages.words, passages.counts)  # without spaces the terms stand in
    length = np.minimum(np.log1p(words) / np.log(FULL_LENGTH_WORDS), 1)
    prior = LENGTH_SHARE * length + FIRST_PERSON_SHARE * _has(passages, FIRST_PERSON)
    prior = prior + QUESTION_SHARE * (_has(passages, QUESTION) & (passages.speaker != 0))
    if question.asks_when:
        prior = prior + TIME_SHARE * _has(passages, TIME)
    return np.asarray(scale * prior, np.float64)


def _has(passages: Passages, trait: int) -> NDArray[np.bool_]:
    return (passages.traits & trait) > 0
