"""Facts asked for without a word of theirs; values that change; what is said twice, and what was never said.

Our own sentences, in ``data``: ``pairs.json`` is all one person's, whose facts do not contradict each other, so that
each question has one answer in whatever language it was said. No weight of ours was fitted to it: that set is
another (``tests/data/pairs.json``). It fills the database that it is given.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from memoryapp.accounts.models import User
from memoryapp.context import recall
from memoryapp.context.considered import Considered
from memoryapp.embeddings.registry import get_embedder
from memoryapp.evaluation import metrics, statements
from memoryapp.evaluation.baselines import Bm25
from memoryapp.evaluation.dialogues import Figures, Say, confidence, embed_all
from memoryapp.evaluation.statements import DATA, remember
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.terms import terms
from memoryapp.policies.trust import Origin

DEPTH: Final = 50
CROSS_LINGUAL: Final = "cross-lingual"


@dataclass(frozen=True, slots=True)
class Pair:
    fact_language: str
    question_language: str
    fact: str
    question: str

    @property
    def category(self) -> str:
        return self.question_language if self.fact_language == self.question_language else CROSS_LINGUAL


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A question to which this person never said anything."""

    language: str
    question: str


@dataclass(frozen=True, slots=True)
class Update:
    """Two values of one key, the second said later."""

    language: str
    key: str
    old: str
    new: str
    question: str


@dataclass(frozen=True, slots=True)
class PairSet:
    pairs: tuple[Pair, ...]
    unsaid: tuple[Unsaid, ...]
    updates: tuple[Update, ...]

    @property
    def facts(self) -> list[str]:
        return list(dict.fromkeys(pair.fact for pair in self.pairs))


@lru_cache(maxsize=1)
def load() -> PairSet:
    data = json.loads((DATA / "pairs.json").read_text(encoding="utf-8"))
    return PairSet(
        pairs=tuple(Pair(**row) for row in data["pairs"]),
        unsaid=tuple(Unsaid(**row) for row in data["unsaid"]),
        updates=tuple(Update(**row) for row in data["updates"]),
    )


def measure(*, with_vectors: bool, now: datetime, say: Say) -> dict[str, Any]:
    """The figures of ``evaluate pairs``, as its ``--json`` prints them. ``now``: the database's clock, about."""
    data = load()
    say(f"{len(data.facts)} facts of one person, {len(data.updates)} updates …")
    person = User.objects.create_user("pairs")
    ids = {fact: remember(person, fact, said_at=now).memory.id for fact in data.facts}
    updated = list(_updated(data.updates, now=now))
    contradicted = list(_contradicted(data.updates, now=now))
    if with_vectors:
        embed_all(say)
    say(f"{len(data.pairs)} questions in other words, {len(data.unsaid)} about what was never said …")
    answers = [(pair, _search(person, pair.question, now=now)) for pair in data.pairs]
    unsaid = [_search(person, asked.question, now=now) for asked in data.unsaid]
    return {
        **_paraphrases(answers, ids),
        "baselines": {"bm25": _by_words(data)},
        "updates": _judged_updates(updated, now=now),
        "contradictions": _judged_contradictions(contradicted, now=now),
        "statements": statements.measure(now=now),
        "abstention": {
            "auc": metrics.auc(
                [confidence(found) for _, found in answers], [confidence(found) for found in unsaid]
            ),
            "answered_known": _share_answered([found for _, found in answers]),
            "answered_unknown": _share_answered(unsaid),
            "n_unknown": len(unsaid),
        },
        "facts": len(ids),
        "kept_apart": len(set(ids.values())),
        "embedder": get_embedder().model_id if with_vectors else "none",
    }


def _search(user: User, question: str, *, now: datetime) -> Sequence[Considered]:
    return recall.search(user.id, question, now=now, limit=DEPTH, include=("facts",))


def _paraphrases(
    answers: Sequence[tuple[Pair, Sequence[Considered]]], ids: Mapping[str, UUID]
) -> dict[str, Any]:
    by_category: dict[str, list[Figures]] = defaultdict(list)
    rows = []
    for pair, found in answers:
        row = metrics.figures(
            [item.memory.id for item in found],
            {ids[pair.fact]},
            packed={"in_prompt": {item.memory.id for item in found if item.included}},
        )
        rows.append(row)
        by_category[pair.category].append(row)
    return {
        "overall": _mean(rows),
        "by_category": {name: _mean(by_category[name]) for name in sorted(by_category)},
        "n": len(rows),
    }


def _mean(rows: Sequence[Figures]) -> Figures:
    return metrics.mean(rows) | {"n": len(rows)}


def _by_words(data: PairSet) -> Figures:
    """What words alone can find here: next to nothing, which is the point of the set."""
    index = Bm25([terms(fact) for fact in data.facts])
    return _mean(
        [
            metrics.figures(index.ranking(terms(pair.question)), {data.facts.index(pair.fact)})
            for pair in data.pairs
        ]
    )


@dataclass(frozen=True, slots=True)
class _Changed:
    """A value that was said, and another that came after it."""

    user: User
    update: Update
    old: UUID
    new: UUID
    outcome: Outcome


def _updated(updates: Sequence[Update], *, now: datetime) -> Iterator[_Changed]:
    return _changed(updates, "updates", Origin.USER_TYPED, now=now)


def _contradicted(updates: Sequence[Update], *, now: datetime) -> Iterator[_Changed]:
    """By something weaker than the person's own words."""
    return _changed(updates, "contradictions", Origin.MODEL_INFERRED, now=now)


def _changed(updates: Sequence[Update], name: str, origin: Origin, *, now: datetime) -> Iterator[_Changed]:
    """One person per language, since keys repeat over languages."""
    users = {
        language: User.objects.create_user(f"{name}-{language}")
        for language in sorted({update.language for update in updates})
    }
    for update in updates:
        user = users[update.language]
        old = remember(user, update.old, key=update.key, said_at=now - timedelta(hours=2))
        new = remember(user, update.new, key=update.key, said_at=now - timedelta(hours=1), origin=origin)
        yield _Changed(user, update, old.memory.id, new.memory.id, new.outcome)


def _judged_updates(changed: Sequence[_Changed], *, now: datetime) -> dict[str, int]:
    """``stale_recalled``: the former value among what was found; ``stale_above_new``: before its successor."""
    stale = above = first = 0
    for change in changed:
        ranked = [item.memory.id for item in _search(change.user, change.update.question, now=now)]
        is_stale = change.old in ranked
        stale += is_stale
        above += is_stale and (
            change.new not in ranked or ranked.index(change.old) < ranked.index(change.new)
        )
        first += ranked[:1] == [change.new]
    return {"stale_above_new": above, "stale_recalled": stale, "new_first": first, "n": len(changed)}


def _judged_contradictions(changed: Sequence[_Changed], *, now: datetime) -> dict[str, int]:
    """``asked``: left to the person to settle; ``unsettled_recalled``: recalled before they did."""
    recalled = sum(
        change.new in {item.memory.id for item in _search(change.user, change.update.question, now=now)}
        for change in changed
    )
    asked = sum(change.outcome == Outcome.CONFLICT for change in changed)
    return {"asked": asked, "unsettled_recalled": recalled, "n": len(changed)}


def _share_answered(found: Sequence[Sequence[Considered]]) -> float:
    return sum(any(item.included for item in items) for items in found) / len(found)
