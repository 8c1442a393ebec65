"""The receipt of a reply: what the model was given of memory and why, what was left out, what became of it since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.urls import reverse
from django.utils.text import Truncator

from chat.memory_presentation import ended_text
from memoryapp.context import considered
from memoryapp.context import queries as contexts
from memoryapp.inspector.presentation import fact_url, source_url
from memoryapp.longterm import experience_queries
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Experience, Memory
from memoryapp.longterm.presentation import ORIGIN_LABELS
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import Origin
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Message, Turn
from memoryapp.transcript.queries import PastMessage

Traced = dict[str, Any]  # an entry of a snapshot's ``recalled``
Source = Memory | PastMessage | Experience

CONSIDERED = 10  # of what was left out; the rest is farther away still
EXCERPT_CHARS = 240
# From where an arm is worth naming as the reason; below both, the stronger one is named.
SHARED_WORDS = 0.3
ALIKE = 0.4
# What a calibrated probability is called.
LIKELY = (
    (0.8, "very likely to matter"),
    (0.5, "likely to matter"),
    (0.2, "may matter"),
    (0.0, "unlikely to matter"),
)
WHY = {
    considered.ALWAYS_USED: "",  # said once, for all of them
    considered.BY_KEY: "you asked for exactly this",
    considered.SIMILAR_GOAL: "a task like this one before",
}
WHY_NOT = {
    considered.BELOW_CUTOFF: "not close enough",
    considered.OVER_BUDGET: "the limit for recalled memories was reached",
}
SAID_THEN = "said "  # what a list of a period gives as its reason, with the period
VERDICTS: dict[str, str] = {
    Verdict.WRONG: "You said that this is wrong",
    Verdict.NOT_RELEVANT: "You said that this had nothing to do with it",
    Verdict.CONFIRMED: "You said that this is right",
    Verdict.CORRECTED: "You corrected it",
}


@dataclass(frozen=True, slots=True)
class Item:
    """``id``: of its row; ``memory_id``: the same, where a person can say something about it here.

    ``verdict``: what they said already.

    ``ended``: why it is not in use any more; ``can_come_back``: it is at the person's word alone.
    """

    id: UUID
    kind_label: str
    text: str
    url: str
    said_at: datetime | None
    source_label: str
    source_url: str
    why: str
    likely: str
    memory_id: UUID | None = None
    verdict: str = ""
    ended: str = ""
    can_come_back: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """``used``: what the message called for. ``at_hand``: what every message is given."""

    used: Sequence[Item]
    at_hand: Sequence[Item]
    considered: Sequence[Item]
    forgotten_count: int  # given to the model, and forgotten since


def given_text(recalled: Sequence[Traced]) -> str:
    """ "Used 2 memories and 1 earlier message": what the message called for, whatever happened since; or empty."""
    given = {_id(item): item for item in recalled if item.get("included") and not _is_at_hand(item)}
    said = sum("message_id" in item for item in given.values())
    known = len(given) - said
    counts = [
        f"{known} {'memory' if known == 1 else 'memories'}" if known else "",
        f"{said} earlier {'message' if said == 1 else 'messages'}" if said else "",
    ]
    words = " and ".join(filter(None, counts))
    return f"Used {words}" if words else ""


def at_hand_text(recalled: Sequence[Traced]) -> str:
    """ "6 always at hand": what the model is given with every message, or empty."""
    count = sum(bool(item.get("included")) and _is_at_hand(item) for item in recalled)
    return f"{count} always at hand" if count else ""


def is_memory_away(recalled: Sequence[Traced]) -> bool:
    """Whether the reply was written without memory because recall failed."""
    return any(item.get("reason") == considered.UNAVAILABLE for item in recalled)


def receipt(turn: Turn) -> Receipt:
    snapshot = contexts.first_snapshots(turn.user_id, [turn.id]).get(turn.id)
    traced = [item for item in snapshot.recalled if _id(item)] if snapshot else []
    given = [item for item in traced if item["included"]]
    left_out = [item for item in traced if not item["included"]][:CONSIDERED]
    known = _known(turn.user_id, [*given, *left_out])
    kept = [item for item in given if _id(item) in known]
    return Receipt(
        used=[_item(item, known[_id(item)], turn) for item in kept if not _is_at_hand(item)],
        at_hand=[_item(item, known[_id(item)], turn) for item in kept if _is_at_hand(item)],
        considered=[_item(item, known[_id(item)], turn) for item in left_out if _id(item) in known],
        forgotten_count=len(given) - len(kept),
    )


def _is_at_hand(item: Traced) -> bool:
    """Whether it is always used, and the question did not call for it."""
    return item.get("reason") == considered.ALWAYS_USED and not item.get("arms")


def _id(item: Traced) -> str:
    return str(item.get("memory_id") or item.get("message_id") or item.get("experience_id") or "")


def _known(user_id: UUID, items: Sequence[Traced]) -> Mapping[str, Source]:
    """What of these is still there, by id; memories with where they were said and what was said of them."""
    memories = list(longterm.by_ids(user_id, _ids(items, "memory_id")).values())
    prefetch_related_objects(memories, "source_message__turn__conversation", "feedback")
    experiences = experience_queries.by_ids(user_id, _ids(items, "experience_id")).values()
    messages = transcript.past_messages(user_id, _ids(items, "message_id")).values()
    rows: list[Source] = [*memories, *experiences, *messages]
    return {str(row.id): row for row in rows}


def _ids(items: Sequence[Traced], name: str) -> set[UUID]:
    return {UUID(item[name]) for item in items if name in item}


def _item(item: Traced, row: Source, turn: Turn) -> Item:
    reason = str(item.get("reason", ""))
    why = why_used(item) if item["included"] else WHY_NOT.get(reason, reason)
    likely = likely_text(item.get("confidence")) if item.get("arms") else ""  # it was asked for, not guessed
    if isinstance(row, Memory):
        return _memory(row, turn, why=why, likely=likely)
    if isinstance(row, PastMessage):
        return _message(row, why=why, likely=likely)
    return Item(
        id=row.id,
        kind_label="Solved before" if row.outcome == Experience.Outcome.SUCCEEDED else "Tried before",
        text=row.goal,
        url=reverse("inspector:experience", args=[row.id]),
        said_at=row.recorded_at,
        source_label="learned",
        source_url="",
        why=why,
        likely="",  # its number says how near the goals are
    )


def _memory(memory: Memory, turn: Turn, *, why: str, likely: str) -> Item:
    verdicts = [row for row in memory.feedback.all() if row.turn_id == turn.id]
    newest = max(verdicts, key=lambda row: (row.created_at, row.id), default=None)
    return Item(
        id=memory.id,
        kind_label=memory.kind.label,
        text=memory.statement,
        url=fact_url(memory),
        said_at=memory.said_at,
        source_label=ORIGIN_LABELS[Origin(memory.origin)],
        source_url=source_url(memory),
        why=why,
        likely=likely,
        memory_id=memory.id,
        verdict=VERDICTS[newest.verdict] if newest else "",
        ended=ended_text(memory),
        can_come_back=is_set_aside(memory),
    )


def _message(message: PastMessage, *, why: str, likely: str) -> Item:
    is_persons = message.role == Message.Role.USER
    url = reverse("chat:turn", args=[message.turn_id])
    return Item(
        id=message.id,
        kind_label="Earlier message",
        text=Truncator(" ".join(message.text.split())).chars(EXCERPT_CHARS),
        url=url,
        said_at=message.said_at,
        source_label=f"{message.speaker or ('You' if is_persons else 'Strata')} said",
        source_url=url,
        why=why,
        likely=likely,
    )


def why_used(item: Traced) -> str:
    """The reason in words: the rule that put it in, or the arms that found it."""
    reason = str(item.get("reason", ""))
    arms: Mapping[str, float | None] = item.get("arms", {})
    if reason in WHY and not (reason == considered.ALWAYS_USED and arms):
        return WHY[reason]
    if not arms:
        return reason if reason.startswith(SAID_THEN) else _why_listed(reason)
    words = max(arms.get("overlap") or 0.0, arms.get("lexical") or 0.0)
    meaning = arms.get("cosine") or 0.0
    found = [
        said
        for said, is_so in (
            ("matches your words", words >= SHARED_WORDS),
            ("similar in meaning", meaning >= ALIKE),
        )
        if is_so
    ]
    if not found:
        return "similar in meaning" if meaning > words else "matches your words"
    return ", ".join(found)


def _why_listed(reason: str) -> str:
    """ "the last 3 of kind decision" is a list, "the last" is one."""
    is_one = not any(character.isdigit() for character in reason)
    return "you asked for exactly this" if is_one else "you asked for the list"


def likely_text(confidence: float | None) -> str:
    """A probability in words, with its number; empty for what no question called for."""
    if confidence is None:
        return ""
    words = next(words for least, words in LIKELY if max(confidence, 0) >= least)
    return f"{words} ({round(confidence * 100)}\u00a0%)"
