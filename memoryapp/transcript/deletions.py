"""Deleting turns: one, or all from one on. At once for everyone, for good once the time to undo it is over.

A turn that others follow keeps its place: later turns keep their numbers and their parents, and what stands for
"turns 1–n" still does. Nothing shows the place, and no prompt holds it. Where nothing follows, the shown branch ends
earlier. The other versions of a deleted message go with it, and what followed those.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from django.db import transaction
from django.db.models import F, Func, Q, QuerySet, UUIDField, Value
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from uuid6 import uuid7

from memoryapp.accounts import operations as accounts
from memoryapp.activity import operations as activity
from memoryapp.activity.models import EXCHANGES, Tier, Verb
from memoryapp.errors import NotFoundError
from memoryapp.nudges import REBUILD_SUMMARY, nudge
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Scope, Sort
from memoryapp.transcript import branches, queries, redaction, tree
from memoryapp.transcript.conversations import NotShownError
from memoryapp.transcript.models import Conversation, Summary, Turn
from memoryapp.tuning import queries as tuning

SWEPT_AT_ONCE = 500  # turns; the next sweep is a minute away


@dataclass(frozen=True, slots=True)
class Deletion:
    """``turns``: how many of the shown branch it took. ``until``: when it becomes final."""

    id: UUID
    conversation_id: UUID
    turns: int
    until: datetime


def delete_turns(user_id: UUID, turn_id: UUID, *, following: bool, now: datetime) -> Deletion:
    """Take a turn of the shown branch away, or (``following``) it and all after it.

    Raises ``NotShownError`` for a turn of another branch and ``ReplyInProgressError`` while one is being answered.
    """
    with transaction.atomic(durable=True):
        return delete_turns_within(user_id, turn_id, following=following, now=now)


def delete_turns_within(
    user_id: UUID, turn_id: UUID, *, following: bool, now: datetime, is_final: bool = False
) -> Deletion:
    """``delete_turns``, as a part of the caller's transaction; ``is_final``: they go with the next sweep."""
    turn = queries.get_turn(user_id, turn_id)
    _hold(user_id, turn.conversation_id)
    turn = queries.get_turn(user_id, turn_id)
    if not turn.is_current:
        raise NotShownError(gettext("This message is not on the shown branch. Show its branch first."))
    shown = Turn.objects.filter(conversation=turn.conversation_id, is_current=True)
    taken = shown.filter(seq__gte=turn.seq).count() if following else 1
    doomed = _with_versions(turn, following=following)
    return _delete(turn, doomed, exchanges=taken, now=now, is_final=is_final)


def delete_these_within(
    user_id: UUID, turn_ids: Collection[UUID], *, now: datetime, is_final: bool = False
) -> Deletion:
    """Within the caller's transaction: take these turns of one conversation away, on whatever branch, and no others.

    Where the shown branch ends earlier then, it goes on by the version that was shown before. Raises
    ``ReplyInProgressError``, ``NotFoundError`` when none of them is there.
    """
    rows = Turn.objects.filter(user_id=user_id, id__in=list(turn_ids)).order_by("seq", *queries.LAST_SHOWN)
    first = rows.first()
    if first is None:
        raise NotFoundError(gettext("These messages are gone for good."))
    _hold(user_id, first.conversation_id)
    doomed = set(rows.values_list("id", flat=True))
    return _delete(first, doomed, exchanges=len(doomed), now=now, is_final=is_final)


def undo_deletion(user_id: UUID, deletion_id: UUID) -> Conversation:
    """Bring back what was deleted together, to the shown branch unless that has gone on since.

    Raises ``NotFoundError`` when it is gone for good, ``ReplyInProgressError`` while a reply is being written.
    """
    with transaction.atomic(durable=True):
        return undo_deletion_within(user_id, deletion_id)


