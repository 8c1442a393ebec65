"""How what was recalled stands in a prompt: JSON items, each with where it comes from."""

import re
from datetime import datetime
from itertools import islice

from memoryapp.context.considered import ALWAYS_USED, Considered
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm.models import Experience, Memory
from memoryapp.policies.fencing import as_data, inert
from memoryapp.policies.terms import sought
from memoryapp.policies.trust import Origin
from memoryapp.transcript.queries import PastMessage

EXCERPT_CHARS = 600  # about 150 tokens: six such messages fill what recall may take
LEAD_CHARS = 120  # of it before the first word that was asked for
EDGE_CHARS = 20  # how far its edges move to stand between words
MOST_PLACES = 100  # of the question's words that are looked at in a text
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def prompt_item(item: Considered) -> dict[str, object]:
    """What somebody else may have written comes without links and images."""
    match item.what:
        case Memory():
            is_always = item.reason == ALWAYS_USED  # alike in every prompt, whatever was asked
            given = inert(_fact(item.what, None if is_always else item.confidence))
            # A person who confirms a fact vouches for what it says, not for where its links lead.
            return given | {"origin": item.taint.value}
        case PastMessage():
            return inert(_message(item.what, item.excerpt))
        case _:
            return inert(_lesson(item.what))


def prompt_tokens(item: Considered) -> int:
    """What it takes of the token budget of recall, as it stands in a prompt."""
    return estimate_text(as_data(prompt_item(item)))


def excerpt(text: str, question: str) -> str:
    """Of a long text the part with the most different words of the question, with "…" where it goes on; else empty."""
    if len(text) <= EXCERPT_CHARS:
        return ""
    begin = max(0, min(_densest(text, question) - LEAD_CHARS, len(text) - EXCERPT_CHARS))
    if begin:
        begin = text.find(" ", begin, begin + EDGE_CHARS) + 1 or begin
    end = min(begin + EXCERPT_CHARS, len(text))
    if end < len(text):
        end = max(text.rfind(" ", end - EDGE_CHARS, end), 0) or end
    part = " ".join(text[begin:end].split())
    return f"{'…' if begin else ''}{part}{'…' if end < len(text) else ''}"


def _densest(text: str, question: str) -> int:
    """Where the part of an excerpt's length begins that holds the most different words of the question."""
    # By their beginnings: "paint" finds "painted". With the whole text in words it would take ten times as long.
    beginnings = [re.escape(word.text[: max(4, len(word.text) - 2)]) for word in sought(question).words]
    if not beginnings:
        return 0
    found = re.finditer("|".join(beginnings), text, re.IGNORECASE)
    places = [(match.start(), match.group().casefold()) for match in islice(found, MOST_PLACES)]

    def variety(begin: int) -> int:
        return len({word for at, word in places if begin <= at < begin + EXCERPT_CHARS - LEAD_CHARS})

    return max((at for at, _ in places), key=lambda at: (variety(at), -at), default=0)


def _fact(memory: Memory, confidence: float | None) -> dict[str, object]:
    values: dict[str, object] = {
        "id": str(memory.id),
        "kind": memory.kind.slug,
        "statement": memory.statement,
        "origin": memory.origin,
        "said_on": memory.said_at.date().isoformat(),
    }
    if confidence is None:
        return values | {"always": True}
    return values | {"confidence": round(confidence, 2)}


def _message(message: PastMessage, part: str) -> dict[str, object]:
    """``{"user, 8 May 2023": "I moved to Porto."}``, with an ``origin`` where the turn was not all the user's own.

    As short as can be: an answer about conversations is spread over many short messages, and with a name for every part
    and an id half as many would fit.
    """
    speaker = message.speaker or message.role
    said: dict[str, object] = {f"{speaker}, {_day(message.said_at)}": part or message.text}
    return said if message.taint == Origin.USER_TYPED else said | {"origin": message.taint.value}


def _day(moment: datetime) -> str:
    """Whatever the locale; in UTC, like all dates of items."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def _lesson(experience: Experience) -> dict[str, object]:
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
