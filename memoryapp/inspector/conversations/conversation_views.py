"""The pages of the transcript: all conversations, and one with everything that came of it."""

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.inspector import presentation, undoing
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.conversations import conversation_filters, summary_presentation
from memoryapp.inspector.conversations import conversation_presentation as show
from memoryapp.inspector.conversations.conversation_filters import ConversationFilters
from memoryapp.inspector.facts import bulk
from memoryapp.inspector.facts.bulk import TYPED_ABOVE
from memoryapp.inspector.posted import INCOMPLETE, day_or_none, next_page, uuid_or_none
from memoryapp.inspector.views import PAGE, render_page
from memoryapp.longterm import queries as longterm
from memoryapp.transcript import conversations as transcript
from memoryapp.transcript import deletions, queries, retention
from memoryapp.transcript.models import Conversation
from memoryapp.tuning import queries as tuning

TURNS = 20  # on a page: each comes with its words and a menu
LEARNED = 10  # of what was learned; the list of facts has the rest
AT_MOST = 10_000  # in one go
NAMED = 5  # of those that a confirmation is about
WORD = "delete"


@login_required
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    user_id = subject(request)
    filters = ConversationFilters.of(request.GET.dict())
    rows, said = conversation_filters.rows(user_id, filters)
    page, next_cursor = rest.page(rows, order=filters.order, cursor=request.GET.get("after", ""), limit=PAGE)
    context = {
        "filters": filters,
        "choices": conversation_filters,
        "conversations": show.conversation_rows(user_id, page, said=said),
        "total": rows.count(),
        "typed_above": TYPED_ABOVE,
        "next_url": filters.query(after=next_cursor) if next_cursor else "",
    }
    return render_page(request, "conversations", context)


@login_required
@require_POST
def delete_many(request: HttpRequest) -> HttpResponse:
    """Those that are ticked, or all that match; a large number after a look and a typed word."""
    user_id = subject(request)
    filters = ConversationFilters.of(QueryDict(request.POST.get("query", "").removeprefix("?")).dict())
    ids = _chosen(user_id, request.POST, filters)
    if not ids:
        messages.info(request, "Pick the conversations first, or choose all that match.")
    elif len(ids) > TYPED_ABOVE and not _is_typed(request.POST, ids):
        return _confirmation(request, filters, ids)
    else:
        _delete(request, user_id, ids)
    return redirect(reverse("inspector:conversations") + filters.query())


@login_required
@require_POST
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    user_id = subject(request)
    queries.get_conversation(user_id, conversation_id)
    _delete(request, user_id, [conversation_id])
    return redirect("inspector:conversations")


@login_required
@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Bring back what was deleted together: conversations by the moment, turns by their deletion."""
    user_id = subject(request)
    try:
        text = _brought_back(user_id, request.POST)
    except MemoryAppError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, text)
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:conversations"))


@login_required
@require_GET
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    user_id = subject(request)
    found = queries.get_conversation(user_id, conversation_id)
    waiting = summary_presentation.waiting(found, request.GET.get("newer_than", ""))
    if waiting and waiting.made_url:
        return redirect(waiting.made_url)
    turns, next_cursor = rest.page(
        queries.turns(user_id, conversation_id),
        order=("seq", "id"),
        cursor=request.GET.get("after", ""),
        limit=TURNS,
    )
    versions = summary_presentation.version_rows(found)
    learned = longterm.from_conversation(user_id, conversation_id).order_by("-recorded_at", "-id")
    learned_url = f"{reverse('inspector:facts')}?conversation={conversation_id}&status=all"
    context = {
        "conversation": found,
        "keeping": show.keeping(found),
        "temporary_hours": tuning.conf().temporary_hours,
        "turns": show.turn_rows(found, turns, versions),
        "tokens": show.token_history(found, turns, model=tuning.conf().cheap_model),
        "summaries": versions,
        "waiting": waiting,
        "memories": [presentation.memory_row(memory) for memory in learned[:LEARNED]],
        "memory_count": learned.count(),
        "learned_url": learned_url,
        "next_url": f"?after={next_cursor}#words" if next_cursor else "",
        "is_later_page": "after" in request.GET,
    }
    return render_page(request, "conversation", context)


@login_required
@require_POST
def change(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Its switches, how long it is kept, or that it is a temporary one from now on."""
    try:
        text = _changed(subject(request), conversation_id, request.POST)
    except InvalidInputError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, text)
    return redirect("inspector:conversation", conversation_id)


