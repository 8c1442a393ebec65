"""Learning from a conversation once it pauses: what the user said in it becomes candidates for long-term memory.

Sources are user messages of finished turns on the shown branch, and nothing else: not replies, not recalled memories,
not results of tools, not summaries. Replies are not even shown to the model, so that what was recalled into one cannot
come back as news. Each message is read once: that it was, and what came of it, is one transaction, fenced by the memory
epoch; whatever dies before it is simply repeated.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.lifecycle import daily_budget, findings
from memoryapp.lifecycle.findings import Finding, Findings, Neighbour, UnreadableAnswerError
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.llm.base import Usage
from memoryapp.llm.registry import get_chat_model
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries as memories
from memoryapp.longterm.models import Memory, MemorySource
from memoryapp.longterm.operations import Candidate, ForgottenError, PendingFullError, Source
from memoryapp.policies import extraction as policy
from memoryapp.policies.reconciliation import Outcome, normalise, says
from memoryapp.policies.trust import Origin, own_words, weakest
from memoryapp.transcript import sources
from memoryapp.transcript.models import Conversation
from memoryapp.transcript.sources import UserMessage
from memoryapp.tuning import operations as tuning

logger = logging.getLogger(__name__)

# One call of the model: what is read at once is judged together, and an answer stays short.
PART_TOKENS, PART_MESSAGES = 6_000, 40
MAX_PARTS = 20  # in one run; the sweep goes on with the rest
NEIGHBOURS = 20
KEYED_AT_MOST = 500  # of the newest, looked through for neighbours
UNWANTED = (
    longterm.KindRefusedError,
    longterm.SavingPausedError,
)  # by the person: passed over without a word
OUTCOMES = 16  # of earlier runs: more failures in a row wait no longer
# Two quotes are of the same words when the one holds the other and is not much longer.
SAME_WORDS_SHARE = 0.6


class OvertakenError(MemoryAppError):
    """Something was forgotten while this was being worked on, so nothing was saved; it is read again."""

    code = "overtaken_by_forgetting"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a run came to: messages read, memories written or affirmed, what was not taken and why, the model's tokens.

    ``error_code``: why it stopped before everything was read; what is left is tried again.
    """

    messages: int = 0
    memories: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    error_code: str = ""

    def __add__(self, other: "Extracted") -> "Extracted":
        return Extracted(
            self.messages + other.messages,
            self.memories + other.memories,
            self.rejected + other.rejected,
            self.usage + other.usage,
            other.error_code,
        )


@dataclass(frozen=True, slots=True)
class _Reading:
    """A part of a conversation, and whose. ``epoch``: as it was before the part was read."""

    conversation: Conversation
    messages: tuple[UserMessage, ...]
    epoch: int
    time_zone: str

    @property
    def user_id(self) -> UUID:
        return self.conversation.user_id


def is_due(conversation: Conversation, *, now: datetime) -> bool:
    """Whether the conversation has paused, or has been unread for long, and no failure has to be waited out."""
    waiting = sources.waiting(conversation.user_id, conversation.id)
    return (
        waiting is not None
        and may_try(conversation, now=now)
        and policy.is_due(
            first_ended_at=waiting.first_ended_at,
            last_ended_at=waiting.last_ended_at,
            is_live=waiting.is_live,
            now=now,
            quiet_s=get_conf().extraction_delay_s,
        )
    )


def may_try(conversation: Conversation, *, now: datetime) -> bool:
    """Whether it did not fail lately: each failure in a row doubles the wait."""
    retry_at = policy.retry_at(_outcomes(conversation))
    return retry_at is None or retry_at <= now


def extract(conversation: Conversation) -> Extracted:
    """Read what nobody has read yet, in parts; what a failure leaves unread is read by the next run.

    Never raises for what the model or the person's memory refuses: ``Extracted.error_code`` has it.
    """
    done = Extracted()
    for _ in range(MAX_PARTS):
        reading = _next_part(conversation)
        if not reading.messages:
            break
        done += _extract_part(reading)
        if done.error_code:
            break
    if done.rejected:
        logger.info("Of conversation %s was not taken: %s", conversation.id, dict(done.rejected))
    return done


def candidates_in(user_id: UUID, text: str, *, now: datetime) -> list[Candidate]:
    """What would be found worth keeping in a message with this text, if the person sent it now.

    Stores nothing but what a model, where one is asked, takes of the person's day. Raises ``ModelError`` and
    ``UnreadableAnswerError`` then.
    """
    person = User.objects.only("memory_epoch", "time_zone").get(id=user_id)
    sent = UserMessage(uuid4(), text, said_at=now, taint=Origin.USER_TYPED, tokens=estimate_text(text))
    # A conversation that was never saved: nothing has failed in it, and nobody has read it.
    reading = _Reading(Conversation(user_id=user_id), (sent,), person.memory_epoch, person.time_zone)
    try:
        found = _found(reading)
    except UnreadableAnswerError as error:
        tuning.spend(user_id, error.usage, in_background=True)
        raise
    tuning.spend(user_id, found.usage, in_background=True)
    return [_candidate(reading, finding) for finding in found.taken]


def _next_part(conversation: Conversation) -> _Reading:
    # The epoch first: a forgetting after it, however soon, overtakes what is read now.
    person = User.objects.only("memory_epoch", "time_zone").get(id=conversation.user_id)
    messages = sources.not_extracted(conversation.user_id, conversation.id, limit=PART_MESSAGES)
    part: list[UserMessage] = []
    left = PART_TOKENS
    for message in messages:
        if part and message.tokens > left:
            break
        part.append(message)
        left -= message.tokens
    return _Reading(conversation, tuple(part), person.memory_epoch, person.time_zone)


