"""Reads of the transcript; every one starts from the user."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from memoryapp.errors import NotFoundError
from memoryapp.policies.compaction import Sized
from memoryapp.policies.trust import Origin
from memoryapp.transcript.models import Conversation, Message, PinnedLine, Summary, Turn

MAX_SEQ = 2**31 - 1  # of its column
AGE = ("created_at", "id")  # of siblings
# Of siblings: the one that is shown comes last, before it the one that was.
LAST_SHOWN = ("is_current", F("left_at").asc(nulls_first=True), *AGE)


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn as it is said again to the model: text only.

    ``reply`` is empty when there was none, and ``is_whole`` false when it ended before the model had finished it.
    ``taint``: the weakest origin in what the model read for it.
    """

    turn_id: UUID
    seq: int
    user_message_id: UUID
    user_text: str
    reply: str
    said_at: datetime
    is_whole: bool
    taint: Origin


@dataclass(frozen=True, slots=True)
class PastMessage:
    """What one side said in a finished turn. ``speaker``: a person's name in an imported chat.

    ``taint``: the weakest origin in the turn's prompts.
    """

    id: UUID
    conversation_id: UUID
    title: str
    turn_id: UUID
    seq: int
    role: str
    speaker: str
    said_at: datetime
    text: str
    taint: Origin


@dataclass(frozen=True, slots=True)
class InPrompt:
    """What stands in a prompt word for word: the turns of this conversation after ``after_seq``, and kept ``lines``."""

    conversation_id: UUID
    after_seq: int
    lines: tuple[str, ...] = ()


def conversations(user_id: UUID) -> QuerySet[Conversation]:
    running = Turn.objects.filter(conversation=OuterRef("pk"), status__in=Turn.LIVE)
    return Conversation.objects.filter(user_id=user_id, deleted_at=None).annotate(is_running=Exists(running))


def conversation_list(user_id: UUID, *, archived: bool | None = False) -> QuerySet[Conversation]:
    """Newest first, without temporary ones; ``archived``: only those (True), none of those (False), or both (None)."""
    rows = conversations(user_id).filter(is_temporary=False)
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    return rows.order_by("-updated_at", "-id")


def pinned_conversations(user_id: UUID) -> QuerySet[Conversation]:
    """The last pinned first."""
    return conversation_list(user_id).exclude(pinned_at=None).order_by("-pinned_at", "-id")


def archived_conversations(user_id: UUID) -> QuerySet[Conversation]:
    return conversation_list(user_id, archived=True)


def deleted_conversations(user_id: UUID) -> QuerySet[Conversation]:
    """Those that can still be brought back, the last deleted first."""
    return Conversation.objects.filter(user_id=user_id, deleted_at__isnull=False).order_by(
        "-deleted_at", "-id"
    )


def is_restorable(user_id: UUID, conversation_id: UUID) -> bool:
    """Whether it is deleted and can still be brought back."""
    return deleted_conversations(user_id).filter(id=conversation_id).exists()


