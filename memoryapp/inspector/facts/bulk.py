"""Doing one thing to many facts: those that were picked on a page, or all that a filter finds."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.http import HttpRequest
from uuid6 import uuid7

from memoryapp.errors import InvalidInputError
from memoryapp.inspector import undoing
from memoryapp.longterm import forgettings, lifetimes, queries

CHANGED: Final = "The list changed meanwhile. This is what it holds now, the newest first."
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

    @property
    def counting(self) -> str:
        """Its label with how many are picked in the place of "0"; without where that does not read well."""
        return _COUNTING.get(self, self.label)

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
        "Follow the kind’s lifetime",
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

_COUNTING: Final[Mapping[Action, str]] = {
    Action.CONFIRM: "Confirm 0",
    Action.EXTEND: "Extend 0",
    Action.KEEP: "Keep 0 for ever",
    Action.BRING_BACK: "Bring 0 back",
    Action.FORGET: "Forget 0",
}


@dataclass(frozen=True, slots=True)
class Picked:
    """Facts by id. ``versions``: as the person read them; empty for all that a filter finds."""

    ids: Sequence[UUID]
    versions: Mapping[UUID, int]


def counted(count: int) -> str:
    return "1 fact" if count == 1 else f"{count:,} facts"


def mark(ids: Iterable[UUID]) -> str:
    """Of a set of rows, in any order: a word that is typed for these counts for no others."""
    return hashlib.sha256(b"".join(sorted(row_id.bytes for row_id in ids))).hexdigest()


def do(
    request: HttpRequest, user_id: UUID, action: Action, picked: Picked, *, kind: str, now: datetime
) -> None:
    """Does it, and has the next page say so. Raises InvalidInputError, StaleVersionError."""
    if action == Action.FORGET:
        forgotten = forgettings.forget(user_id, picked.ids, now=now)
        undoing.offer_forgetting(request, forgotten, text=action.done(forgotten.memories_count))
        return
    undo_id, over_before = uuid7(), _expired_count(user_id, picked.ids)
    changed = _changed(user_id, action, picked, kind=kind, now=now, undo_id=undo_id)
    text = action.done(changed)
    if action == Action.FOLLOW:
        text += _over(_expired_count(user_id, picked.ids) - over_before, changed)
    undoing.offer_lifetimes(request, user_id, undo_id, text=text)


def _expired_count(user_id: UUID, ids: Sequence[UUID]) -> int:
    return queries.memories(user_id, status="expired").filter(id__in=ids).count()


def _over(expired: int, changed: int) -> str:
    if not expired:
        return ""
    if expired == changed == 1:
        return " It has expired by that."
    return f" {expired:,} of them {'has' if expired == 1 else 'have'} expired by that."


def _changed(
    user_id: UUID, action: Action, picked: Picked, *, kind: str, now: datetime, undo_id: UUID
) -> int:
    match action:
        case Action.EXTEND:
            return lifetimes.extend(user_id, picked.ids, now=now, undo_id=undo_id)
        case Action.KEEP:
            return lifetimes.keep(user_id, picked.ids, undo_id=undo_id)
        case Action.FOLLOW:
            return lifetimes.follow_kind(user_id, picked.ids, undo_id=undo_id)
        case Action.CHANGE_KIND:
            if not kind:
                raise InvalidInputError("Choose the kind that they become.")
            return lifetimes.change_kind(user_id, picked.ids, kind=kind, now=now)
        case Action.BRING_BACK:
            return lifetimes.bring_back_expired(user_id, picked.ids, now=now, undo_id=undo_id)
        case Action.CONFIRM:
            if not picked.versions:
                raise InvalidInputError("Confirm what you have read: pick the facts on the page.")
            return lifetimes.confirm_many(user_id, picked.versions, now=now)
    raise InvalidInputError("Say what should be done.")