def undo_deletion_within(user_id: UUID, deletion_id: UUID) -> Conversation:
    """``undo_deletion``, as a part of the caller's transaction."""
    rows = Turn.everything.filter(
        user_id=user_id,
        deletion_id=deletion_id,
        conversation__deleted_at=None,
        undo_until__gt=Now(),
    )
    first = rows.order_by("seq", *queries.LAST_SHOWN).first()
    if first is None:
        raise NotFoundError(gettext("These messages are gone for good."))
    _hold(user_id, first.conversation_id)
    root = rows.filter(seq=first.seq).order_by(*queries.LAST_SHOWN).last()
    if root is None:
        raise NotFoundError(gettext("These messages are gone for good."))
    was_shown = rows.filter(left_at=F("deleted_at")).order_by("seq").last()
    exchanges = rows.values("seq").distinct().count()
    receipts.take_back(user_id, {Sort.TURN: list(rows.values_list("id", flat=True))}, now=timezone.now())
    rows.update(deleted_at=None, deletion_id=None, undo_until=None)
    _show_again(was_shown or root)
    _bring_summaries_back(root, deletion_id)
    _words_are_others(root)
    _note(Verb.RESTORED, root, exchanges=exchanges)
    return queries.get_conversation(user_id, root.conversation_id)


def open_among(user_id: UUID, ids: Collection[UUID]) -> list[UUID]:
    """Those of these deletions that can still be undone, the newest first."""
    rows = Turn.everything.filter(user_id=user_id, deletion_id__in=ids, undo_until__gt=Now())
    return sorted(filter(None, set(rows.values_list("deletion_id", flat=True))), reverse=True)


def end_undo_within(user_id: UUID, ids: Collection[UUID]) -> None:
    """Within the caller's transaction: what these deletions took comes back no longer, and goes with the next sweep."""
    rows = Turn.everything.filter(user_id=user_id, deletion_id__in=ids, undo_until__gt=Now())
    rows.update(undo_until=Now())


def delete_turns_for_good() -> int:
    """Those that can no longer be brought back, with all that hangs on them; how many."""
    found = _due().order_by("conversation_id", "id").values_list("conversation_id", "id")[:SWEPT_AT_ONCE]
    by_conversation = groupby(list(found), key=lambda row: row[0])
    return sum(
        _finish(conversation_id, [id_ for _, id_ in rows]) for conversation_id, rows in by_conversation
    )


def erase_turns(user_id: UUID, turn_ids: Collection[UUID]) -> None:
    """Delete these for good, whether deleted before or not: a restored backup holds what was gone."""
    rows = Turn.everything.filter(user_id=user_id, id__in=list(turn_ids))
    for conversation_id, found in groupby(
        list(rows.order_by("conversation_id", "seq", "id")), key=lambda turn: turn.conversation_id
    ):
        _erase(conversation_id, list(found))


def bring_back(user_id: UUID, turn_ids: Collection[UUID]) -> None:
    """Undo the deletions that took these: they were undone after the backup, when there was still time."""
    taken = Turn.everything.filter(user_id=user_id, id__in=list(turn_ids), deletion_id__isnull=False)
    for deletion_id in list(taken.order_by().values_list("deletion_id", flat=True).distinct()):
        Turn.everything.filter(user_id=user_id, deletion_id=deletion_id).update(
            undo_until=Now() + timedelta(hours=1)
        )
        if deletion_id:
            undo_deletion(user_id, deletion_id)


def interrupt_all() -> None:
    """In a restored backup nobody answers what was being answered when it was made: its person may ask again."""
    Turn.everything.filter(status__in=Turn.LIVE).update(
        status=Turn.Status.INTERRUPTED,
        attempt=F("attempt") + 1,
        finished_at=Now(),
        lease_until=None,
        resume_at=None,
        wait_reason="",
        wait_message="",
    )


def _erase(conversation_id: UUID, turns: list[Turn]) -> None:
    ids, deletion_id = [turn.id for turn in turns], uuid7()
    with transaction.atomic(durable=True):
        Conversation.objects.select_for_update().get(id=conversation_id)
        Turn.everything.filter(id__in=ids).update(deleted_at=Now(), deletion_id=deletion_id, undo_until=Now())
        _end_with_a_turn(conversation_id)
        _leave_out_of_summaries(turns[0], deletion_id)
        _go_on(turns[0].user_id, conversation_id)
        _words_are_others(turns[0])
    _finish(conversation_id, ids)


