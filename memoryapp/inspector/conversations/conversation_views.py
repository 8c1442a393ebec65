"""The pages of the transcript: all conversations, and one with everything that came of it."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_GET, require_POST

from memoryapp import rest
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.inspector import presentation, typed_word, undoing
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.conversations import conversation_filters, version_presentation
from memoryapp.inspector.conversations import conversation_presentation as show
from memoryapp.inspector.conversations.conversation_filters import ConversationFilters
from memoryapp.inspector.posted import day_or_none, incomplete, next_page, uuid_or_none
from memoryapp.inspector.typed_word import AT_MOST, TYPED_ABOVE, is_typed, mark
from memoryapp.inspector.views import PAGE, render_page
from memoryapp.longterm import queries as longterm
from memoryapp.transcript import conversations as transcript
from memoryapp.transcript import deletions, queries, retention
from memoryapp.transcript.models import Conversation
from memoryapp.tuning import queries as tuning

TURNS: Final = 20  # on a page: each comes with its words and a menu
LEARNED: Final = 10  # of what was learned; the list of facts has the rest
NAMED: Final = 5  # of those that a confirmation is about
WORD: Final = pgettext_lazy("a word to type", "delete")
# By whether memory is used, and whether what is said is remembered.
SWITCHED: Final = {
    (True, True): gettext_lazy(
        "From the next message on, memory is used here, and what you say is remembered."
    ),
    (True, False): gettext_lazy(
        "From the next message on, memory is used here, and what you say is not remembered."
    ),
    (False, True): gettext_lazy(
        "From the next message on, memory is not used here, and what you say is remembered."
    ),
    (False, False): gettext_lazy(
        "From the next message on, memory is not used here, and what you say is not remembered."
    ),
}


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
        messages.info(request, gettext("Pick the conversations first, or choose all that match."))
    elif len(ids) > TYPED_ABOVE and not is_typed(request.POST, ids, word=str(WORD)):
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
    waiting = version_presentation.waiting(found, request.GET.get("newer_than", ""))
    if waiting and waiting.made_url:
        return redirect(waiting.made_url)
    turns, next_cursor = rest.page(
        queries.turns(user_id, conversation_id),
        order=("seq", "id"),
        cursor=request.GET.get("after", ""),
        limit=TURNS,
    )
    versions = version_presentation.version_rows(found)
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
            return _temporary_text(tuning.conf().temporary_hours)
        case "keep":
            found = queries.get_conversation(user_id, conversation_id)
            days = _days(found, values.get("keep", ""), values.get("date", ""))
            changed = retention.keep_for(user_id, conversation_id, days=days)
            last_day = retention.last_whole_day(changed)
            if last_day is None:
                return gettext("Kept for ever.")
            return gettext("Kept until the end of {day}.").format(day=date_format(last_day, gettext("j F Y")))
    raise incomplete()


def _temporary_text(hours: int) -> str:
    said = ngettext(
        "Temporary from now on: nothing more is learned, and it ends {n} hour after its last message.",
        "Temporary from now on: nothing more is learned, and it ends {n} hours after its last message.",
        hours,
    )
    return said.format(n=hours)


def _switched(user_id: UUID, conversation_id: UUID, values: QueryDict) -> str:
    changed = transcript.change_conversation(
        user_id,
        conversation_id,
        use_memory="use_memory" in values,
        save_memory="save_memory" in values,
    )
    return str(SWITCHED[changed.use_memory, changed.save_memory])


def _days(found: Conversation, keep: str, day: str) -> int | None:
    """Days after the last message. Raises InvalidInputError."""
    if keep == "rule":
        return None
    if keep == "ever":
        return retention.FOR_EVER
    wanted = day_or_none(day)
    if keep != "date" or wanted is None:
        raise InvalidInputError(gettext("Choose a day from today on."))
    return retention.days_to(found, wanted, now=timezone.now())


def _chosen(user_id: UUID, values: QueryDict, filters: ConversationFilters) -> list[UUID]:
    if values.get("all"):
        rows, _ = conversation_filters.rows(user_id, filters)
        return list(rows.order_by(*filters.order).values_list("id", flat=True)[:AT_MOST])
    ids = [uuid_or_none(value) for value in dict.fromkeys(values.getlist("id")[:AT_MOST])]
    return [id_ for id_ in ids if id_]


def _confirmation(request: HttpRequest, filters: ConversationFilters, ids: list[UUID]) -> HttpResponse:
    problem = typed_word.problem(request.POST, ids, word=str(WORD))
    rows = queries.conversations(subject(request)).filter(id__in=ids).order_by("-updated_at", "-id")
    context = {
        "count": len(ids),
        "shown": mark(ids),
        "is_capped": len(ids) == AT_MOST,
        "named": rows[:NAMED],
        "others": max(len(ids) - NAMED, 0),
        "is_temporary": filters.show == "temporary",
        "word": WORD,
        "query": filters.query(),
        "ids": [] if request.POST.get("all") else ids,
        "back_url": reverse("inspector:conversations") + filters.query(),
        "kept_minutes": tuning.conf().deleted_conversation_minutes,
        "problem": problem,
    }
    return render_page(request, "conversations_delete", context, status=422 if problem else 200)


def _delete(request: HttpRequest, user_id: UUID, ids: list[UUID]) -> None:
    deleted = transcript.delete_conversations(user_id, ids)
    temporary = queries.conversations(user_id).filter(id__in=ids, is_temporary=True)
    gone = list(temporary.values_list("id", flat=True))
    for conversation_id in gone:
        transcript.delete_conversation(user_id, conversation_id)
    if gone:
        said = ngettext(
            "Deleted for good: {n} temporary chat.", "Deleted for good: {n} temporary chats.", len(gone)
        )
        undoing.offer(request, text=said.format(n=count_text(len(gone))), url="", until=None)
    first = queries.deleted_conversations(user_id).filter(id__in=deleted).first()
    if first and first.deleted_at and first.undo_until:
        said = ngettext(
            "Deleted: {n} conversation. What was learned from it stays.",
            "Deleted: {n} conversations. What was learned from it stays.",
            len(deleted),
        )
        undoing.offer(
            request,
            text=said.format(n=count_text(len(deleted))),
            url=reverse("inspector:conversations_undo"),
            until=first.undo_until,
            fields={"deleted_at": first.deleted_at.isoformat()},
        )


def _brought_back(user_id: UUID, values: QueryDict) -> str:
    deletion_id = uuid_or_none(values.get("deletion", ""))
    if deletion_id:
        deletions.undo_deletion(user_id, deletion_id)
        return gettext("It is back.")
    moment = _moment(values.get("deleted_at", ""))
    deleted = queries.deleted_conversations(user_id).filter(deleted_at=moment)
    ids = list(deleted.values_list("id", flat=True))
    if not transcript.restore_conversations(user_id, ids):
        raise NotFoundError(gettext("These conversations are gone for good."))
    said = ngettext("Back: {n} conversation.", "Back: {n} conversations.", len(ids))
    return said.format(n=count_text(len(ids)))


def _moment(value: str) -> datetime:
    try:
        moment = parse_datetime(value)
    except ValueError:
        moment = None
    if moment is None or timezone.is_naive(moment):
        raise incomplete()
    return moment
