"""Doing one thing to many facts: those that were picked on a page, or all that a filter finds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy
from uuid6 import uuid7

from memoryapp.errors import InvalidInputError
from memoryapp.inspector import undoing
from memoryapp.inspector.amounts import count_text
from memoryapp.longterm import forgettings, lifetimes, queries
from memoryapp.longterm.presentation import ends_text, last_day

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


class Action(StrEnum):
    CONFIRM = "confirm"
    EXTEND = "extend"
    KEEP = "keep"
    FOLLOW = "follow"
    CHANGE_KIND = "change_kind"
    BRING_BACK = "bring_back"
    FORGET = "forget"

    @property
    def is_rare(self) -> bool:
        """Whether it stands behind *More* where there is little room."""
        return self in {Action.KEEP, Action.FOLLOW, Action.CHANGE_KIND}

    @property
    def label(self) -> str:
        return str(_WORDS[self].label)

    @property
    def typed(self) -> str:
        """What is typed to do it to many."""
        return str(_WORDS[self].typed)

    @property
    def consequence(self) -> str:
        return str(_WORDS[self].consequence)

    @property
    def counting(self) -> str:
        """Its label with how many are picked in the place of "0"; without where that does not read well."""
        return str(_WORDS[self].counting or self.label)

    def question(self, count: int) -> str:
        return _WORDS[self].question(count).format(n=count_text(count))

    def done(self, count: int) -> str:
        return _WORDS[self].done(count).format(n=count_text(count))


@dataclass(frozen=True, slots=True)
class _Words:
    """Of an action: on the button; what is typed; what it does; the question; what is said afterwards.

    ``counting``: the label, with "0" where the number stands.
    """

    label: "StrPromise"
    typed: "StrPromise"
    consequence: "StrPromise"
    question: Callable[[int], str]
    done: Callable[[int], str]
    counting: "StrPromise | None" = None


_WORDS: Final[Mapping[Action, _Words]] = {
    Action.CONFIRM: _Words(
        gettext_lazy("Confirm"),
        pgettext_lazy("a word to type", "confirm"),
        gettext_lazy("Each is remembered as it stands here, and replaces what it does not fit."),
        lambda count: ngettext("Confirm {n} fact", "Confirm {n} facts", count),
        lambda count: ngettext("Confirmed: {n} fact.", "Confirmed: {n} facts.", count),
        gettext_lazy("Confirm 0"),
    ),
    Action.EXTEND: _Words(
        gettext_lazy("Extend"),
        pgettext_lazy("a word to type", "extend"),
        gettext_lazy(
            "Each lives its whole lifetime again, from today. What does not expire or has a date of its own stays "
            "as it is."
        ),
        lambda count: ngettext("Extend {n} fact", "Extend {n} facts", count),
        lambda count: ngettext("Extended: {n} fact.", "Extended: {n} facts.", count),
        gettext_lazy("Extend 0"),
    ),
    Action.KEEP: _Words(
        gettext_lazy("Keep for ever"),
        pgettext_lazy("a word to type", "keep"),
        gettext_lazy("None of them expires until you say so, whatever becomes of the rule of its kind."),
        lambda count: ngettext("Keep {n} fact for ever", "Keep {n} facts for ever", count),
        lambda count: ngettext("Kept for ever: {n} fact.", "Kept for ever: {n} facts.", count),
        gettext_lazy("Keep 0 for ever"),
    ),
    Action.FOLLOW: _Words(
        gettext_lazy("Follow the kind’s lifetime"),
        pgettext_lazy("a word to type", "follow"),
        gettext_lazy(
            "Each lives as long as the rule of its kind says, and no date of its own counts any more."
        ),
        lambda count: ngettext(
            "Let {n} fact live as long as their kinds say",
            "Let {n} facts live as long as their kinds say",
            count,
        ),
        lambda count: ngettext(
            "As long as their kinds say: {n} fact.", "As long as their kinds say: {n} facts.", count
        ),
    ),
    Action.CHANGE_KIND: _Words(
        gettext_lazy("Change kind"),
        pgettext_lazy("a word to type", "change"),
        gettext_lazy("Each lives as long as the new kind says. The kind before stays in the history."),
        lambda count: ngettext("Change the kind of {n} fact", "Change the kind of {n} facts", count),
        lambda count: ngettext("Another kind: {n} fact.", "Another kind: {n} facts.", count),
    ),
    Action.BRING_BACK: _Words(
        gettext_lazy("Bring back"),
        pgettext_lazy("a word to type", "back"),
        gettext_lazy("Each is in use again, and lives its whole lifetime from today."),
        lambda count: ngettext("Bring {n} fact back", "Bring {n} facts back", count),
        lambda count: ngettext("In use again: {n} fact.", "In use again: {n} facts.", count),
        gettext_lazy("Bring 0 back"),
    ),
    Action.FORGET: _Words(
        gettext_lazy("Forget"),
        pgettext_lazy("a word to type", "forget"),
        gettext_lazy("They go from every page, answer and export at once, with what they replaced."),
        lambda count: ngettext("Forget {n} fact", "Forget {n} facts", count),
        lambda count: ngettext("Forgotten: {n} fact.", "Forgotten: {n} facts.", count),
        gettext_lazy("Forget 0"),
    ),
}


@dataclass(frozen=True, slots=True)
class Picked:
    """Facts by id. ``versions``: as the person read them; empty for all that a filter finds."""

    ids: Sequence[UUID]
    versions: Mapping[UUID, int]


def do(
    request: HttpRequest, user_id: UUID, action: Action, picked: Picked, *, kind: str, now: datetime
) -> None:
    """Does it, and has the next page say so. Raises InvalidInputError, StaleVersionError."""
    if action == Action.FORGET:
        forgotten = forgettings.forget(user_id, picked.ids, now=now)
        undoing.offer_forgetting(request, forgotten, text=action.done(forgotten.memories_count))
        return
    undo_id, over_before = uuid7(), _expired_count(user_id, picked.ids)
    ends = lifetimes.extended_ends(user_id, picked.ids, now=now).values() if action == Action.EXTEND else ()
    changed = _changed(user_id, action, picked, kind=kind, now=now, undo_id=undo_id)
    text = action.done(changed)
    if action == Action.EXTEND:
        text = _extended(user_id, picked.ids, changed, ends)
    elif action == Action.FOLLOW:
        text = f"{text} {_over(_expired_count(user_id, picked.ids) - over_before, changed)}".strip()
    undoing.offer_lifetimes(request, user_id, undo_id, text=text, changed=changed)


def _extended(user_id: UUID, ids: Sequence[UUID], changed: int, ends: Collection[datetime]) -> str:
    """How many live longer now, and until when, and what of the others."""
    left = lifetimes.left_as_they_were(user_id, ids, extended=changed)
    others = (
        (
            left.for_ever,
            ngettext("{n} fact does not expire.", "{n} facts do not expire.", left.for_ever),
        ),
        (left.dated, ngettext("{n} fact keeps its own date.", "{n} facts keep their own dates.", left.dated)),
        (
            left.full,
            ngettext(
                "{n} fact already has its full lifetime.",
                "{n} facts already have their full lifetime.",
                left.full,
            ),
        ),
        (left.unused, ngettext("{n} fact is not in use.", "{n} facts are not in use.", left.unused)),
    )
    said = [text.format(n=count_text(count)) for count, text in others if count]
    if not changed:
        can_be_dated = bool(left.full or left.dated)
        return " ".join([*said, _none_extended(len(ids), can_be_dated=can_be_dated)])
    return " ".join([Action.EXTEND.done(changed), _until(changed, ends), *said]).strip()


def _none_extended(count: int, *, can_be_dated: bool) -> str:
    said = ngettext("It was not extended.", "None of them was extended.", count)
    return f"{said} {gettext('For longer, set a date on its page.')}" if can_be_dated else said


def _until(changed: int, ends: Collection[datetime]) -> str:
    """When those expire that were extended. ``ends``: as they were foreseen."""
    if not ends:
        return ""
    if changed == 1:
        return ends_text(min(ends))
    first, last = (date_format(last_day(moment), gettext("j F Y")) for moment in (min(ends), max(ends)))
    if first == last:
        return gettext("They expire at the end of {day}.").format(day=last)
    return gettext("They expire between {first} and {last}.").format(first=first, last=last)


def _expired_count(user_id: UUID, ids: Sequence[UUID]) -> int:
    return queries.memories(user_id, status="expired").filter(id__in=ids).count()


def _over(expired: int, changed: int) -> str:
    if not expired:
        return ""
    if expired == changed == 1:
        return gettext("It has expired by that.")
    text = ngettext("{n} of them has expired by that.", "{n} of them have expired by that.", expired)
    return text.format(n=count_text(expired))


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
            return lifetimes.change_kind(user_id, picked.ids, kind=kind, now=now, undo_id=undo_id)
        case Action.BRING_BACK:
            return lifetimes.bring_back_expired(user_id, picked.ids, now=now, undo_id=undo_id)
        case Action.CONFIRM:
            if not picked.versions:
                raise InvalidInputError(gettext("Confirm what you have read: pick the facts on the page."))
            return lifetimes.confirm_many(user_id, picked.versions, now=now)
    raise InvalidInputError(gettext("Say what should be done."))
