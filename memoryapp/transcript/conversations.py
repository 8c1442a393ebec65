"""Writes about whole conversations: beginning, naming, putting away, deleting, and copying one up to a turn."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import (
    DateTimeField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from uuid6 import uuid7

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Scope, Sort
from memoryapp.transcript import ending, queries, sources, tree
from memoryapp.transcript.models import Conversation, Message, MessageKey, PinnedLine, Summary, Turn
from memoryapp.transcript.operations import clean_title, known_turn, request_digest
from memoryapp.tuning import queries as tuning

COPIED_TURN = (
    "status", "model", "error_code", "error_message", "input_tokens", "output_tokens", "cache_read_tokens",
    "cache_creation_tokens", "next_prompt_tokens", "started_at", "finished_at", "taint",
)  # fmt: skip
SWITCH_NAMES = {"use_memory": "use memory", "save_memory": "save to memory"}
DELETION_TRIES = 10
SWEPT_AT_ONCE = 500


class TemporarySavesNothingError(InvalidInputError):
    code = "temporary_saves_nothing"


class ReplyInProgressError(MemoryAppError):
    """The conversation is being answered, so its turns stay as they are until the reply has ended."""

    code = "reply_in_progress"
    http_status = 409


class NotShownError(ReplyInProgressError):
    """The turn is not on the shown branch."""

    code = "turn_not_shown"


def start_conversation(
    user: User,
    *,
    now: datetime,
    title: str = "",
    is_temporary: bool = False,
    use_memory: bool | None = None,
    save_memory: bool | None = None,
) -> Conversation:
    """A new, empty conversation. Left open, the switches are on; in a temporary one both are off.

    Raises ``TemporarySavesNothingError`` when a temporary one is asked to save.
    """
    if is_temporary and save_memory:
        raise _temporary_saves_nothing()
    title = clean_title(title)
    return Conversation.objects.create(
        user=user,
        title=title,
        title_source=Conversation.TitleSource.USER if title else Conversation.TitleSource.FIRST_WORDS,
        updated_at=now,
        is_temporary=is_temporary,
        use_memory=not is_temporary if use_memory is None else use_memory,
        save_memory=not is_temporary if save_memory is None else save_memory,
    )


def change_conversation(
    user_id: UUID,
    conversation_id: UUID,
    *,
    title: str | None = None,
    use_memory: bool | None = None,
    save_memory: bool | None = None,
    is_pinned: bool | None = None,
    is_archived: bool | None = None,
) -> Conversation:
    """Change what is given. Raises ``TemporarySavesNothingError``; ``InvalidInputError`` for an empty title."""
    changes: dict[str, object] = {
        name: value
        for name, value in (("use_memory", use_memory), ("save_memory", save_memory))
        if value is not None
    }
    for column, wanted in (("pinned_at", is_pinned), ("archived_at", is_archived)):
        if wanted is not None:
            changes[column] = Now() if wanted else None
    if title is not None:
        changes["title"] = clean_title(title)
        changes["title_source"] = Conversation.TitleSource.USER
        if not changes["title"]:
            raise InvalidInputError(gettext("Give the conversation a name, or cancel."))
    with transaction.atomic(durable=True):
        as_it_is = queries.get_conversation(user_id, conversation_id)
        if save_memory and as_it_is.is_temporary:
            raise _temporary_saves_nothing()
        if save_memory and not as_it_is.save_memory:
            # What was said while nothing was to be saved stays unlearned.
            sources.pass_over(user_id, conversation_id=conversation_id)
        if changes and not _kept(user_id, conversation_id).update(**changes):
            raise NotFoundError(gettext("There is no such conversation."))
        for switch in ("use_memory", "save_memory"):
            if switch in changes and changes[switch] != getattr(as_it_is, switch):
                detail = f"{SWITCH_NAMES[switch]} {'on' if changes[switch] else 'off'}"
                _note(user_id, Verb.SWITCHED, [conversation_id], detail=detail)
    return queries.get_conversation(user_id, conversation_id)


def give_title(conversation: Conversation, title: str) -> bool:
    """The title made by the model, unless a person or the model has given one; whether it was taken.

    ``conversation`` is as it was before its words were read: when some of them were changed since, it is not.
    """
    untitled = Conversation.objects.filter(
        id=conversation.id,
        title_source=Conversation.TitleSource.FIRST_WORDS,
        revision=conversation.revision,
    )
    return bool(untitled.update(title=clean_title(title), title_source=Conversation.TitleSource.MODEL))


def archive_conversations(
    user_id: UUID, conversation_ids: Collection[UUID], *, is_archived: bool
) -> list[UUID]:
    """Put them away, or bring them back to the list; which of them that changed."""
    with transaction.atomic(durable=True):
        changed = _locked(_listed(user_id, conversation_ids).filter(archived_at__isnull=is_archived))
        Conversation.objects.filter(id__in=changed).update(archived_at=Now() if is_archived else None)
    return changed


def delete_conversation(user_id: UUID, conversation_id: UUID) -> None:
    """Take it away at once, everywhere; it can be brought back until the sweep deletes it for good.

    A temporary one is gone for good. What was remembered from it stays until that is forgotten. What is deleted
    already stays so.
    """
    if _delete_temporary(user_id, conversation_id) or delete_conversations(user_id, [conversation_id]):
        return
    if not queries.is_restorable(user_id, conversation_id):
        raise NotFoundError(gettext("There is no such conversation."))


def _delete_temporary(user_id: UUID, conversation_id: UUID) -> bool:
    """Whether it was one, and is gone with all that was recorded of it.

    A worker that answers in it may record one thing more between the look at what hangs on it and the deletion, which
    the database then refuses; the worker hears of the end within a second, so that a later try finds it silent.
    """
    for left in reversed(range(DELETION_TRIES)):
        try:
            with transaction.atomic(durable=True):
                return bool(delete_temporary_within(user_id, [conversation_id]))
        except IntegrityError:
            if not left:
                raise
    raise AssertionError


def delete_temporary_within(user_id: UUID, conversation_ids: Collection[UUID]) -> list[UUID]:
    """Within the caller's transaction: those of these that are temporary are gone, with all that hangs on them; which.

    What a worker records at the same time makes the commit fail: then try again.
    """
    # A message on its way waits for the row, and then finds nothing to be posted to.
    rows = Conversation.objects.filter(user_id=user_id, id__in=conversation_ids, deleted_at=None)
    temporary = _locked(rows.filter(is_temporary=True))
    live = Turn.objects.filter(conversation__in=temporary, status__in=Turn.LIVE)
    live.update(status=Turn.Status.CANCELLED, attempt=F("attempt") + 1, finished_at=Now())
    Conversation.objects.filter(id__in=temporary).delete()
    _note(user_id, Verb.DELETED, temporary)
    receipts.issue(user_id, Scope.CONVERSATION, items={Sort.CONVERSATION: temporary}, now=timezone.now())
    return temporary


def delete_conversations(user_id: UUID, conversation_ids: Collection[UUID]) -> list[UUID]:
    """Take these away, as ``delete_conversation`` does one; which of them were still there."""
    with transaction.atomic(durable=True):
        return delete_conversations_within(user_id, conversation_ids)


def delete_conversations_within(
    user_id: UUID, conversation_ids: Collection[UUID], *, is_final: bool = False
) -> list[UUID]:
    """``delete_conversations``, as a part of the caller's transaction; ``is_final``: they go with the next sweep."""
    deleted = _locked(_listed(user_id, conversation_ids))
    rows = Conversation.objects.filter(id__in=deleted)
    rows.update(deleted_at=Now(), undo_until=Now() if is_final else _end_of_undo())
    live = Turn.objects.filter(conversation__in=deleted, status__in=Turn.LIVE)
    live.filter(stop_requested_at=None).update(stop_requested_at=Now())
    # Counts as an attempt, as in ``request_stop``.
    live.filter(status=Turn.Status.QUEUED).update(
        status=Turn.Status.CANCELLED, attempt=F("attempt") + 1, finished_at=Now()
    )
    _note(user_id, Verb.DELETED, deleted)
    for first in rows[:1]:
        assert first.deleted_at
        receipts.issue(
            user_id,
            Scope.CONVERSATION,
            items={Sort.CONVERSATION: deleted},
            now=first.deleted_at,
            undo_until=None if is_final else first.undo_until,
        )
    return deleted


