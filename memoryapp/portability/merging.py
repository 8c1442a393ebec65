"""What becomes of each record of a file beside what its person has: foreseen for the preview, done for the import.

What comes from a file is of origin "imported" here, whatever it says of itself: it overturns nothing silently, and what
was forgotten stays so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import MemoryAppError
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries, reconciling, refusals, tombstones
from memoryapp.longterm.candidates import Candidate, checked, dated, refuse_secret
from memoryapp.longterm.models import Memory
from memoryapp.policies.reconciliation import Outcome as Settled
from memoryapp.policies.secrets import SecretRefusedError
from memoryapp.policies.trust import Origin, weakest
from memoryapp.portability import archive_reading, restoring
from memoryapp.portability.archive_reading import Chat, Part
from memoryapp.portability.identity import Found, Known, Match, digest_of, digests_of, moment_digest
from memoryapp.portability.importers.items import Attachment, Conversation, Fact, Role, Said, Skipped
from memoryapp.portability.models import ImportItem
from memoryapp.portability.records import Record
from memoryapp.portability.restoring import Restoring
from memoryapp.transcript import importing
from memoryapp.transcript.models import Message

Sort = ImportItem.Sort
Outcome = ImportItem.Outcome
Item = Chat | archive_reading.Found | Conversation | Fact | Skipped

SETTLED: Final = {
    Settled.ADDED: Outcome.NEW,
    Settled.PENDING: Outcome.NEW,
    Settled.SUPERSEDED: Outcome.CHANGED,
    Settled.CONFLICT: Outcome.CONFLICTING,
    Settled.REINFORCED: Outcome.DUPLICATE,
    Settled.IGNORED: Outcome.DUPLICATE,
}
MATCHED: Final = {
    Match.SAME: Outcome.DUPLICATE,
    Match.GROWN: Outcome.CHANGED,
    Match.OTHER: Outcome.CHANGED,
    Match.GONE: Outcome.FORGOTTEN,
}
BROUGHT: Final = frozenset({Outcome.NEW, Outcome.CHANGED, Outcome.CONFLICTING})
FORMER: Final = "former_value"
WAITING: Final = "was_waiting"
TOO_LONG: Final = "too_long"
SETTINGS: Final = "settings"


@dataclass(frozen=True, slots=True)
class Judged:
    """``text``: what it says, for a sample. ``reason``: why it is left out; ``count``: how many are, at once.
    ``digests``: by what it is known in a later file, first what its own program calls it."""

    sort: str
    outcome: str
    text: str = ""
    reason: str = ""
    count: int = 1
    digests: tuple[str, ...] = ()
    row_id: UUID | None = None


@dataclass(slots=True)
class Merging:
    """One file, for one person. ``judge`` writes nothing; ``take`` is a part of the caller's transaction."""

    user: User
    batch_id: UUID
    format: str
    now: datetime
    known: Known = field(init=False)
    restoring: Restoring = field(init=False)
    _seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.known = Known(self.user, self.batch_id)
        self.restoring = Restoring(self.user, self.batch_id, self.now, is_exact=False)

    def judge(self, item: Item) -> Judged:
        match item:
            case Conversation():
                return self._foreign(item)[0]
            case Fact():
                return self._fact(self._foreign_candidate(item))
            case Skipped():
                return Judged("", Outcome.SKIPPED, reason=item.reason.value, count=item.count)
            case Chat():
                return self._chat(item, list(item.turns()))
            case archive_reading.Found():
                return self._archived(item)

    def take(self, item: Item) -> Judged:
        match item:
            case Conversation():
                return self._take_foreign(item)
            case Fact():
                return self._take_fact(self._foreign_candidate(item), expires_at=item.expires_at)
            case Skipped():
                return self.judge(item)
            case Chat():
                return self._take_chat(item)
            case archive_reading.Found():
                return self._take_archived(item)

    # Records of an archive

    def _archived(self, found: archive_reading.Found) -> Judged:
        match found.part:
            case Part.MEMORY:
                return left_memory(found.record) or self._fact(self._archived_candidate(found.record))
            case Part.EXPERIENCE:
                return left_lesson(found.record) or self._lesson(found.record)
            case Part.USE:
                return Judged("", Outcome.SKIPPED, count=0)
        # Of the account that the archive is of: this one has its own.
        return Judged("", Outcome.SKIPPED, reason=SETTINGS, count=0)

    def _take_archived(self, found: archive_reading.Found) -> Judged:
        judged = self._archived(found)
        if judged.outcome not in BROUGHT:
            return judged
        if found.part is Part.EXPERIENCE:
            return replace(judged, row_id=self.restoring.experiences([found.record])[0])
        candidate = self._archived_candidate(found.record)
        return self._settled(judged, candidate, expires_at=_moment(found.record, "expires_at"))

    # Facts

    def _fact(self, candidate: Candidate | None) -> Judged:
        if candidate is None:
            return Judged(Sort.MEMORY, Outcome.SKIPPED, reason="empty")
        text = candidate.statement
        try:
            candidate = dated(
                reconciling.without_guessed_key(checked(candidate)), time_zone=self.user.time_zone
            )
            refusals.check(self.user, candidate)
            queries.get_kind(candidate.kind)
        except MemoryAppError as error:
            return Judged(Sort.MEMORY, Outcome.SKIPPED, text, reason=error.code)
        digests = tombstones.digests(self.user.forgetting_key, candidate.statement)
        if tombstones.newest(self.user.id, digests):
            return Judged(Sort.MEMORY, Outcome.FORGOTTEN, text)
        near = reconciling.known_near(self.user, candidate)
        digest = tombstones.statement_digest(self.user.forgetting_key, candidate.statement)
        if near.same or near.waiting or digest in self._seen or queries.is_known(self.user.id, digest):
            return Judged(Sort.MEMORY, Outcome.DUPLICATE, text)
        self._seen.add(digest)
        kind = queries.get_kind(candidate.kind)
        decision = reconciling.decided(candidate, near, needs_confirmation=kind.needs_confirmation)
        return Judged(Sort.MEMORY, SETTLED[decision.outcome], text)

    def _take_fact(self, candidate: Candidate | None, *, expires_at: datetime | None) -> Judged:
        judged = self._fact(candidate)
        return (
            self._settled(judged, candidate, expires_at=expires_at) if judged.outcome in BROUGHT else judged
        )

    def _settled(self, judged: Judged, candidate: Candidate | None, *, expires_at: datetime | None) -> Judged:
        assert candidate
        try:
            with transaction.atomic():
                remembered = longterm.remember_within(self.user.id, candidate)
        except longterm.ForgottenError:
            return replace(judged, outcome=Outcome.FORGOTTEN)
        except MemoryAppError as error:
            return replace(judged, outcome=Outcome.SKIPPED, reason=error.code)
        if expires_at:
            restoring.give_end(self.user.id, remembered.memory.id, expires_at=expires_at)
        return replace(judged, outcome=SETTLED[remembered.outcome], row_id=remembered.memory.id)

    def _foreign_candidate(self, fact: Fact) -> Candidate | None:
        return self._candidate(fact.text, kind=fact.kind_hint, said_at=fact.said_at)

    def _archived_candidate(self, record: Record) -> Candidate | None:
        candidate = self._candidate(
            record["statement"], kind=str(record.get("kind")), said_at=_moment(record, "said_at")
        )
        return candidate and replace(
            candidate,
            key=record["key"],
            origin=weakest([Origin.IMPORTED, Origin(record["origin"])]),
            happened_at=_moment(record, "happened_at"),
            valid_from=_moment(record, "valid_from"),
            valid_to=_moment(record, "valid_to"),
        )

    def _candidate(self, text: str, *, kind: str, said_at: datetime | None) -> Candidate | None:
        known = {one.slug for one in queries.statement_kinds()}
        return (
            Candidate(
                kind=kind if kind in known else restoring.FALLBACK_KIND,
                statement=text,
                origin=Origin.IMPORTED,
                channel=Memory.Channel.IMPORT,
                said_at=min(said_at or self.now, self.now),
            )
            if text.strip()
            else None
        )

    # Lessons

    def _lesson(self, record: Record) -> Judged:
        words = (record["goal"], record["worked"], record["avoid"])
        buried = tombstones.lesson_digest(self.user.forgetting_key, *words)
        if tombstones.newest(self.user.id, [buried]):
            return Judged(Sort.EXPERIENCE, Outcome.FORGOTTEN, record["goal"])
        is_known = restoring.is_same_lesson(self.user.id, record)
        outcome = Outcome.DUPLICATE if is_known else Outcome.NEW
        return Judged(Sort.EXPERIENCE, outcome, record["goal"])

    # Conversations of an archive

    def _chat(self, chat: Chat, turns: Sequence[Record]) -> Judged:
        created_at = datetime.fromisoformat(chat.head["created_at"])
        shown = list(_shown(turns))
        said = [(one["role"], one["text"]) for _, one in shown]
        digest = moment_digest(self.user, created_at)
        found = (
            self.known.at(created_at, said, [datetime.fromisoformat(turn["created_at"]) for turn, _ in shown])
            or self.known.imported(digest, said, created_at)
            or self.known.before_everything_went(created_at)
        )
        outcome = MATCHED[found.match] if found else Outcome.NEW
        digests = digests_of(self.user, said, named=digest, created_at=created_at)
        return Judged(Sort.CONVERSATION, outcome, _title(chat.head["title"], said), digests=digests)

    def _take_chat(self, chat: Chat) -> Judged:
        """What is changed comes beside the person's own, whole: two trees of turns are not woven into one."""
        turns = list(chat.turns())
        judged = self._chat(chat, turns)
        if judged.outcome not in BROUGHT:
            return judged
        return replace(judged, row_id=self.restoring.conversation(chat, turns))

    # Conversations held elsewhere

    def _foreign(self, conversation: Conversation) -> tuple[Judged, Found | None]:
        said = [(_role(one), _text(one)) for one in conversation.messages]
        digest = digest_of(self.user, self.format, conversation.external_id or conversation.title)
        created_at = self._said(conversation)[0].said_at
        begun_at = conversation.messages[0].said_at if conversation.messages else None
        begun_at = conversation.started_at or begun_at or conversation.updated_at
        found = self.known.imported(digest, said, created_at) or self.known.before_everything_went(begun_at)
        outcome = MATCHED[found.match] if found else Outcome.NEW
        if outcome == Outcome.NEW and digest in self._seen:
            outcome = Outcome.DUPLICATE
        self._seen.add(digest)
        title = _title(conversation.title, said)
        digests = digests_of(self.user, said, named=digest, created_at=created_at)
        return Judged(Sort.CONVERSATION, outcome, title, digests=digests), found

    def _take_foreign(self, conversation: Conversation) -> Judged:
        """What has grown goes on in the person's own; what parts from it comes beside it."""
        judged, found = self._foreign(conversation)
        if judged.outcome not in BROUGHT:
            return judged
        said = self._said(conversation)
        if found and found.match is Match.GROWN and found.conversation_id and said[found.known :]:
            row_id = importing.continue_within(self.user.id, found.conversation_id, said[found.known :])
        else:
            row_id = importing.import_within(
                self.user,
                said,
                title=conversation.title,
                save_memory=not conversation.is_not_to_remember,
                is_archived=conversation.is_archived,
                is_pinned=conversation.is_pinned,
            )
        return replace(judged, row_id=row_id)

    def _said(self, conversation: Conversation) -> list[importing.Said]:
        """What has no time was said when the message before it was."""
        at = conversation.started_at or conversation.updated_at or self.now
        said = []
        for message in conversation.messages:
            at = max(at, message.said_at) if message.said_at else at
            said.append(
                importing.Said(
                    _text(message), message.role == Role.ASSISTANT, min(at, self.now), model=message.model
                )
            )
        return said