def _delete(turn: Turn, doomed: set[UUID], *, exchanges: int, now: datetime, is_final: bool) -> Deletion:
    """``turn``: the first of them."""
    deletion_id = uuid7()
    until = now if is_final else now + timedelta(minutes=tuning.conf().undo_minutes)
    Turn.objects.filter(id__in=doomed).update(deleted_at=Now(), deletion_id=deletion_id, undo_until=until)
    _end_with_a_turn(turn.conversation_id)
    _leave_out_of_summaries(turn, deletion_id)
    _go_on(turn.user_id, turn.conversation_id)
    _words_are_others(turn)
    _note(Verb.DELETED, turn, exchanges=exchanges)
    undo_until = None if is_final else until
    receipts.issue(
        turn.user_id,
        Scope.TURNS,
        items={Sort.TURN: doomed},
        now=now,
        undo_until=undo_until,
        act_id=deletion_id,
    )
    return Deletion(deletion_id, turn.conversation_id, exchanges, until)


def _note(verb: Verb, turn: Turn, *, exchanges: int) -> None:
    activity.note(
        turn.user_id, verb, tier=Tier.TRANSCRIPT, subject_id=turn.id, rows=exchanges, detail=EXCHANGES
    )


def _hold(user_id: UUID, conversation_id: UUID) -> None:
    # The person first, as in a forgetting and an extraction: two of them must not wait for each other.
    accounts.advance_memory_epoch(user_id)
    branches.hold(user_id, conversation_id)
    branches.require_quiet(conversation_id)


