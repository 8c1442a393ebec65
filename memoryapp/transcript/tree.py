"""Reads of the shape of a conversation: a tree of turns of which one branch is shown."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q

from memoryapp.transcript.models import Turn
from memoryapp.transcript.queries import LAST_SHOWN


def path_to(turn: Turn) -> list[UUID]:
    """The turns from the first to this one."""
    parents = parents_of_all(turn.user_id, turn.conversation_id)
    path = [turn.id]
    while (parent := parents[path[-1]]) is not None:
        path.append(parent)
    return path[::-1]


def branch_through(turn: Turn) -> list[UUID]:
    """The path to this turn, and on from it by the child that is shown or was last."""
    return branch_from(turn.user_id, turn.conversation_id, turn)


def branch_from(user_id: UUID, conversation_id: UUID, turn: Turn | None) -> list[UUID]:
    """``branch_through``; None: from the beginning."""
    next_turn = {parent: child for child, parent in parents_of_all(user_id, conversation_id).items()}
    path = path_to(turn) if turn else []
    last = turn.id if turn else None
    while last in next_turn:
        last = next_turn[last]
        path.append(last)
    return path


def parents_of_all(user_id: UUID, conversation_id: UUID) -> dict[UUID, UUID | None]:
    """The tree: each turn's parent, of siblings the one shown last after the others.

    Of deleted turns only those below which others are left.
    """
    return _parents(user_id, conversation_id, left=Q(deleted_at=None))


def parents_without(user_id: UUID, conversation_id: UUID, gone: Collection[UUID]) -> dict[UUID, UUID | None]:
    """The tree once these are gone for good, with what can still be brought back; of these, where that is below."""
    can_come_back = Q(deletion_id__isnull=False)
    return _parents(user_id, conversation_id, left=(Q(deleted_at=None) | can_come_back) & ~Q(id__in=gone))


def _parents(user_id: UUID, conversation_id: UUID, *, left: Q) -> dict[UUID, UUID | None]:
    """Of the turns that are ``left`` and those above them."""
    rows = Turn.everything.filter(user_id=user_id, conversation_id=conversation_id).order_by(*LAST_SHOWN)
    is_left = ExpressionWrapper(left, output_field=BooleanField())
    parents: dict[UUID, UUID | None] = {}
    kept: set[UUID] = set()
    for turn_id, parent_id, is_kept in rows.values_list("id", "parent_id", is_left):
        parents[turn_id] = parent_id
        if is_kept:
            kept.add(turn_id)
    reached: set[UUID] = set()
    for turn_id in kept:
        above: UUID | None = turn_id
        while above is not None and above not in reached:
            reached.add(above)
            above = parents[above]
    return {turn_id: parent_id for turn_id, parent_id in parents.items() if turn_id in reached}


def place(user_id: UUID, conversation_id: UUID, seq: int) -> Turn | None:
    """The turn of that number on the shown branch, also where a deleted one keeps it."""
    rows = Turn.everything.filter(user_id=user_id, conversation_id=conversation_id, seq=seq)
    return rows.filter(is_current=True).first()
