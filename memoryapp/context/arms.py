"""The ways in which recall looks for an answer, each over one person's rows: by key or list, facts, turns, experiences.

Each judges what it finds by a confidence that means the same for every question, so that one cutoff can say that
nothing was found.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from uuid import UUID

import numpy as np
from django.db.models import F, Q
from django.utils import timezone

from memoryapp.accounts.queries import time_zone_of
from memoryapp.conf import get_conf
from memoryapp.context import considered as verdicts
from memoryapp.context.considered import Considered
from memoryapp.context.items import excerpt
from memoryapp.embeddings.base import Aim, Embedder
from memoryapp.longterm import experience_queries, search, tombstones
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Experience, Memory, MemoryQuerySet
from memoryapp.policies import cues, dialogue, ranking, routing
from memoryapp.policies import experiences as lessons
from memoryapp.policies.dialogue import Question
from memoryapp.policies.languages import language_of
from memoryapp.policies.reconciliation import normalise
from memoryapp.policies.routing import ByKey, Listing, Order, Route
from memoryapp.transcript import passages as said
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.queries import InPrompt, PastMessage
from memoryapp.tuning import queries as tuning

LESSONS_SHOWN = 10  # in the trace
# Of what was looked up: the highest score that something found could have.
LOOKED_UP = 1 + 2 * ranking.BOOST_SHARE


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it can be searched for. ``embedding``: None without an embedder.

    ``spoken``: the vector of the question as the speakers of the conversations would put it.
    """

    text: str
    question: Question
    embedder: Embedder
    embedding: list[float] | None
    spoken: list[float] | None

    def aimed(self, at: Aim) -> list[float] | None:
        vector = self.embedding if at is Aim.FACTS else self.spoken
        return vector and self.embedder.aimed(vector, at=at, language=language_of(self.text))


# --- by key and by list


def looked_up(user_id: UUID, way: Route, *, now: datetime) -> list[Considered]:
    """The live facts that answer a question which a look-up can answer, in their order."""
    live = _without_vectors(longterm.memories(user_id)).filter(confidence__gte=F("kind__min_confidence"))
    match way:
        case ByKey():
            found, reason = _of_keys(live, way.keys), verdicts.BY_KEY
        case Listing():
            found, reason = _listed(user_id, live, way, now=now)
    return [
        Considered(memory, {}, confidence=1.0, score=LOOKED_UP, included=True, reason=reason)
        for memory in found
    ]


def _of_keys(live: MemoryQuerySet, keys: Sequence[str]) -> list[Memory]:
    """What stands under the first key that there is, or below it."""
    wanted = Q(key__in=keys)
    for key in keys:
        wanted |= Q(key__startswith=f"{key}.")
    rows = list(live.filter(wanted).order_by("key", "id")[: routing.MOST])
    for key in keys:
        if found := [memory for memory in rows if memory.key == key or memory.key.startswith(f"{key}.")]:
            return found
    return []


def _listed(user_id: UUID, live: MemoryQuerySet, way: Listing, *, now: datetime) -> tuple[list[Memory], str]:
    rows, what = live, ""
    if way.noun:
        is_kind = longterm.statement_kinds().filter(slug=way.noun).exists()
        rows = rows.filter(kind__slug=way.noun) if is_kind else rows.filter(statement__icontains=way.noun)
        what = f" of kind {way.noun}" if is_kind else " that say so"
    if way.said:
        zone = time_zone_of(user_id)
        first, after = routing.days(way.said, today=timezone.localtime(now, zone).date())
        begin, end = (datetime.combine(day, time(0), tzinfo=zone) for day in (first, after))
        rows = rows.filter(said_at__gte=begin, said_at__lt=end)
    match way.order:
        case Order.NEWEST:
            rows, order = rows.order_by("-said_at", "-id"), "last"
        case Order.OLDEST:
            rows, order = rows.order_by("said_at", "id"), "first"
        case Order.EXPIRING:
            rows, order = rows.exclude(Q(fades_at=None)).order_by(F("fades_at"), "id"), "next to expire"
    count = f"the {order}" if way.limit == 1 else f"the {order} {way.limit}"
    reason = f"said {way.said.value}" if way.said else f"{count}{what}"
    return list(rows[: way.limit]), reason


# --- facts


def facts(
    user_id: UUID, asked: Asked, *, now: datetime, limit: int, as_of: datetime | None
) -> list[Considered]:
    found = search.facts(
        user_id, embedding=asked.aimed(Aim.FACTS), model_id=asked.embedder.model_id, as_of=as_of
    )
    scores = ranking.score_facts(asked.question.sought, found.facts, asked.embedder.calibration)
    likeliest = np.argsort(-scores.probability, kind="stable")[:limit]
    ids = {index: found.ids[index] for index in likeliest}
    memories = _memories(user_id, ids.values(), as_of=as_of)
    judged = [
        _fact(
            memories[memory_id],
            cosine=float(found.facts.cosine[index]),
            overlap=float(scores.overlap[index]),
            confidence=float(scores.probability[index]),
            now=now,
        )
        for index, memory_id in ids.items()
        if memory_id in memories
    ]
    return _ranked(judged)


def _memories(user_id: UUID, ids: Iterable[UUID], *, as_of: datetime | None) -> dict[UUID, Memory]:
    wanted = list(ids)
    if not wanted:
        return {}
    rows = longterm.as_of(user_id, as_of) if as_of else longterm.memories(user_id)
    return {memory.id: memory for memory in _without_vectors(rows).filter(id__in=wanted)}


def _without_vectors(rows: MemoryQuerySet) -> MemoryQuerySet:
    """They stay in the database: they are a hundred times the rest."""
    return rows.defer("embedding", "terms")