def _with_versions(turn: Turn, *, following: bool) -> set[UUID]:
    """The turn, its other versions and what followed those; ``following``: also what follows it."""
    parents = tree.parents_of_all(turn.user_id, turn.conversation_id)
    children: dict[UUID | None, list[UUID]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    found: set[UUID] = {turn.id}
    ahead = [id_ for id_ in children[turn.parent_id] if following or id_ != turn.id]
    while ahead:
        next_id = ahead.pop()
        found.add(next_id)
        ahead += children.get(next_id, [])
    return found


def _end_with_a_turn(conversation_id: UUID) -> None:
    """The shown branch ends with the last of its turns that is left: a place is kept for what follows it."""
    left = Turn.objects.filter(conversation=conversation_id, is_current=True).order_by("-seq").first()
    last_seq = left.seq if left else 0
    beyond = Turn.everything.filter(conversation=conversation_id, is_current=True, seq__gt=last_seq)
    beyond.update(is_current=False, left_at=F("deleted_at"))
    Conversation.objects.filter(id=conversation_id).update(last_seq=last_seq, revision=F("revision") + 1)


def _go_on(user_id: UUID, conversation_id: UUID) -> None:
    """The shown branch goes on by what is left after its last turn."""
    shown = Turn.everything.filter(conversation=conversation_id, is_current=True)
    branch = tree.branch_from(user_id, conversation_id, shown.order_by("-seq").first())
    _show(conversation_id, branch)


def _show(conversation_id: UUID, branch: Collection[UUID]) -> None:
    rows = Turn.everything.filter(conversation=conversation_id)
    rows.filter(is_current=True).exclude(id__in=branch).update(is_current=False, left_at=Now())
    rows.filter(id__in=branch).update(is_current=True)
    Conversation.objects.filter(id=conversation_id).update(last_seq=len(branch))


def _leave_out_of_summaries(turn: Turn, deletion_id: UUID) -> None:
    was_used = queries.current_summary(turn.user_id, turn.conversation_id)
    # With those that another deletion has put aside: undoing that one must not bring this turn's words back.
    made_of_it = Summary.objects.filter(
        Q(is_stale=False) | ~Q(deletion_ids=[]),
        user_id=turn.user_id,
        conversation=turn.conversation_id,
        last_seq__gte=turn.seq,
    )
    made_of_it.update(is_stale=True, deletion_ids=_deletions("array_append", deletion_id))
    if was_used and was_used.last_seq >= turn.seq:
        nudge(REBUILD_SUMMARY, turn.conversation_id)


def _bring_summaries_back(root: Turn, deletion_id: UUID) -> None:
    """Versions made without the turns do not stand for them; those made with them do again, unless they were made of
    what is still deleted, too."""
    versions = Summary.objects.filter(user_id=root.user_id, conversation=root.conversation_id)
    made_with = versions.filter(deletion_ids__contains=[deletion_id])
    made_without = versions.filter(last_seq__gte=root.seq).exclude(id__in=made_with.values("id"))
    made_without.update(is_stale=True, text="", deletion_ids=[])
    versions.filter(deletion_ids=[deletion_id]).update(is_stale=False, deletion_ids=[])
    made_with.update(deletion_ids=_deletions("array_remove", deletion_id))


def _deletions(function: str, deletion_id: UUID) -> Func:
    return Func(F("deletion_ids"), Value(deletion_id, output_field=UUIDField()), function=function)


def _words_are_others(turn: Turn) -> None:
    """A title that the first words shown gave, or the model made of them, follows them."""
    conversation = Conversation.objects.get(id=turn.conversation_id)
    is_first = not queries.turns(turn.user_id, turn.conversation_id).filter(seq__lt=turn.seq).exists()
    if is_first and conversation.title_source != Conversation.TitleSource.USER:
        Conversation.objects.filter(id=conversation.id).update(
            title=redaction.first_words(conversation), title_source=Conversation.TitleSource.FIRST_WORDS
        )


def _show_again(turn: Turn) -> None:
    """``turn``: of those that came back the last that was shown."""
    path = tree.path_to(turn)
    Conversation.objects.filter(id=turn.conversation_id).update(revision=F("revision") + 1)
    rows = Turn.everything.filter(conversation=turn.conversation_id)
    has_others = rows.filter(is_current=True).exclude(id__in=path).exists()
    if has_others and not _is_as_left(turn):
        return  # it keeps its place on the shown branch, or the branch has gone on: then it is another version
    _show(turn.conversation_id, tree.branch_through(turn))


def _is_as_left(turn: Turn) -> bool:
    """Whether nothing was said and no other branch shown since this one left the shown branch."""
    since = Q(created_at__gt=turn.left_at) | Q(left_at__gt=turn.left_at, is_current=False)
    return (
        bool(turn.left_at) and not Turn.everything.filter(since, conversation=turn.conversation_id).exists()
    )


def _finish(conversation_id: UUID, turn_ids: Collection[UUID]) -> int:
    with transaction.atomic(durable=True):
        held = Conversation.objects.select_for_update(skip_locked=True).filter(id=conversation_id).first()
        if held is None:
            return 0  # somebody is at it, or it is gone: the next sweep sees
        # What was brought back meanwhile stays.
        due = list(_due().filter(id__in=turn_ids).order_by("-seq", "id"))
        parents = tree.parents_without(held.user_id, held.id, [turn.id for turn in due])
        deletions = list({turn.deletion_id for turn in due})
        Summary.objects.filter(user_id=held.user_id, deletion_ids__overlap=deletions).delete()
        Turn.everything.filter(id__in=[turn.id for turn in due if turn.id not in parents]).delete()
        for turn in due:
            if turn.id in parents:
                _leave_a_place(turn)
    return len(due)


def _due() -> QuerySet[Turn]:
    return Turn.everything.filter(deletion_id__isnull=False, undo_until__lte=Now())


def _leave_a_place(turn: Turn) -> None:
    """A bare row in its stead, so that all that hangs on the turn goes with it and what follows it stays."""
    bare = Turn.everything.create(
        user_id=turn.user_id,
        conversation_id=turn.conversation_id,
        seq=turn.seq,
        parent_id=turn.parent_id,
        is_current=False,  # until the other is gone: one turn per number
        left_at=turn.left_at,
        status=Turn.Status.COMPLETED,
        idempotency_key=f"place:{turn.id}",
        attempts_left=0,
        finished_at=turn.finished_at,
        deleted_at=turn.deleted_at,
    )
    Turn.everything.filter(parent=turn).update(parent=bare)
    Summary.objects.filter(last_turn=turn).update(last_turn=bare)
    Turn.everything.filter(id=turn.id).delete()
    Turn.everything.filter(id=bare.id).update(is_current=turn.is_current, created_at=turn.created_at)
