"""The policies: rules of kinds, for everyone to read, and for staff to change after a look at what that does."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memoryapp import rest
from memoryapp.accounts.auth import caller
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.inspector import undoing
from memoryapp.inspector.administration import kind_history_presentation as told
from memoryapp.inspector.administration import kind_presentation as show
from memoryapp.inspector.administration.access import for_staff
from memoryapp.inspector.administration.kind_forms import ChangeForm, NewKindForm, focus_problem
from memoryapp.longterm import kind_changes, kind_effects, kinds, queries
from memoryapp.longterm.kind_changes import KindChangedError, Rule
from memoryapp.longterm.kind_effects import Held
from memoryapp.longterm.models import Kind, KindChange
from memoryapp.scratchpad import record_ages

PAGE = 30
LATEST = 5  # changes on the page of a kind
LOOKED_AT = "policies.kind"  # the salt of what a preview was of


@login_required
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """Every kind, its rule and the reason for it; with how much there is of it, one's own or everybody's."""
    person = caller(request)
    held = kind_effects.held(None if person.is_staff else person.id)
    coming = {change.kind_id: change for change in kind_changes.to_come()}
    rows = [
        show.Row(kind, _held(kind, held, None if person.is_staff else person.id), coming.get(kind.id))
        for kind in queries.kinds()
    ]
    return render(request, "policies/kinds.html", {"rows": rows})


@for_staff
@require_http_methods(["GET", "POST"])
def kind(request: HttpRequest, slug: str) -> HttpResponse:
    """Another rule. What it does is shown first, and done by the second button alone."""
    found = kinds.get_kind(slug)
    if request.method == "GET":
        return _kind(request, found, ChangeForm(kind=found))
    form = ChangeForm(request.POST, kind=found)
    if not form.is_valid():
        focus_problem(form)
        return _kind(request, found, form, status=InvalidInputError.http_status)
    applies_at = form.applies_at()
    values = form.values()
    seen = _seen(request.POST.get("seen", ""))
    try:
        after = kind_changes.changed(slug, values)
        if applies_at is not None:
            kind_changes.require_ahead(applies_at, now=timezone.now())
        # What was shown is what is done: the very values, of the very rule.
        draft = _draft(values, applies_at, seen)
        looked_at = _looked_at(request.POST.get("apply", ""))
        if looked_at != draft:
            warning = show.not_changed(looked_at, draft) if "apply" in request.POST else ""
            return _kind(request, found, form, after=after, warning=warning)
        made = kind_changes.change(
            slug,
            values,
            changed_by=caller(request).id,
            now=timezone.now(),
            seen=seen,
            applies_at=applies_at,
        )
    except KindChangedError as error:
        return _kind(request, kinds.get_kind(slug), form, clash=error, status=error.http_status)
    except MemoryAppError as error:
        return _kind(request, found, form, problem=str(error), status=error.http_status)
    if made is not None:
        _tell(request, made)
    return redirect("policies:kind", slug=slug)


@for_staff
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    form = NewKindForm(request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return render(request, "policies/kind_add.html", {"form": form})
    if form.is_valid():
        try:
            made = kinds.add(**form.values())
        except InvalidInputError as error:
            form.add_error(None, str(error))
        else:
            said = gettext("Added: {kind}. What is remembered can be of this kind from now on.")
            messages.success(request, said.format(kind=made.label))
            return redirect("policies:kinds")
    focus_problem(form)
    return render(request, "policies/kind_add.html", {"form": form}, status=InvalidInputError.http_status)


@for_staff
@require_POST
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    label = gettext(kinds.get_kind(slug).label)
    try:
        kinds.delete(slug)
    except MemoryAppError as error:
        messages.error(request, str(error))
        return redirect("policies:kind", slug=slug)
    messages.success(request, gettext("Deleted: {kind}.").format(kind=label))
    return redirect("policies:kinds")


@for_staff
@require_GET
def history(request: HttpRequest) -> HttpResponse:
    """Every change of every kind, or of one (``?kind=``), newest first."""
    slug = request.GET.get("kind", "")
    of_kind = kinds.get_kind(slug) if slug else None
    cursor = request.GET.get("after", "")
    page, next_cursor = rest.page(
        kind_changes.history(of_kind), order=("-created_at", "-id"), cursor=cursor, limit=PAGE
    )
    undoable = kind_changes.undoable(of_kind)
    context = {
        "changes": [told.past(change, undoable=undoable) for change in page],
        "with_undo": True,
        "kind": of_kind,
        "all_kinds": queries.kinds(),
        "next_cursor": next_cursor,
        "is_continued": bool(cursor),
    }
    return render(request, "policies/kind_history.html", context)


@for_staff
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    """Withdraw a change to come, or undo one that was made."""
    change = kind_changes.get_change(change_id)
    try:
        undone = kind_changes.undo(change_id, by=caller(request).id, now=timezone.now())
    except MemoryAppError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _undone(undone))
    return redirect("policies:kind", slug=change.kind.slug)


def _undone(change: KindChange) -> str:
    """What is said of a change that is none any more."""
    if change.applied_at:
        said = gettext("Undone: the change of {kind}.")
    else:
        said = gettext("Withdrawn: the change of {kind}.")
    said = said.format(kind=gettext(change.kind.label))
    if change.undo_hidden_rows and change.undone_at:
        until = kind_changes.kept_until(change.undone_at)
        said = f"{said} {_hidden(change.undo_hidden_rows, change.kind, until)}"
    if not change.deleted_rows:
        return said
    gone = gettext("Gone for good: {rows}.").format(rows=show.counted(change.deleted_rows, change.kind))
    return f"{said} {gone}"


def _hidden(rows: int, kind: Kind, until: datetime) -> str:
    said = gettext("{rows} hidden: until {moment} all of it can come back.")
    return said.format(rows=show.counted(rows, kind), moment=_day(until, gettext("j M, H:i")))


def _kind(
    request: HttpRequest,
    found: Kind,
    form: ChangeForm,
    *,
    after: Kind | None = None,
    warning: str = "",
    clash: KindChangedError | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    changes = list(kind_changes.history(found)[: LATEST + 1])
    undoable = kind_changes.undoable(found)
    shown = [told.past(change, undoable=undoable) for change in changes[:LATEST]]
    present = kind_changes.rule(found)
    held = _held(found, kind_effects.held(kind_id=found.id), None)
    context = {
        "kind": found,
        "form": form,
        "held": held,
        "held_words": show.held_words(held, found),
        "kept_for": show.value_words("ttl_days", found.ttl_days),
        "is_needed": found.subject != Kind.Subject.STATEMENT,
        "form_error": problem,
        "seen": json.dumps(present),
        "clash": _clash(clash, form) if clash else [],
        "clash_by": changes[0] if clash and changes else None,
        "to_come": [row for row in shown if row.is_to_come],
        "changes": [row for row in shown if not row.is_to_come],
        "has_more": len(changes) > LATEST,
        "undoing": next((told.undoing(change) for change in undoable if change.applied_at), None),
    }
    if after is not None:
        applies_at = form.applies_at()
        effects = show.effects(found, after, reader_id=caller(request).id, now=now, applies_at=applies_at)
        context |= {
            "effects": effects,
            "button": show.change_button(found, effects.goes_first, applies_at=applies_at),
            "applies_at": applies_at,
            "warning": warning,
            "token": signing.dumps(_draft(form.values(), applies_at, present), salt=LOOKED_AT),
        }
    return render(request, "policies/kind.html", context, status=status)


def _held(kind: Kind, held: Mapping[int, Held], user_id: UUID | None) -> Held:
    """Records of runs are the scratchpad's to count."""
    if kind.subject != Kind.Subject.RUN:
        return held.get(kind.id, Held())
    return Held(rows=record_ages.count(user_id))