def restore_conversation(user_id: UUID, conversation_id: UUID) -> Conversation:
    """Undo a deletion. Raises ``NotFoundError`` when it is gone for good."""
    if not restore_conversations(user_id, [conversation_id]):
        raise NotFoundError(gettext("This chat is gone for good."))
    return queries.get_conversation(user_id, conversation_id)


def restore_conversations(user_id: UUID, conversation_ids: Collection[UUID]) -> list[UUID]:
    """Undo the deletion of these; which of them could be brought back.

    One whose time is over is kept as long again as if something had been said in it now: the sweep would take it.
    """
    with transaction.atomic(durable=True):
        return restore_conversations_within(user_id, conversation_ids)


def restore_conversations_within(user_id: UUID, conversation_ids: Collection[UUID]) -> list[UUID]:
    """``restore_conversations``, as a part of the caller's transaction."""
    restored = _locked(queries.deleted_conversations(user_id).filter(id__in=conversation_ids))
    rows = Conversation.objects.filter(id__in=restored)
    rows.filter(ending.overdue()).update(updated_at=Now())
    rows.update(deleted_at=None, undo_until=None)
    _note(user_id, Verb.RESTORED, restored)
    receipts.take_back(user_id, {Sort.CONVERSATION: restored}, now=timezone.now())
    return restored


