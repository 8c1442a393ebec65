"""What admins set for all three memories: lifetimes, limits, models and budgets, with a look at what it takes first."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memoryapp import rest
from memoryapp.accounts.auth import caller
from memoryapp.accounts.models import User
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.inspector import undoing
from memoryapp.inspector.administration import tier_presentation as show
from memoryapp.inspector.administration.access import for_staff
from memoryapp.inspector.administration.refusals import reason_problem
from memoryapp.inspector.posted import uuid_or_none
from memoryapp.longterm import operations as longterm_operations
from memoryapp.longterm import queries as longterm
from memoryapp.policies.reasons import ReasonMissingError
from memoryapp.transcript import ending
from memoryapp.tuning import operations, queries
from memoryapp.tuning.knobs import TUNABLE, Value, parse
from memoryapp.tuning.models import SettingChange

PAGE = 30
NEWEST = 3  # beside the form; all of them are a page away

# What conversations end by: nobody sets these without having seen how many.
TAKES_ROWS = {"transcript_retention_days", "temporary_hours"}


@for_staff
@require_http_methods(["GET", "POST"])
def tiers(request: HttpRequest) -> HttpResponse:
    """The form. What would end conversations or delete what has expired is shown first, and done by a second button."""
    if request.method == "GET" or "edit" in request.POST:
        return _form(request)
    try:
        return _save(request, by=caller(request))
    except operations.SettingsRefusedError as error:
        return _form(request, problems=error.problems, status=error.http_status)
    except ReasonMissingError as error:
        return _form(request, reason_problem=reason_problem(error), status=error.http_status)
    except InvalidInputError as error:
        return _form(request, problem=str(error), status=error.http_status)


@for_staff
@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Take back one change, whole. What that would end is shown first, too."""
    change_id = uuid_or_none(request.POST.get("change", ""))
    if change_id is None:
        return redirect("policies:tiers")
    try:
        values = operations.values_before(change_id)
        if _is_to_be_seen(request, values):
            return _review(request, values, action=reverse("policies:tiers_undo"), change_id=change_id)
        operations.undo(change_id, by=caller(request), now=timezone.now())
    except MemoryAppError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, gettext("Undone. What was set before holds again."))
    return redirect("policies:tiers")


@for_staff
@require_GET
def history(request: HttpRequest) -> HttpResponse:
    found, next_cursor = rest.page(
        queries.changes(), order=("-changed_at", "-id"), cursor=request.GET.get("after", ""), limit=PAGE
    )
    context = {"changes": list(show.change_rows(found)), "next_cursor": next_cursor}
    return render(request, "policies/tiers_history.html", context)


def _save(request: HttpRequest, *, by: User) -> HttpResponse:
    """Raises what ``operations.change`` raises."""
    values, seen = _read(request.POST)
    changed = operations.check(values, seen=seen)
    reason = operations.clean_reason(request.POST.get("reason", ""))
    if _is_to_be_seen(request, changed):
        return _review(request, changed, action=reverse("policies:tiers"))
    _tell(request, operations.change(values, by=by, reason=reason, now=timezone.now(), seen=seen))
    return redirect("policies:tiers")


def _read(form: QueryDict) -> tuple[dict[str, Value], dict[str, Value]]:
    """What was changed in the form, and what its fields held before. Raises ``SettingsRefusedError``."""
    values, seen, problems = {}, {}, {}
    for name, knob in TUNABLE.items():
        written, was = form.get(name), form.get(f"was_{name}", "")
        if written is None or written.strip() == was:
            continue
        try:
            values[name] = parse(knob, written)
            if was:
                seen[name] = parse(knob, was)
        except InvalidInputError as error:
            problems[name] = str(error)
    if problems:
        raise operations.SettingsRefusedError(problems)
    return values, seen


def _is_to_be_seen(request: HttpRequest, values: Mapping[str, Value]) -> bool:
    """Whether rows may go by it that its admin has not seen counted for these very values."""
    takes_rows = bool(values.keys() & TAKES_ROWS) or _hours_less(values) is not None
    return takes_rows and request.POST.get("apply") != _named(values)


def _hours_less(values: Mapping[str, Value]) -> int | None:
    """How long what has expired can be brought back by these values, if that is shorter than now."""
    present = queries.conf().expired_hours
    hours = int(values.get("expired_hours", present))
    return hours if hours < present else None


def _named(values: Mapping[str, Value]) -> str:
    """What was shown is what is done."""
    return " ".join(f"{name}={values[name]}" for name in sorted(values))


def _tell(request: HttpRequest, change: SettingChange) -> None:
    said = ngettext(
        "Changed: {n} setting. It holds within two seconds, everywhere.",
        "Changed: {n} settings. It holds within two seconds, everywhere.",
        len(change.after),
    )
    undoing.offer(
        request,
        text=said.format(n=len(change.after)),
        url=reverse("policies:tiers_undo"),
        until=None,
        fields={"change": str(change.id)},
    )


def _form(
    request: HttpRequest,
    *,
    problem: str = "",
    problems: Mapping[str, str] | None = None,
    reason_problem: str = "",
    status: int = 200,
) -> HttpResponse:
    """With what was written, also where it was refused. A field that was left alone shows what holds now."""
    written = {
        name: request.POST[name]
        for name in TUNABLE
        if name in request.POST and request.POST[name].strip() != request.POST.get(f"was_{name}")
    }
    newest = queries.changes().order_by("-changed_at", "-id")[:NEWEST]
    context = {
        "groups": show.groups(written=written, problems=problems or {}),
        "problem": problem,
        "has_problems": bool(problems),
        "reason": request.POST.get("reason", ""),
        "reason_problem": reason_problem,
        "reason_max_chars": operations.REASON_MAX_CHARS,
        "changes": list(show.change_rows(list(newest))),
        "run_record_days": longterm.run_record_days(),
    }
    return render(request, "policies/tiers.html", context, status=status)


def _review(
    request: HttpRequest, values: Mapping[str, Value], *, action: str, change_id: UUID | None = None
) -> HttpResponse:
    conf = queries.conf()
    present = ending.rules()
    other = ending.Rules(
        int(values.get("transcript_retention_days", present.retention_days)),
        int(values.get("temporary_hours", present.temporary_hours)),
    )
    hours = _hours_less(values)
    context: dict[str, Any] = {
        "due_sooner": None if hours is None else longterm_operations.due_sooner(hours),
        "ends_conversations": bool(values.keys() & TAKES_ROWS),
        "turned": show.turned({name: getattr(conf, name) for name in values}, values),
        "preview": ending.preview(other),
        "exempt": ending.exempt_count(),
        "apply": _named(values),
        "action": action,
        "change_id": change_id,
        "reason": request.POST.get("reason", ""),
        "hidden": {} if change_id else _sent(request.POST),
    }
    return render(request, "policies/tiers_review.html", context)


def _sent(form: QueryDict) -> dict[str, str]:
    """The form's own fields, to be sent again."""
    names = [name for knob in TUNABLE for name in (knob, f"was_{knob}")]
    return {name: form.get(name, "") for name in [*names, "reason"] if name in form}