def _changed(user_id: UUID, conversation_id: UUID, values: QueryDict) -> str:
    match values.get("what", ""):
        case "memory":
            return _switched(user_id, conversation_id, values)
        case "temporary":
            retention.make_temporary(user_id, conversation_id)
            hours = tuning.conf().temporary_hours
            return f"Temporary from now on: nothing more is learned, and it ends {hours} hours after its last message."
        case "keep":
            found = queries.get_conversation(user_id, conversation_id)
            days = _days(found, values.get("keep", ""), values.get("date", ""))
            changed = retention.keep_for(user_id, conversation_id, days=days)
            last_day = retention.last_whole_day(changed)
            return f"Kept until the end of {last_day:%-d %B %Y}." if last_day else "Kept for ever."
    raise InvalidInputError(INCOMPLETE)


def _switched(user_id: UUID, conversation_id: UUID, values: QueryDict) -> str:
    changed = transcript.change_conversation(
        user_id,
        conversation_id,
        use_memory="use_memory" in values,
        save_memory="save_memory" in values,
    )
    used = "is used" if changed.use_memory else "is not used"
    learned = "is" if changed.save_memory else "is not"
    return f"From the next message on, memory {used} here, and what you say {learned} remembered."


def _days(found: Conversation, keep: str, day: str) -> int | None:
    """Days after the last message. Raises InvalidInputError."""
    if keep == "rule":
        return None
    if keep == "ever":
        return retention.FOR_EVER
    wanted = day_or_none(day)
    if keep != "date" or wanted is None:
        raise InvalidInputError("Choose a day from today on.")
    return retention.days_to(found, wanted, now=timezone.now())


def _chosen(user_id: UUID, values: QueryDict, filters: ConversationFilters) -> list[UUID]:
    if values.get("all"):
        rows, _ = conversation_filters.rows(user_id, filters)
        return list(rows.order_by(*filters.order).values_list("id", flat=True)[:AT_MOST])
    ids = [uuid_or_none(value) for value in dict.fromkeys(values.getlist("id")[:AT_MOST])]
    return [id_ for id_ in ids if id_]


def _is_typed(values: QueryDict, ids: list[UUID]) -> bool:
    """Whether the word was typed, and for just these."""
    return values.get("typed", "").strip().casefold() == WORD and values.get("shown") == bulk.mark(ids)


def _confirmation(request: HttpRequest, filters: ConversationFilters, ids: list[UUID]) -> HttpResponse:
    was_typed = "typed" in request.POST
    is_other = was_typed and request.POST.get("shown") != bulk.mark(ids)
    problem = bulk.CHANGED if is_other else ""
    rows = queries.conversations(subject(request)).filter(id__in=ids).order_by("-updated_at", "-id")
    context = {
        "count": len(ids),
        "shown": bulk.mark(ids),
        "is_capped": len(ids) == AT_MOST,
        "named": rows[:NAMED],
        "others": max(len(ids) - NAMED, 0),
        "is_temporary": filters.show == "temporary",
        "word": WORD,
        "query": filters.query(),
        "ids": [] if request.POST.get("all") else ids,
        "back_url": reverse("inspector:conversations") + filters.query(),
        "kept_minutes": tuning.conf().deleted_conversation_minutes,
        "problem": problem or (f"Type the word “{WORD}” to go on." if was_typed else ""),
    }
    return render_page(request, "conversations_delete", context, status=422 if was_typed else 200)


def _delete(request: HttpRequest, user_id: UUID, ids: list[UUID]) -> None:
    deleted = transcript.delete_conversations(user_id, ids)
    temporary = queries.conversations(user_id).filter(id__in=ids, is_temporary=True)
    gone = list(temporary.values_list("id", flat=True))
    for conversation_id in gone:
        transcript.delete_conversation(user_id, conversation_id)
    if gone:
        undoing.offer(
            request, text=f"Deleted for good: {_counted(len(gone), 'temporary chat')}.", url="", until=None
        )
    first = queries.deleted_conversations(user_id).filter(id__in=deleted).first()
    if first and first.deleted_at:
        undoing.offer(
            request,
            text=f"Deleted: {_counted(len(deleted), 'conversation')}. What was learned from it stays.",
            url=reverse("inspector:conversations_undo"),
            until=first.deleted_at + timedelta(minutes=tuning.conf().deleted_conversation_minutes),
            fields={"deleted_at": first.deleted_at.isoformat()},
        )


def _brought_back(user_id: UUID, values: QueryDict) -> str:
    deletion_id = uuid_or_none(values.get("deletion", ""))
    if deletion_id:
        deletions.undo_deletion(user_id, deletion_id)
        return "It is back."
    moment = _moment(values.get("deleted_at", ""))
    deleted = queries.deleted_conversations(user_id).filter(deleted_at=moment)
    ids = list(deleted.values_list("id", flat=True))
    if not transcript.restore_conversations(user_id, ids):
        raise NotFoundError("These conversations are gone for good.")
    return f"Back: {_counted(len(ids), 'conversation')}."


def _moment(value: str) -> datetime:
    try:
        moment = parse_datetime(value)
    except ValueError:
        moment = None
    if moment is None or timezone.is_naive(moment):
        raise InvalidInputError(INCOMPLETE)
    return moment


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
