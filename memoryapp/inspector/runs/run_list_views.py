"""The list of the runs on record: narrowed, sorted, live where they go on; kept longer and deleted, many at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.accounts.auth import PageRequest
from memoryapp.errors import NotFoundError
from memoryapp.inspector import typed_word
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import midnight, next_page, one_of, uuid_of, uuid_or_none, words
from memoryapp.inspector.runs import run_heads as show
from memoryapp.inspector.typed_word import AT_MOST, TYPED_ABOVE, is_typed, mark
from memoryapp.inspector.views import next_url, render_page
from memoryapp.longterm import queries as longterm
from memoryapp.scratchpad import listing, records, timeline
from memoryapp.scratchpad.listing import Narrowed
from memoryapp.scratchpad.models import Run
from memoryapp.scratchpad.records import Keeping
from memoryapp.transcript import queries as transcript

PAGE: Final = 30  # each comes with a drawing of its steps
WORD: Final = pgettext_lazy("a word to type", "delete")
FILTERS: Final = ("q", "status", "conversation", "tool", "failed", "since", "until", "sort")
SORTS: Final = {
    "": gettext_lazy("Newest first"),
    "longest": gettext_lazy("Longest first"),
    "steps": gettext_lazy("Most steps"),
    "tokens": gettext_lazy("Most tokens"),
}
STATUSES: Final = {**show.STATUSES, "approval": gettext_lazy("Waiting for your approval")}


@dataclass(frozen=True, slots=True)
class _Picked:
    """What a form is about. ``conversation_id``: all records of it, else those that were ticked."""

    ids: Sequence[UUID]
    conversation_id: UUID | None


@login_required
@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    user_id = subject(request)
    filters = {name: words(request.GET, name) for name in FILTERS}
    page, next_cursor = rest.page(
        listing.runs(user_id, _narrowed(filters)),
        order=listing.ORDERS.get(filters["sort"], listing.ORDERS[""]),
        cursor=request.GET.get("after", ""),
        limit=PAGE,
    )
    kept_days = longterm.run_record_days()
    context = {
        "runs": _rows(user_id, page, kept_days=kept_days),
        "statuses": STATUSES,
        "sorts": SORTS,
        "tools": listing.tools_used(user_id),
        "filters": filters,
        "is_narrowed": any(value for name, value in filters.items() if name != "sort"),
        "more_count": sum(bool(filters[name]) for name in ("tool", "failed", "since", "until")),
        "here": reverse("inspector:runs") + ("?" + urlencode(_set(filters)) if _set(filters) else ""),
        "without_conversation": reverse("inspector:runs")
        + "?"
        + urlencode(_set(filters | {"conversation": ""})),
        "kept_days": kept_days,
        "next_url": next_url(filters, next_cursor),
        **_conversation(user_id, filters["conversation"]),
    }
    return render_page(request, "runs", context)


@login_required
@require_GET
@never_cache
def row(request: PageRequest, run_id: UUID) -> HttpResponse:
    """A row of the list that watches its run: as it stands, or 204 when it is what is shown (``?seen=``)."""
    user_id = subject(request)
    try:
        found = timeline.recorded_run(user_id, run_id)
    except NotFoundError:
        if request.htmx:
            return render(request, "inspector/runs.html#gone", status=404)
        raise
    if not request.htmx:
        return redirect("inspector:run", run_id)
    (shown,) = _rows(user_id, [found], kept_days=longterm.run_record_days())
    if request.GET.get("seen") == shown.seen:
        return HttpResponse(status=204)
    return render(request, "inspector/runs.html#what", {"run": shown})


@login_required
@require_POST
def picked(request: HttpRequest) -> HttpResponse:
    """Keep or delete the records that were ticked, or delete all of a conversation; many after a typed word."""
    user_id = subject(request)
    back = next_page(request.POST) or reverse("inspector:runs")
    wanted = one_of({"delete", Keeping.LONGER}, request.POST.get("action", ""))
    asked = _picked(user_id, request.POST.getlist("run"), request.POST.get("conversation", ""))
    if not asked.ids:
        is_ticked = asked.conversation_id is None
        messages.error(request, gettext("Pick the runs first.") if is_ticked else gettext("None is left."))
        return redirect(back)
    if wanted == Keeping.LONGER:
        _keep(request, user_id, asked.ids)
        return redirect(back)
    if len(asked.ids) > TYPED_ABOVE and not is_typed(request.POST, asked.ids, word=str(WORD)):
        return _confirmation(request, asked, back=back)
    _delete(request, user_id, asked.ids)
    return redirect(back)


def _keep(request: HttpRequest, user_id: UUID, ids: Collection[UUID]) -> None:
    rule_days, now = longterm.run_record_days(), timezone.now()
    kept = records.keep(user_id, ids, Keeping.LONGER, rule_days=rule_days, now=now)
    said = ngettext("{n} record kept for 7 days more.", "{n} records kept for 7 days more.", kept)
    messages.success(request, said.format(n=count_text(kept)))


def _delete(request: HttpRequest, user_id: UUID, ids: Collection[UUID]) -> None:
    deleted = records.delete(user_id, ids)
    said = [_deleted_text(deleted)]
    if left := len(ids) - deleted:
        stay = ngettext(
            "{n} still runs and stays, or went before.", "{n} still run and stay, or went before.", left
        )
        said.append(stay.format(n=count_text(left)))
    messages.success(request, " ".join(said))


def _deleted_text(deleted: int) -> str:
    if not deleted:
        return gettext("Nothing was deleted.")
    said = ngettext("{n} record deleted for good.", "{n} records deleted for good.", deleted)
    return said.format(n=count_text(deleted))


def _confirmation(request: HttpRequest, asked: _Picked, *, back: str) -> HttpResponse:
    problem = typed_word.problem(request.POST, asked.ids, word=str(WORD))
    context = {
        "shown": mark(asked.ids),
        "count": len(asked.ids),
        "ids": [] if asked.conversation_id else asked.ids,
        "conversation_id": asked.conversation_id,
        "word": WORD,
        "back": back,
        "problem": problem,
    }
    return render_page(request, "runs_delete", context, status=422 if problem else 200)


def _picked(user_id: UUID, ids: Sequence[str], conversation: str) -> _Picked:
    """Raises InvalidInputError."""
    if conversation:
        conversation_id = uuid_of(conversation)
        return _Picked(listing.ended_of_conversation(user_id, conversation_id)[:AT_MOST], conversation_id)
    return _Picked(list(filter(None, map(uuid_or_none, ids[:AT_MOST]))), None)


def _rows(user_id: UUID, page: Sequence[Run], *, kept_days: int | None) -> list[show.RunRow]:
    outlines = timeline.step_outlines(user_id, [run.id for run in page])
    return [show.run_row(run, outlines.get(run.id, ()), kept_days=kept_days) for run in page]


def _conversation(user_id: UUID, wanted: str) -> dict[str, Any]:
    """Of the list of one conversation, when it is the person's: its name, and how many records can be deleted."""
    conversation_id = uuid_or_none(wanted)
    if conversation_id is None:
        return {"conversation": None}
    try:
        found = transcript.get_conversation(user_id, conversation_id)
    except NotFoundError:
        return {"conversation": None}
    return {"conversation": found, "deletable": len(listing.ended_of_conversation(user_id, conversation_id))}


def _narrowed(filters: dict[str, str]) -> Narrowed:
    """A conversation that is none of theirs, or nonsense, finds nothing; a day that is none does not narrow."""
    conversation_id = uuid_or_none(filters["conversation"])
    return Narrowed(
        text=filters["q"],
        status="none" if filters["conversation"] and not conversation_id else filters["status"],
        conversation_id=conversation_id,
        since=midnight(filters["since"]),
        until=midnight(filters["until"], days_later=1),
        tool=filters["tool"],
        has_failed_call=bool(filters["failed"]),
    )


def _set(filters: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in filters.items() if value}
