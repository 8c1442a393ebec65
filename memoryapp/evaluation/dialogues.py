"""Questions about conversations, asked of the very search that fills the chat's prompts, and of three baselines.

It fills the database that it is given: one account per sample, one conversation per session.
"""

import math
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import compress
from typing import Any, Final
from uuid import UUID

import numpy as np

from memoryapp.accounts.models import User
from memoryapp.context import items, recall
from memoryapp.context.considered import Considered
from memoryapp.embeddings.base import Aim
from memoryapp.embeddings.registry import get_embedder
from memoryapp.evaluation import metrics
from memoryapp.evaluation.baselines import Bm25, fused, ranking
from memoryapp.evaluation.samples import ADVERSARIAL, Asked, Sample
from memoryapp.lifecycle import embedding
from memoryapp.policies import ranking as policy
from memoryapp.policies.dialogue import in_first_person
from memoryapp.policies.fencing import as_data
from memoryapp.policies.languages import language_of
from memoryapp.policies.terms import terms
from memoryapp.policies.trust import Origin
from memoryapp.transcript import importing, passages
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.queries import PastMessage

BUDGET_TOKENS: Final = 1_000


def _quarter_of_characters(item: Considered) -> int:
    return math.ceil(len(as_data(items.prompt_item(item))) / 4)


# What an item of the prompt takes: as published figures count, four characters a token; and as our prompts do, by an
# estimate that is careful with the newest tokenizers.
BUDGETS: Final[Mapping[str, Callable[[Considered], int]]] = {
    "recall@1000tokens": _quarter_of_characters,
    "recall_in_prompt": items.prompt_tokens,
}
# The depth of the rankings: beyond it a hit counts as none, also for the mean reciprocal rank.
DEPTH: Final = 50
RECALL: Final = "recall"

Say = Callable[[str], None]
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Person:
    """A sample as it lies in the database. ``ids``: the file's, of all its messages in order, like the rest."""

    sample: Sample
    user: User
    ids: Sequence[str]
    messages: Sequence[PastMessage]
    texts: Sequence[str]
    now: datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question got. By method: the file's ids, best first, and those that fit into the budget."""

    asked: Asked
    rankings: Mapping[str, Sequence[str]]
    packed: Mapping[str, Mapping[str, frozenset[str]]]
    confidence: float
    is_answered: bool
    took_ms: float


def measure(samples: Sequence[Sample], *, with_vectors: bool, say: Say) -> dict[str, Any]:
    """The figures of ``evaluate locomo``, as its ``--json`` prints them."""
    people = [imported(sample, number) for number, sample in enumerate(samples, 1)]
    say(f"{sum(len(person.ids) for person in people):,} messages of {len(people)} conversations imported.")
    if with_vectors:
        embed_all(say)
    answers: list[Answer] = []
    for person in people:
        say(f"{person.sample.id}: {len(person.sample.answerable)} questions …")
        answers += _answers(person, with_vectors=with_vectors)
    say("The same questions, asked of somebody else …")
    strangers = [
        answer for pair in zip(people, people[1:] + people[:1], strict=True) for answer in _strange(*pair)
    ]
    return _report(people, answers, strangers, with_vectors=with_vectors)


def imported(sample: Sample, number: int) -> Person:
    """A new account with the sample's conversations as its transcript."""
    user = User.objects.create_user(f"person-{number}")
    message_ids: list[UUID] = []
    for session in sample.sessions:
        said = [importing.Said(one.text, one.is_assistant, one.said_at, one.speaker) for one in session]
        message_ids += importing.import_conversation(
            user,
            said,
            taint=Origin.USER_TYPED,  # as if it had been held here
        )
    said_in_order = [one for session in sample.sessions for one in session]
    messages = transcript.past_messages(user.id, message_ids)
    return Person(
        sample=sample,
        user=user,
        ids=[one.id for one in said_in_order],
        messages=[messages[message_id] for message_id in message_ids],
        texts=[f"{one.speaker}: {one.text}" if one.speaker else one.text for one in said_in_order],
        now=said_in_order[-1].said_at + timedelta(days=1),
    )


def embed_all(say: Say) -> None:
    """Vectors for all that is stored, as the background job makes them."""
    done = 0
    while made := embedding.embed_backlog():
        done += made
        if done % 512 < made:
            say(f"{done:,} vectors …")


def _answers(person: Person, *, with_vectors: bool) -> list[Answer]:
    index = Bm25([terms(text) for text in person.texts])
    return [_answer(person, asked, index, with_vectors=with_vectors) for asked in person.sample.answerable]


def _answer(person: Person, asked: Asked, index: Bm25, *, with_vectors: bool) -> Answer:
    found, took_ms = _search(person, asked.text)
    ranked = {RECALL: found}
    ranked |= {
        method: [_as_found(person.messages[place], asked.text) for place in places[:DEPTH]]
        for method, places in _baselines(person, asked.text, index, with_vectors=with_vectors).items()
    }
    names = {message.id: name for message, name in zip(person.messages, person.ids, strict=True)}
    return Answer(
        asked=asked,
        rankings={method: [names[item.message.id] for item in order] for method, order in ranked.items()},
        packed={
            method: {
                figure: frozenset(names[item.message.id] for item in _packed(order, tokens))
                for figure, tokens in BUDGETS.items()
            }
            for method, order in ranked.items()
        },
        confidence=confidence(found),
        is_answered=any(item.included for item in found),
        took_ms=took_ms,
    )


