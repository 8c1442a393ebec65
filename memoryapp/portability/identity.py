"""Which conversations of a file its person has, or had, already."""

import hashlib
import hmac
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from memoryapp.accounts.models import User
from memoryapp.portability.models import ImportBatch, ImportItem
from memoryapp.receipts import queries as receipts
from memoryapp.receipts.models import Scope, Sort
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


def moment_digest(user: User, created_at: datetime) -> str:
    """Of a conversation as an archive knows it, by the moment in which it began."""
    return digest_of(user, "strata", created_at.astimezone(UTC).isoformat())


def said_digests(user: User, moment: str, said: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Of what was said up to each message, in the conversation of this ``moment_digest``."""
    so_far = hmac.new(bytes(user.forgetting_key), moment.encode(), hashlib.sha256)
    for role, text in said:
        so_far.update(f"\n{role} {len(text)} {text}".encode())
        yield so_far.hexdigest()


def digests_of(
    user: User, said: Sequence[tuple[str, str]], *, named: str, created_at: datetime
) -> tuple[str, ...]:
    """By what a conversation that was brought is known later: its name, its moment, and the last that it held."""
    moment = moment_digest(user, created_at)
    last = deque(said_digests(user, moment, said), maxlen=1)
    return tuple(dict.fromkeys((named, moment, *last)))


@dataclass(slots=True)
class Known:
    """What one person has and had, asked while one file is gone through."""

    user: User
    batch_id: UUID
    _deleted_at: dict[Sort, list[datetime]] = field(default_factory=dict)
    _emptied_at: list[datetime] | None = field(default=None)

    def imported(self, digest: str, said: Sequence[tuple[str, str]], created_at: datetime) -> Found | None:
        """A conversation that came with an earlier import. ``said``: role and text of each message."""
        items = self._items([digest]).order_by("-id")
        for row_id, status in items.values_list("row_id", "batch__status"):
            conversation = self._conversation(row_id) if row_id else None
            if conversation:
                return self._unless_cut(self._compared(conversation, said), said, created_at)
            if status != ImportBatch.Status.UNDONE:
                return Found(Match.GONE, None)
        return None

    def at(
        self, created_at: datetime, said: Sequence[tuple[str, str]], moments: Sequence[datetime]
    ) -> Found | None:
        """A conversation that began in this very moment, which is what an archive knows it by. ``moments``: of each
        message, when its turn was made."""
        rows = Conversation.objects.filter(user=self.user, created_at=created_at)
        conversation = rows.order_by("id").first()
        if conversation:
            if conversation.deleted_at:
                return Found(Match.GONE, None)
            found = self._compared(conversation.id, said)
            if found.match is not Match.SAME and self._were_deleted(Sort.TURN, moments[found.known :]):
                return Found(Match.GONE, None)
            return self._unless_cut(found, said, created_at)
        is_gone = self._were_deleted(Sort.CONVERSATION, [created_at])
        return Found(Match.GONE, None) if is_gone else None

    def before_everything_went(self, begun_at: datetime | None) -> Found | None:
        """A conversation that began before its person forgot everything, whether it was here or not."""
        if self._emptied_at is None:
            emptied = receipts.receipts(self.user.id).filter(scope=Scope.EVERYTHING)
            self._emptied_at = list(emptied.values_list("forgotten_at", flat=True)[:1])
        is_gone = begun_at and any(begun_at <= moment for moment in self._emptied_at)
        return Found(Match.GONE, None) if is_gone else None

    def _items(self, digests: Sequence[str]) -> QuerySet[ImportItem]:
        items = ImportItem.objects.filter(user=self.user, digest__in=digests)
        return items.exclude(row_id=None).exclude(batch=self.batch_id)

    def _unless_cut(self, found: Found, said: Sequence[tuple[str, str]], created_at: datetime) -> Found:
        """What the person had of it once and has no more does not go on where they ended it."""
        if found.match is not Match.GROWN:
            return found
        more = list(said_digests(self.user, moment_digest(self.user, created_at), said))[found.known :]
        were_here = self._items(more).exclude(batch__status=ImportBatch.Status.UNDONE)
        return Found(Match.GONE, None) if were_here.exists() else found

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

    def _were_deleted(self, sort: Sort, moments: Sequence[datetime]) -> bool:
        """Whether the person deleted what was made in one of these moments."""
        if sort not in self._deleted_at:
            self._deleted_at[sort] = sorted(self._read_receipts(sort))
        deleted = self._deleted_at[sort]
        return any(
            bisect_left(deleted, moment - SAME_MOMENT) < bisect_right(deleted, moment + SAME_MOMENT)
            for moment in moments
        )

    def _read_receipts(self, sort: Sort) -> Iterator[datetime]:
        for receipt in receipts.receipts(self.user.id).filter(items__has_key=sort):
            restored = set(receipt.restored.get(sort, ()))
            for id_ in set(receipt.items[sort]) - restored:
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
