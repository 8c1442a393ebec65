"""Writes of long-term memory. Every path — chat, API, inspector, import — comes through ``remember``."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.dispatch import Signal

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError, StaleVersionError
from memoryapp.longterm import queries
from memoryapp.longterm.models import (
    Experience,
    Kind,
    Memory,
    MemoryQuerySet,
    MemorySource,
    MemoryVersion,
    Tombstone,
)
from memoryapp.nudges import EMBED_MEMORIES, nudge
from memoryapp.policies import reconciliation
from memoryapp.policies.reconciliation import Known, Outcome
from memoryapp.policies.secrets import find_secret
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin

# Sent with ``traces`` inside the transaction of ``forget``: what other rooms hold of a memory goes with it, or neither.
forgetting = Signal()

SWEEP_ROWS = 1_000  # of each sort in one transaction; the next sweep is a minute away


class SecretRefusedError(InvalidInputError):
    """The statement holds a secret; ``details["found"]`` says which sort, never the text."""

    code = "secret_refused"


class QuoteNotFoundError(InvalidInputError):
    """The quote is not a verbatim span of what the user said."""

    code = "quote_not_found"


class ForgottenError(MemoryAppError):
    """This was forgotten after it had been said; only saying it again can bring it back."""

    code = "forgotten"
    http_status = 409


class MemoryFullError(MemoryAppError):
    """``details["limit"]``: how many memories one person may have."""

    code = "memory_full"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement was said. ``text`` is the whole message, in which the quote must stand."""

    message_id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that asks to be remembered.

    ``origin`` comes from code, never from a model. ``epoch_at_start``: the user's memory epoch when the work began
    (None for a request made by a person now); work older than a forgetting may not write.
    """

    kind: str
    statement: str
    origin: Origin
    channel: Memory.Channel
    said_at: datetime
    key: str = ""
    quote: str = ""
    source: Source | None = None
    run_id: UUID | None = None
    epoch_at_start: int | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """``memory``: the row that now holds the statement (for CONFLICT and PENDING: the one that waits)."""

    outcome: Outcome
    memory: Memory


@dataclass(frozen=True, slots=True)
class Traces:
    """By what a memory that is being forgotten can be found elsewhere: ids, wordings and quotes."""

    user_id: UUID
    run_ids: frozenset[UUID]
    texts: frozenset[str]


def remember(user_id: UUID, candidate: Candidate) -> Remembered:
    """Reconcile a statement with what is known and keep the result, in one transaction.

    Writers of the same person take turns; if one ever did not, the constraints of one live row per key and statement
    refuse the second row. Raises InvalidInputError and its children, ForgottenError, MemoryFullError.
    """
    candidate = _checked(candidate)
    with transaction.atomic(durable=True):
        return _reconcile(user_id, candidate)


def remember_within(user_id: UUID, candidate: Candidate) -> Remembered:
    """``remember`` as a part of the caller's transaction."""
    return _reconcile(user_id, _checked(candidate))


def edit(
    user_id: UUID,
    memory_id: UUID,
    *,
    version: int,
    now: datetime,
    statement: str | None = None,
    kind: str | None = None,
    key: str | None = None,
    confidence: float | None = None,
) -> Memory:
    """A person's correction, as a new version; it also affirms the memory, so that its lifetime starts again.

    Raises StaleVersionError when ``version`` is not the current one, InvalidInputError for what cannot be kept.
    """
    if confidence is not None and not 0 <= confidence <= 1:
        raise InvalidInputError("Confidence lies between 0 and 1.")
    try:
        with transaction.atomic(durable=True):
            memory = _locked(user_id, memory_id, version=version)
            if memory.status == Memory.Status.SUPERSEDED:
                raise InvalidInputError("This was replaced. Correct what replaced it.")
            text = _clean_statement(memory.statement if statement is None else statement)
            if text != memory.statement:
                memory.embedding, memory.embedding_model = None, ""
            memory.statement = text
            memory.digest = queries.statement_digest(memory.user.forgetting_key, text)
            memory.kind = queries.get_kind(kind) if kind else memory.kind
            memory.key = memory.key if key is None else _clean_key(key)
            memory.confidence = memory.confidence if confidence is None else confidence
            memory.affirmed_at = now
            _save_version(memory, author=MemoryVersion.Author.USER, reason="edited")
    except IntegrityError as error:
        raise InvalidInputError(
            "Another memory already says this or has this key. Change or forget that one."
        ) from error
    nudge(EMBED_MEMORIES, memory.id)
    return queries.get_memory(user_id, memory_id)


