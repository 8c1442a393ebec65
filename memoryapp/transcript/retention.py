"""How long a conversation is kept: by its own rule, else by the installation's; the sweep puts away what is overdue."""

from datetime import date, datetime, time, timedelta
from math import ceil
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext

from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.transcript import ending, keys, queries, sources
from memoryapp.transcript.conversations import delete_conversations
from memoryapp.transcript.models import Conversation, Turn
from memoryapp.transcript.operations import grouped
from memoryapp.tuning import queries as tuning

FOR_EVER: Final = 0
LONGEST_DAYS: Final = 36_500
SWEPT_AT_ONCE: Final = 500


class RetentionError(InvalidInputError):
    """``details["longest_days"]``."""

    code = "retention_out_of_bounds"


def keep_for(user_id: UUID, conversation_id: UUID, *, days: int | None) -> Conversation:
    """Keep it that many days after its last message; ``FOR_EVER``; or (None) as the installation's rule says.

    A temporary one ends by itself and takes none. Raises ``RetentionError``.
    """
    if days is not None and not 0 <= days <= LONGEST_DAYS:
        message = gettext("Choose between 1 and {most} days.")
        raise RetentionError(message.format(most=grouped(LONGEST_DAYS)), longest_days=LONGEST_DAYS)
    with transaction.atomic(durable=True):
        kept = Conversation.objects.filter(user_id=user_id, id=conversation_id, deleted_at=None)
        if days is not None and kept.filter(is_temporary=True).exists():
            raise RetentionError(gettext("A temporary chat ends by itself."), longest_days=LONGEST_DAYS)
        if not kept.update(retention_days=days):
            raise NotFoundError(gettext("There is no such conversation."))
        detail = "as the rule says" if days is None else f"{days} days" if days else "for ever"
        activity.note(user_id, Verb.LIFETIME, tier=Tier.TRANSCRIPT, subject_id=conversation_id, detail=detail)
    return queries.get_conversation(user_id, conversation_id)


def make_temporary(user_id: UUID, conversation_id: UUID) -> Conversation:
    """From now on it is a temporary chat: nothing more is learned, it is in no list, nothing recalls it, and it ends
    ``temporary_hours`` after its last message. There is no way back; what was remembered from it stays.
    """
    with transaction.atomic(durable=True):
        held = Conversation.objects.select_for_update().filter(
            user_id=user_id, id=conversation_id, deleted_at=None
        )
        if not held:
            raise NotFoundError(gettext("There is no such conversation."))
        held.update(
            is_temporary=True,
            save_memory=False,
            retention_days=None,
            pinned_at=None,
            archived_at=None,
            revision=F("revision") + 1,  # a summary or a title in flight would be of an ordinary chat
        )
        sources.pass_over(user_id, conversation_id=conversation_id)
        keys.drop_keys(user_id, conversation_id)
        activity.note(
            user_id, Verb.SWITCHED, tier=Tier.TRANSCRIPT, subject_id=conversation_id, detail="made temporary"
        )
    return queries.get_conversation(user_id, conversation_id)


def kept_until(conversation: Conversation) -> datetime | None:
    """When it is deleted unless something more is said in it; None: never."""
    if conversation.is_temporary:
        return conversation.updated_at + timedelta(hours=tuning.conf().temporary_hours)
    days = days_kept(conversation)
    return conversation.updated_at + timedelta(days=days) if days else None


def days_kept(conversation: Conversation) -> int:
    """By its own rule, else by the installation's, which leaves pinned ones alone; 0: for ever."""
    if conversation.retention_days is not None:
        return conversation.retention_days
    return 0 if conversation.pinned_at else tuning.conf().transcript_retention_days


def days_to(conversation: Conversation, day: date, *, now: datetime) -> int:
    """For how many days to keep it so that it is there until that day of its person is over, if nothing more is said.

    They are whole days after its last message, so it may stay for a part of the next day. Raises ``RetentionError``.
    """
    zone = ZoneInfo(conversation.user.time_zone)
    ahead = (day - now.astimezone(zone).date()).days
    if ahead < 0:
        raise RetentionError(gettext("Choose a day from today on."), longest_days=LONGEST_DAYS)
    if ahead >= LONGEST_DAYS:
        raise RetentionError(
            gettext("Choose an earlier day, or keep it for ever."), longest_days=LONGEST_DAYS
        )
    end = datetime.combine(day + timedelta(days=1), time.min, tzinfo=zone)
    return max(ceil((end - conversation.updated_at) / timedelta(days=1)), 1)


def last_whole_day(conversation: Conversation) -> date | None:
    """Of its person, that it is kept to the end of; None: for ever."""
    until = kept_until(conversation)
    if until is None:
        return None
    return until.astimezone(ZoneInfo(conversation.user.time_zone)).date() - timedelta(days=1)


def delete_overdue() -> int:
    """Delete the conversations whose time is over, each as if its person had: it can be brought back for a while."""
    overdue = list(_overdue().order_by("updated_at", "id").values_list("user_id", "id")[:SWEPT_AT_ONCE])
    by_person: dict[UUID, list[UUID]] = {}
    for user_id, conversation_id in overdue:
        by_person.setdefault(user_id, []).append(conversation_id)
    return sum(len(delete_conversations(user_id, ids)) for user_id, ids in by_person.items())


def _overdue() -> QuerySet[Conversation]:
    live = Turn.objects.filter(conversation=OuterRef("pk"), status__in=Turn.LIVE)
    return Conversation.objects.filter(ending.overdue(), deleted_at=None).exclude(Exists(live))