def left_memory(record: Record) -> Judged | None:
    """What was no more, or not yet, in use where it comes from, or may not be kept anywhere."""
    status = record["status"]
    if status != Memory.Status.ACTIVE:
        reason = FORMER if status == Memory.Status.SUPERSEDED else WAITING
    else:
        reason = unkept_memory(record)
    return Judged(Sort.MEMORY, Outcome.SKIPPED, record["statement"], reason=reason) if reason else None


def left_lesson(record: Record) -> Judged | None:
    reason = unkept([record["goal"], record["worked"], record["avoid"], *record["tools"]])
    return Judged(Sort.EXPERIENCE, Outcome.SKIPPED, record["goal"], reason=reason) if reason else None


def unkept_memory(record: Record) -> str:
    """With all that it ever said, and the quotes."""
    former = [version["statement"] for version in record["versions"]]
    quotes = [source["quote"] for source in record["sources"]]
    return unkept([record["statement"], record["quote"], *former, *quotes])


def unkept(texts: Iterable[str]) -> str:
    """Why long-term memory takes none of it, as the code of an error; "" when it does."""
    limit = get_conf().statement_max_chars
    try:
        for text in texts:
            if len(text) > limit:
                return TOO_LONG
            refuse_secret(text)
    except SecretRefusedError as error:
        return error.code
    return ""


def _shown(turns: Sequence[Record]) -> Iterator[tuple[Record, Record]]:
    """Each message of the shown branch, with its turn."""
    shown = [turn for turn in turns if turn["is_current"] and not turn.get("is_deleted")]
    for turn in sorted(shown, key=lambda turn: turn["seq"]):
        for message in turn["messages"]:
            yield turn, message


def _role(said: Said) -> str:
    return Message.Role.ASSISTANT if said.role == Role.ASSISTANT else Message.Role.USER


def _text(said: Said) -> str:
    """With what was sent along, by name and, where the file has it, by its words."""
    return "\n\n".join(filter(None, [said.text, *map(_attachment, said.attachments)]))


def _attachment(attachment: Attachment) -> str:
    return f"[{attachment.name}]\n{attachment.text}".strip()


def _title(title: str, said: Sequence[tuple[str, str]]) -> str:
    return title or next((text for _, text in said if text), "")


def _moment(record: Record, name: str) -> datetime | None:
    value: str | None = record[name]
    return datetime.fromisoformat(value) if value else None
