"""What long-term memory has to say to a question, and why each candidate is in or out."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memoryapp.conf import get_conf
from memoryapp.embeddings.base import LEXICAL_ONLY, Calibration, Embedder, EmbedderUnavailable
from memoryapp.embeddings.registry import get_embedder
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Experience, Memory
from memoryapp.longterm.search import Match, search_memories
from memoryapp.policies import experiences as lessons
from memoryapp.policies import ranking
from memoryapp.policies.fencing import as_data
from memoryapp.policies.trust import Origin, weakest

logger = logging.getLogger(__name__)

CANDIDATES = 200  # per search; far more than fit, so that the trace shows what was close
LESSONS_SHOWN = 10  # in the trace
# An embedder reads a few hundred tokens; the rest of a long paste says little about the question.
QUERY_MAX_CHARS = 2_000
_UNSEARCHABLE = re.compile(
    r"[\x00\ud800-\udfff]"
)  # a model can ask with NUL or half a character; Postgres cannot


@dataclass(frozen=True, slots=True)
class Considered:
    """One candidate: its arms, its calibrated probability, and the verdict.

    ``score`` orders; ``confidence`` is the probability that it answers the question (None for what is always used).
    """

    memory: Memory
    cosine: float | None
    overlap: float
    confidence: float | None
    score: float
    included: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """An experience whose goal the question may resemble, with its arms and the verdict.

    ``similarity``: the cosine, or without a vector the overlap of words; what the cutoff applies to.
    """

    experience: Experience
    cosine: float | None
    overlap: float
    similarity: float
    score: float
    included: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Everything that was considered, best first."""

    considered: Sequence[Considered]
    lessons: Sequence[Lesson] = ()

    @property
    def included(self) -> Sequence[Considered]:
        return [item for item in self.considered if item.included]

    @property
    def included_lessons(self) -> Sequence[Lesson]:
        return [item for item in self.lessons if item.included]

    @property
    def taint(self) -> Origin:
        """The weakest origin among what goes into the prompt."""
        memories = (item.memory.origin for item in self.included)
        learned = (item.experience.origin for item in self.included_lessons)
        return weakest(Origin(origin) for origin in (*memories, *learned))


NOTHING = Recall(())


def recall(user_id: UUID, question: str, *, now: datetime, max_tokens: int | None = None) -> Recall:
    """Live memories for a prompt: those always used, then what the question calls for, within the token budget.

    Beside them what was learned from tasks like this one. Without an embedder the words decide alone. Nothing above
    the cutoffs is an answer too.
    """
    conf = get_conf()
    always = [_always(memory) for memory in longterm.always_used(user_id)]
    holdings = longterm.holdings(user_id)
    asked = _asked(question) if holdings.memories or holdings.experiences else None
    known = {item.memory.id for item in always}
    found = (
        _found(user_id, asked, now=now, limit=CANDIDATES, skip=known) if asked and holdings.memories else []
    )
    learned = _lessons(user_id, asked, now=now) if asked and holdings.experiences else []
    # The best of both first; what is always used before them.
    best: list[Considered | Lesson] = sorted([*found, *learned], key=lambda item: -item.score)
    ranked = [*always, *best]
    candidates = [item for item in ranked if item.included]
    fits = ranking.pack(
        (estimate_text(as_data(_prompt_item(item))) for item in candidates),
        budget=conf.recall_max_tokens if max_tokens is None else max_tokens,
        max_items=conf.recall_max_items,
    )
    left_out = {id(item) for item, is_in in zip(candidates, fits, strict=True) if not is_in}
    judged = [_over_budget(item) if id(item) in left_out else item for item in ranked]
    return Recall(
        [item for item in judged if isinstance(item, Considered)],
        [item for item in judged if isinstance(item, Lesson)],
    )