def end_undo_within(user_id: UUID, conversation_ids: Collection[UUID]) -> None:
    """Within the caller's transaction: these deleted conversations come back no longer, and go with the next sweep."""
    _locked(queries.deleted_conversations(user_id).filter(id__in=conversation_ids))
    rows = Conversation.objects.filter(user_id=user_id, id__in=conversation_ids, undo_until__gt=Now())
    rows.update(undo_until=Now())


def delete_everything_within(user_id: UUID) -> dict[str, int]:
    """Within the caller's transaction: all conversations of this person with all that hangs on them, now and for good;
    how many rows of each sort. What a worker writes at the same time makes the commit fail: then try again."""
    live = Turn.everything.filter(user_id=user_id, status__in=Turn.LIVE)
    live.update(status=Turn.Status.CANCELLED, attempt=F("attempt") + 1, finished_at=Now())
    counts = count_everything(user_id)
    accounts.delete_rows(user_id, (PinnedLine, Summary, MessageKey, Message, Turn, Conversation))
    return counts


def count_everything(user_id: UUID) -> dict[str, int]:
    """How many rows of each sort there are, with what is being deleted."""
    return {
        "conversations": Conversation.objects.filter(user_id=user_id).count(),
        "messages": Message.objects.filter(user_id=user_id).count(),
        "summaries": Summary.objects.filter(user_id=user_id).count(),
    }


def delete_for_good() -> int:
    """Rows of conversations whose time to be brought back is over, and of temporary ones left open too long."""
    answering = Turn.objects.filter(conversation=OuterRef("pk"), status__in=Turn.LIVE)
    over = Conversation.objects.filter(
        Q(undo_until__lte=Now())
        | Q(is_temporary=True, updated_at__lte=Now() - timedelta(hours=tuning.conf().temporary_hours))
    ).exclude(Exists(answering))
    with transaction.atomic(durable=True):
        # Locked, so that nobody brings one back or writes in it between the look and the deletion.
        doomed = list(over.select_for_update(skip_locked=True).values_list("id", flat=True)[:SWEPT_AT_ONCE])
        Conversation.objects.filter(id__in=doomed).delete()
    return len(doomed)


def erase_conversations(user_id: UUID, conversation_ids: Collection[UUID]) -> None:
    """Delete these for good, in whatever state: a restored backup holds what was gone."""
    Conversation.objects.filter(user_id=user_id, id__in=list(conversation_ids)).delete()


def fork_conversation(user: User, turn_id: UUID, *, idempotency_key: str, now: datetime) -> Conversation:
    """A new conversation that holds copies of everything up to and including this turn, with its summary and pins.

    The same key again returns the same copy; raises ``IdempotencyConflictError`` when it was for another turn,
    ``ReplyInProgressError`` while a turn of those is being answered.
    """
    turn = queries.get_turn(user.id, turn_id)
    key, digest = f"fork:{idempotency_key}", request_digest(turn_id, "")
    known = known_turn(user.id, key, digest)
    if known:
        return queries.get_conversation(user.id, known.conversation_id)
    try:
        copy = _fork(user, turn, idempotency_key=key, digest=digest, now=now)
    except IntegrityError:  # a double click
        known = known_turn(user.id, key, digest)
        if known is None:
            raise
        return queries.get_conversation(user.id, known.conversation_id)
    return queries.get_conversation(user.id, copy.id)


def _fork(user: User, turn: Turn, *, idempotency_key: str, digest: str, now: datetime) -> Conversation:
    with transaction.atomic(durable=True):
        original = _kept(user.id, turn.conversation_id).select_for_update().first()
        if original is None:
            raise NotFoundError(gettext("There is no such conversation."))
        path = tree.path_to(queries.get_turn(user.id, turn.id))  # unless it was deleted meanwhile
        if Turn.objects.filter(id__in=path, status__in=Turn.LIVE).exists():
            raise ReplyInProgressError(gettext("Wait until the reply is finished, or stop it first."))
        copy = Conversation.objects.create(
            user=user,
            title=clean_title(f"{original.title[:190]} (copy)"),
            title_source=Conversation.TitleSource.USER,
            updated_at=now,
            last_seq=turn.seq,
            use_memory=original.use_memory,
            save_memory=original.save_memory,
            is_temporary=original.is_temporary,
            forked_from=original,
        )
        copies = _copy_turns(copy, path)
        # The last copy answers for the request that made them all.
        Turn.objects.filter(id=copies[turn.id].id).update(
            idempotency_key=idempotency_key, request_digest=digest
        )
        _copy_messages(copies)
        _copy_summary(copy, copies)
        _copy_pinned_lines(copy, copies)
    return copy


