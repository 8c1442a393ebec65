"""The receipt of a reply: what the model was given of memory and why, what was left out, what became of it since."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext, pgettext_lazy

from chat.memory_presentation import edit_url, ended_text
from memoryapp.context import considered, exclusions
from memoryapp.context import queries as contexts
from memoryapp.inspector.context_bar import Bar, bar_of_call
from memoryapp.inspector.presentation import fact_url, source_url
from memoryapp.longterm import experience_queries, forgettings
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Experience, Forgetting, Memory
from memoryapp.longterm.presentation import origin_text
from memoryapp.policies.feedback import Verdict
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
    (0.8, gettext_lazy("very likely to matter")),
    (0.5, gettext_lazy("likely to matter")),
    (0.2, gettext_lazy("may matter")),
    (0.0, gettext_lazy("unlikely to matter")),
)
LOOKED_UP = "looked up"  # by a tool
EXACTLY_THIS = gettext_lazy("you asked for exactly this")
WHY = {
    considered.ALWAYS_USED: "",  # said once, for all of them
    considered.BY_KEY: EXACTLY_THIS,
    considered.SIMILAR_GOAL: gettext_lazy("a task like this one before"),
    LOOKED_UP: gettext_lazy("looked up by a tool"),
    # What a list of a period gives as its reason.
    "said today": gettext_lazy("said today"),
    "said yesterday": gettext_lazy("said yesterday"),
    "said this week": gettext_lazy("said this week"),
    "said last week": gettext_lazy("said last week"),
    "said this month": gettext_lazy("said this month"),
    "said last month": gettext_lazy("said last month"),
}
WHY_NOT = {
    considered.BELOW_CUTOFF: gettext_lazy("not close enough"),
    considered.OVER_BUDGET: gettext_lazy("the limit for recalled memories was reached"),
    considered.OVER_STANDING: gettext_lazy("over the limit of what is always used"),
    considered.BETTER_GIVEN: gettext_lazy("better ones were given"),
    considered.SAME_WORDS: gettext_lazy("the same words are in already"),
    considered.SOURCE_OF_FACT: gettext_lazy("a fact from it is in already"),
    considered.REPLACED: gettext_lazy("what it says was replaced"),
    considered.ONLY_A_QUESTION: gettext_lazy("only a question"),
    considered.WAITS: gettext_lazy("what it says waits for your word"),
}
_WITHOUT: Traced = {"arms": {}, "included": False, "reason": ""}
ARMS = {
    "cosine": pgettext_lazy("compared by", "meaning"),
    "overlap": pgettext_lazy("compared by", "words"),
    "lexical": pgettext_lazy("compared by", "words"),
}
VERDICTS: Mapping[str, Promise] = {
    Verdict.WRONG: gettext_lazy("You said that this is wrong"),
    Verdict.NOT_RELEVANT: gettext_lazy("You said that this had nothing to do with it"),
    Verdict.CONFIRMED: gettext_lazy("You said that this is right"),
    Verdict.CORRECTED: gettext_lazy("You corrected it"),
}


@dataclass(frozen=True, slots=True)
class Item:
    """``id``: of its row; ``memory_id``: the same, where a person can say something about it here.

    ``verdict``: what they said already.

    ``ended``: why it is not in use any more; ``can_come_back``: it is at the person's word alone. ``scores``: the
    numbers that it was judged by. ``correct_url``: the form for its words.
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
    is_message: bool = False
    memory_id: UUID | None = None
    correct_url: str = ""
    verdict: str = ""
    ended: str = ""
    can_come_back: bool = False
    scores: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """``used``: what the message called for. ``at_hand``: what every message is given. ``looked_up``: by a tool.

    ``without``: what its person wanted it to be made without. ``forgettings``: of what it was given, those that can
    still be undone. ``bar``: its first prompt by section. ``can_ask``: another answer can stand in its place.
    """

    used: Sequence[Item]
    at_hand: Sequence[Item]
    looked_up: Sequence[Item]
    considered: Sequence[Item]
    without: Sequence[Item]
    forgotten_count: int  # given to the model, and forgotten since
    forgettings: Sequence[Forgetting]
    bar: Bar | None
    can_ask: bool


