"""How a former value comes back into use: when what replaced it was taken back, and when its person says so.

All of it happens within a caller's transaction.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext, gettext_noop

from memoryapp.errors import InvalidInputError
from memoryapp.longterm import history, neighbours
from memoryapp.longterm.models import Memory, MemoryVersion

TAKEN = gettext_noop("Another memory says this already. Forget that one first.")


def bring_back(memory: Memory, *, now: datetime) -> None:
    """By its person's word: what replaced it, and whatever else cannot hold beside it, becomes a former value.

    ``memory`` is locked and superseded. Raises InvalidInputError when a live one says the same.
    """
    history.retire_faded(memory.user_id, digest=memory.digest, keys=[memory.key])
    near = neighbours.around(memory)
    if near.same:
        raise InvalidInputError(gettext(TAKEN))
    replaced = {row.id: row for row in near.rivals}
    successor = memory.superseded_by
    if successor and successor.status == Memory.Status.ACTIVE:
        replaced[successor.id] = successor
    for former in replaced.values():
        history.step_aside(former, until=now, at=now)
    history.come_back(memory)
    history.save_version(memory, author=MemoryVersion.Author.USER, reason="brought back")
    for former in replaced.values():
        history.point_to(memory, former)


def former_values(memory: Memory) -> list[Memory]:
    """What it replaced, newest first, faded ones too."""
    rows = Memory.objects.for_user(memory.user_id).filter(superseded_by=memory)
    return list(rows.select_related("kind").order_by("-superseded_at", "-id"))


def revive(user_id: UUID, former: Sequence[Memory]) -> Memory | None:
    """What a memory replaced last holds again now that it is gone or out of use, unless something else has taken its
    place; the first that does.

    ``former``: its ``former_values``. Those that do not come back point at what holds instead.
    """
    last = [row for row in former if row.superseded_at == former[0].superseded_at]
    takers = {row.id: _come_back(row) for row in last}
    back = [row for row in last if takers[row.id] is None]
    instead = next(filter(None, takers.values()), None)
    left = {row.id for row in former} - {row.id for row in back}
    current = back[0] if back else instead
    Memory.objects.for_user(user_id).filter(id__in=left).update(superseded_by=current)
    return back[0] if back else None


def _come_back(former: Memory) -> Memory | None:
    """It holds again, or what has taken its place is returned."""
    history.retire_faded(former.user_id, digest=former.digest, keys=[former.key])
    near = neighbours.around(former)
    taker = near.same or next(iter(near.rivals), None)
    if taker is None:
        history.come_back(former)
    return taker
