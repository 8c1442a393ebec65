"""Writes about what stands for the older turns: versions of the summary, and the lines kept verbatim above it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils.translation import gettext

from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.llm.registry import chat_limits
from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.budget import share_out
from memoryapp.policies.trust import Origin, weakest
from memoryapp.transcript import queries
from memoryapp.transcript.conversations import NotShownError
from memoryapp.transcript.models import Conversation, PinnedLine, Summary, Turn
from memoryapp.transcript.operations import MalformedTextError, grouped, is_visible, refuse_secret
from memoryapp.transcript.queries import SpokenTurn
from memoryapp.tuning import queries as tuning

PINNED_MAX_CHARS = 1_000
PINNED_SHARE = 8  # of the window, at most
SUMMARY_SHARE = 8  # of what a prompt may hold, at most


class SummaryMovedOnError(MemoryAppError):
    """A newer version is in use than the one that was edited. ``details``: ``version``, the one in use."""

    code = "summary_moved_on"
    http_status = 409


class PinsFullError(InvalidInputError):
    """``details``: ``tokens`` and ``limit_tokens``."""

    code = "pins_full"


@dataclass(frozen=True, slots=True)
class NewLine:
    """Words of a turn that a compaction keeps verbatim."""

    turn_id: UUID
    kind: PinnedLine.Kind
    text: str


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A version to be added. ``tokens_before``: of the version it replaces and the turns it folds in.

    ``taint``: the weakest origin in what it was made of.
    """

    last_turn_id: UUID
    last_seq: int
    text: str
    method: Summary.Method
    trigger: Summary.Trigger
    tokens_before: int
    model: str = ""
    fallback_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    taint: Origin = Origin.USER_TYPED


def taint_of(base: Summary | None, covered: Sequence[SpokenTurn]) -> Origin:
    """Of a summary that folds these turns into ``base``: no hop through a summary makes anything more trusted."""
    folded = [said.taint for said in covered]
    return weakest([*folded, Origin(base.taint)] if base else folded)


def add_summary(
    conversation: Conversation, new: NewSummary, *, replaces: Summary | None, lines: Sequence[NewLine] = ()
) -> Summary | None:
    """Add a version and its kept lines; None when the conversation has moved on from what it was made of.

    Compare-and-swap under the conversation's row: ``replaces`` must still be the version in use, and the turn it ends
    with must still be the finished, shown one of its number. Of two compactions at once one wins. ``conversation``: as
    it was before its words were read; when some of them were changed or taken away since, nothing is added.
    """
    with transaction.atomic(durable=True):
        held = Conversation.objects.select_for_update().filter(id=conversation.id, deleted_at=None).first()
        if held is None or held.revision != conversation.revision:
            return None  # words of it were changed or taken away meanwhile
        if not _is_still(conversation, new, replaces=replaces):
            return None
        newest = Summary.objects.filter(conversation=held).aggregate(newest=Max("version"))["newest"] or 0
        summary = Summary.objects.create(
            user_id=held.user_id,
            conversation=held,
            version=newest + 1,
            last_seq=new.last_seq,
            last_turn_id=new.last_turn_id,
            replaces=replaces,
            text=new.text,
            method=new.method,
            trigger=new.trigger,
            fallback_reason=new.fallback_reason,
            model=new.model,
            tokens_before=new.tokens_before,
            tokens_after=estimate_text(new.text),
            input_tokens=new.usage.total_input_tokens,
            output_tokens=new.usage.output_tokens,
            taint=new.taint,
        )
        kept = [
            PinnedLine(
                user_id=held.user_id, conversation=held, turn_id=line.turn_id, kind=line.kind, text=line.text
            )
            for line in lines
        ]
        PinnedLine.objects.bulk_create(kept, ignore_conflicts=True)
    return summary


def edit_summary(user_id: UUID, conversation_id: UUID, *, version: int, text: str) -> Summary:
    """The person's own words in place of the version in use. The same turns stay covered.

    ``version``: the one they edited; raises ``SummaryMovedOnError`` when another is in use by now. Raises
    ``SecretRefusedError``: it would be in every prompt.
    """
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if not is_visible(text):
        raise InvalidInputError(gettext("Write what the model should know of the earlier messages."))
    refuse_secret(text)
    limit = summary_limit_tokens()
    if estimate_text(text) > limit:
        message = gettext("The summary takes about {n} tokens; the limit is {limit}. Shorten it.")
        raise InvalidInputError(message.format(n=grouped(estimate_text(text)), limit=grouped(limit)))
    conversation = queries.get_conversation(user_id, conversation_id)
    current = queries.current_summary(user_id, conversation_id)
    if current is None or current.version != version:
        raise _moved_on(current)
    new = NewSummary(
        last_turn_id=current.last_turn_id,
        last_seq=current.last_seq,
        text=text,
        method=Summary.Method.EDITED,
        trigger=Summary.Trigger.EDIT,
        tokens_before=current.tokens_after,
        taint=Origin(current.taint),  # what they left of it they need not have written
    )
    edited = add_summary(conversation, new, replaces=current)
    if edited is None:
        raise _moved_on(queries.current_summary(user_id, conversation_id))
    return edited