def given_text(recalled: Sequence[Traced], *, looked_up: int = 0) -> str:
    """ "Used 2 memories and 1 earlier message": what the message called for, whatever happened since; or empty.

    ``looked_up``: how many memories a tool answered with besides.
    """
    given = {_id(item): item for item in recalled if item.get("included") and not _is_at_hand(item)}
    said = sum("message_id" in item for item in given.values())
    known = len(given) - said
    used = _used_text(known, said)
    if not looked_up:
        return used
    told = gettext("{used}, looked up {n}") if used else gettext("Looked up {n}")
    return told.format(used=used, n=looked_up)


def _used_text(known: int, said: int) -> str:
    if known and said:
        memories = ngettext("{n} memory", "{n} memories", known).format(n=known)
        earlier = ngettext("{n} earlier message", "{n} earlier messages", said).format(n=said)
        return gettext("Used {memories} and {messages}").format(memories=memories, messages=earlier)
    if known:
        return ngettext("Used {n} memory", "Used {n} memories", known).format(n=known)
    if said:
        return ngettext("Used {n} earlier message", "Used {n} earlier messages", said).format(n=said)
    return ""


def at_hand_text(recalled: Sequence[Traced]) -> str:
    """ "6 always at hand": what the model is given with every message, or empty."""
    count = sum(bool(item.get("included")) and _is_at_hand(item) for item in recalled)
    return gettext("{n} always at hand").format(n=count) if count else ""


def is_memory_away(recalled: Sequence[Traced]) -> bool:
    """Whether the reply was written without memory because recall failed."""
    return any(item.get("reason") == considered.UNAVAILABLE for item in recalled)


def without_text(count: int) -> str:
    """ "Without 2 that you left out", or empty."""
    return gettext("Without {n} that you left out").format(n=count) if count else ""


def receipt(turn: Turn) -> Receipt:
    snapshot = contexts.first_snapshots(turn.user_id, [turn.id]).get(turn.id)
    traced = [item for item in snapshot.recalled if _id(item)] if snapshot else []
    given = [item for item in traced if item["included"]]
    left_out = [item for item in traced if not item["included"]][:CONSIDERED]
    looked_up = _looked_up(turn, {_id(item) for item in given})
    named = exclusions.asked_for(turn.user_id, turn.id)
    known = _known(turn.user_id, [*given, *left_out, *looked_up, *_named(named)])
    kept, also_kept = ([item for item in items if _id(item) in known] for items in (given, looked_up))
    ids = [UUID(_id(item)) for item in [*given, *looked_up]]
    return Receipt(
        used=[_item(item, known[_id(item)], turn) for item in kept if not _is_at_hand(item)],
        at_hand=[_item(item, known[_id(item)], turn) for item in kept if _is_at_hand(item)],
        looked_up=[_item(item, known[_id(item)], turn) for item in also_kept],
        considered=[_item(item, known[_id(item)], turn) for item in left_out if _id(item) in known],
        without=[_item(_WITHOUT, known[str(id_)], turn) for id_ in named if str(id_) in known],
        forgotten_count=len(given) - len(kept),
        forgettings=list(forgettings.hiding(turn.user_id, ids)) if ids else [],
        bar=bar_of_call(snapshot) if snapshot and snapshot.sections else None,
        can_ask=turn.is_current and turn.status not in Turn.LIVE,
    )


def _looked_up(turn: Turn, given: Set[str]) -> list[Traced]:
    """What tools answered with, as an entry of a snapshot; not what the prompt began with."""
    rows = contexts.looked_up_in(turn.user_id, turn.id)
    items: list[Traced] = [
        {
            "memory_id" if use.memory_id else "experience_id": str(use.memory_id or use.experience_id),
            "arms": {},
            "included": True,
            "reason": LOOKED_UP,
        }
        for use in rows
    ]
    return [item for item in items if _id(item) not in given]