def confirm(user_id: UUID, memory_id: UUID, *, version: int, now: datetime) -> Memory:
    """A person settles a pending or conflicting memory in its favour; bound to the text they saw by ``version``.

    The live value of the same key is superseded. Raises StaleVersionError, and InvalidInputError for a memory that
    does not wait or that repeats a live one.
    """
    try:
        with transaction.atomic(durable=True):
            memory = _locked(user_id, memory_id, version=version)
            if memory.status not in queries.WAITING:
                raise InvalidInputError("This memory does not wait for your word.")
            _retire_faded(user_id, digest=memory.digest, key=memory.key)
            live = Memory.objects.for_user(user_id).live()
            replaced = live.filter(key=memory.key).first() if memory.key else None
            if replaced:
                _step_aside(replaced, at=now)
            memory.status = Memory.Status.ACTIVE
            memory.confidence = INITIAL_CONFIDENCE[Origin.USER_CONFIRMED]
            memory.affirmed_at = now
            _save_version(memory, author=MemoryVersion.Author.USER, reason="confirmed")
            if replaced:
                _point_to(memory, replaced)
    except IntegrityError as error:
        raise InvalidInputError("This is remembered already. Forget one of the two.") from error
    nudge(EMBED_MEMORIES, memory.id)
    return queries.get_memory(user_id, memory_id)


def affirm(user_id: UUID, memory_id: UUID, *, now: datetime) -> Memory:
    """A person says it still holds: its lifetime starts again."""
    updated = Memory.objects.for_user(user_id).filter(id=memory_id).update(affirmed_at=now)
    if not updated:
        raise NotFoundError("There is no such memory.")
    return queries.get_memory(user_id, memory_id)


def set_lifetime(
    user_id: UUID, memory_id: UUID, *, is_kept: bool = False, expires_at: datetime | None = None
) -> Memory:
    """Override the kind's lifetime: keep for ever, end at a date, or (neither) follow the kind again."""
    updated = (
        Memory.objects.for_user(user_id).filter(id=memory_id).update(is_kept=is_kept, expires_at=expires_at)
    )
    if not updated:
        raise NotFoundError("There is no such memory.")
    return queries.get_memory(user_id, memory_id)


def forget(user_id: UUID, memory_id: UUID, *, now: datetime, version: int | None = None) -> None:
    """Delete a memory with everything derived from it here, and see to it that old text cannot teach it again.

    One transaction: the row, its versions, sources and vector go, and so do its former values, which are the same fact
    in older words, and rows that wait with the same statement. A tombstone without the text stays for every wording;
    the memory epoch moves, so that a turn or job already running cannot write it back. Whoever listens to
    ``forgetting`` removes its traces elsewhere.
    """
    with transaction.atomic(durable=True):
        memory = _locked(user_id, memory_id, version=version)
        repeats = Q(digest=memory.digest) & ~Q(status=Memory.Status.ACTIVE)
        gone = Memory.objects.for_user(user_id).filter(Q(id=memory.id) | Q(superseded_by=memory) | repeats)
        _bury(memory, gone, now=now)
        accounts.advance_memory_epoch(user_id)
        forgetting.send(sender=Memory, traces=_traces(user_id, gone))
        gone.delete()