def _clash(error: KindChangedError, form: ChangeForm) -> list[show.Difference]:
    """What was seen, what is, and what was wanted, of the fields that somebody else changed."""
    wanted = form.values()
    before, present = cast("Rule", error.details["seen"]), cast("Rule", error.details["present"])
    return [
        show.Difference(
            gettext(show.NAMES[field]),
            show.value_words(field, value),
            show.value_words(field, present[field]),
            show.value_words(field, wanted[field]) if field in wanted else "",
        )
        for field, value in before.items()
    ]


def _seen(written: str) -> dict[str, Any]:
    """The rule that the form was made of; it comes back as it was sent, or the form is looked at anew."""
    try:
        values = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    fields = values if isinstance(values, dict) else {}
    return {
        field: value
        for field, value in fields.items()
        if field in kind_changes.FIELDS and kind_changes.is_possible(field, value)
    }


def _draft(values: Mapping[str, Any], applies_at: datetime | None, seen: Mapping[str, Any]) -> dict[str, Any]:
    """What is looked at before it is done: the values, from when on, and instead of which rule."""
    return {
        "values": dict(values),
        "applies_at": applies_at.isoformat() if applies_at else None,
        "seen": dict(seen),
    }


def _looked_at(token: str) -> dict[str, Any]:
    """The draft of the preview; empty where there was none."""
    try:
        draft: dict[str, Any] = signing.loads(token, salt=LOOKED_AT)
    except signing.BadSignature:
        return {}
    return draft


def _tell(request: HttpRequest, made: KindChange) -> None:
    url = reverse("policies:change_undo", args=[made.id])
    if made.applied_at is None:
        undoing.offer(request, text=_made(made), url=url, until=None, label=gettext("Withdraw"))
    else:
        undoing.offer(request, text=_made(made), url=url, until=None)


def _made(change: KindChange) -> str:
    """What is said of a change that was just decided."""
    kind = gettext(change.kind.label)
    if change.applied_at is None:
        return gettext("{kind} changes on {day}.").format(
            kind=kind, day=_day(change.applies_at, gettext("j F Y"))
        )
    until = kind_changes.undo_until(change)
    if change.kind.subject == Kind.Subject.RUN and "ttl_days" in change.after and until:
        said = gettext("Changed: {kind}. Old records that it ends are deleted from {moment} on.")
        return said.format(kind=kind, moment=_day(until, gettext("j M, H:i")))
    said = gettext("Changed: {kind}. It holds from now on, for old memories too.").format(kind=kind)
    if not change.hidden_rows or not until:
        return said
    return f"{said} {_hidden(change.hidden_rows, change.kind, until)}"


def _day(moment: datetime, form: str) -> str:
    return date_format(timezone.localtime(moment), form)
