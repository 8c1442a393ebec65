"""Celery, queue "memory": everything that happens to memory after a commit. Ids only; safe to run twice."""

import logging
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.core.exceptions import ObjectDoesNotExist
from django.utils import timezone

from memoryapp.activity import operations as activity
from memoryapp.conf import get_conf
from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.lifecycle import compaction, embedding, extraction, operations, promotion, titling
from memoryapp.lifecycle.compaction import Compacted
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.longterm import forgettings, kind_changes
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries as memories
from memoryapp.longterm.models import Kind, KindChange
from memoryapp.nudges import EXTRACT_CONVERSATION, nudge
from memoryapp.policies.extraction import LONGEST_WAIT
from memoryapp.scratchpad import record_ages, records
from memoryapp.transcript import conversations, deletions, keys, retention, sources
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Conversation, Summary, Turn

logger = logging.getLogger(__name__)

# What the sweep looks through for conversations whose nudge was lost, or that failed: an older one is read when
# somebody takes it up again.
RECENT = timedelta(days=7)
NUDGES_AT_ONCE = 100
MISSING_KEYS = 1_000  # in a sweep: about a second's work


@shared_task
def embed_memories(memory_id: str) -> None:
    """Embed one memory soon after it was written; the sweep repeats what fails here."""
    try:
        embedding.embed_memory(UUID(memory_id))
    except EmbedderUnavailable as error:
        logger.warning("Memory %s waits for its vector: %s", memory_id, error)


@shared_task
def after_turn(turn_id: str) -> None:
    """What follows a finished turn: its run may have taught something, its conversation may have grown too long.

    Where records are not kept at all, that of the run goes once its lesson is drawn.
    """
    try:
        turn = transcript.turn_for_worker(UUID(turn_id))
    except ObjectDoesNotExist:
        return  # its conversation was deleted meanwhile
    operations.promoted(turn, lambda: promotion.promote_run(turn, now=timezone.now()))
    # One that can be tried again goes with the sweep: until then a retry knows what was done already.
    if _ending_run_records() == 0 and turn.status == Turn.Status.COMPLETED:
        records.drop_unkept(turn.user_id, turn.id)
    _embed_turn(turn)
    operations.titled(turn, lambda: titling.give_title_if_due(turn))
    if compaction.is_due_after(turn):
        _extract(turn.conversation)  # before turns leave the window
        operations.compacted(turn.conversation, lambda: compaction.compact_after(turn))
    nudge(EXTRACT_CONVERSATION, turn.conversation_id, delay_s=get_conf().extraction_delay_s)


@shared_task
def extract_conversation(conversation_id: str) -> None:
    """Learn from what was said, once it has been quiet for a while: a newer turn sends a nudge of its own."""
    conversation = transcript.conversation_for_worker(UUID(conversation_id))
    if conversation and extraction.is_due(conversation, now=timezone.now()):
        operations.extracted(conversation, lambda: extraction.extract(conversation))


@shared_task
def extract_again(conversation_id: str) -> None:
    """As ``extract_conversation``, without waiting: an admin asks, who may have mended what it failed for."""
    conversation = transcript.conversation_for_worker(UUID(conversation_id))
    if conversation:
        operations.extracted(conversation, lambda: extraction.extract(conversation))


def _embed_turn(turn: Turn) -> None:
    """What was said can be recalled by its meaning from now on; the sweep repeats what fails here."""
    try:
        embedding.embed_turn(turn.id)
    except EmbedderUnavailable as error:
        logger.warning("Turn %s waits for its vectors: %s", turn.id, error)


def _extract(conversation: Conversation) -> None:
    """Learn from what was said, quiet or not."""
    if extraction.may_try(conversation, now=timezone.now()):
        operations.extracted(conversation, lambda: extraction.extract(conversation))


@shared_task
def summarise_now(conversation_id: str) -> None:
    """A person asks for it: fold all but the newest turns into the summary."""

    def summarise(conversation: Conversation) -> Compacted:
        _extract(conversation)
        return compaction.compact(conversation.user_id, conversation.id, trigger=Summary.Trigger.MANUAL)

    _on_request(conversation_id, summarise)


