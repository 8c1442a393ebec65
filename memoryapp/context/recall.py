"""What memory has to say to a question, and why each candidate is in or out.

What a look-up can answer is looked up (``policies.routing``); the rest is searched for in three arms: facts, past
turns, experiences. Their candidates stand in one list by one scale, and one cutoff decides; nothing found is an answer.
"""

import logging
import re
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from memoryapp.context import arms, standing
from memoryapp.context import considered as verdicts
from memoryapp.context.arms import Asked
from memoryapp.context.considered import Considered, Sort
from memoryapp.context.items import excerpt, prompt_item, prompt_tokens
from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.embeddings.registry import get_embedder
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.queries import Taken
from memoryapp.policies import dialogue, ranking
from memoryapp.policies.experiences import is_trivial
from memoryapp.policies.quoting import is_covered, without
from memoryapp.policies.reconciliation import normalise
from memoryapp.policies.routing import route
from memoryapp.policies.trust import Origin, weakest
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.queries import InPrompt
from memoryapp.tuning import queries as tuning

logger = logging.getLogger(__name__)

Arm = Literal["facts", "turns", "experiences"]
Arms = tuple[Arm, ...] | list[Arm]  # not a Collection: a tuple of names written in place would not fit one
ARMS: tuple[Arm, ...] = get_args(Arm)

FACTS_ALONE: Arms = ("facts",)  # for a message like "Thanks!" or "ok, and then?"

CANDIDATES = 200  # of a search; far more than anybody reads
SHOWN = 30  # per arm in the trace of a prompt: far more than fit, so that it shows what was close
# An embedder reads a few hundred tokens; the rest of a long paste says little about the question.
QUERY_MAX_CHARS = 2_000
_UNSEARCHABLE = re.compile(
    r"[\x00\ud800-\udfff]"
)  # a model can ask with NUL or half a character; Postgres cannot


@dataclass(frozen=True, slots=True)
class Recall:
    """Everything that was considered, best first. ``is_unavailable``: recall failed, the turn goes on without."""

    considered: Sequence[Considered]
    is_unavailable: bool = False

    @property
    def included(self) -> Sequence[Considered]:
        return [item for item in self.considered if item.included]

    def given(self, sort: Sort) -> Sequence[Considered]:
        """What of this sort goes into the prompt."""
        return [item for item in self.included if item.sort == sort]

    @property
    def taint(self) -> Origin:
        """The weakest origin among what goes into the prompt."""
        return weakest(item.taint for item in self.included)


NOTHING = Recall(())
UNAVAILABLE = Recall((), is_unavailable=True)


def recall(
    user_id: UUID,
    question: str,
    *,
    now: datetime,
    max_tokens: int | None = None,
    standing_max_tokens: int | None = None,
    in_prompt: InPrompt | None = None,
    without: Collection[UUID] = (),
) -> Recall:
    """What goes into a prompt: the facts always used, then what the question calls for, each within its token budget.

    What is always used never takes the place of an answer; what of it finds no room competes as an answer.
    ``in_prompt``: what of the conversation stands in the prompt word for word, and is not recalled into it. Without an
    embedder the words decide alone. Nothing above the cutoff is an answer too. ``without``: ids of what is passed over.
    """
    conf = tuning.conf()
    include = FACTS_ALONE if is_trivial(question) else ARMS
    found = _found(
        user_id, question, now=now, limit=SHOWN, include=include, in_prompt=in_prompt, without=without
    )
    always = standing.facts(
        user_id,
        max_tokens=conf.standing_max_tokens if standing_max_tokens is None else standing_max_tokens,
        leave_out={item.what.id for item in found if not item.arms} | set(without),  # what was looked up
    )
    called_for = {item.what.id: item for item in found if item.included}
    given = [_as_called_for(item, called_for.get(item.what.id)) for item in always if item.included]
    surplus = [item for item in always if not (item.included or item.what.id in called_for)][:SHOWN]
    known = {item.what.id for item in [*given, *surplus]}
    ranked = _trusted(
        user_id,
        _each_once(
            user_id,
            [*given, *(item for item in found if item.what.id not in known), *surplus],
            question,
            lines=in_prompt.lines if in_prompt else (),
        ),
    )
    candidates = [item for item in ranked if item.included and item.reason != verdicts.ALWAYS_USED]
    fits = ranking.pack(
        map(prompt_tokens, candidates),
        budget=conf.recall_max_tokens if max_tokens is None else max_tokens,
        max_items=conf.recall_max_items,
    )
    left_out = {item.what.id for item, is_in in zip(candidates, fits, strict=True) if not is_in}
    return Recall(
        [
            verdicts.left_out(item, verdicts.OVER_BUDGET) if item.what.id in left_out else item
            for item in ranked
        ]
    )