def _extract_part(reading: _Reading) -> Extracted:
    found = Findings(())
    try:
        found = _found(reading)
        written, rejected = _keep(reading, found.taken)
    except UnreadableAnswerError as error:
        return Extracted(usage=error.usage, error_code=error.code)
    except MemoryAppError as error:
        logger.warning("Conversation %s is read later: %s", reading.conversation.id, error.code)
        return Extracted(usage=found.usage, error_code=error.code)
    return Extracted(len(reading.messages), written, found.rejected + rejected, found.usage)


def _found(reading: _Reading) -> Findings:
    if not _asks_the_model(reading.conversation):
        return findings.by_rules(reading.messages, time_zone=reading.time_zone)
    kinds = list(memories.statement_kinds())
    return findings.by_model(
        reading.messages,
        kinds=[kind.slug for kind in kinds],
        meanings="; ".join(f"{kind.slug}: {kind.label.lower()}" for kind in kinds),
        known=_neighbours(reading),
        time_zone=reading.time_zone,
    )


def _asks_the_model(conversation: Conversation) -> bool:
    if not get_conf().model_extraction or get_chat_model().name == "offline":
        return False
    if daily_budget.is_spent(conversation.user_id):
        return False
    return not policy.gives_up_on_the_model(_outcomes(conversation), unreadable=UnreadableAnswerError.code)


def _outcomes(conversation: Conversation) -> list[tuple[str, datetime]]:
    runs = LifecycleRun.objects.filter(
        user_id=conversation.user_id, job=LifecycleRun.Job.EXTRACTION, subject_id=conversation.id
    )
    return list(runs.order_by("-finished_at", "-id").values_list("error_code", "finished_at")[:OUTCOMES])


def _neighbours(reading: _Reading) -> list[Neighbour]:
    """Keyed memories that share the most words with the messages: what these may repeat or change.

    Only what the person or the model said: a text of strangers in this prompt would taint all that comes of it.
    """
    trusted = [origin for origin in Origin if origin.is_at_least(Origin.MODEL_INFERRED)]
    rows = memories.memories(reading.user_id).exclude(key="").filter(origin__in=trusted)
    known = rows.order_by("-affirmed_at", "-id").values_list("key", "statement")[:KEYED_AT_MOST]
    said = _words(message.text for message in reading.messages)
    ranked = sorted(known, key=lambda row: -len(said & _words(row)))  # stable: the newest of equals first
    return [Neighbour(key, statement) for key, statement in ranked[:NEIGHBOURS]]


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in normalise(text.replace(".", " ")).split()}


def _keep(reading: _Reading, found: Sequence[Finding]) -> tuple[int, Counter[str]]:
    """Note the messages as read and write what was found in them, or none of both; (memories touched, refusals)."""
    rejected: Counter[str] = Counter()
    written = 0
    with transaction.atomic(durable=True):
        if longterm.lock_person(reading.user_id).memory_epoch != reading.epoch:
            raise OvertakenError("Something was forgotten meanwhile.")
        mine = sources.take(reading.user_id, [message.id for message in reading.messages])
        taken = list(memories.taken_from(reading.user_id, mine))
        for finding in found:
            if finding.message_id not in mine:
                reason = "taken_elsewhere"
            elif any(_repeats(finding, source) for source in taken):
                reason = "kept_already"
            else:
                reason = _written(reading, finding)
            rejected[reason] += bool(reason)
            written += not reason
    return written, +rejected


def _repeats(finding: Finding, source: MemorySource) -> bool:
    """Whether the assistant kept the same from the same message already, in whatever words."""
    if finding.message_id != source.message_id:
        return False
    known = source.memory
    says_it = normalise(finding.statement) == normalise(known.statement)
    has_key = bool(finding.key) and finding.key == known.key
    return (
        says_it
        or has_key
        or (finding.kind == known.kind.slug and _are_same_words(finding.quote, source.quote))
    )


def _are_same_words(one: str, other: str) -> bool:
    short, long = sorted((normalise(one), normalise(other)), key=len)
    return bool(short) and short in long and len(short) >= SAME_WORDS_SHARE * len(long)


def _written(reading: _Reading, finding: Finding) -> str:
    """Write it; why it may not be kept, or nothing. A full memory is no matter of this finding: it raises."""
    try:
        with transaction.atomic():
            remembered = longterm.remember_within(reading.user_id, _candidate(reading, finding))
    except (InvalidInputError, ForgottenError, PendingFullError, *UNWANTED) as error:
        return error.code
    return "ignored" if remembered.outcome == Outcome.IGNORED else ""


def _candidate(reading: _Reading, finding: Finding) -> Candidate:
    message = next(message for message in reading.messages if message.id == finding.message_id)
    return Candidate(
        kind=finding.kind,
        statement=finding.statement,
        key=finding.key,
        quote=finding.quote,
        origin=_origin(reading, finding, message),
        channel=Memory.Channel.EXTRACTION,
        said_at=message.said_at,
        happened_at=finding.happened_at,
        source=Source(message_id=message.id, text=message.text),
        epoch_at_start=reading.epoch,
    )


def _origin(reading: _Reading, finding: Finding, message: UserMessage) -> Origin:
    """Typed by the person where the message holds the very words; else concluded, from all that was read with it."""
    if says(message.text, finding.statement):
        return own_words(message.taint)
    return weakest([Origin.MODEL_INFERRED, *(other.taint for other in reading.messages)])
