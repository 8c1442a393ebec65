"""The facts as they stood when a day ended, and what has become of each since."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET

from memoryapp import rest
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.facts.fact_filters import FactFilters
from memoryapp.inspector.posted import day_or_none
from memoryapp.inspector.presentation import fact_url
from memoryapp.inspector.views import PAGE, next_url, render_page
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Kind, Memory
from memoryapp.policies.wording import Piece, changes

BACK: Final = {
    gettext_lazy("A week ago"): 7,
    gettext_lazy("A month ago"): 30,
    gettext_lazy("A year ago"): 365,
}
EARLIEST: Final = date(2000, 1, 1)
NOT_A_DAY = gettext_lazy("Choose a day from the past, for example 2026-03-03.")


@dataclass(frozen=True, slots=True)
class PastRow:
    """``now``: what has become of it: "same", "reworded", "moved", "replaced", "set_aside" or "expired"."""

    statement: str
    kind_label: str
    confidence_percent: int
    key: str
    now: str
    since: str
    changes: list[Piece]
    url: str
    successor: str
    successor_url: str


@login_required
@require_GET
def as_of(request: HttpRequest) -> HttpResponse:
    """There is nothing to do on this page: the past does not change."""
    user_id, today = subject(request), timezone.localdate()
    given = request.GET.get("day", "")
    day = _past_day(given, today=today)
    filters = {"day": (day or today).isoformat(), "kind": request.GET.get("kind", ""), "q": _asked(request)}
    kinds = list(queries.statement_kinds())
    context: dict[str, object] = {
        "day": day,
        "today": today,
        "filters": filters,
        "kinds": kinds,
        "quick": [(label, (today - timedelta(days=days)).isoformat()) for label, days in BACK.items()],
        "problem": NOT_A_DAY if given and day is None else "",
    }
    if day:
        moment = min(_end_of(day), timezone.now())
        rows = queries.memories(user_id, known_at=moment, kind=filters["kind"], text=filters["q"])
        shown = rows.select_related("superseded_by").defer("embedding", "terms")
        page, next_cursor = rest.page(
            shown, order=("-recorded_at", "-id"), cursor=request.GET.get("after", ""), limit=PAGE
        )
        labels = {kind.slug: kind for kind in kinds}
        context |= {
            "rows": [_row(memory, labels) for memory in page],
            "total": rows.count(),
            "next_url": next_url(filters, next_cursor),
        }
    return render_page(request, "as_of", context, status=422 if context["problem"] else 200)


def _asked(request: HttpRequest) -> str:
    return FactFilters.of({"q": request.GET.get("q", "")}).q


def _past_day(value: str, *, today: date) -> date | None:
    day = day_or_none(value)
    return day if day and EARLIEST <= day <= today else None


def _end_of(day: date) -> datetime:
    """In the person's zone, which is active while a page is made."""
    return timezone.make_aware(datetime.combine(day + timedelta(days=1), time.min))


def _row(memory: Memory, kinds: dict[str, Kind]) -> PastRow:
    """``memory`` comes with how it was put then."""
    statement: str = getattr(memory, "statement_then", memory.statement)
    kind: str = getattr(memory, "kind_then", memory.kind.slug)
    confidence: float = getattr(memory, "confidence_then", memory.confidence)
    now, since = _since(memory, statement=statement, kind=kind)
    successor = memory.superseded_by if now == "replaced" else None
    return PastRow(
        statement=statement,
        kind_label=gettext(kinds[kind].label) if kind in kinds else kind,
        confidence_percent=round(confidence * 100),
        key=getattr(memory, "key_then", memory.key),
        now=now,
        since=since,
        changes=changes(statement, memory.statement) if now == "reworded" else [],
        url=fact_url(memory),
        successor=successor.statement if successor else "",
        successor_url=fact_url(successor) if successor else "",
    )


def _since(memory: Memory, *, statement: str, kind: str) -> tuple[str, str]:
    fades_at: datetime | None = getattr(memory, "fades_at", None)
    if is_set_aside(memory):
        return "set_aside", gettext("Set aside as wrong since")
    if memory.status == Memory.Status.SUPERSEDED:
        return "replaced", gettext("Replaced since")
    if fades_at and fades_at <= timezone.now():
        return "expired", gettext("Expired since")
    if statement != memory.statement:
        return "reworded", gettext("Corrected since")
    if kind != memory.kind.slug:
        return "moved", gettext("Of the kind {kind} since").format(kind=gettext(memory.kind.label))
    return "same", gettext("Still so")
