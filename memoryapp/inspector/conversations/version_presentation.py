"""What lists say of a version of a summary: what it stands for, how and why it was made; and one that is being made."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Summary

# Every two seconds, for a minute: a model needs a few seconds, and a worker that is away needs people.
MOST_LOOKS: Final = 30

TRIGGERS: Final = {
    Summary.Trigger.AFTER_TURN: gettext_lazy("After a reply, in the background"),
    Summary.Trigger.BEFORE_TURN: gettext_lazy("Before a reply, because the prompt was nearly full"),
    Summary.Trigger.TOO_LONG: gettext_lazy(
        "Before a reply, because the provider said that the prompt was too long"
    ),
    Summary.Trigger.MANUAL: gettext_lazy("You asked for it"),
    Summary.Trigger.EDIT: gettext_lazy("You edited it"),
    Summary.Trigger.REBUILD: gettext_lazy("What it was made from was changed or deleted"),
}
# Why the model's summary was not used: said after "Without the model:".
REASONS: Final = {
    "daily_budget_spent": gettext_lazy("the day’s budget was spent"),
    "breaker_open": gettext_lazy(
        "its last three tries in this chat failed, so it was left alone for a while"
    ),
    "empty": gettext_lazy("it answered nothing that could be used"),
    "no_sections": gettext_lazy("its answer was not in the form asked for"),
    "too_long": gettext_lazy("its summary was longer than one may be"),
    "not_smaller": gettext_lazy("its summary was no shorter than the messages"),
    "invented": gettext_lazy("it stated a number, a name or a quotation that was never said"),
    "model_overloaded": gettext_lazy("the provider was overloaded"),
    "model_rate_limited": gettext_lazy("the provider's rate limit was reached"),
    "model_spend_limit": gettext_lazy("the provider's spending limit was reached"),
    "model_authentication": gettext_lazy("the provider did not accept the key"),
    "model_not_found": gettext_lazy("the provider does not know the model"),
    "model_context_too_long": gettext_lazy("the messages were too long for it"),
    "model_unreachable": gettext_lazy("the provider could not be reached"),
    "model_timed_out": gettext_lazy("the provider took too long"),
}
STATES: Final = {
    "in_use": gettext_lazy("In use"),
    "replaced": pgettext_lazy("a state", "Replaced"),
    "elsewhere": gettext_lazy("Of another branch"),
    "stale": gettext_lazy("Unused: made from something changed or deleted"),
}


@dataclass(frozen=True, slots=True)
class VersionRow:
    """It stands for the messages up to ``last_seq``. ``state``: a key of ``STATES``."""

    version: int
    last_seq: int
    state: str
    state_label: str
    made_by: str
    trigger: str
    tokens_before: int
    tokens_after: int
    created_at: datetime
    url: str

    @property
    def covers(self) -> str:
        if self.last_seq > 1:
            return gettext("Messages 1–{n}").format(n=self.last_seq)
        return gettext("Message 1")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A version was asked for. ``made_url`` leads to it once it is there, ``progress_url`` is where to look until then.

    Both are empty after a minute of looking.
    """

    made_url: str
    progress_url: str


def version_rows(conversation: Conversation) -> list[VersionRow]:
    """All versions, newest first."""
    found = queries.summaries(conversation.user_id, conversation.id).select_related("last_turn")
    in_use = queries.current_summary(conversation.user_id, conversation.id)
    return [version_row(summary, in_use=in_use) for summary in found]


def version_row(summary: Summary, *, in_use: Summary | None) -> VersionRow:
    """``summary`` comes with its ``last_turn``."""
    state = _state(summary, in_use=in_use)
    return VersionRow(
        version=summary.version,
        last_seq=summary.last_seq,
        state=state,
        state_label=str(STATES[state]),
        made_by=_made_by(summary),
        trigger=str(TRIGGERS[Summary.Trigger(summary.trigger)]),
        tokens_before=summary.tokens_before,
        tokens_after=summary.tokens_after,
        created_at=summary.created_at,
        url=summary_url(summary),
    )


def summary_url(summary: Summary) -> str:
    return version_url(summary.conversation_id, summary.version)


def version_url(conversation_id: UUID, version: int) -> str:
    return reverse("inspector:summary", args=[conversation_id, version])


def waiting(conversation: Conversation, newer_than: str, *, looks: int = 0) -> Waiting | None:
    """What became of a request for a new version; None when there was none.

    ``newer_than``: the newest version when it was asked for, from the address. ``looks``: how often the page looked.
    """
    if not newer_than.isascii() or not newer_than.isdigit():
        return None
    known = int(newer_than[:9])
    newest = queries.summaries(conversation.user_id, conversation.id).first()
    if newest and newest.version > known:
        return Waiting(made_url=summary_url(newest), progress_url="")
    query = urlencode({"newer_than": known, "looks": looks + 1})
    address = reverse("inspector:summary_progress", args=[conversation.id])
    return Waiting(made_url="", progress_url=f"{address}?{query}" if looks < MOST_LOOKS else "")


def fallback_text(summary: Summary) -> str:
    """Why the model's summary was not used; empty when it was, or none was asked for."""
    if not summary.fallback_reason:
        return ""
    return str(REASONS.get(summary.fallback_reason) or gettext("it failed"))


def _state(summary: Summary, *, in_use: Summary | None) -> str:
    if summary.is_stale:
        return "stale"
    if not summary.last_turn.is_current:
        return "elsewhere"
    return "in_use" if in_use and in_use.id == summary.id else "replaced"


def _made_by(summary: Summary) -> str:
    if summary.method == Summary.Method.EDITED:
        return gettext("Edited by you")
    if summary.method == Summary.Method.MODEL:
        by = gettext("By {model}").format(model=summary.model)
        return by if summary.model else gettext("By the model")
    if reason := fallback_text(summary):
        return gettext("Without the model: {reason}").format(reason=reason)
    return gettext("Without a model: the beginning of each message")
