"""Writes that grow the tree of turns sideways: asking anew, showing another branch, taking turns off the shown one.

Nothing is destroyed: what leaves the shown branch stays stored, searchable and can be shown again. Each holds the
conversation's row, as posting and compaction do, and none runs while a reply is being written.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.errors import NotFoundError
from memoryapp.transcript import operations, queries, tree
from memoryapp.transcript.conversations import NotShownError, ReplyInProgressError
from memoryapp.transcript.models import Conversation, Message, Turn


def ask_anew(
    user: User,
    turn_id: UUID,
    *,
    idempotency_key: str,
    now: datetime,
    text: str | None = None,
    also: Callable[[Turn], None] | None = None,
) -> tuple[Turn, bool]:
    """A sibling of the turn, queued in its place: with other words (an edit), or the same (another answer).

    Returns (sibling, whether it is new). What followed the turn stays on its own branch. The same words were said when
    they first were: what has been forgotten or replaced since is not said again. The same key again returns the same
    sibling. ``also``: in the same transaction, what else there is to keep of it. Raises what ``post_turn`` raises,
    ``ReplyInProgressError``, ``NotShownError``.
    """
    turn = queries.get_turn(user.id, turn_id)
    new_words = None if text is None else operations.clean_message(text)
    digest = operations.request_digest(turn_id, new_words or "")
    known = operations.known_turn(user.id, idempotency_key, digest)
    if known:
        return known, False
    try:
        with transaction.atomic(durable=True):
            hold(user.id, turn.conversation_id)
            known = operations.known_turn(user.id, idempotency_key, digest)
            if known:  # the same request, committed while this one waited for the row
                return known, False
            require_quiet(turn.conversation_id)
            # As it reads now that nobody changes it: what was redacted meanwhile is not said again.
            asked = queries.user_message(queries.get_turn(user.id, turn_id))
            cut(user.id, turn_id)
            sibling = operations.queue_turn(
                user,
                turn.conversation_id,
                text=asked.text if new_words is None else new_words,
                idempotency_key=idempotency_key,
                digest=digest,
                now=now,
                said_at=asked.created_at if new_words is None else None,
            )
            if new_words is None:  # the same words teach what they taught, once
                read_at = asked.extracted_at
                Message.objects.filter(turn=sibling, role=Message.Role.USER).update(extracted_at=read_at)
            if also:
                also(sibling)
    except IntegrityError:
        known = operations.known_turn(user.id, idempotency_key, digest)
        if known is None:
            raise
        return known, False
    return queries.get_turn(user.id, sibling.id), True


def take_off(user_id: UUID, turn_id: UUID) -> Turn:
    """Take a turn and what follows it off the shown branch; ``show_branch`` of it brings them back.

    A turn that is not on it stays where it is.
    """
    turn = queries.get_turn(user_id, turn_id)
    with transaction.atomic(durable=True):
        hold(user_id, turn.conversation_id)
        if Turn.objects.filter(id=turn_id, is_current=True).exists():
            require_quiet(turn.conversation_id)
            cut(user_id, turn_id)
    return queries.get_turn(user_id, turn_id)


def show_branch(user_id: UUID, turn_id: UUID) -> Turn:
    """Show the branch that leads to this turn, and on from it as it was last shown."""
    turn = queries.get_turn(user_id, turn_id)
    with transaction.atomic(durable=True):
        hold(user_id, turn.conversation_id)
        require_quiet(turn.conversation_id)
        path = tree.branch_through(queries.get_turn(user_id, turn_id))  # unless it was deleted meanwhile
        in_conversation = Turn.everything.filter(user_id=user_id, conversation_id=turn.conversation_id)
        in_conversation.filter(is_current=True).exclude(id__in=path).update(is_current=False, left_at=Now())
        in_conversation.filter(id__in=path).update(is_current=True)
        Conversation.objects.filter(id=turn.conversation_id).update(last_seq=len(path))
    return queries.get_turn(user_id, turn_id)


def hold(user_id: UUID, conversation_id: UUID) -> None:
    """Lock the conversation for this transaction: posting, compaction and what changes its tree wait for each other."""
    held = Conversation.objects.select_for_update().filter(
        user_id=user_id, id=conversation_id, deleted_at=None
    )
    if not held:
        raise NotFoundError(gettext("There is no such conversation."))


def require_quiet(conversation_id: UUID) -> None:
    if Turn.objects.filter(conversation_id=conversation_id, status__in=Turn.LIVE).exists():
        raise ReplyInProgressError(gettext("Wait until the reply is finished, or stop it first."))


def cut(user_id: UUID, turn_id: UUID) -> None:
    """The shown branch ends before this turn."""
    turn = queries.get_turn(user_id, turn_id)
    if not turn.is_current:
        raise NotShownError(gettext("This message is not on the shown branch. Show its branch first."))
    Turn.everything.filter(
        user_id=user_id, conversation_id=turn.conversation_id, is_current=True, seq__gte=turn.seq
    ).update(is_current=False, left_at=Now())
    Conversation.objects.filter(id=turn.conversation_id).update(last_seq=turn.seq - 1)