def store_embedding(memory_id: UUID, *, version: int, embedding: list[float], model_id: str) -> bool:
    """Keep a vector unless the statement changed while it was computed."""
    return (
        Memory.objects.filter(id=memory_id, version=version).update(
            embedding=embedding, embedding_model=model_id
        )
        == 1
    )


def delete_faded() -> int:
    """Delete for good what no query reads any more; returns how many rows."""
    with transaction.atomic(durable=True):
        ids = list(queries.faded().values_list("id", flat=True)[:SWEEP_ROWS])
        Memory.objects.filter(id__in=ids).delete()
        experiences = list(queries.faded_experiences().values_list("id", flat=True)[:SWEEP_ROWS])
        Experience.objects.filter(id__in=experiences).delete()
    return len(ids) + len(experiences)


def lock_person(user_id: UUID) -> User:
    """One writer of a person's memory at a time, and none beside a forgetting.

    Taken before any memory is locked, always in this order, so that two writers never wait for each other; without
    the key, so that a new message, which refers to the person, does not wait for a memory.
    """
    return User.objects.select_for_update(no_key=True).get(id=user_id)


def _checked(candidate: Candidate) -> Candidate:
    statement = _clean_statement(candidate.statement)
    _refuse_secret(candidate.quote)
    if candidate.source and (not candidate.quote.strip() or candidate.quote not in candidate.source.text):
        raise QuoteNotFoundError("The quote must be copied word for word from what the user said.")
    return Candidate(
        kind=candidate.kind,
        statement=statement,
        origin=candidate.origin,
        channel=candidate.channel,
        said_at=candidate.said_at,
        key=_clean_key(candidate.key),
        quote=candidate.quote,
        source=candidate.source,
        run_id=candidate.run_id,
        epoch_at_start=candidate.epoch_at_start,
    )


def _reconcile(user_id: UUID, candidate: Candidate) -> Remembered:
    user = lock_person(user_id)
    kind = queries.get_kind(candidate.kind)
    digest = queries.statement_digest(user.forgetting_key, candidate.statement)
    _refuse_forgotten(user, candidate, digest)
    _retire_faded(user_id, digest=digest, key=candidate.key)
    live = Memory.objects.for_user(user_id).live()
    same_statement = live.filter(digest=digest).first()
    same_key = live.filter(key=candidate.key).first() if candidate.key else None
    decision = reconciliation.decide(
        origin=candidate.origin,
        said_at=candidate.said_at,
        needs_confirmation=kind.needs_confirmation,
        same_statement=_known(same_statement),
        same_key=_known(same_key),
    )
    if decision.outcome == Outcome.REINFORCED:
        assert same_statement is not None
        return _reinforce(same_statement, candidate)
    waiting = _already_waiting(user_id, digest, decision.outcome)
    if waiting:
        return Remembered(decision.outcome, _with_source(waiting, candidate, decision.outcome))
    _refuse_when_full(user_id)
    if decision.outcome == Outcome.SUPERSEDED:
        assert same_key is not None
        return Remembered(decision.outcome, _supersede(same_key, kind, digest, candidate))
    status = {
        Outcome.ADDED: Memory.Status.ACTIVE,
        Outcome.PENDING: Memory.Status.PENDING,
        Outcome.CONFLICT: Memory.Status.CONFLICT,
    }[decision.outcome]
    memory = _create(user_id, kind, digest, candidate, status=status)
    return Remembered(decision.outcome, _with_source(memory, candidate, decision.outcome))


def _reinforce(memory: Memory, candidate: Candidate) -> Remembered:
    if memory.affirmed_at < candidate.said_at:
        memory.affirmed_at = candidate.said_at
        memory.save(update_fields=["affirmed_at"])
    return Remembered(Outcome.REINFORCED, _with_source(memory, candidate, Outcome.REINFORCED))


def _supersede(old: Memory, kind: Kind, digest: str, candidate: Candidate) -> Memory:
    """The old row keeps its interval and leaves its place under the key to the new one."""
    _step_aside(old, at=candidate.said_at)
    new = _create(old.user_id, kind, digest, candidate, status=Memory.Status.ACTIVE)
    _point_to(new, old)
    return _with_source(new, candidate, Outcome.SUPERSEDED)


