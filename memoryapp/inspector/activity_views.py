"""Who wrote, read, changed and deleted what, and when: the log of a person's memory, without what anything says."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.acting import Actor
from memoryapp.activity import queries
from memoryapp.activity.models import Entry, Tier, Verb
from memoryapp.context import queries as contexts
from memoryapp.inspector import activity_presentation as show
from memoryapp.inspector import undoing
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import midnight
from memoryapp.inspector.views import PAGE, next_url, render_page

FILTERS: Final = ("actor", "verb", "tier", "from", "to")
EXPORT_MAX_ROWS: Final = 50_000  # of a log that holds about a year; the newest are taken
STRIP_DAYS: Final = 28
COLUMNS: Final = ("recorded_at", "actor", "name", "verb", "tier", "subject_id", "rows", "detail")
# How a spreadsheet tells a formula, also in a program's name: by the first sign that is seen, of a cell and of what
# stands behind a semicolon, which begins a cell where people write decimal commas.
FORMULA: Final = re.compile(
    r"(^|;)(?=[\s\x00-\x1f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*[=+\-@\t\r＝＋－＠])"
)


@login_required
@require_GET
def activity(request: HttpRequest) -> HttpResponseBase:
    """``?format=csv`` or ``json``: the filtered log as a file."""
    user_id = subject(request)
    filters = {name: request.GET.get(name, "").strip() for name in FILTERS}
    entries = _filtered(user_id, filters)
    match request.GET.get("format", ""):
        case "csv":
            return _file(_csv(entries), "text/csv; charset=utf-8", "csv")
        case "json":
            return _file(_json(entries), "application/json", "json")
    page, next_cursor = rest.page(
        entries, order=queries.ORDER, cursor=request.GET.get("after", ""), limit=PAGE
    )
    now, is_own = timezone.now(), user_id == caller_id(request)
    today = now.astimezone(UTC).date()
    given = {name: value for name, value in filters.items() if value}
    context = {
        "entries": show.rows(user_id, page, is_own=is_own),
        "filters": filters,
        "actors": Actor.choices,
        "verbs": Verb.choices,
        "tiers": Tier.choices,
        "strip": show.strip(
            queries.readers_by_day(user_id, days=STRIP_DAYS, today=today),
            contexts.uses_per_day(user_id, days=STRIP_DAYS, today=today),
            days=STRIP_DAYS,
            today=today,
        ),
        "undoable": undoing.open_offers(user_id, is_own=is_own, now=now),
        "export_start": f"{urlencode(given)}&" if given else "",
        "export_max": EXPORT_MAX_ROWS,
        "next_url": next_url(filters, next_cursor),
    }
    return render_page(request, "activity", context)


def _filtered(user_id: UUID, filters: dict[str, str]) -> QuerySet[Entry]:
    """Days are the reader's; a day that is none does not filter."""
    return queries.entries(
        user_id,
        actor=filters["actor"],
        verb=filters["verb"],
        tier=filters["tier"],
        since=midnight(filters["from"]),
        before=midnight(filters["to"], days_later=1),
    )


def _file(parts: Iterator[str], content_type: str, ending: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(parts, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="memory-activity.{ending}"'
    return response


def _values(entries: QuerySet[Entry]) -> Iterator[tuple[str, ...]]:
    newest = entries.order_by(*queries.ORDER)[:EXPORT_MAX_ROWS]
    for entry in newest.iterator(chunk_size=1_000):
        yield (
            entry.recorded_at.isoformat(),
            entry.actor,
            entry.actor_name,
            entry.verb,
            entry.tier,
            str(entry.subject_id or ""),
            str(entry.rows),
            entry.detail,
        )


def _csv(entries: QuerySet[Entry]) -> Iterator[str]:
    yield _line(COLUMNS)
    for values in _values(entries):
        yield _line(tuple(FORMULA.sub(r"\1'", value) for value in values))


def _line(values: tuple[str, ...]) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerow(values)
    return written.getvalue()


def _json(entries: QuerySet[Entry]) -> Iterator[str]:
    yield '{"entries": ['
    for number, values in enumerate(_values(entries)):
        row = dict(zip(COLUMNS, values, strict=True))
        typed = row | {"rows": int(row["rows"]), "subject_id": row["subject_id"] or None}
        yield (", " if number else "") + json.dumps(typed, ensure_ascii=False)
    yield "]}"
