"""One fact: to read, correct, settle, keep, let go and forget."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET, require_POST
from uuid6 import uuid7

from memoryapp.accounts.auth import PageRequest, caller_id
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError, StaleVersionError
from memoryapp.inspector import undoing
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.facts import fact_presentation as show
from memoryapp.inspector.facts import settling
from memoryapp.inspector.facts.waiting_views import decided
from memoryapp.inspector.posted import day_or_none, next_page, one_of, version_of, whole_number
from memoryapp.inspector.presentation import fact_url
from memoryapp.inspector.views import render_page
from memoryapp.longterm import forgettings, lifetimes, operations, queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory
from memoryapp.longterm.presentation import BROUGHT_BACK, ends_text
from memoryapp.policies.feedback import Verdict
from memoryapp.tuning.queries import conf

FORGOTTEN = gettext_lazy("Forgotten.")
STAYS = gettext_lazy("What was said stays in its conversation, and in the summaries of that.")
SET_ASIDE = gettext_lazy("Set aside as wrong: nothing uses it any more.")
AFFIRMED = gettext_lazy("Confirmed: it is surer now, and its lifetime starts again today.")
MEANWHILE = gettext_lazy("It was changed meanwhile. Read it again before you decide.")


class Span(StrEnum):
    """What a person can do to how long a fact lives."""

    EXTEND = "extend"
    AFFIRM = "affirm"
    KEEP = "keep"
    FOLLOW = "follow"
    ON_DATE = "on_date"
    BRING_BACK = "bring_back"


SAID = {
    Span.AFFIRM: gettext_lazy("Noted: it is still true."),
    Span.KEEP: gettext_lazy("Kept for ever, until you say otherwise."),
    Span.FOLLOW: gettext_lazy("It lives as long as its kind says."),
    Span.BRING_BACK: gettext_lazy("In use again, for its whole lifetime from today."),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person wrote that is not kept yet. ``is_stale``: it was changed elsewhere meanwhile."""

    statement: str
    kind: str
    key: str
    sure: str
    is_stale: bool = False

    @property
    def is_emptied(self) -> bool:
        return not self.statement.strip()

    def changes_more(self, memory: Memory) -> bool:
        """Its key or how sure it is, which the form shows only when it is asked to."""
        return self.key != memory.key or self.sure not in {"", str(round(memory.confidence * 100))}


@login_required
@require_GET
def fact(request: PageRequest, memory_id: UUID) -> HttpResponse:
    try:
        memory = queries.get_memory(subject(request), memory_id)
    except NotFoundError:
        return _no_fact(request, memory_id)
    if request.htmx and not request.htmx.boosted:
        context = _context(request, memory, is_editing="edit" in request.GET)
        return render(request, "inspector/_fact_head.html", context)
    return _fact(request, memory, is_editing="edit" in request.GET)


@login_required
@require_POST
def fact_edit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    user_id, values = subject(request), request.POST
    draft = Draft(
        values.get("statement", ""),
        values.get("kind", ""),
        values.get("key", "").strip(),
        values.get("sure", ""),
    )
    try:
        before = queries.get_memory(user_id, memory_id)
        edited = operations.edit(
            user_id,
            memory_id,
            version=version_of(request),
            now=timezone.now(),
            statement=draft.statement,
            kind=draft.kind or None,
            key=draft.key if "key" in values and draft.key != before.key else None,
            confidence=_confidence(draft.sure, before),
        )
    except StaleVersionError:
        stale = Draft(draft.statement, draft.kind, draft.key, draft.sure, is_stale=True)
        return _fact(request, queries.get_memory(user_id, memory_id), draft=stale, status=409)
    except (InvalidInputError, operations.KindRefusedError) as error:
        memory = queries.get_memory(user_id, memory_id)
        return _fact(request, memory, problem=str(error), draft=draft, status=error.http_status)
    undoing.offer(
        request,
        text=gettext("Saved. The version before is in the history."),
        url=reverse("inspector:fact_back", args=[memory_id]),
        until=None,
        fields={"version": str(edited.version), "to": str(before.version)},
        label=gettext("Back to version {n}").format(n=before.version),
    )
    return redirect("inspector:fact", memory_id)