def _search(person: Person, question: str) -> tuple[Sequence[Considered], float]:
    """The turns that recall ranks for the question, and the milliseconds that it took."""
    began = time.perf_counter()
    found = recall.search(
        person.user.id,
        question,
        now=person.now,
        limit=DEPTH,
        include=("turns",),
        participants=person.sample.names,
    )
    return found, (time.perf_counter() - began) * 1_000


def _packed(ranked: Sequence[Considered], tokens: Callable[[Considered], int]) -> Iterator[Considered]:
    """What of it fits into the budget, as a prompt would hold it."""
    fits = policy.pack(map(tokens, ranked), budget=BUDGET_TOKENS, max_items=DEPTH)
    return compress(ranked, fits)


def confidence(found: Sequence[Considered]) -> float:
    """The best."""
    return max((item.confidence or 0.0 for item in found), default=0.0)


def _baselines(person: Person, question: str, index: Bm25, *, with_vectors: bool) -> dict[str, list[int]]:
    """The places of the messages, best first, by each of the methods that recall is compared with."""
    by_words = index.ranking(terms(question))
    if not with_vectors:
        return {"bm25": by_words}
    by_meaning = _by_meaning(person, question)
    return {"bm25": by_words, "dense": by_meaning, "rrf": fused([by_words, by_meaning])}


def _by_meaning(person: Person, question: str) -> list[int]:
    """By the cosine alone, of the very vectors that recall compares."""
    embedder = get_embedder()
    [vector] = embedder.embed_queries([in_first_person(question, person.sample.names)])
    aimed = embedder.aimed(vector, at=Aim.DIALOGUE, language=language_of(question))
    found = passages.passages(person.user.id, embedding=aimed, model_id=embedder.model_id)
    cosines = dict(zip(found.message_ids, found.passages.cosine, strict=True))
    return ranking(np.array([cosines[message.id] for message in person.messages], np.float64))


def _as_found(message: PastMessage, question: str) -> Considered:
    """As recall would hand it to a prompt."""
    return Considered(
        message, {}, None, 0.0, included=True, reason="", excerpt=items.excerpt(message.text, question)
    )


def _strange(asker: Person, other: Person) -> list[Answer]:
    """The asker's questions, put to somebody who never talked about it, with that person's names in them."""
    if asker is other:
        return []
    answers = []
    for asked in filter(_is_counted, asker.sample.answerable):
        found, took_ms = _search(other, renamed(asked.text, asker.sample.names, other.sample.names))
        is_answered = any(item.included for item in found)
        answers.append(Answer(asked, {}, {}, confidence(found), is_answered, took_ms))
    return answers


def renamed(text: str, names: Sequence[str], others: Sequence[str]) -> str:
    """The text about the others: each of the names becomes the other one at its place, all at once."""
    other_of = {name.casefold(): other for name, other in zip(names, others, strict=False)}
    if not other_of:
        return text
    pattern = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(other_of, key=len, reverse=True))
    return re.sub(pattern, lambda found: other_of[found.group().casefold()], text, flags=re.IGNORECASE)


def _report(
    people: Sequence[Person], answers: Sequence[Answer], strangers: Sequence[Answer], *, with_vectors: bool
) -> dict[str, Any]:
    counted = [answer for answer in answers if _is_counted(answer.asked)]
    by_category: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_category[answer.asked.category].append(answer)
    known, unknown = ([answer.confidence for answer in group] for group in (counted, strangers))
    methods = [method for method in (counted or answers)[0].rankings if method != RECALL]
    return {
        "overall": _mean(counted, RECALL),
        "by_category": {name: _mean(by_category[name], RECALL) for name in sorted(by_category)},
        "baselines": {method: _mean(counted, method) for method in methods},
        "abstention": {
            "auc": metrics.auc(known, unknown),
            "answered_known": _share_answered(counted),
            "answered_unknown": _share_answered(strangers),
        },
        "n": len(counted),
        "left_out": sum(len(person.sample.questions) - len(person.sample.answerable) for person in people),
        "ms_p50": statistics.median(answer.took_ms for answer in answers),
        "messages": sum(len(person.ids) for person in people),
        "conversations": [person.sample.id for person in people],
        "embedder": get_embedder().model_id if with_vectors else "none",
    }


def _is_counted(asked: Asked) -> bool:
    return asked.category != ADVERSARIAL


def _mean(answers: Sequence[Answer], method: str) -> Figures:
    """``n``: the number of questions."""
    rows = [
        metrics.figures(answer.rankings[method], answer.asked.evidence, packed=answer.packed[method])
        for answer in answers
    ]
    return metrics.mean(rows) | {"n": len(rows)}


def _share_answered(answers: Sequence[Answer]) -> float | None:
    return sum(answer.is_answered for answer in answers) / len(answers) if answers else None