def _step_aside(old: Memory, *, at: datetime) -> None:
    old.status = Memory.Status.SUPERSEDED
    old.valid_to = at
    old.superseded_at = at
    old.save(update_fields=["status", "valid_to", "superseded_at"])


def _point_to(new: Memory, old: Memory) -> None:
    """Older links move along, so that every former value points at the current one."""
    former = Q(superseded_by=old) | Q(id=old.id)
    Memory.objects.for_user(new.user_id).filter(former).update(superseded_by=new)


def _create(user_id: UUID, kind: Kind, digest: str, candidate: Candidate, *, status: Memory.Status) -> Memory:
    memory = Memory.objects.create(
        user_id=user_id,
        kind=kind,
        key=candidate.key,
        statement=candidate.statement,
        digest=digest,
        quote=candidate.quote,
        channel=candidate.channel,
        source_message_id=candidate.source.message_id if candidate.source else None,
        source_run_id=candidate.run_id,
        origin=candidate.origin,
        confidence=INITIAL_CONFIDENCE[candidate.origin],
        status=status,
        said_at=candidate.said_at,
        valid_from=candidate.said_at,
        affirmed_at=candidate.said_at,
    )
    _write_version(
        memory, author=_author(candidate), reason=f"first said, through {memory.get_channel_display()}"
    )
    nudge(EMBED_MEMORIES, memory.id)
    return memory


def _with_source(memory: Memory, candidate: Candidate, outcome: Outcome) -> Memory:
    """Note where it was said; the same message counts once."""
    values = {
        "quote": candidate.quote,
        "origin": candidate.origin,
        "outcome": outcome,
        "said_at": candidate.said_at,
    }
    if candidate.source is None:
        MemorySource.objects.create(user_id=memory.user_id, memory=memory, **values)
    else:
        MemorySource.objects.get_or_create(
            user_id=memory.user_id, memory=memory, message_id=candidate.source.message_id, defaults=values
        )
    return memory


def _traces(user_id: UUID, gone: MemoryQuerySet) -> Traces:
    wordings = MemoryVersion.objects.filter(user_id=user_id, memory__in=gone)
    quotes = MemorySource.objects.filter(user_id=user_id, memory__in=gone)
    rows = gone.values_list("id", "statement", "quote", "source_run_id")
    texts = {str(value) for row in rows for value in row[:3]}
    texts |= {*wordings.values_list("statement", flat=True), *quotes.values_list("quote", flat=True)}
    return Traces(
        user_id=user_id,
        run_ids=frozenset(run_id for *_, run_id in rows if run_id),
        texts=frozenset(filter(None, texts)),
    )


def _bury(memory: Memory, gone: MemoryQuerySet, *, now: datetime) -> None:
    """A tombstone for every wording that these rows ever had."""
    wordings = MemoryVersion.objects.filter(user_id=memory.user_id, memory__in=gone)
    key = memory.user.forgetting_key
    digests = set(gone.values_list("digest", flat=True))
    digests |= {queries.statement_digest(key, said) for said in wordings.values_list("statement", flat=True)}
    Tombstone.objects.bulk_create(
        Tombstone(
            user_id=memory.user_id,
            memory_id=memory.id,
            digest=digest,
            created_at=now,
            expires_at=now + timedelta(days=get_conf().tombstone_days),
        )
        for digest in sorted(digests)
    )


def _retire_faded(user_id: UUID, *, digest: str, key: str) -> None:
    """Faded rows that still hold the place of this statement or key are past their end: delete them now."""
    faded = queries.faded().for_user(user_id)
    faded.filter(digest=digest).delete()
    if key:
        faded.filter(key=key).delete()