def _named(ids: Iterable[UUID]) -> list[Traced]:
    """Of whatever sort they are: each is found by one of these names alone."""
    return [{name: str(id_)} for id_ in ids for name in ("memory_id", "experience_id", "message_id")]


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
    why = why_used(item) if item["included"] else str(WHY_NOT.get(reason, reason))
    likely = likely_text(item.get("confidence")) if item.get("arms") else ""  # it was asked for, not guessed
    if isinstance(row, Memory):
        shown = _memory(row, turn, why=why, likely=likely)
    elif isinstance(row, PastMessage):
        shown = _message(row, why=why, likely=likely)
    else:
        shown = _experience(row, why=why)
    return replace(shown, scores=scores_text(item))


def scores_text(item: Traced) -> str:
    """The numbers as they are, to four digits; empty for what was not compared."""
    arms: Mapping[str, float | None] = item.get("arms", {})
    numbers = [(str(ARMS.get(name, name)), value) for name, value in arms.items() if value is not None]
    if numbers and item.get("score") is not None:
        numbers.append((gettext("score"), item["score"]))
    return " · ".join(f"{name} {value:.4g}" for name, value in numbers)


def _experience(row: Experience, *, why: str) -> Item:
    is_solved = row.outcome == Experience.Outcome.SUCCEEDED
    return Item(
        id=row.id,
        kind_label=gettext("Solved before") if is_solved else gettext("Tried before"),
        text=row.goal,
        url=reverse("inspector:experience", args=[row.id]),
        said_at=row.recorded_at,
        source_label=pgettext("experience", "learned"),
        source_url="",
        why=why,
        likely="",  # its number says how near the goals are
    )


def _memory(memory: Memory, turn: Turn, *, why: str, likely: str) -> Item:
    verdicts = [row for row in memory.feedback.all() if row.turn_id == turn.id]
    newest = max(verdicts, key=lambda row: (row.created_at, row.id), default=None)
    return Item(
        id=memory.id,
        kind_label=gettext(memory.kind.label),
        text=memory.statement,
        url=fact_url(memory),
        said_at=memory.said_at,
        source_label=origin_text(memory.origin, is_from_chat=memory.source_message_id is not None),
        source_url=source_url(memory),
        why=why,
        likely=likely,
        memory_id=memory.id,
        correct_url=edit_url(memory),
        verdict=str(VERDICTS[newest.verdict]) if newest else "",
        ended=ended_text(memory),
        can_come_back=is_set_aside(memory),
    )


def _message(message: PastMessage, *, why: str, likely: str) -> Item:
    url = reverse("chat:turn", args=[message.turn_id])
    return Item(
        id=message.id,
        kind_label=gettext("Earlier message"),
        text=Truncator(" ".join(message.text.split())).chars(EXCERPT_CHARS),
        url=url,
        said_at=message.said_at,
        source_label=_who_said(message),
        source_url=url,
        why=why,
        likely=likely,
        is_message=True,
    )


def _who_said(message: PastMessage) -> str:
    if message.speaker:
        return gettext("{speaker} said").format(speaker=message.speaker)
    return gettext("You said") if message.role == Message.Role.USER else gettext("Strata said")


def why_used(item: Traced) -> str:
    """The reason in words: the rule that put it in, or the arms that found it."""
    reason = str(item.get("reason", ""))
    arms: Mapping[str, float | None] = item.get("arms", {})
    if reason in WHY and not (reason == considered.ALWAYS_USED and arms):
        return str(WHY[reason])
    if not arms:
        return _why_listed(reason)
    words = max(arms.get("overlap") or 0.0, arms.get("lexical") or 0.0)
    meaning = arms.get("cosine") or 0.0
    by_words, by_meaning = gettext("matches your words"), gettext("similar in meaning")
    found = [
        said for said, is_so in ((by_words, words >= SHARED_WORDS), (by_meaning, meaning >= ALIKE)) if is_so
    ]
    return ", ".join(found) or (by_meaning if meaning > words else by_words)


def _why_listed(reason: str) -> str:
    """ "the last 3 of kind decision" is a list, "the last" is one."""
    is_one = not any(character.isdigit() for character in reason)
    return str(EXACTLY_THIS) if is_one else gettext("you asked for the list")


def likely_text(confidence: float | None) -> str:
    """A probability in words, with its number; empty for what no question called for."""
    if confidence is None:
        return ""
    words = next(words for least, words in LIKELY if max(confidence, 0) >= least)
    return f"{words} ({round(confidence * 100)}\u00a0%)"
