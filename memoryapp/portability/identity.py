"""Which conversations of a file its person has, or had, already."""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final
from uuid import UUID

from memoryapp.accounts.models import User
from memoryapp.portability.models import ImportBatch, ImportItem
from memoryapp.receipts import queries as receipts
from memoryapp.receipts.models import Sort
from memoryapp.transcript.models import Conversation, Message, Turn

# Between the moment in a conversation's id, which a receipt keeps, and the one in its row.
SAME_MOMENT: Final = timedelta(seconds=1)


class Match(Enum):
    SAME = auto()
    GROWN = auto()  # the file's goes on where the person's ends
    OTHER = auto()  # they part somewhere
    GONE = auto()  # the person deleted it, or words of it


@dataclass(frozen=True, slots=True)
class Found:
    """``conversation_id``: the person's; None when it is gone. ``known``: how many messages of the file it has."""

    match: Match
    conversation_id: UUID | None
    known: int = 0


def digest_of(user: User, *names: str) -> str:
    """Of what another program calls a conversation, under the person's own key."""
    return hmac.new(bytes(user.forgetting_key), "\n".join(names).encode(), hashlib.sha256).hexdigest()


@dataclass(slots=True)
class Known:
    """What one person has and had, asked while one file is gone through."""

    user: User
    batch_id: UUID
    _deleted_at: list[datetime] | None = field(default=None)

    def imported(self, digest: str, said: Sequence[tuple[str, str]]) -> Found | None:
        """A conversation that came with an earlier import. ``said``: role and text of each message."""
        items = ImportItem.objects.filter(user=self.user, digest=digest).exclude(row_id=None)
        last = items.exclude(batch=self.batch_id).exclude(batch__status=ImportBatch.Status.UNDONE)
        row_id = last.order_by("-id").values_list("row_id", flat=True).first()
        if row_id is None:
            return None
        conversation = self._conversation(row_id)
        return self._compared(conversation, said) if conversation else Found(Match.GONE, None)

    def at(self, created_at: datetime, said: Sequence[tuple[str, str]]) -> Found | None:
        """A conversation that began in this very moment, which is what an archive knows it by."""
        rows = Conversation.objects.filter(user=self.user, created_at=created_at)
        conversation = rows.order_by("id").first()
        if conversation:
            is_kept = conversation.deleted_at is None
            return self._compared(conversation.id, said) if is_kept else Found(Match.GONE, None)
        is_gone = any(abs(moment - created_at) <= SAME_MOMENT for moment in self._moments_of_deleted())
        return Found(Match.GONE, None) if is_gone else None

    def _conversation(self, row_id: UUID) -> UUID | None:
        """Of a conversation, or of a turn that was added to one; None when it is gone."""
        of_turn = Turn.objects.filter(user=self.user, id=row_id).values_list("conversation_id", flat=True)
        rows = Conversation.objects.filter(user=self.user, id__in=[row_id, *of_turn], deleted_at=None)
        return rows.values_list("id", flat=True).first()

    def _compared(self, conversation_id: UUID, said: Sequence[tuple[str, str]]) -> Found:
        rows = Message.objects.filter(
            turn__conversation=conversation_id, turn__is_current=True, turn__deleted_at=None
        )
        here = list(rows.order_by("turn__seq", "id").values_list("role", "text", "change"))
        known = _in_step(here, said)
        if known == len(said):
            return Found(Match.SAME, conversation_id)
        if known == len(here):
            return Found(Match.GROWN, conversation_id, known)
        # A person who changed or deleted words of it does not get them back from a file.
        has_changed = any(change for *_, change in here)
        is_part = _is_part([(role, text) for role, text, _ in here], said)
        match = Match.GONE if has_changed or is_part else Match.OTHER
        return Found(match, conversation_id)

    def _moments_of_deleted(self) -> list[datetime]:
        if self._deleted_at is None:
            self._deleted_at = list(self._read_receipts())
        return self._deleted_at

    def _read_receipts(self) -> Iterator[datetime]:
        for receipt in receipts.receipts(self.user.id).filter(items__has_key=Sort.CONVERSATION):
            restored = set(receipt.restored.get(Sort.CONVERSATION, ()))
            for id_ in set(receipt.items[Sort.CONVERSATION]) - restored:
                yield datetime.fromtimestamp((UUID(id_).int >> 80) / 1000, tz=self.user.date_joined.tzinfo)


def _in_step(here: Sequence[tuple[str, str, str]], said: Sequence[tuple[str, str]]) -> int:
    """How many messages from the beginning are the same; one that its person changed is what it was."""
    pairs = zip(here, said, strict=False)
    differing = (
        place
        for place, ((role, text, change), (other, words)) in enumerate(pairs)
        if role != other or (text != words and not change)
    )
    return next(differing, min(len(here), len(said)))


def _is_part(here: Sequence[tuple[str, str]], said: Sequence[tuple[str, str]]) -> bool:
    """Whether all of it stands in the file, in this order, with something between."""
    remaining = iter(said)
    return all(one in remaining for one in here)
