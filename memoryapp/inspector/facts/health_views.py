"""Whether a person's memory is in order, check by check, with what can be done about each."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from memoryapp.context import queries as context_queries
from memoryapp.embeddings.registry import get_embedder
from memoryapp.inspector import break_glass
from memoryapp.inspector.facts import health_presentation as show
from memoryapp.inspector.facts import similar
from memoryapp.inspector.facts.health_presentation import FIRST, Check
from memoryapp.inspector.posted import uuid_or_none
from memoryapp.inspector.views import render_page
from memoryapp.longterm import checkups, queries
from memoryapp.longterm.models import Memory
from memoryapp.nudges import EMBED_MEMORIES, nudge
from memoryapp.policies import health as rules
from memoryapp.transcript import queries as transcript

PAIRS_SHOWN: Final = 20
EMBEDDED_AT_ONCE: Final = 50  # the next sweeps take on the rest


@login_required
@require_GET
def health(request: HttpRequest) -> HttpResponse:
    user_id, now = break_glass.subject(request), timezone.now()
    model_id = get_embedder().model_id
    found = checkups.findings(user_id, now=now, model_id=model_id)
    quota = queries.quota(user_id)
    checks = _checks(user_id, found, quota, now=now, model_id=model_id)
    is_compared = found.embedded <= similar.COMPARED_AT_ONCE
    pairs = similar.pairs(user_id, model_id=model_id).pairs if is_compared else ()
    troubles = [check for check in checks if check.count]
    context = {
        "quota": quota,
        "troubles": troubles,
        "well": [check for check in checks if not check.count],
        "pairs": [show.pair_row(pair) for pair in similar.facts_of(user_id, pairs[:FIRST])],
        "pair_count": len(pairs),
        "is_compared": is_compared,
        "compared": found.embedded,
        "is_all_well": is_compared and not pairs and not troubles,
        "here": request.get_full_path(),
    }
    return render_page(request, "health", context)


@login_required
@require_GET
def duplicates(request: HttpRequest) -> HttpResponse:
    """Pairs that may say the same: of one part of the facts with all older ones. ``?begin=``: the part's newest."""
    user_id, begin = break_glass.subject(request), uuid_or_none(request.GET.get("begin", ""))
    found = similar.pairs(user_id, model_id=get_embedder().model_id, begin=begin)
    context = {
        "pairs": [show.pair_row(pair) for pair in similar.facts_of(user_id, found.pairs[:PAIRS_SHOWN])],
        "pair_count": len(found.pairs),
        "next_url": f"?begin={found.next_begin}" if found.next_begin else "",
        "part": similar.PART,
        "here": request.get_full_path(),
    }
    return render_page(request, "duplicates", context)


@login_required
@require_POST
def health_embed(request: HttpRequest) -> HttpResponse:
    user_id, model_id = break_glass.subject(request), get_embedder().model_id
    rows = checkups.not_embedded(user_id, now=timezone.now(), model_id=model_id)
    ids = list(rows.values_list("id", flat=True)[:EMBEDDED_AT_ONCE])
    for memory_id in ids:
        nudge(EMBED_MEMORIES, memory_id)
    messages.success(
        request,
        gettext("They are being prepared. Look again in a minute.") if ids else gettext("All are prepared."),
    )
    return HttpResponseRedirect(reverse("inspector:health"), status=303)


def _checks(
    user_id: UUID, found: checkups.Findings, quota: queries.Quota, *, now: datetime, model_id: str
) -> list[Check]:
    """Each that found any lists its first facts by a query of its own, which reads them all again."""
    missing = found.unembedded + found.other_model
    largest = max(
        queries.counts_by_kind(user_id, queries.memories(user_id)), key=lambda pair: pair[1], default=None
    )
    return [
        show.waiting(quota.waiting),
        show.flagged(found.flagged, checkups.flagged(user_id, now=now)[:FIRST] if found.flagged else ()),
        show.stale(found.stale, checkups.stale(user_id, now=now)[:FIRST] if found.stale else ()),
        show.noise(_noise(user_id, now=now)),
        show.unused(found.unused, checkups.unused(user_id, now=now)[:FIRST] if found.unused else ()),
        show.unembedded(
            missing,
            other_model=found.other_model,
            rows=checkups.not_embedded(user_id, now=now, model_id=model_id)[:FIRST] if missing else (),
        ),
        show.room(
            quota.used,
            quota.limit,
            is_nearly_full=rules.is_nearly_full(quota.used, quota.limit),
            largest=largest,
        ),
    ]


def _noise(user_id: UUID, *, now: datetime) -> list[tuple[Memory, float]]:
    """The most given first."""
    shares = context_queries.recalled_in_share(user_id, turns=rules.NOISE_REPLIES)
    is_enough = len(transcript.newest_replied(user_id, limit=rules.MIN_REPLIES)) == rules.MIN_REPLIES
    often = {
        memory_id: share for memory_id, share in shares.items() if share > rules.NOISE_SHARE and is_enough
    }
    rows = checkups.named(user_id, list(often), now=now)
    return sorted(((memory, often[memory.id]) for memory in rows), key=lambda pair: -pair[1])