def search(user_id: UUID, question: str, *, now: datetime, limit: int) -> Sequence[Considered]:
    """Candidates by meaning and by words, best first, each judged against the cutoff."""
    if not longterm.has_live(user_id):
        return []  # embedding the question would be half of what a short turn costs
    return _found(user_id, _asked(question), now=now, limit=limit, skip=set())


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as it can be searched for. ``embedding``: None without an embedder."""

    text: str
    embedding: list[float] | None
    embedder: Embedder


def _asked(question: str) -> _Asked:
    text = _UNSEARCHABLE.sub(" ", question[:QUERY_MAX_CHARS])
    return _Asked(text, _embedded(text), get_embedder())


def _found(
    user_id: UUID, asked: _Asked, *, now: datetime, limit: int, skip: set[UUID]
) -> Sequence[Considered]:
    calibration = asked.embedder.calibration
    matches = search_memories(
        user_id,
        asked.text,
        embedding=asked.embedding,
        model_id=asked.embedder.model_id,
        dense=calibration.dense,
        lexical=calibration.lexical,
        limit=limit,
    )
    memories = longterm.live_by_ids(user_id, (match.memory_id for match in matches))
    judged = [
        _judged(memories[match.memory_id], match, calibration, now=now)
        for match in matches
        if match.memory_id in memories and match.memory_id not in skip
    ]
    return sorted(judged, key=lambda item: (-item.score, str(item.memory.id)))


def _lessons(user_id: UUID, asked: _Asked, *, now: datetime) -> Sequence[Lesson]:
    """What was learned for goals like this, best first; nothing for a message that is too short to be a task."""
    if lessons.is_trivial(asked.text):
        return []
    known = longterm.live_experiences(user_id, embedding=asked.embedding, model_id=asked.embedder.model_id)
    judged = [_lesson(experience, asked.text, now=now) for experience in known]
    ranked = sorted(judged, key=lambda item: (-item.score, str(item.experience.id)))
    relevant = [item for item in ranked if item.included]
    surplus = {id(item) for item in relevant[get_conf().experience_max_items :]}
    return [
        replace(item, included=False, reason="better ones were given") if id(item) in surplus else item
        for item in ranked[:LESSONS_SHOWN]
    ]


def _lesson(experience: Experience, question: str, *, now: datetime) -> Lesson:
    cosine: float | None = getattr(experience, "cosine", None)
    overlap = lessons.word_overlap(question, experience.goal)
    similarity = overlap if cosine is None else cosine
    cutoff = lessons.MIN_WORD_OVERLAP if cosine is None else get_conf().experience_min_cosine
    is_relevant = similarity >= cutoff
    return Lesson(
        experience,
        cosine,
        overlap,
        similarity,
        score=similarity
        * ranking.boost(
            age_days=(now - experience.affirmed_at).total_seconds() / 86_400,
            half_life_days=experience.kind.half_life_days,
            confidence=experience.confidence,
        ),
        included=is_relevant,
        reason="a similar goal" if is_relevant else "below the cutoff",
    )


def prompt_items(recall: Recall) -> list[dict[str, object]]:
    """The JSON items of the fenced block."""
    learned = [_lesson_item(item.experience) for item in recall.included_lessons]
    return [*map(_memory_item, recall.included), *learned]


def trace(recall: Recall) -> list[dict[str, object]]:
    """The recall for a snapshot: ids and numbers, no text. ``memory_id`` for a memory, else ``experience_id``."""
    memories = [
        _traced(item, item.confidence) | {"memory_id": str(item.memory.id)} for item in recall.considered
    ]
    learned = [
        _traced(item, item.similarity) | {"experience_id": str(item.experience.id)} for item in recall.lessons
    ]
    return memories + learned


def _traced(item: Considered | Lesson, confidence: float | None) -> dict[str, object]:
    return {
        "arms": {"cosine": item.cosine, "overlap": item.overlap},
        "confidence": confidence,
        "score": item.score,
        "included": item.included,
        "reason": item.reason,
    }


def _prompt_item(item: Considered | Lesson) -> dict[str, object]:
    return _lesson_item(item.experience) if isinstance(item, Lesson) else _memory_item(item)


def _memory_item(item: Considered) -> dict[str, object]:
    memory = item.memory
    values: dict[str, object] = {
        "id": str(memory.id),
        "kind": memory.kind.slug,
        "statement": memory.statement,
        "origin": memory.origin,
        "said_on": memory.said_at.date().isoformat(),
    }
    if item.confidence is None:
        return values | {"always": True}
    return values | {"confidence": round(item.confidence, 2)}


def _lesson_item(experience: Experience) -> dict[str, object]:
    is_solved = experience.outcome == Experience.Outcome.SUCCEEDED
    return {
        "id": str(experience.id),
        "kind": "experience",
        "solved_before" if is_solved else "tried_before": experience.goal,
        "outcome": experience.outcome,
        "tools": experience.tools,
        "worked": experience.worked,
        "avoid": experience.avoid,
        "origin": experience.origin,
        "recorded_on": experience.recorded_at.date().isoformat(),
        "confidence": round(experience.confidence, 2),
    }


def _always(memory: Memory) -> Considered:
    return Considered(memory, None, 0.0, None, 1.0, included=True, reason="always used")


def _judged(memory: Memory, match: Match, calibration: Calibration, *, now: datetime) -> Considered:
    if match.cosine is None:  # no vector on one side: words have to convince alone
        calibration = LEXICAL_ONLY
    confidence = ranking.probability(
        bias=calibration.bias,
        dense=calibration.dense,
        lexical=calibration.lexical,
        cosine=match.cosine,
        overlap=match.overlap,
    )
    score = confidence * ranking.boost(
        age_days=(now - memory.affirmed_at).total_seconds() / 86_400,
        half_life_days=memory.kind.half_life_days,
        confidence=memory.confidence,
    )
    is_relevant = confidence >= get_conf().recall_min_confidence
    return Considered(
        memory,
        match.cosine,
        match.overlap,
        confidence,
        score,
        included=is_relevant,
        reason="relevant" if is_relevant else "below the cutoff",
    )


def _over_budget(item: Considered | Lesson) -> Considered | Lesson:
    return replace(item, included=False, reason="over budget")


def _embedded(question: str) -> list[float] | None:
    try:
        return get_embedder().embed_queries([question])[0]
    except EmbedderUnavailable as error:
        logger.warning("Recall is by words only: %s", error)
        return None