def pin_line(user_id: UUID, turn_id: UUID, *, text: str) -> PinnedLine:
    """Keep words of a turn, of either side, verbatim in every prompt. Pinning the same words again changes nothing.

    Raises ``InvalidInputError`` unless the words stand in the turn exactly, ``SecretRefusedError``, and
    ``PinsFullError`` when all lines together would take more than ``pinned_max_tokens``.
    """
    text = text.replace("\r\n", "\n").strip()
    turn = queries.get_turn(user_id, turn_id)
    if not text:
        raise InvalidInputError(gettext("Choose the words to keep."))
    if len(text) > PINNED_MAX_CHARS:
        message = gettext("These are {n} characters; at most {most} can be kept as one line. Choose fewer.")
        raise InvalidInputError(message.format(n=grouped(len(text)), most=grouped(PINNED_MAX_CHARS)))
    refuse_secret(text)
    with transaction.atomic(durable=True):
        held = Conversation.objects.select_for_update().filter(id=turn.conversation_id, deleted_at=None)
        if not held:
            raise NotFoundError(gettext("There is no such conversation."))
        turn = queries.get_turn(user_id, turn_id)  # as it reads now that nobody changes it
        if "\x00" in text or not any(text in message.text for message in turn.messages.all()):
            raise MalformedTextError(gettext("Choose words exactly as they stand in the message."))
        if not turn.is_current:
            raise NotShownError(gettext("This message is not on the shown branch. Show its branch first."))
        known = PinnedLine.objects.filter(user_id=user_id, turn=turn, text=text).first()
        if known and known.removed_at is None:
            return known
        _require_room(turn, text)
        if known:
            PinnedLine.objects.filter(id=known.id).update(removed_at=None, kind=PinnedLine.Kind.PIN)
            known.refresh_from_db()
            return known
        return PinnedLine.objects.create(
            user_id=user_id,
            conversation_id=turn.conversation_id,
            turn=turn,
            kind=PinnedLine.Kind.PIN,
            text=text,
        )


def unpin_line(user_id: UUID, line_id: UUID) -> PinnedLine:
    """Take a line off, whoever put it there; compaction does not put it there again."""
    line = PinnedLine.objects.filter(user_id=user_id, id=line_id, conversation__deleted_at=None).first()
    if line is None:
        raise NotFoundError(gettext("There is no such pinned line."))
    PinnedLine.objects.filter(id=line.id, removed_at=None).update(removed_at=Now())
    return line


def summary_limit_tokens() -> int:
    """What a summary may take: it is in every prompt."""
    return min(tuning.conf().summary_max_tokens, share_out(chat_limits()).input_tokens // SUMMARY_SHARE)


def pinned_limit_tokens() -> int:
    """What all lines of a conversation may take together."""
    return min(get_conf().pinned_max_tokens, chat_limits().window_tokens // PINNED_SHARE)


def _is_still(conversation: Conversation, new: NewSummary, *, replaces: Summary | None) -> bool:
    current = queries.current_summary(conversation.user_id, conversation.id)
    if (current and current.id) != (replaces and replaces.id):
        return False
    last = Turn.everything.filter(id=new.last_turn_id, seq=new.last_seq, is_current=True)
    return last.exclude(status__in=Turn.LIVE).exists()


def _require_room(turn: Turn, text: str) -> None:
    kept = queries.lines_of_all_branches(turn.user_id, turn.conversation_id)
    tokens = sum(estimate_text(line.text) for line in kept) + estimate_text(text)
    limit = pinned_limit_tokens()
    if tokens > limit:
        message = gettext(
            "All kept lines together would take about {n} tokens of every prompt; the limit is {limit}. "
            "Take one off first."
        )
        raise PinsFullError(
            message.format(n=grouped(tokens), limit=grouped(limit)), tokens=tokens, limit_tokens=limit
        )


def _moved_on(current: Summary | None) -> SummaryMovedOnError:
    message = gettext(
        "The summary was changed meanwhile. Your text is not saved: look at the newest version and edit that."
    )
    return SummaryMovedOnError(
        message,
        version=current.version if current else 0,
    )