def message_counts(user_id: UUID, conversation_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many messages the shown branch of each holds; one without any is not in it."""
    said = Message.objects.filter(
        user_id=user_id,
        turn__conversation__in=conversation_ids,
        turn__is_current=True,
        turn__deleted_at=None,
    )
    return dict(said.order_by().values_list("turn__conversation").annotate(count=Count("id")))


def get_conversation(user_id: UUID, conversation_id: UUID) -> Conversation:
    conversation = conversations(user_id).filter(id=conversation_id).first()
    if conversation is None:
        raise NotFoundError(gettext("There is no such conversation."))
    return conversation


def turns(user_id: UUID, conversation_id: UUID) -> QuerySet[Turn]:
    """The shown branch, oldest first."""
    return (
        Turn.objects.filter(user_id=user_id, conversation_id=conversation_id, is_current=True)
        .prefetch_related("messages")
        .order_by("seq", "id")
    )


def get_turn(user_id: UUID, turn_id: UUID) -> Turn:
    kept = Turn.objects.filter(user_id=user_id, id=turn_id, conversation__deleted_at=None)
    turn = kept.prefetch_related("messages").first()
    if turn is None:
        raise NotFoundError(gettext("There is no such turn."))
    return turn


def get_message(user_id: UUID, message_id: UUID) -> Message:
    """With its turn and conversation."""
    kept = _kept_messages(user_id).filter(id=message_id)
    message = kept.select_related("turn__conversation").first()
    if message is None:
        raise NotFoundError(gettext("There is no such message."))
    return message


def conversations_of_messages(user_id: UUID, message_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Message → conversation, of those of these that are still there, on whatever branch."""
    rows = _kept_messages(user_id).filter(id__in=message_ids)
    return dict(rows.values_list("id", "turn__conversation_id"))


def temporary_among(user_id: UUID, conversation_ids: Collection[UUID]) -> frozenset[UUID]:
    rows = Conversation.objects.filter(user_id=user_id, id__in=list(conversation_ids), is_temporary=True)
    return frozenset(rows.values_list("id", flat=True))


def copies_of(user_id: UUID, conversation_id: UUID) -> frozenset[UUID]:
    """Other conversations in which the same was said: those that copied of it, and what it copied of.

    A copy was said when its original was, to the microsecond.
    """
    kept = _kept_messages(user_id).exclude(turn__conversation=conversation_id)
    original = Message.objects.filter(
        user_id=user_id,
        turn__conversation=conversation_id,
        created_at=OuterRef("created_at"),
        role=OuterRef("role"),
        text=OuterRef("text"),
    )
    found = kept.filter(Exists(original)).order_by().values_list("turn__conversation", flat=True)
    return frozenset(found.distinct())


def said_at(user_id: UUID, moments: Collection[datetime]) -> list[tuple[UUID, datetime]]:
    """Messages of the person from these moments, and which: copies of one were said at the same."""
    rows = _kept_messages(user_id).filter(created_at__in=list(moments), role=Message.Role.USER)
    return list(rows.order_by("id").values_list("id", "created_at"))


def replies(
    user_id: UUID, *, conversation_ids: Collection[UUID], turn_ids: Collection[UUID]
) -> dict[UUID, str]:
    """What was replied in these conversations, on every branch, and in these turns."""
    where = Q(turn__conversation__in=list(conversation_ids)) | Q(turn__in=list(turn_ids))
    rows = _kept_messages(user_id).filter(where, role=Message.Role.ASSISTANT)
    return dict(rows.order_by("id").values_list("id", "text"))


def texts_of(user_id: UUID, message_ids: Collection[UUID]) -> dict[UUID, str]:
    """What these messages say, with those of other branches; not those that are deleted."""
    rows = _kept_messages(user_id).filter(id__in=message_ids)
    return dict(rows.values_list("id", "text"))


def turn_ids(user_id: UUID, conversation_id: UUID, *, live: bool = False) -> list[UUID]:
    """Of every branch; ``live``: only those that are being answered or wait for it, in their order."""
    rows = Turn.objects.filter(
        user_id=user_id, conversation_id=conversation_id, conversation__deleted_at=None
    )
    if live:
        rows = rows.filter(status__in=Turn.LIVE)
    return list(rows.order_by("seq", "id").values_list("id", flat=True))


def conversations_of(user_id: UUID, ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Id → conversation, for those of these ids that are a conversation, or a turn of one, that is still there."""
    kept = Conversation.objects.filter(user_id=user_id, id__in=ids, deleted_at=None)
    turns_kept = Turn.objects.filter(user_id=user_id, id__in=ids, conversation__deleted_at=None)
    found = dict(turns_kept.values_list("id", "conversation_id"))
    return found | {id_: id_ for id_ in kept.values_list("id", flat=True)}


def counts_of_people(user_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many conversations there are, by person; who has none is absent."""
    rows = Conversation.objects.filter(user_id__in=user_ids, deleted_at=None).order_by()
    return dict(rows.values_list("user_id").annotate(n=Count("id")))


def newest_replied(user_id: UUID, *, limit: int) -> list[UUID]:
    """Of the shown branches: the turns that were answered last."""
    rows = Turn.objects.filter(
        user_id=user_id, status=Turn.Status.COMPLETED, is_current=True, conversation__deleted_at=None
    )
    return list(rows.order_by("-finished_at", "-id").values_list("id", flat=True)[:limit])


def is_first_completed(turn: Turn) -> bool:
    """Whether no turn before it in its conversation was completed, on this branch or beside it."""
    before = Q(seq__lt=turn.seq) | Q(seq=turn.seq, created_at__lt=turn.created_at)
    completed = Turn.objects.filter(conversation=turn.conversation_id, status=Turn.Status.COMPLETED)
    return not completed.filter(before, user_id=turn.user_id).exists()


def turn_of_key(user_id: UUID, idempotency_key: str) -> Turn | None:
    return Turn.everything.filter(user_id=user_id, idempotency_key=idempotency_key).first()


def turn_for_worker(turn_id: UUID) -> Turn:
    """The turn a worker has claimed, with its conversation and its person."""
    return Turn.objects.select_related("conversation", "user").prefetch_related("messages").get(id=turn_id)


def conversation_for_worker(conversation_id: UUID) -> Conversation | None:
    """The conversation a job was sent for, unless it is gone."""
    return Conversation.objects.filter(id=conversation_id, deleted_at=None).first()


def exists(turn_id: UUID) -> bool:
    return Turn.objects.filter(id=turn_id).exists()


def text_of(turn: Turn, role: Message.Role) -> str:
    """What that side said in a turn whose messages are prefetched; empty when it has not spoken."""
    return next((message.text for message in turn.messages.all() if message.role == role), "")


def user_message(turn: Turn) -> Message:
    return next(message for message in turn.messages.all() if message.role == Message.Role.USER)


def siblings(user_id: UUID, turns_shown: Sequence[Turn]) -> dict[UUID, list[UUID]]:
    """For each shown turn that has siblings: all of them, itself among them, oldest first."""
    if not turns_shown:
        return {}
    place = Q(parent__in=[turn.parent_id for turn in turns_shown if turn.parent_id])
    if any(turn.parent_id is None for turn in turns_shown):
        place |= Q(parent=None, conversation_id=turns_shown[0].conversation_id)
    found: dict[UUID | None, list[UUID]] = {}
    rows = Turn.objects.filter(place, user_id=user_id).order_by(*AGE).values_list("id", "parent_id")
    for turn_id, parent_id in rows:
        found.setdefault(parent_id, []).append(turn_id)
    beside = {turn.id: found.get(turn.parent_id, []) for turn in turns_shown}
    return {turn_id: ids for turn_id, ids in beside.items() if len(ids) > 1}


def taken_off(conversation: Conversation) -> Turn | None:
    """The turn that last followed the last shown one, and does not any more."""
    below = Turn.objects.filter(
        user_id=conversation.user_id,
        conversation=conversation,
        seq=conversation.last_seq + 1,
        is_current=False,
    )
    last = Turn.objects.filter(conversation=conversation, seq=conversation.last_seq, is_current=True).first()
    return below.filter(parent=last).order_by(*LAST_SHOWN).last()


def current_summary(user_id: UUID, conversation_id: UUID) -> Summary | None:
    """The version that stands for the most turns of the shown branch, the newest of those."""
    usable = summaries(user_id, conversation_id).filter(is_stale=False, last_turn__is_current=True)
    return usable.order_by("-last_seq", "-version").first()


def in_prompt(user_id: UUID, conversation_id: UUID) -> InPrompt:
    """What of a conversation its next prompt holds word for word: the turns since the summary."""
    summary = current_summary(user_id, conversation_id)
    if summary is None:
        return InPrompt(conversation_id, after_seq=0)
    lines = tuple(pinned_lines(user_id, conversation_id).values_list("text", flat=True))
    return InPrompt(conversation_id, after_seq=summary.last_seq, lines=lines)


def summaries(user_id: UUID, conversation_id: UUID) -> QuerySet[Summary]:
    """All versions, newest first, of whatever branch."""
    return Summary.objects.filter(user_id=user_id, conversation_id=conversation_id).order_by("-version")


def summary_base(summary: Summary) -> Summary | None:
    """The version in use that covers fewer turns: what this one is made anew from."""
    before = summaries(summary.user_id, summary.conversation_id).filter(
        is_stale=False, last_turn__is_current=True, last_seq__lt=summary.last_seq
    )
    return before.order_by("-last_seq", "-version").first()


def lines_of_all_branches(user_id: UUID, conversation_id: UUID) -> QuerySet[PinnedLine]:
    """Lines not taken off, shown or not: together they must fit whatever branch is shown."""
    return PinnedLine.objects.filter(
        user_id=user_id, conversation_id=conversation_id, removed_at=None, turn__deleted_at=None
    )


def pinned_lines(user_id: UUID, conversation_id: UUID) -> QuerySet[PinnedLine]:
    """Lines that stand in the prompt: of shown turns and not taken off; in the order they were said."""
    return (
        PinnedLine.objects.filter(
            user_id=user_id,
            conversation_id=conversation_id,
            removed_at=None,
            turn__is_current=True,
            turn__deleted_at=None,
        )
        .select_related("turn")
        .order_by("turn__seq", "created_at", "id")
    )


def has_past_turns(user_id: UUID, in_prompt: InPrompt | None) -> bool:
    """Whether anything was said that ``passages`` could find."""
    rows = Turn.objects.filter(
        user_id=user_id, is_current=True, conversation__deleted_at=None, conversation__is_temporary=False
    ).exclude(status__in=Turn.LIVE)
    if in_prompt:
        rows = rows.exclude(conversation_id=in_prompt.conversation_id, seq__gt=in_prompt.after_seq)
    return rows.exists()


def past_messages(user_id: UUID, message_ids: Iterable[UUID]) -> dict[UUID, PastMessage]:
    """Those of these that are still to be seen."""
    rows = Message.objects.filter(
        user_id=user_id,
        id__in=list(message_ids),
        turn__conversation__deleted_at=None,
        turn__is_current=True,
        turn__deleted_at=None,
    )
    # Values, not rows: recall asks for some thirty, and has been waited for long enough. In the order of the fields.
    seen = rows.values_list(
        *("id", "turn__conversation_id", "turn__conversation__title", "turn_id", "turn__seq"),
        *("role", "speaker", "created_at", "text", "turn__taint"),
    )
    return {values[0]: PastMessage(*(*values[:-1], Origin(values[-1]))) for values in seen}


def spoken_turns(
    user_id: UUID, conversation_id: UUID, *, after_seq: int, before_seq: int
) -> Sequence[SpokenTurn]:
    """Finished turns strictly between the two, oldest first: what has been said, with whatever came of it.

    A failed, cancelled or interrupted turn counts with the partial text its person saw; it is never silently dropped,
    and a turn still queued is not yet said.
    """
    rows = (
        turns(user_id, conversation_id)
        .filter(seq__gt=after_seq, seq__lt=before_seq)
        .exclude(status__in=Turn.LIVE)
    )
    return [_spoken(turn) for turn in rows]


def turn_sizes(
    user_id: UUID, conversation_id: UUID, *, after_seq: int, before_seq: int | None = None
) -> list[Sized]:
    """The unbroken row of finished turns strictly between the two, as estimated: a turn that runs ends it.

    A deleted one keeps its place and takes nothing.
    """
    spoken = Sum("messages__tokens", filter=Q(deleted_at=None))
    rows = (
        Turn.everything.filter(
            user_id=user_id,
            conversation_id=conversation_id,
            is_current=True,
            seq__gt=after_seq,
            seq__lt=before_seq or MAX_SEQ,
        )
        .exclude(status__in=Turn.LIVE)
        .annotate(size=Coalesce(spoken, 0))
        .order_by("seq")
        .values_list("seq", "size")
    )
    return [Sized(*row) for place, row in enumerate(rows, start=after_seq + 1) if row[0] == place]


def is_stop_requested(turn_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these turns someone asked to stop, or deleted."""
    go_on = Turn.objects.filter(id__in=turn_ids, stop_requested_at=None)
    return set(turn_ids) - set(go_on.values_list("id", flat=True))


def count(user_id: UUID) -> int:
    return conversation_list(user_id, archived=None).count()


def _kept_messages(user_id: UUID) -> QuerySet[Message]:
    """On every branch; none of what is deleted."""
    return Message.objects.filter(user_id=user_id, turn__deleted_at=None, turn__conversation__deleted_at=None)


def _spoken(turn: Turn) -> SpokenTurn:
    asked = user_message(turn)
    reply = text_of(turn, Message.Role.ASSISTANT)
    is_whole = turn.status == Turn.Status.COMPLETED
    return SpokenTurn(
        turn.id, turn.seq, asked.id, asked.text, reply, asked.created_at, is_whole, Origin(turn.taint)
    )
