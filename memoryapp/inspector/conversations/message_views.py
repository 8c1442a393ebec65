"""One message of the transcript: to read whole, to correct, to redact; and turns to delete."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.views.decorators.http import require_GET, require_POST

from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.inspector import presentation, typed_word, undoing
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.conversations import conversation_presentation as show
from memoryapp.inspector.typed_word import TYPED_ABOVE, is_typed, mark
from memoryapp.inspector.undoing import Offer
from memoryapp.inspector.views import render_page
from memoryapp.lifecycle.redacting import records_foreseen
from memoryapp.longterm import forgettings, quotes
from memoryapp.longterm import queries as longterm
from memoryapp.transcript import deletions, queries, redaction
from memoryapp.transcript.conversations import ReplyInProgressError
from memoryapp.transcript.models import Message, Turn
from memoryapp.transcript.redaction import Changed, Foreseen
from memoryapp.tuning import queries as tuning

WORD: Final = pgettext_lazy("a word to type", "delete")


@login_required
@require_GET
def message(request: HttpRequest, message_id: UUID) -> HttpResponse:
    return _page(request, queries.get_message(subject(request), message_id))


@login_required
@require_POST
def correct(request: HttpRequest, message_id: UUID) -> HttpResponse:
    user_id, text = subject(request), request.POST.get("text", "")
    before = queries.get_message(user_id, message_id).text
    try:
        changed = redaction.correct_message(user_id, message_id, text=text)
    except (InvalidInputError, ReplyInProgressError) as error:
        found = queries.get_message(user_id, message_id)
        return _page(request, found, draft=text, correct_problem=str(error), status=error.http_status)
    said = ngettext(
        "Corrected. The words before are kept nowhere in it.",
        "Corrected in {n} chats that hold it. The words before are kept nowhere in it.",
        max(changed.chats, 1),
    )
    done = _done(request, changed, said.format(n=count_text(changed.chats)), before=before)
    if not changed.repeated:
        return done
    # At once: no page that comes later knows the words, for they are kept nowhere.
    return _page(request, queries.get_message(user_id, message_id), repeated=changed.repeated)


@login_required
@require_POST
def redact(request: HttpRequest, message_id: UUID) -> HttpResponse:
    """The words that were named, or (``all``) the whole message. As it cannot be undone, without ``confirmed`` it only
    says what would go."""
    user_id, words = subject(request), request.POST.get("words", "")
    asked, everywhere = None if "all" in request.POST else words, "everywhere" in request.POST
    found = queries.get_message(user_id, message_id)
    before = found.text
    try:
        if "confirmed" not in request.POST:
            foreseen = redaction.foresee_redaction(user_id, message_id, words=asked, everywhere=everywhere)
            return _page(request, found, words=words, would_go=_would_go(request, found, foreseen))
        changed = redaction.redact_message(user_id, message_id, words=asked, everywhere=everywhere)
    except (InvalidInputError, ReplyInProgressError) as error:
        found = queries.get_message(user_id, message_id)
        return _page(request, found, words=words, redact_problem=str(error), status=error.http_status)
    return _done(request, changed, _redacted_text(changed), before=before)


@login_required
@require_POST
def turn_delete(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """An exchange, or (``following``) all from it on; ``forget``: with what was learned from them. Many only after a
    typed word."""
    user_id = subject(request)
    turn = queries.get_turn(user_id, turn_id)
    following = "following" in request.POST
    said = queries.turns(user_id, turn.conversation_id).filter(seq__gte=turn.seq)
    taken_turns = list(said) if following else [turn]
    message_ids = [row.id for one in taken_turns for row in one.messages.all()]
    taken = _memories_of(user_id, message_ids) if str(turn_id) in request.POST.getlist("forget") else []
    ids = [*(one.id for one in taken_turns), *taken]
    if len(ids) > TYPED_ABOVE and not is_typed(request.POST, ids, word=str(WORD)):
        return _deletion_page(request, turn, ids, exchanges=len(taken_turns), memories=len(taken))
    try:
        deletion = deletions.delete_turns(user_id, turn_id, following=following, now=timezone.now())
    except ReplyInProgressError as error:
        text = gettext("Nothing was deleted. {why}").format(why=error)
        undoing.offer(request, text=text, url="", until=None)
        return redirect("inspector:conversation", turn.conversation_id)
    what = ngettext("Deleted: {n} exchange.", "Deleted: {n} exchanges.", deletion.turns)
    undoing.offer(
        request,
        text=what.format(n=count_text(deletion.turns)),
        url=reverse("inspector:conversations_undo"),
        until=deletion.until,
        fields={"deletion": str(deletion.id)},
    )
    _forget(request, taken)
    return redirect("inspector:conversation", turn.conversation_id)


def _deletion_page(
    request: HttpRequest, turn: Turn, ids: Sequence[UUID], *, exchanges: int, memories: int
) -> HttpResponse:
    problem = typed_word.problem(request.POST, ids, word=str(WORD))
    context = {
        "conversation": turn.conversation,
        "turn": turn,
        "count": exchanges,
        "memories": memories,
        "is_following": "following" in request.POST,
        "shown": mark(ids),
        "word": WORD,
        "kept_minutes": tuning.conf().undo_minutes,
        "problem": problem,
    }
    return render_page(request, "turns_delete", context, status=422 if problem else 200)


def _page(
    request: HttpRequest,
    found: Message,
    *,
    draft: str | None = None,
    words: str = "",
    correct_problem: str = "",
    redact_problem: str = "",
    would_go: Sequence[str] = (),
    repeated: Mapping[str, Sequence[UUID]] | None = None,
    status: int = 200,
) -> HttpResponse:
    learned = _memories_of(found.user_id, [found.id])
    context = {
        "conversation": found.turn.conversation,
        "turn": found.turn,
        "message": show.message_row(found, is_whole=True),
        "is_yours": found.role == Message.Role.USER and not found.speaker,
        "who": found.speaker or (gettext("You") if found.role == Message.Role.USER else "Strata"),
        "memories": [
            presentation.memory_row(memory)
            for memory in longterm.memories(found.user_id, status="any").filter(id__in=learned)
        ],
        "chat_url": presentation.turn_url(found.turn),
        "draft": found.text if draft is None else draft,
        "words": words,
        "correct_problem": correct_problem,
        "redact_problem": redact_problem,
        "would_go": would_go,
        "repeated": (repeated or {}).items(),
        "is_whole": "all" in request.POST,
        "is_everywhere": "everywhere" in request.POST,
        "mark": redaction.MARK,
        "saying": len(quotes.saying(found.user_id, learned, before=found.text)),
        "is_forgetting": request.method == "GET" or "forget" in request.POST,
        "has_taught": longterm.from_conversation(found.user_id, found.turn.conversation_id).exists(),
    }
    return render_page(request, "message", context, status=status)


def _would_go(request: HttpRequest, found: Message, foreseen: Foreseen) -> list[str]:
    """What redacting would take, line by line."""
    messages = len(foreseen.message_ids)
    if foreseen.chats > 1:
        said = ngettext("{n} message in {chats} chats", "{n} messages in {chats} chats", messages)
    else:
        said = ngettext("{n} message of this chat", "{n} messages of this chat", messages)
    lines = [said.format(n=count_text(messages), chats=count_text(foreseen.chats))]
    taken = _memories_of(found.user_id, list(foreseen.message_ids))
    memories = len(quotes.saying(found.user_id, taken, before=found.text, after=foreseen.after))
    if memories and "forget" in request.POST:
        lines.append(
            ngettext("{n} memory is forgotten", "{n} memories are forgotten", memories).format(
                n=count_text(memories)
            )
        )
    elif memories:
        stays = ngettext(
            "{n} memory that says these words stays", "{n} memories that say these words stay", memories
        )
        lines.append(stays.format(n=count_text(memories)))
    if foreseen.summaries:
        made = ngettext(
            "{n} summary loses its text and is made anew",
            "{n} summaries lose their text and are made anew",
            foreseen.summaries,
        )
        lines.append(made.format(n=count_text(foreseen.summaries)))
    records = records_foreseen(found.user_id, foreseen)
    if records:
        gone = ngettext(
            "{n} run record (the steps behind a reply) is deleted",
            "{n} run records (the steps behind replies) are deleted",
            records,
        )
        lines.append(gone.format(n=count_text(records)))
    return lines


def _redacted_text(changed: Changed) -> str:
    count = len(changed.message_ids)
    if changed.chats > 1:
        said = ngettext(
            "Redacted in one message of {chats} chats. This cannot be undone.",
            "Redacted in {n} messages of {chats} chats. This cannot be undone.",
            count,
        )
    else:
        said = ngettext(
            "Redacted in one message. This cannot be undone.",
            "Redacted in {n} messages. This cannot be undone.",
            count,
        )
    return said.format(n=count_text(count), chats=count_text(changed.chats))


def _memories_of(user_id: UUID, message_ids: list[UUID]) -> list[UUID]:
    taken = longterm.taken_from_messages(user_id, message_ids)
    return list(dict.fromkeys(one.memory_id for rows in taken.values() for one in rows))


def _done(request: HttpRequest, changed: Changed, text: str, *, before: str) -> HttpResponse:
    """``before``: what the message said. Memories of what changed that say what it says no more go when that was
    asked for; else they are named."""
    user_id, page = subject(request), reverse("inspector:message", args=[changed.message_id])
    after = queries.get_message(user_id, changed.message_id).text
    taken = _memories_of(user_id, list(changed.message_ids))
    saying = quotes.saying(user_id, taken, before=before, after=after)
    if saying and "forget" not in request.POST:
        still = ngettext(
            "{n} memory still says these words.", "{n} memories still say these words.", len(saying)
        )
        text += " " + still.format(n=count_text(len(saying)))
        see_url = reverse("inspector:fact", args=[saying[0]]) if len(saying) == 1 else f"{page}#learned-title"
        undoing.put(request, Offer(text, see_url=see_url))
    else:
        undoing.tell(request, text)
        _forget(request, saying)
    return redirect(page)


def _forget(request: HttpRequest, memory_ids: list[UUID]) -> None:
    if not memory_ids:
        return
    try:
        forgotten = forgettings.forget(subject(request), memory_ids, now=timezone.now())
    except NotFoundError:
        return  # forgotten meanwhile
    count = forgotten.memories_count
    said = ngettext("Forgotten: {n} memory from it.", "Forgotten: {n} memories from it.", count)
    undoing.offer_forgetting(request, forgotten, text=said.format(n=count_text(count)))