def _as_called_for(item: Considered, found: Considered | None) -> Considered:
    """What is always used, with how the question called for it, if it did; its place and its words stay."""
    return replace(item, arms=found.arms, confidence=found.confidence) if found else item


def search(
    user_id: UUID,
    question: str,
    *,
    now: datetime,
    limit: int,
    include: Arms = ARMS,
    as_of: datetime | None = None,
    participants: Sequence[str] = (),
    in_prompt: InPrompt | None = None,
    without: Collection[UUID] = (),
) -> Sequence[Considered]:
    """The best ``limit`` candidates of all arms, best first, each judged against the cutoff.

    ``as_of``: what was known at that moment. ``participants``: names of the people whose conversations are searched,
    where they are not the user and the assistant; a question about one of them is asked as they would ask it.
    ``in_prompt``: what the asker has in front of it already. ``without``: ids of what is passed over.
    """
    found = _found(
        user_id,
        question,
        now=now,
        limit=limit,
        include=include,
        as_of=as_of,
        participants=participants,
        in_prompt=in_prompt,
        without=without,
    )
    return _trusted(user_id, _each_once(user_id, found, question)[:limit])


def prompt_items(recall: Recall) -> list[dict[str, object]]:
    """The JSON items of the fenced block."""
    return [prompt_item(item) for item in recall.included]


def trace(recall: Recall) -> list[dict[str, object]]:
    """The recall for a snapshot: ids and numbers, no text. One of ``memory_id``, ``message_id``, ``experience_id``."""
    if recall.is_unavailable:
        return [
            {"arms": {}, "confidence": None, "score": 0.0, "included": False, "reason": verdicts.UNAVAILABLE}
        ]
    return [_traced(item) for item in recall.considered]


_ID_NAMES: dict[Sort, str] = {"fact": "memory_id", "turn": "message_id", "experience": "experience_id"}


def _traced(item: Considered) -> dict[str, object]:
    return {
        _ID_NAMES[item.sort]: str(item.what.id),
        "arms": dict(item.arms),
        "confidence": item.confidence,
        "score": item.score,
        "included": item.included,
        "reason": item.reason,
    }


def _found(
    user_id: UUID,
    question: str,
    *,
    now: datetime,
    limit: int,
    include: Arms = ARMS,
    as_of: datetime | None = None,
    participants: Sequence[str] = (),
    in_prompt: InPrompt | None = None,
    without: Collection[UUID] = (),
) -> list[Considered]:
    """What a look-up answers, else the best candidates of the arms, best first."""
    text = _UNSEARCHABLE.sub(" ", question[:QUERY_MAX_CHARS])
    way = route(text) if "facts" in include and as_of is None else None
    if way and (answer := _but(without, arms.looked_up(user_id, way, now=now))):
        return answer
    holdings = longterm.holdings(user_id)
    has_facts = "facts" in include and (holdings.memories or as_of is not None)
    has_turns = "turns" in include and transcript.has_past_turns(user_id, in_prompt)
    has_lessons = "experiences" in include and as_of is None and holdings.experiences
    if not (has_facts or has_turns or has_lessons):
        return []  # embedding the question would be half of what a short turn costs
    asked = _asked(text, participants)
    found = [
        *(arms.facts(user_id, asked, now=now, limit=limit, as_of=as_of) if has_facts else ()),
        *(arms.turns(user_id, asked, limit=limit, leave_out=in_prompt, as_of=as_of) if has_turns else ()),
        *(arms.experiences(user_id, asked, now=now) if has_lessons else ()),
    ]
    # Stable: turns of one score stay in the order of their arm.
    return sorted(_but(without, found), key=lambda item: -item.score)


