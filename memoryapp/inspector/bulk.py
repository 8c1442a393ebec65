"""Doing one thing to many facts: those that were picked on a page, or all that a filter finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.http import HttpRequest

from memoryapp.errors import InvalidInputError
from memoryapp.inspector import undoing
from memoryapp.longterm import forgettings, lifetimes

TYPED_ABOVE: Final = 20  # more are done only after a word was typed


class Action(StrEnum):
    CONFIRM = "confirm"
    EXTEND = "extend"
    KEEP = "keep"
    FOLLOW = "follow"
    CHANGE_KIND = "change_kind"
    BRING_BACK = "bring_back"
    FORGET = "forget"

    @property
    def label(self) -> str:
        return _WORDS[self][0]

    @property
    def typed(self) -> str:
        """What is typed to do it to many."""
        return _WORDS[self][1]

    @property
    def consequence(self) -> str:
        return _WORDS[self][2]

    def question(self, count: int) -> str:
        return _WORDS[self][3].format(facts=counted(count))

    def done(self, count: int) -> str:
        return _WORDS[self][4].format(facts=counted(count))


# On the button; typed; what it does; the question; what is said afterwards.
_WORDS: Final[Mapping[Action, tuple[str, str, str, str, str]]] = {
    Action.CONFIRM: (
        "Confirm",
        "confirm",
        "Each is remembered as it stands here, and replaces what it does not fit.",
        "Confirm {facts}",
        "Confirmed: {facts}.",
    ),
    Action.EXTEND: (
        "Extend",
        "extend",
        "Each lives its whole lifetime again, from today. What is kept for ever stays so.",
        "Extend {facts}",
        "Extended: {facts} from today.",
    ),
    Action.KEEP: (
        "Keep for ever",
        "keep",
        "None of them expires until you say so.",
        "Keep {facts} for ever",
        "Kept for ever: {facts}.",
    ),
    Action.FOLLOW: (
        "As their kind",
        "follow",
        "Each lives as long as the rule of its kind says, and no date of its own counts any more.",
        "Let {facts} live as long as their kinds say",
        "As long as their kinds say: {facts}.",
    ),
    Action.CHANGE_KIND: (
        "Change kind",
        "change",
        "Each lives as long as the new kind says. The kind before stays in the history.",
        "Change the kind of {facts}",
        "Another kind: {facts}.",
    ),
    Action.BRING_BACK: (
        "Bring back",
        "back",
        "Each is in use again, and lives its whole lifetime from today.",
        "Bring {facts} back",
        "In use again: {facts}.",
    ),
    Action.FORGET: (
        "Forget",
        "forget",
        "They go from every page, answer and export at once, with their former values.",
        "Forget {facts}",
        "Forgotten: {facts}.",
    ),
}


@dataclass(frozen=True, slots=True)
class Picked:
    """Facts by id. ``versions``: as the person read them; empty for all that a filter finds."""

    ids: Sequence[UUID]
    versions: Mapping[UUID, int]


def counted(count: int) -> str:
    return "1 fact" if count == 1 else f"{count:,} facts"


def do(
    request: HttpRequest, user_id: UUID, action: Action, picked: Picked, *, kind: str, now: datetime
) -> None:
    """Does it, and has the next page say so. Raises InvalidInputError, StaleVersionError."""
    if action == Action.FORGET:
        forgotten = forgettings.forget(user_id, picked.ids, now=now)
        undoing.offer_forgetting(request, forgotten, text=action.done(forgotten.memories_count))
        return
    changed = _changed(user_id, action, picked, kind=kind, now=now)
    undoing.tell(request, action.done(changed))


def _changed(user_id: UUID, action: Action, picked: Picked, *, kind: str, now: datetime) -> int:
    match action:
        case Action.EXTEND:
            return lifetimes.extend(user_id, picked.ids, now=now)
        case Action.KEEP:
            return lifetimes.keep(user_id, picked.ids)
        case Action.FOLLOW:
            return lifetimes.follow_kind(user_id, picked.ids)
        case Action.CHANGE_KIND:
            if not kind:
                raise InvalidInputError("Choose the kind that they become.")
            return lifetimes.change_kind(user_id, picked.ids, kind=kind, now=now)
        case Action.BRING_BACK:
            return lifetimes.bring_back_expired(user_id, picked.ids, now=now)
        case Action.CONFIRM:
            if not picked.versions:
                raise InvalidInputError("Confirm what you have read: pick the facts on the page.")
            return lifetimes.confirm_many(user_id, picked.versions, now=now)
    raise InvalidInputError("Say what should be done.")
