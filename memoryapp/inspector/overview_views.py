"""The first page of the inspector: what each tier holds, what happened since the last visit, and what waits or ends."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from memoryapp.accounts import operations as accounts
from memoryapp.activity import queries as activity
from memoryapp.activity.models import Verb
from memoryapp.context import queries as context_queries
from memoryapp.errors import MemoryAppError
from memoryapp.inspector import break_glass, presentation, storage, undoing
from memoryapp.inspector import overview_presentation as show
from memoryapp.inspector.posted import next_page, version_of
from memoryapp.inspector.undoing import Offer
from memoryapp.inspector.views import SOON_DAYS, render_page
from memoryapp.longterm import lifetimes, queries, tallies
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory
from memoryapp.longterm.tallies import Standing
from memoryapp.policies.feedback import Verdict
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import queries as transcript

SHOWN: Final = 5
LISTED: Final = 30  # of the news, when all of them are asked for
WEEKS: Final = 12
OPENINGS_TOLD_FOR: Final = timedelta(days=30)
FIRST_LOOK: Final = timedelta(days=365 * 100)  # before a first visit there is nothing that was seen


@login_required
@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    user_id, now = break_glass.subject(request), timezone.now()
    seen_until = _seen_until(request, user_id, now=now)
    since = seen_until or now - FIRST_LOOK
    standing = tallies.standing(
        user_id,
        now=now,
        time_zone=timezone.get_current_timezone_name(),
        weeks=WEEKS,
        since=since,
        days=SOON_DAYS,
    )
    facts = sum(n for _, n in standing.by_kind)
    expiring = _first(queries.expiring_soon(user_id, now=now, days=SOON_DAYS), standing.ending)
    extended = lifetimes.extended_ends(user_id, [memory.id for memory in expiring], now=now)
    recalls = context_queries.recalls_per_week(user_id, weeks=WEEKS, now=now)
    quota = queries.quota(user_id)
    tiers = _tiers(user_id, facts=facts)
    is_opened = break_glass.opened(request) is not None
    context = {
        "quota": quota,
        "is_opened": is_opened,
        "openings": []
        if is_opened
        else list(activity.openings_of(user_id, since=now - OPENINGS_TOLD_FOR)[:3]),
        "is_fresh": not (quota.used or tiers["transcript"]["count"]),
        "room": show.quota_chart(quota.used, quota.limit),
        "soon_days": SOON_DAYS,
        "here": request.get_full_path(),
        "forgotten": undoing.forgotten_facts(request, user_id),
        "tiers": tiers,
        "listed": LISTED,
        "news": _news(
            user_id,
            standing,
            seen_until=seen_until,
            since=since,
            now=now,
            shown=LISTED if request.GET.get("news") == "all" else SHOWN,
        ),
        "waiting": [
            presentation.memory_row(memory)
            for memory in queries.memories(user_id, status="waiting").order_by("-recorded_at", "-id")[:3]
        ],
        "expiring": [show.ending_row(memory, extended=extended, now=now) for memory in expiring],
        "expiring_count": standing.ending,
        "kinds": show.kinds_chart(standing.by_kind),
        "growth": show.growth_chart(standing.growth),
        "recalls": show.recalls_chart(recalls),
        "storage": show.storage_chart(storage.bytes_by_tier(user_id)),
    }
    return render_page(request, "overview", context)


@login_required
@require_POST
def fact_swap(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """A former value is in use again instead of what replaced it; the next page offers the way back."""
    user_id = break_glass.subject(request)
    successor = queries.get_memory(user_id, memory_id).superseded_by
    try:
        give_feedback(user_id, memory_id, Verdict.CONFIRMED, version=version_of(request), now=timezone.now())
    except MemoryAppError as error:
        messages.error(request, str(error))
    else:
        undoing.put(request, _swapped(successor))
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:overview"), status=303)


def _swapped(successor: Memory | None) -> Offer:
    """The way back is the same the other way round."""
    text = gettext("What it said before is in use again.")
    if successor is None:
        return Offer(text)
    url = reverse("inspector:fact_swap", args=[successor.id])
    return Offer(text, url, fields={"version": str(successor.version)})


def _seen_until(request: HttpRequest, user_id: UUID, *, now: datetime) -> datetime | None:
    """An admin's look is no visit of its person."""
    return None if break_glass.opened(request) else accounts.note_memory_visit(user_id, now=now)


def _tiers(user_id: UUID, *, facts: int) -> dict[str, dict[str, Any]]:
    runs = scratchpad.runs(user_id)
    return {
        "scratchpad": {
            "count": scratchpad.count(user_id),
            "running": runs.filter(status=Run.Status.RUNNING).count(),
            "url": reverse("inspector:runs"),
        },
        "transcript": {"count": transcript.count(user_id), "url": reverse("inspector:conversations")},
        "longterm": {"count": facts, "url": reverse("inspector:facts")},
    }


def _news(
    user_id: UUID,
    standing: Standing,
    *,
    seen_until: datetime | None,
    since: datetime,
    now: datetime,
    shown: int,
) -> show.News:
    learned = _first(tallies.learned_since(user_id, since), standing.learned, shown=shown)
    expired = _first(tallies.expired_since(user_id, since), standing.ended, shown=shown)
    replaced = tallies.replaced_since(user_id, since)
    changed = list(replaced[: shown + 1])
    swept = activity.entries(user_id).filter(verb=Verb.EXPIRED, recorded_at__gt=since)
    return show.News(
        since=seen_until,
        learned=[show.learned_row(memory, now=now) for memory in learned],
        learned_count=standing.learned,
        changed=[show.changed_row(former) for former in changed[:shown]],
        changed_count=len(changed) if len(changed) <= shown else replaced.count(),
        expired=[show.expired_row(memory) for memory in expired],
        expired_count=standing.ended,
        deleted=swept.aggregate(total=Sum("rows"))["total"] or 0,
    )


def _first(rows: QuerySet[Memory], count: int, *, shown: int = SHOWN) -> list[Memory]:
    """Of ``count`` rows. By their ids, so that what is put in order are entries of an index and not wide rows."""
    return list(rows.filter(id__in=rows.values("id")[:shown])) if count else []