def _fact(memory: Memory, *, cosine: float, overlap: float, confidence: float, now: datetime) -> Considered:
    is_relevant = confidence >= tuning.conf().recall_min_confidence
    return Considered(
        memory,
        _arms(cosine, overlap),
        confidence,
        score=confidence
        * ranking.boost(
            age_days=(now - memory.affirmed_at).total_seconds() / 86_400,
            half_life_days=memory.kind.half_life_days,
            confidence=memory.confidence,
        ),
        included=is_relevant,
        reason=verdicts.RELEVANT if is_relevant else verdicts.BELOW_CUTOFF,
    )


def _ranked(judged: Iterable[Considered]) -> list[Considered]:
    """Best first; the newer of two equals first."""
    return sorted(judged, key=lambda item: (-item.score, -item.what.id.int))


def _arms(cosine: float, overlap: float) -> dict[str, float | None]:
    return {"cosine": None if np.isnan(cosine) else cosine, "overlap": overlap}


# --- turns


def turns(
    user_id: UUID, asked: Asked, *, limit: int, leave_out: InPrompt | None, as_of: datetime | None
) -> list[Considered]:
    """What was said in other conversations, without the questions that the user asked before.

    The order is that of ``policies.dialogue``. To stand in one list with the other arms, the first takes the highest
    confidence as its score, the second the next, and so on; each is included by a confidence of its own. Of a turn
    that read what strangers wrote nothing is used while something that it taught waits for its person's word.
    """
    if not asked.question.sought.words:
        return []
    found = said.passages(
        user_id, embedding=asked.aimed(Aim.DIALOGUE), model_id=asked.embedder.model_id, leave_out=leave_out
    )
    passages = found.passages
    scores = dialogue.score(asked.question, passages, asked.embedder.calibration)
    order = np.argsort(-scores.score, kind="stable")
    order = order[~dialogue.is_to_forget(passages)[order]]
    if as_of:
        order = order[passages.said_at[order] <= as_of.astimezone(UTC).timestamp()]
    order = order[:limit]
    heights = np.sort(scores.confidence[order])[::-1]
    messages = transcript.past_messages(user_id, [found.message_ids[index] for index in order])
    forgotten = tombstones.forgotten_turns(user_id, {message.turn_id for message in messages.values()})
    messages = {key: message for key, message in messages.items() if message.turn_id not in forgotten}
    waiting = longterm.waiting_turns(user_id, {message.turn_id for message in messages.values()})
    judged = [
        _turn(
            messages[found.message_ids[index]],
            asked,
            cosine=float(passages.cosine[index]),
            overlap=float(scores.lexical[index]),
            confidence=float(scores.confidence[index]),
            score=float(height),
        )
        for index, height in zip(order, heights, strict=True)
        if found.message_ids[index] in messages
    ]
    return [
        verdicts.left_out(item, verdicts.WAITS) if item.included and item.message.turn_id in waiting else item
        for item in judged
    ]


def _turn(
    message: PastMessage,
    asked: Asked,
    *,
    cosine: float,
    overlap: float,
    confidence: float,
    score: float,
) -> Considered:
    found = Considered(
        message, _arms(cosine, overlap), confidence, score, included=True, reason=verdicts.RELEVANT
    )
    if confidence < tuning.conf().recall_min_confidence:
        return verdicts.left_out(found, verdicts.BELOW_CUTOFF)
    if not message.speaker and _asks_only(message.text, asked.text):
        return verdicts.left_out(found, verdicts.ONLY_A_QUESTION)
    return replace(found, excerpt=excerpt(message.text, asked.text))


def _asks_only(said: str, asked: str) -> bool:
    """Whether a message tells nothing to whoever asks this, unless it is about what was asked before."""
    is_same = normalise(said) == normalise(asked)
    return is_same or (cues.is_only_a_question(said) and not cues.asks_about_questions(asked))


# --- experiences


def experiences(user_id: UUID, asked: Asked, *, now: datetime) -> list[Considered]:
    """What was learned for goals like this, best first; nothing for a message that is too short to be a task."""
    if lessons.is_trivial(asked.text):
        return []
    known = experience_queries.live(user_id, embedding=asked.embedding, model_id=asked.embedder.model_id)
    ranked = _ranked(_lesson(experience, asked.text, now=now) for experience in known)
    relevant = [item for item in ranked if item.included]
    surplus = {id(item) for item in relevant[get_conf().experience_max_items :]}
    return [
        replace(item, included=False, reason=verdicts.BETTER_GIVEN) if id(item) in surplus else item
        for item in ranked[:LESSONS_SHOWN]
    ]


def _lesson(experience: Experience, question: str, *, now: datetime) -> Considered:
    """``confidence`` is the cosine, or without a vector the overlap of words; what the cutoff applies to."""
    cosine: float | None = getattr(experience, "cosine", None)
    overlap = lessons.word_overlap(question, experience.goal)
    similarity = overlap if cosine is None else cosine
    cutoff = lessons.MIN_WORD_OVERLAP if cosine is None else get_conf().experience_min_cosine
    is_relevant = similarity >= cutoff
    return Considered(
        experience,
        {"cosine": cosine, "overlap": overlap},
        similarity,
        score=similarity
        * ranking.boost(
            age_days=(now - experience.affirmed_at).total_seconds() / 86_400,
            half_life_days=experience.kind.half_life_days,
            confidence=experience.confidence,
        ),
        included=is_relevant,
        reason=verdicts.SIMILAR_GOAL if is_relevant else verdicts.BELOW_CUTOFF,
    )