@shared_task
def summarise_again(conversation_id: str) -> None:
    """A person asks for it: make the summary in use anew."""
    _on_request(conversation_id, lambda it: compaction.summarise_again(it.user_id, it.id))


@shared_task
def rebuild_summary(conversation_id: str) -> None:
    """What the summary was made from has changed: until there is a new one, its turns stand in the prompt."""

    def rebuild(conversation: Conversation) -> Compacted:
        return compaction.compact(conversation.user_id, conversation.id, trigger=Summary.Trigger.REBUILD)

    _on_request(conversation_id, rebuild)


def _on_request(conversation_id: str, work: Callable[[Conversation], Compacted]) -> None:
    conversation = transcript.conversation_for_worker(UUID(conversation_id))
    if conversation:
        operations.compacted(conversation, lambda: work(conversation))


@shared_task
def sweep() -> None:
    """Once a minute: make the changes of kinds that are due, delete what has faded, been forgotten or deleted or was
    temporary, drop old run records, embed the backlog, wake the reading of what nobody has read.

    Each for itself: what one person's rows do to one of them must not stop the others.
    """
    for job in (
        _apply_kind_changes,
        _delete_faded,
        _finish_forgettings,
        _delete_conversations,
        _delete_turns,
        _delete_overdue,
        _drop_run_records,
        _drop_old_activity,
        _keep_missing_keys,
        _embed_backlog,
        _wake_extraction,
    ):
        try:
            job()
        except Exception:  # the edge of a job
            logger.exception("The sweep could not finish %s", job.__name__.strip("_"))


def _apply_kind_changes() -> None:
    kind_changes.apply_due(timezone.now())


def _delete_faded() -> None:
    operations.logged(LifecycleRun.Job.EXPIRY, longterm.delete_faded)


def _finish_forgettings() -> None:
    operations.logged(LifecycleRun.Job.EXPIRY, forgettings.finish_due)


def _delete_conversations() -> None:
    operations.logged(LifecycleRun.Job.EXPIRY, conversations.delete_for_good)


def _delete_turns() -> None:
    operations.logged(LifecycleRun.Job.EXPIRY, deletions.delete_turns_for_good)


def _delete_overdue() -> None:
    operations.logged(LifecycleRun.Job.EXPIRY, retention.delete_overdue)


def _ending_run_records() -> int | None:
    """After how many days records of runs go; None while none go.

    As with memories, nothing goes while a change of the lifetime is fresh: taking it back keeps all of them.
    """
    days = memories.run_record_days()
    return days if days is not None and kind_changes.lifetime_is_settled(Kind.Subject.RUN) else None


def _drop_run_records() -> None:
    days = _ending_run_records()
    if days is None:
        return
    change = kind_changes.run_lifetime_in_force()
    by_change = _ended_by(change, days) if change else 0
    operations.logged(LifecycleRun.Job.EXPIRY, lambda: records.drop_old(older_than_days=days))
    if change and by_change:
        kind_changes.note_records_deleted(change, by_change)


def _ended_by(change: KindChange, days: int) -> int:
    """How many records go now that would stay without it."""
    (ending,) = record_ages.endings(before=change.before["ttl_days"], after=days, days=[0])
    return ending.goes


def _drop_old_activity() -> None:
    days = get_conf().activity_days
    operations.logged(LifecycleRun.Job.EXPIRY, lambda: activity.drop_old(older_than_days=days))


def _keep_missing_keys() -> None:
    keys.keep_missing(limit=MISSING_KEYS)


def _embed_backlog() -> None:
    try:
        operations.logged(LifecycleRun.Job.EMBEDDING, embedding.embed_backlog)
    except EmbedderUnavailable as error:
        logger.warning("The embedding backlog waits: %s", error)


def _wake_extraction() -> None:
    now = timezone.now()
    waiting = sources.conversations_waiting(
        active_since=now - RECENT, ended_before=now - LONGEST_WAIT, limit=NUDGES_AT_ONCE
    )
    for conversation_id in waiting:
        nudge(EXTRACT_CONVERSATION, conversation_id)