def _but(without: Collection[UUID], found: Iterable[Considered]) -> list[Considered]:
    return [item for item in found if item.what.id not in without]


def _asked(text: str, participants: Sequence[str]) -> Asked:
    spoken = dialogue.in_first_person(text, participants)
    texts = list(dict.fromkeys((text, spoken)))
    embedder = get_embedder()
    try:
        vectors = dict(zip(texts, embedder.embed_queries(texts), strict=True))
    except EmbedderUnavailable as error:
        logger.warning("Recall is by words only: %s", error)
        vectors = {}
    return Asked(text, dialogue.question(text), embedder, vectors.get(text), vectors.get(spoken))


def _each_once(
    user_id: UUID, ranked: Sequence[Considered], question: str, *, lines: Sequence[str] = ()
) -> list[Considered]:
    """Nothing twice: neither the same words, nor a message beside the facts that say what it says.

    Facts stay, whatever their rank: they are what a person can correct. What a message says that was replaced since is
    cut out of it, and so are ``lines``, which stand in the prompt.
    """
    included = [item for item in ranked if item.included]
    messages = [item.what.id for item in included if item.sort == "turn"]
    taken = longterm.taken_from_messages(user_id, messages) if messages else {}
    facts = {item.what.id for item in included if item.sort == "fact"}
    seen: set[str] = set()
    judged: dict[UUID, Considered] = {}
    for found in sorted(included, key=lambda item: item.sort != "fact"):
        item = _beside(facts, found, taken.get(found.what.id, ()), question)
        if lines and item.included and item.sort == "turn":
            item = _without_lines(item, lines)
        words = normalise(item.text)
        if item.included and words in seen:
            item = verdicts.left_out(item, verdicts.SAME_WORDS)
        seen.add(words)
        judged[item.what.id] = item
    return [judged.get(item.what.id, item) for item in ranked]


def _trusted(user_id: UUID, judged: Sequence[Considered]) -> list[Considered]:
    """With what the facts that are given bring along, by their person's word."""
    trust = longterm.trust_of(
        user_id, [item.memory for item in judged if item.included and item.sort == "fact"]
    )
    return [replace(item, trust=trust.get(item.what.id)) for item in judged]


def _without_lines(item: Considered, lines: Sequence[str]) -> Considered:
    said = item.excerpt or item.text
    rest = without(said, lines)
    if is_covered(rest, ()):
        return verdicts.left_out(item, verdicts.SAME_WORDS)
    return item if rest == said else replace(item, excerpt=rest)


def _beside(facts: Set[UUID], item: Considered, taken: Iterable[Taken], question: str) -> Considered:
    """A message as it may stand beside these facts; ``taken``: what was remembered from it."""
    given = [one.statement for one in taken if one.memory_id in facts]
    replaced = [one for one in taken if one.is_replaced]
    if given and is_covered(item.text, [*given, *(one.statement for one in replaced)]):
        return verdicts.left_out(item, verdicts.SOURCE_OF_FACT)
    if not replaced:
        return item
    holds = without(item.text, (one.quote for one in replaced))
    if is_covered(holds, (one.statement for one in replaced)):
        return verdicts.left_out(item, verdicts.REPLACED)
    return replace(item, excerpt=excerpt(holds, question) or holds)
