"""Forgetting across tiers: one transaction, after which no read finds any of it, and one receipt."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.dispatch import Signal
from django.utils.translation import gettext

from memoryapp.accounts import operations as accounts
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.context import forgetting as context
from memoryapp.errors import MemoryAppError, NotFoundError
from memoryapp.forgetting.preview import is_final
from memoryapp.forgetting.scopes import Asked, RunInProgressError, Taken, taken
from memoryapp.longterm import forgettings, history
from memoryapp.receipts import operations as receipts
from memoryapp.receipts import queries
from memoryapp.receipts.models import Receipt, Scope, Sort
from memoryapp.scratchpad import records
from memoryapp.tooling import operations as tooling
from memoryapp.transcript import conversations, deletions, redaction

logger = logging.getLogger(__name__)

# A worker may record one thing more between the look at what hangs on a row and the end of the transaction, which the
# database then refuses; it hears of the end within a second, so that a later try finds it silent.
TRIES: Final = 10

# Sent with ``user_id`` inside the transaction, before everything of a person goes: rooms above drop what they hold.
everything = Signal()

Result = TypeVar("Result")


class NothingToForgetError(NotFoundError):
    """There is nothing in this scope."""

    code = "nothing_to_forget"


class NotUndoneError(MemoryAppError):
    """Nothing of it can come back any more."""

    code = "too_late"
    http_status = 409


def forget(user_id: UUID, asked: Asked, *, now: datetime, at_once: bool = False) -> Receipt:
    """Take what is asked for out of every read, in every tier; until the receipt's ``undo_until`` ``undo`` brings it
    back, then it is deleted for good.

    ``at_once``: without that time. Raises as ``scopes.taken``, ``NothingToForgetError``, and ``ReplyInProgressError``
    where a message to be redacted or deleted is of a conversation that is being answered. With what cannot come back
    goes all for good: records of runs, redacted words, temporary chats.
    """
    return _tried(lambda: _forget(user_id, asked, now=now, at_once=at_once))


def undo(user_id: UUID, receipt_id: UUID, *, now: datetime) -> Receipt:
    """Bring back what can still come back. Raises NotFoundError, ``NotUndoneError``, and what the tiers raise."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)  # before anything of theirs, as everywhere
        receipt = queries.get_receipt(user_id, receipt_id)
        if receipt.undone_at:
            raise NotUndoneError(gettext("This was undone already."))
        if not _bring_back(receipt, now=now):
            raise NotUndoneError(gettext("It is gone for good."))
    return queries.get_receipt(user_id, receipt_id)


def finish(user_id: UUID, receipt_id: UUID) -> Receipt:
    """Delete it for good now, whatever time there is left. Once more changes nothing. Raises NotFoundError."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        receipt = queries.get_receipt(user_id, receipt_id)
        acts = [UUID(act_id) for act_id in receipt.acts]
        for act_id in forgettings.open_among(user_id, acts):
            forgettings.finish_within(user_id, act_id)
        deletions.end_undo_within(user_id, acts)
        conversations.end_undo_within(user_id, _not_restored(receipt, Sort.CONVERSATION))
        receipts.end_undo(receipt)
    return queries.get_receipt(user_id, receipt_id)


def _tried(work: Callable[[], Result]) -> Result:
    for left in reversed(range(TRIES)):
        try:
            return work()
        except IntegrityError:
            if not left:
                raise
            logger.info("A forgetting is tried again: something was recorded beside it.")
    raise AssertionError


def _forget(user_id: UUID, asked: Asked, *, now: datetime, at_once: bool) -> Receipt:
    with transaction.atomic(durable=True):
        if asked.scope == Scope.ACCOUNT:
            accounts.lock_admins(user_id)
        history.lock_person(user_id)  # before anything of theirs, as everywhere
        goes = taken(user_id, asked, now=now)
        if goes.is_nothing and not goes.is_everything:
            raise NothingToForgetError(gettext("There is nothing there to forget."))
        subject_id = None if goes.is_everything else _uuid(asked.subject)
        with receipts.together(
            user_id,
            asked.scope,
            now=now,
            subject="" if subject_id or goes.is_everything else asked.subject[:60],
            subject_id=subject_id,
        ) as written:
            if goes.is_everything:
                _everything(user_id, asked.scope, now=now)
            else:
                _take(user_id, goes, now=now, is_final=at_once or is_final(asked, goes))
    if written.receipt is None:
        raise NothingToForgetError(gettext("There is nothing there to forget."))
    return written.receipt


def _take(user_id: UUID, goes: Taken, *, now: datetime, is_final: bool) -> None:
    # Before what was learned goes, which takes records along: all of these go, or nothing does.
    if records.delete_within(user_id, goes.runs) < len(goes.runs):
        raise RunInProgressError(gettext("This run goes on. Stop it first, then forget it."))
    # Before the memories, which take lessons along that hold them.
    if goes.experiences:
        forgettings.forget_experiences_within(user_id, goes.experiences, now=now, is_final=is_final)
    if goes.memories:
        forgettings.forget_within(user_id, goes.memories, now=now, is_final=is_final)
    for message_id, words in goes.words:
        with suppress(redaction.NotInMessageError):  # gone with the same words of a message before
            redaction.redact_within(user_id, message_id, words=words, whole_words=True)
    for turn_ids in goes.turns.values():
        deletions.delete_these_within(user_id, turn_ids, now=now, is_final=is_final)
    temporary = conversations.delete_temporary_within(user_id, goes.conversations)
    conversations.delete_conversations_within(user_id, goes.conversations - set(temporary), is_final=is_final)


def _everything(user_id: UUID, scope: Scope, *, now: datetime) -> None:
    """In all tiers, without asking what refers to what: nothing of it is left that could. Imports end first, so that
    what they bring is there to be forgotten or comes no more."""
    everything.send(sender=Receipt, user_id=user_id)
    counts = forgettings.delete_everything_within(user_id, now=now)
    counts |= records.delete_everything_within(user_id)
    context.delete_everything_within(user_id)
    tooling.delete_uses_within(user_id)
    activity.delete_readings_within(user_id)
    counts |= conversations.delete_everything_within(user_id)
    receipts.issue(user_id, scope, items={}, counts=counts, now=now)
    if scope == Scope.ACCOUNT:
        accounts.delete_account_within(user_id)
    else:
        activity.note(user_id, Verb.FORGOT, tier=Tier.ACCOUNT, rows=sum(counts.values()), detail="everything")


def _bring_back(receipt: Receipt, *, now: datetime) -> bool:
    """Whether there was something. By the acts of this receipt alone: what it took may have been forgotten again since,
    and a part of it may be gone with something else."""
    user_id = receipt.user_id
    acts = [UUID(act_id) for act_id in receipt.acts]
    back = len(conversations.restore_conversations_within(user_id, _not_restored(receipt, Sort.CONVERSATION)))
    for act_id in forgettings.open_among(user_id, acts):
        forgettings.undo_within(user_id, act_id, now=now)
        back += 1
    for deletion_id in deletions.open_among(user_id, acts):
        with suppress(NotFoundError):
            deletions.undo_deletion_within(user_id, deletion_id)
            back += 1
    return back > 0


def _not_restored(receipt: Receipt, sort: Sort) -> list[UUID]:
    back = {*receipt.restored.get(sort, ())}
    return [UUID(item_id) for item_id in receipt.items.get(sort, ()) if item_id not in back]


def _uuid(subject: str) -> UUID | None:
    try:
        return UUID(subject)
    except ValueError:
        return None