def _refuse_forgotten(user: User, candidate: Candidate, digest: str) -> None:
    if candidate.epoch_at_start is not None and candidate.epoch_at_start != user.memory_epoch:
        raise ForgottenError(
            "Something was forgotten while this was being worked on, so nothing was saved. Say it again to save it."
        )
    tombstone = queries.tombstone_for(user.id, digest)
    if tombstone is None:
        return
    if candidate.said_at <= tombstone.created_at or not _is_in_own_words(candidate):
        raise ForgottenError("This was forgotten. Only the user can bring it back, by saying it again.")
    # A new statement. Forgotten more than once, it left more than one stone.
    Tombstone.objects.filter(user_id=user.id, digest=digest).delete()


def _is_in_own_words(candidate: Candidate) -> bool:
    """Whether the person said just that, whatever else was in the prompt; a paraphrase of old text is not it."""
    if candidate.source:
        return reconciliation.says(candidate.source.text, candidate.statement)
    return candidate.origin.is_at_least(Origin.USER_CONFIRMED)


def _refuse_when_full(user_id: UUID) -> None:
    limit = get_conf().memories_per_user
    if Memory.objects.for_user(user_id).count() >= limit:
        raise MemoryFullError(
            f"Memory is full ({limit:,} memories). Forget some on the Memory page to make room.", limit=limit
        )


def _already_waiting(user_id: UUID, digest: str, outcome: Outcome) -> Memory | None:
    """A pending or conflicting row that says the same already."""
    if outcome not in {Outcome.PENDING, Outcome.CONFLICT}:
        return None
    return Memory.objects.for_user(user_id).unfaded().filter(digest=digest, status=outcome.value).first()


def _known(memory: Memory | None) -> Known | None:
    if memory is None:
        return None
    return Known(id=memory.id, origin=Origin(memory.origin), affirmed_at=memory.affirmed_at)


def _author(candidate: Candidate) -> MemoryVersion.Author:
    if candidate.channel in {Memory.Channel.API, Memory.Channel.INSPECTOR}:
        return MemoryVersion.Author.USER
    return MemoryVersion.Author.ASSISTANT


def _locked(user_id: UUID, memory_id: UUID, *, version: int | None) -> Memory:
    lock_person(user_id)
    memory = (
        Memory.objects.for_user(user_id)
        .select_for_update(of=("self",))
        .select_related("user", "kind")
        .filter(id=memory_id)
        .first()
    )
    if memory is None:
        raise NotFoundError("There is no such memory.")
    if version is not None and memory.version != version:
        raise StaleVersionError("This memory changed since you opened it.", version=memory.version)
    return memory


def _save_version(memory: Memory, *, author: MemoryVersion.Author, reason: str) -> None:
    memory.version += 1
    memory.save()
    _write_version(memory, author=author, reason=reason)


def _write_version(memory: Memory, *, author: MemoryVersion.Author, reason: str) -> None:
    MemoryVersion.objects.create(
        user_id=memory.user_id,
        memory=memory,
        version=memory.version,
        statement=memory.statement,
        kind_slug=memory.kind.slug,
        key=memory.key,
        confidence=memory.confidence,
        changed_by=author,
        reason=reason,
    )


def _clean_statement(text: str) -> str:
    text = " ".join(text.replace("\x00", "").split())
    if not reconciliation.normalise(text):
        raise InvalidInputError("Write what should be remembered.")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidInputError("The statement holds characters that are not text.")
    _refuse_secret(text)
    limit = get_conf().statement_max_chars
    if len(text) > limit:
        raise InvalidInputError(f"A memory holds at most {limit:,} characters; this has {len(text):,}.")
    return text


def _refuse_secret(text: str) -> None:
    found = find_secret(text)
    if found:
        raise SecretRefusedError(f"That looks like {found}. Secrets are not kept in memory.", found=found)


def _clean_key(key: str) -> str:
    key = key.strip().lower()
    if key and (len(key) > 100 or not reconciliation.KEY.fullmatch(key)):
        raise InvalidInputError("A key is lower-case words joined by dots, such as 'pet.name'.")
    return key
