"""What long-term memory has to say to a question, and why each candidate is in or out."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoryapp.conf import get_conf
from memoryapp.embeddings.base import LEXICAL_ONLY, Calibration, EmbedderUnavailable
from memoryapp.embeddings.registry import get_embedder
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory
from memoryapp.longterm.search import Match, search_memories
from memoryapp.policies import ranking
from memoryapp.policies.fencing import as_data
from memoryapp.policies.trust import Origin, weakest

logger = logging.getLogger(__name__)

CANDIDATES = 200  # per search; far more than fit, so that the trace shows what was close
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
class Recall:
    """Everything that was considered, best first."""

    considered: Sequence[Considered]

    @property
    def included(self) -> Sequence[Considered]:
        return [item for item in self.considered if item.included]

    @property
    def taint(self) -> Origin:
        """The weakest origin among what goes into the prompt."""
        return weakest(Origin(item.memory.origin) for item in self.included)


NOTHING = Recall(())


def recall(user_id: UUID, question: str, *, now: datetime, max_tokens: int | None = None) -> Recall:
    """Live memories for a prompt: those always used, then what the question calls for, within the token budget.

    Without an embedder the words decide alone. Nothing above the calibrated cutoff is an answer too.
    """
    conf = get_conf()
    always = [_always(memory) for memory in longterm.always_used(user_id)]
    found = search(user_id, question, now=now, limit=CANDIDATES, skip={item.memory.id for item in always})
    ranked = [*always, *found]
    candidates = [item for item in ranked if item.included]
    fits = ranking.pack(
        (estimate_text(as_data(_prompt_item(item))) for item in candidates),
        budget=conf.recall_max_tokens if max_tokens is None else max_tokens,
        max_items=conf.recall_max_items,
    )
    left_out = {item.memory.id for item, is_in in zip(candidates, fits, strict=True) if not is_in}
    return Recall([_over_budget(item) if item.memory.id in left_out else item for item in ranked])


def search(
    user_id: UUID, question: str, *, now: datetime, limit: int, skip: set[UUID] | None = None
) -> Sequence[Considered]:
    """Candidates by meaning and by words, best first, each judged against the cutoff."""
    if not longterm.has_live(user_id):
        return []  # embedding the question would be half of what a short turn costs
    question = _UNSEARCHABLE.sub(" ", question[:QUERY_MAX_CHARS])
    embedder = get_embedder()
    matches = search_memories(
        user_id,
        question,
        embedding=_embedded(question),
        model_id=embedder.model_id,
        dense=embedder.calibration.dense,
        lexical=embedder.calibration.lexical,
        limit=limit,
    )
    memories = longterm.live_by_ids(user_id, (match.memory_id for match in matches))
    judged = [
        _judged(memories[match.memory_id], match, embedder.calibration, now=now)
        for match in matches
        if match.memory_id in memories and match.memory_id not in (skip or set())
    ]
    return sorted(judged, key=lambda item: (-item.score, str(item.memory.id)))


def prompt_items(recall: Recall) -> list[dict[str, object]]:
    """The JSON items of the fenced block."""
    return [_prompt_item(item) for item in recall.included]


def trace(recall: Recall) -> list[dict[str, object]]:
    """The recall for a snapshot: ids and numbers, no text."""
    return [
        {
            "memory_id": str(item.memory.id),
            "arms": {"cosine": item.cosine, "overlap": item.overlap},
            "confidence": item.confidence,
            "score": item.score,
            "included": item.included,
            "reason": item.reason,
        }
        for item in recall.considered
    ]


def _prompt_item(item: Considered) -> dict[str, object]:
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


def _over_budget(item: Considered) -> Considered:
    return Considered(
        item.memory,
        item.cosine,
        item.overlap,
        item.confidence,
        item.score,
        included=False,
        reason="over budget",
    )


def _embedded(question: str) -> list[float] | None:
    try:
        return get_embedder().embed_queries([question])[0]
    except EmbedderUnavailable as error:
        logger.warning("Recall is by words only: %s", error)
        return None