@login_required
@require_POST
def fact_back(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """The words, kind, key and confidence of an earlier version, as a new one."""

    def go_back(user_id: UUID, version: int) -> str:
        wanted = queries.versions(queries.get_memory(user_id, memory_id)).filter(
            version=whole_number(request.POST.get("to", ""))
        )
        former = wanted.first()
        if former is None:
            raise InvalidInputError(gettext("There is no such version."))
        operations.edit(
            user_id,
            memory_id,
            version=version,
            now=timezone.now(),
            statement=former.statement,
            kind=former.kind_slug,
            key=former.key,
            confidence=former.confidence,
        )
        return gettext("It says again what version {n} said.").format(n=former.version)

    return _done(request, memory_id, go_back)


@login_required
@require_POST
def fact_settle(request: PageRequest, memory_id: UUID) -> HttpResponse:
    """The person's word on what waits for it, as it stood on the page they looked at."""
    user_id = subject(request)
    try:
        settled = settling.settle(
            user_id,
            memory_id,
            request.POST.get("answer", ""),
            version=version_of(request),
            rival=request.POST.get("rival", ""),
            now=timezone.now(),
        )
    except (StaleVersionError, InvalidInputError) as error:
        return _refused(request, memory_id, error)
    way_back = settling.way_back(settled, memory_id)
    if request.htmx:
        return decided(request, memory_id, settled, way_back)
    undoing.put(request, way_back)
    shown_url = fact_url(settled.shown) if settled.shown else reverse("inspector:facts")
    return HttpResponseRedirect(next_page(request.POST) or shown_url)


@login_required
@require_POST
def fact_bring_back(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """What its person set aside as wrong, or what was replaced, is right after all."""

    def bring_back(user_id: UUID, version: int) -> str:
        give_feedback(user_id, memory_id, Verdict.CONFIRMED, version=version, now=timezone.now())
        return str(BROUGHT_BACK)

    return _done(request, memory_id, bring_back)


@login_required
@require_POST
def fact_word(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Whether it is right. What is wrong is set aside, and comes back by the opposite word."""
    user_id, said = subject(request), request.POST.get("said", "")
    try:
        verdict = Verdict(one_of({Verdict.CONFIRMED, Verdict.WRONG}, said))
        memory = give_feedback(user_id, memory_id, verdict, version=version_of(request), now=timezone.now())
    except (StaleVersionError, InvalidInputError) as error:
        return _refused(request, memory_id, error)
    if verdict == Verdict.WRONG:
        back = reverse("inspector:fact_bring_back", args=[memory_id])
        fields = {"version": str(memory.version)}
        undoing.offer(request, text=str(SET_ASIDE), url=back, until=None, fields=fields)
    else:
        undoing.tell(request, str(AFFIRMED))
    return redirect("inspector:fact", memory_id)


@login_required
@require_POST
def fact_lifetime(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    user_id = subject(request)
    memory = queries.get_memory(user_id, memory_id)
    try:
        span = Span(one_of(set(Span), request.POST.get("span", "")))
        undo_id = uuid7()
        changed = _live(user_id, memory_id, span, day=request.POST.get("day", ""), undo_id=undo_id)
    except (StaleVersionError, InvalidInputError) as error:
        return _refused(request, memory_id, error)
    said = _lives(queries.get_memory(user_id, memory_id), span, changed=changed, now=timezone.now())
    undoing.offer_lifetimes(request, user_id, undo_id, text=said, changed=changed)
    return HttpResponseRedirect(next_page(request.POST) or fact_url(memory))


@login_required
@require_POST
def fact_delete(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """The next page offers to undo it."""
    forgotten = forgettings.forget(subject(request), [memory_id], now=timezone.now())
    undoing.offer_forgetting(request, forgotten, text=str(FORGOTTEN), more=str(STAYS))
    back = next_page(request.POST) or next_page(request.GET)
    return HttpResponseRedirect(back or reverse("inspector:facts"))


def _live(user_id: UUID, memory_id: UUID, span: Span, *, day: str, undo_id: UUID) -> int:
    """How many it changed. Raises InvalidInputError for a day that cannot be its last."""
    ids, now = [memory_id], timezone.now()
    match span:
        case Span.EXTEND:
            return lifetimes.extend(user_id, ids, now=now, undo_id=undo_id)
        case Span.AFFIRM:
            return lifetimes.affirm(user_id, ids, now=now, undo_id=undo_id)
        case Span.KEEP:
            return lifetimes.keep(user_id, ids, undo_id=undo_id)
        case Span.FOLLOW:
            return lifetimes.follow_kind(user_id, ids, undo_id=undo_id)
        case Span.BRING_BACK:
            return lifetimes.bring_back_expired(user_id, ids, now=now, undo_id=undo_id)
        case Span.ON_DATE:
            return lifetimes.end_at(user_id, ids, at=_last_day(day), undo_id=undo_id)


def _fades_at(memory: Memory) -> datetime | None:
    fades_at: datetime | None = getattr(memory, "fades_at", None)
    return fades_at


def _lives(memory: Memory, span: Span, *, changed: int, now: datetime) -> str:
    """What is true of its lifetime after that."""
    fades_at = _fades_at(memory)
    is_over = fades_at is not None and fades_at <= now
    if span == Span.EXTEND:
        return _extended(memory, changed=changed, now=now)
    if not changed:
        if is_over:
            return gettext("It has expired: bring it back first.")
        return gettext("Nothing changed: it was so already.")
    if span == Span.FOLLOW and is_over:
        return gettext("It lives as long as its kind says, which is over: it has just expired.")
    return ends_text(fades_at) if fades_at and span == Span.ON_DATE else str(SAID[span])


def _extended(memory: Memory, *, changed: int, now: datetime) -> str:
    fades_at = _fades_at(memory)
    if fades_at is None:
        return gettext("It does not expire: there is nothing to extend.")
    if fades_at <= now:
        return gettext("It has expired: bring it back instead.")
    if memory.expires_at:
        said = gettext("Its own date stays.")
    elif changed:
        said = gettext("Extended.")
    else:
        said = gettext("It already has its full lifetime: it was not extended.")
    return f"{said} {ends_text(fades_at)}"


def _last_day(value: str) -> date:
    """Raises InvalidInputError."""
    day = day_or_none(value)
    if day is None:
        raise InvalidInputError(gettext("Choose the last day on which it is remembered."))
    return day


def _confidence(sure: str, before: Memory) -> float | None:
    """As given in percent; None where it is as it was, or not given. Raises InvalidInputError."""
    if not sure.strip() or sure.strip() == str(round(before.confidence * 100)):
        return None
    if whole_number(sure.strip()) > 100:
        raise InvalidInputError(gettext("How sure: 0 to 100 %."))
    return int(sure) / 100


def _done(request: HttpRequest, memory_id: UUID, act: Callable[[UUID, int], str]) -> HttpResponse:
    """``act`` gets the person and the version they read, and returns what is said afterwards."""
    try:
        said = act(subject(request), version_of(request))
    except (StaleVersionError, InvalidInputError, operations.KindRefusedError) as error:
        return _refused(request, memory_id, error)
    undoing.tell(request, said)
    return redirect("inspector:fact", memory_id)


def _refused(request: HttpRequest, memory_id: UUID, error: MemoryAppError) -> HttpResponse:
    """The page as it is now, with why nothing was done."""
    memory = queries.get_memory(subject(request), memory_id)
    if isinstance(error, StaleVersionError):
        return _fact(request, memory, problem=str(MEANWHILE), status=409)
    return _fact(request, memory, problem=str(error), status=error.http_status)


def _fact(
    request: HttpRequest,
    memory: Memory,
    *,
    problem: str = "",
    draft: Draft | None = None,
    is_editing: bool = False,
    status: int = 200,
) -> HttpResponse:
    is_editing = is_editing or draft is not None
    context = _context(request, memory, problem=problem, draft=draft, is_editing=is_editing)
    return render_page(request, "fact", context, status=status)


def _context(
    request: HttpRequest,
    memory: Memory,
    *,
    problem: str = "",
    draft: Draft | None = None,
    is_editing: bool = False,
) -> dict[str, object]:
    ends = lifetimes.extended_ends(memory.user_id, [memory.id], now=timezone.now())
    is_own = memory.user_id == caller_id(request)
    return {
        "memory": show.memory_page(memory, extended_at=ends.get(memory.id), is_own=is_own),
        "kinds": list(queries.statement_kinds()),
        "form_error": problem,
        "draft": draft,
        "is_editing": is_editing,
        "is_more_open": draft is not None and (draft.is_stale or draft.changes_more(memory)),
        "today": timezone.localdate(),
        "undo_minutes": conf().undo_minutes,
        "way_back": undoing.of_memory(request, memory, now=timezone.now()),
    }


def _no_fact(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    context = {
        "message": gettext("There is no such memory. It may have been forgotten, or have expired."),
        "action_url": reverse("inspector:facts"),
        "action_label": gettext("All facts"),
    }
    if forgettings.hiding(subject(request), [memory_id]).exists():
        context = {
            "message": gettext("This memory is forgotten. That can still be undone."),
            "action_url": reverse("inspector:activity"),
            "action_label": gettext("See what can be undone"),
        }
    return render(request, "errors/404.html", context, status=404)