def _copy_turns(copy: Conversation, path: list[UUID]) -> dict[UUID, Turn]:
    """Copies by the id of the original, in order, each below the one before."""
    copies: dict[UUID, Turn] = {}
    parent: Turn | None = None
    for original in Turn.everything.filter(id__in=path).order_by("seq"):
        parent = Turn(
            user_id=copy.user_id,
            conversation=copy,
            seq=original.seq,
            parent=parent,
            idempotency_key=f"fork:{uuid7()}",
            request_digest=original.request_digest,
            attempt=1,
            attempts_left=0,
            deleted_at=original.deleted_at,  # an empty place: its words are not copied
            **{name: getattr(original, name) for name in COPIED_TURN},
        )
        copies[original.id] = parent
    Turn.everything.bulk_create(copies.values(), batch_size=500)
    said = Turn.everything.filter(id__in=path, seq=OuterRef("seq"))
    Turn.everything.filter(conversation=copy).update(created_at=Subquery(said.values("created_at")[:1]))
    return copies


def _copy_messages(copies: dict[UUID, Turn]) -> None:
    originals = Message.objects.filter(turn_id__in=copies, turn__deleted_at=None).defer("search_vector")
    made = Message.objects.bulk_create(
        (
            Message(
                user_id=m.user_id,
                turn=copies[m.turn_id],
                role=m.role,
                text=m.text,
                speaker=m.speaker,
                tokens=m.tokens,
                extracted_at=m.extracted_at,
                change=m.change,
                changed_at=m.changed_at,
            )
            for m in originals
        ),
        batch_size=500,
    )
    # Said when the original was: the column fills itself with the moment of the copy.
    for copy, original in zip(made, originals, strict=True):
        copy.created_at = original.created_at
    Message.objects.bulk_update(made, ["created_at"], batch_size=500)


def _copy_summary(copy: Conversation, copies: dict[UUID, Turn]) -> None:
    summary = (
        Summary.objects.filter(last_turn__in=copies, is_stale=False).order_by("-last_seq", "-version").first()
    )
    if summary:
        summary.last_turn = copies[summary.last_turn_id]
        summary.pk = summary.id = uuid7()
        summary.conversation = copy
        summary.version = 1
        summary.replaces = None
        summary.save(force_insert=True)


def _copy_pinned_lines(copy: Conversation, copies: dict[UUID, Turn]) -> None:
    kept = PinnedLine.objects.filter(turn__in=copies, turn__deleted_at=None)
    for line in kept.order_by("created_at", "id"):
        line.pk = line.id = uuid7()
        line.conversation = copy
        line.turn = copies[line.turn_id]
        line.save(force_insert=True)


def _note(user_id: UUID, verb: Verb, conversation_ids: Sequence[UUID], *, detail: str = "") -> None:
    """One entry for what was done to these at once; none when there were none."""
    if conversation_ids:
        only = conversation_ids[0] if len(conversation_ids) == 1 else None
        activity.note(
            user_id,
            verb,
            tier=Tier.TRANSCRIPT,
            subject_id=only,
            rows=len(conversation_ids),
            detail=detail,
        )


def _listed(user_id: UUID, conversation_ids: Collection[UUID]) -> QuerySet[Conversation]:
    return Conversation.objects.filter(
        user_id=user_id, id__in=conversation_ids, is_temporary=False, deleted_at=None
    )


def _locked(rows: QuerySet[Conversation]) -> list[UUID]:
    """Their ids, locked in one order, so that two changes of the same ones wait for each other."""
    return list(rows.select_for_update().order_by("id").values_list("id", flat=True))


def _kept(user_id: UUID, conversation_id: UUID) -> QuerySet[Conversation]:
    return Conversation.objects.filter(user_id=user_id, id=conversation_id, deleted_at=None)


def _end_of_undo() -> "ExpressionWrapper[CombinedExpression]":
    minutes = tuning.conf().deleted_conversation_minutes
    return ExpressionWrapper(Now() + timedelta(minutes=minutes), output_field=DateTimeField())


def _temporary_saves_nothing() -> TemporarySavesNothingError:
    return TemporarySavesNothingError(
        gettext("A temporary chat saves nothing. Start an ordinary chat for what should be remembered.")
    )
