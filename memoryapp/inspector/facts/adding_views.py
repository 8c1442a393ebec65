"""Adding a fact by hand, and asking what would be remembered of a text without keeping any of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.inspector import undoing
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.presentation import fact_url
from memoryapp.inspector.views import render_page
from memoryapp.lifecycle import extraction
from memoryapp.longterm import operations, queries
from memoryapp.longterm.foreseeing import Foreseen, foresee
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Candidate
from memoryapp.longterm.presentation import ORIGIN_LABELS, expires_text
from memoryapp.longterm.refusals import KindRefusedError
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.secrets import find_secret
from memoryapp.policies.trust import Origin

TRY_MAX_CHARS: Final = 8_000  # as much of one message as extraction reads

SAID: Final = {
    Outcome.ADDED: gettext_lazy("Remembered."),
    Outcome.REINFORCED: gettext_lazy("You had said this before: its lifetime starts again today."),
    Outcome.SUPERSEDED: gettext_lazy("Remembered. It replaces what did not fit, which is listed below."),
    Outcome.CONFLICT: gettext_lazy("It does not fit what is in use. Say which of them holds."),
    Outcome.PENDING: gettext_lazy("It waits for your word: facts of this kind ask first."),
    Outcome.IGNORED: gettext_lazy("This is known already; nothing changed."),
}
# What would become of it, to stand before the statement that decides it.
WOULD: Final = {
    Outcome.ADDED: gettext_lazy("Would be remembered"),
    Outcome.REINFORCED: gettext_lazy("Said again: would make this younger"),
    Outcome.SUPERSEDED: gettext_lazy("Would replace"),
    Outcome.CONFLICT: gettext_lazy("Does not fit: you would be asked"),
    Outcome.PENDING: gettext_lazy("Would wait for your word"),
    Outcome.IGNORED: gettext_lazy("Known already: nothing would change"),
}


@dataclass(frozen=True, slots=True)
class TriedRow:
    """A statement that would be taken from a text, or refused; ``met_url``: the fact that decides it."""

    statement: str
    quote: str
    kind_label: str
    kind_rationale: str
    key: str
    origin_label: str
    confidence_percent: int
    expires_text: str
    flag: str
    would: str
    is_refused: bool
    met: str = ""
    met_url: str = ""


@login_required
@require_http_methods(["GET", "POST"])
def fact_add(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _form(request)
    values = request.POST
    try:
        remembered = operations.remember(
            subject(request),
            Candidate(
                kind=values.get("kind", ""),
                statement=values.get("statement", ""),
                key=values.get("key", ""),
                origin=Origin.USER_TYPED,
                channel=Memory.Channel.INSPECTOR,
                said_at=timezone.now(),
                is_said_now=True,
            ),
        )
    except MemoryAppError as error:
        return _form(request, error=error)
    undoing.tell(request, str(SAID[remembered.outcome]))
    return redirect(fact_url(remembered.memory))


@login_required
@require_http_methods(["GET", "POST"])
def try_it(request: HttpRequest) -> HttpResponse:
    """Nothing of the text is stored, or written to a log. By POST, so that it stands in no address either."""
    if request.method == "GET":
        return render_page(request, "try_it", {"limit": TRY_MAX_CHARS})
    text = request.POST.get("text", "").replace("\x00", "").replace("\r\n", "\n")
    context: dict[str, object] = {"limit": TRY_MAX_CHARS, "text": text}
    if not text.strip():
        return _not_tried(request, context, gettext("Paste a text first."), 422)
    if len(text) > TRY_MAX_CHARS:
        problem = gettext("At most {limit} characters at once; this has {n}.").format(
            limit=count_text(TRY_MAX_CHARS), n=count_text(len(text))
        )
        return _not_tried(request, context, problem, 422)
    try:
        context["rows"] = _tried(subject(request), text, now=timezone.now())
        found = find_secret(text)
        context["secret"] = gettext(found) if found else ""
    except MemoryAppError as error:
        return _not_tried(request, context, str(error), error.http_status)
    return render_page(request, "try_it", context)


def _form(request: HttpRequest, *, error: MemoryAppError | None = None) -> HttpResponse:
    field = _field_of(error) if error else ""
    context = {
        "kinds": list(queries.statement_kinds()),
        "values": request.POST,
        "limit": get_conf().statement_max_chars,
        "problem": {field: str(error)} if error else {},
    }
    return render_page(request, "fact_add", context, status=error.http_status if error else 200)


def _field_of(error: MemoryAppError) -> str:
    """Beside which field it is said."""
    if isinstance(error, KindRefusedError):
        return "kind"
    if isinstance(error, InvalidInputError):
        return str(error.details.get("field", "statement"))
    return "form"


def _tried(user_id: UUID, text: str, *, now: datetime) -> Sequence[TriedRow]:
    return [
        _row(user_id, candidate, now=now) for candidate in extraction.candidates_in(user_id, text, now=now)
    ]


def _row(user_id: UUID, candidate: Candidate, *, now: datetime) -> TriedRow:
    try:
        return _foreseen_row(foresee(user_id, candidate), now=now)
    except InvalidInputError as error:
        return _refused_row(candidate, str(error))


def _foreseen_row(foreseen: Foreseen, *, now: datetime) -> TriedRow:
    candidate, met = foreseen.candidate, foreseen.met
    stays = foreseen.outcome in {Outcome.ADDED, Outcome.SUPERSEDED}
    return TriedRow(
        statement=candidate.statement,
        quote=candidate.quote,
        kind_label=gettext(foreseen.kind.label),
        kind_rationale=gettext(foreseen.kind.rationale),
        key=candidate.key,
        origin_label=str(ORIGIN_LABELS[candidate.origin]),
        confidence_percent=round(foreseen.confidence * 100),
        expires_text=expires_text(foreseen.expires_at, now=now) if stays else "",
        flag=foreseen.flag,
        would=str(WOULD[foreseen.outcome]) if foreseen.outcome else _refused(foreseen.refusal),
        is_refused=foreseen.outcome is None,
        met=met.statement if met else "",
        met_url=fact_url(met) if met else "",
    )


def _refused_row(candidate: Candidate, why: str) -> TriedRow:
    kind = queries.get_kind(candidate.kind)
    return TriedRow(
        statement=candidate.statement,
        quote=candidate.quote,
        kind_label=gettext(kind.label),
        kind_rationale=gettext(kind.rationale),
        key=candidate.key,
        origin_label=str(ORIGIN_LABELS[candidate.origin]),
        confidence_percent=0,
        expires_text="",
        flag="",
        would=_refused(why),
        is_refused=True,
    )


def _refused(why: str) -> str:
    return gettext("Would be refused: {why}").format(why=why)


def _not_tried(request: HttpRequest, context: dict[str, object], problem: str, status: int) -> HttpResponse:
    return render_page(request, "try_it", context | {"problem": problem}, status=status)
