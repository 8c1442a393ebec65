"""Reads of long-term memory; every one starts from the user and says whether it wants live rows."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Unpack
from uuid import UUID

from django.db.models import Count, Exists, F, Max, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.utils import timezone
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.longterm import filters, neighbours
from memoryapp.longterm.filters import Wanted
from memoryapp.longterm.models import (
    Experience,
    Feedback,
    Kind,
    Memory,
    MemoryQuerySet,
    MemorySource,
    MemoryVersion,
)
from memoryapp.policies import dates
from memoryapp.policies.trust import Origin

CONFIRMED = "confirmed"  # the reason of a version by which what waited became live
EDITED = "edited"
# How the first begins; what follows is by what way it came.
FIRST_SAID, SAID_AGAIN = "first said", "said again after it was forgotten"
WAITING = (Memory.Status.PENDING, Memory.Status.CONFLICT)  # for their person's word


@dataclass(frozen=True, slots=True)
class Holdings:
    """Whether a person has live rows of each sort."""

    memories: bool
    experiences: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """A memory that a message taught, and with which words; ``is_replaced``: it holds no more."""

    memory_id: UUID
    statement: str
    quote: str
    is_replaced: bool


@dataclass(frozen=True, slots=True)
class Quota:
    """What a person's memories take up, and how much they may."""

    used: int
    limit: int
    waiting: int
    pending_today: int
    pending_limit: int


def kinds() -> QuerySet[Kind]:
    return Kind.objects.order_by("position", "id")


def statement_kinds() -> QuerySet[Kind]:
    """The kinds a statement can be of."""
    return kinds().filter(subject=Kind.Subject.STATEMENT)


def get_kind(slug: str) -> Kind:
    kind = statement_kinds().filter(slug=slug).first()
    if kind is None:
        known = ", ".join(statement_kinds().values_list("slug", flat=True))
        said = gettext("There is no kind '{kind}'. Known kinds: {known}.")
        raise InvalidInputError(said.format(kind=slug, known=known), field="kind")
    return kind


def run_record_days() -> int | None:
    """How long records of finished runs stay; 0: they go at once; None: for ever, also when no kind says so."""
    return kinds().filter(subject=Kind.Subject.RUN).values_list("ttl_days", flat=True).first()


def drops_run_records_at_once() -> bool:
    """Whether a run's record goes when the run ends."""
    return run_record_days() == 0


def memories(
    user_id: UUID, *, status: str = "active", known_at: datetime | None = None, **wanted: Unpack[Wanted]
) -> MemoryQuerySet:
    """The user's memories that have not faded. ``status``: one of Memory.Status, "waiting", "expired", or "any"; of
    what is superseded also "replaced" or "set_aside" alone.

    With ``known_at`` what was known then, found by the words of then (``as_of``); ``status`` does not apply.
    """
    rows = as_of(user_id, known_at) if known_at else _of_status(user_id, status)
    return filters.narrowed(rows, user_id, wanted, is_past=known_at is not None)


def with_uses(rows: MemoryQuerySet) -> MemoryQuerySet:
    """Adds ``use_count``, the replies on show that used it, ``last_used_at`` (None: it was given to none), and
    ``is_corrected``, whether it ever had other words."""
    row = Memory.objects.filter(pk=OuterRef("pk")).values("pk")
    shown = Q(
        uses__turn__is_current=True,
        uses__turn__deleted_at=None,
        uses__turn__conversation__deleted_at=None,
    )
    other_words = MemoryVersion.objects.filter(memory=OuterRef("pk")).exclude(statement=OuterRef("statement"))
    return rows.annotate(
        is_corrected=Exists(other_words),
        use_count=Subquery(row.annotate(n=Count("uses", filter=filters.CALLED_FOR & shown)).values("n")),
        last_used_at=Subquery(row.annotate(at=Max("uses__used_at")).values("at")),
    )


def ids_of(rows: MemoryQuerySet, *, limit: int = 10_000) -> list[UUID]:
    """Of all that a list shows, not of one page: the first in the order of ids."""
    return list(rows.order_by("id").values_list("id", flat=True)[:limit])


def counts_by_kind(user_id: UUID, rows: MemoryQuerySet) -> list[tuple[Kind, int]]:
    """How many of these rows of one person each kind has, in the order of the kinds; those with none are left out."""
    counted = rows.for_user(user_id).order_by().values("kind").annotate(rows=Count("pk"))
    counts = {row["kind"]: row["rows"] for row in counted}
    return [(kind, counts[kind.pk]) for kind in statement_kinds() if kind.pk in counts]


def _of_status(user_id: UUID, status: str) -> MemoryQuerySet:
    rows = Memory.objects.for_user(user_id).select_related("kind")
    rows = rows.with_expiry() if status in {"expired", "any"} else rows.unfaded()
    if status == "expired":
        return rows.filter(Q(fades_at__lte=Now()), status=Memory.Status.ACTIVE)
    if status == "any":
        return rows
    if status in {"replaced", "set_aside"}:  # as ``feedback.is_set_aside``
        return rows.filter(status=Memory.Status.SUPERSEDED, superseded_by__isnull=status == "set_aside")
    return rows.filter(status__in=WAITING if status == "waiting" else [status])


def get_memory(user_id: UUID, memory_id: UUID) -> Memory:
    memory = (
        Memory.objects.for_user(user_id)
        .with_expiry()
        .select_related("kind", "source_message__turn", "superseded_by")
        .filter(id=memory_id)
        .first()
    )
    if memory is None:
        raise NotFoundError(gettext("There is no such memory."))
    return memory


def is_known(user_id: UUID, digest: str) -> bool:
    """Whether a statement of this digest is in use, or waits."""
    rows = Memory.objects.for_user(user_id).filter(digest=digest)
    return rows.exclude(status=Memory.Status.SUPERSEDED).exists()


def always_used(user_id: UUID) -> Sequence[Memory]:
    """Live memories of the kinds that belong in every prompt, oldest first (a stable prefix)."""
    return list(
        Memory.objects.for_user(user_id)
        .live()
        .filter(kind__is_always_used=True, confidence__gte=F("kind__min_confidence"))
        .select_related("kind")
        .defer("embedding", "terms")  # of some two thousand rows a hundred times the rest
        .order_by("recorded_at", "id")
    )


def holdings(user_id: UUID) -> Holdings:
    """What a search may find, faded rows aside; one statement, because it is asked before every answer."""
    row = (
        User.objects.filter(id=user_id)
        .values_list(
            Exists(Memory.objects.for_user(user_id).filter(status=Memory.Status.ACTIVE)),
            Exists(Experience.objects.for_user(user_id)),
        )
        .first()
    )
    return Holdings(*row) if row else Holdings(memories=False, experiences=False)


def is_in_use() -> bool:
    """Whether anybody has a memory: a fresh installation has none."""
    return Memory.objects.exists()


def by_ids(user_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Memory]:
    """Whatever their status; forgotten and faded ones are absent."""
    rows = Memory.objects.for_user(user_id).unfaded().filter(id__in=list(ids)).select_related("kind")
    rows = rows.defer("embedding", "terms")  # to read a vector takes longer than the rest of its row
    return {memory.id: memory for memory in rows}


def statements(user_id: UUID, ids: Iterable[UUID]) -> dict[UUID, str]:
    """The words of those that ``by_ids`` would find."""
    rows = Memory.objects.for_user(user_id).unfaded().filter(id__in=list(ids))
    return dict(rows.values_list("id", "statement"))


def source_messages(user_id: UUID, memory_ids: Iterable[UUID]) -> frozenset[UUID]:
    """The messages that these memories were taken from, or said again in."""
    rows = MemorySource.objects.filter(user_id=user_id, memory_id__in=list(memory_ids)).exclude(message=None)
    return frozenset(rows.values_list("message_id", flat=True))


def counts_of_people(user_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many facts are in use, by person; who has none is absent."""
    rows = Memory.objects.filter(user_id__in=user_ids).live().order_by()
    return dict(rows.values_list("user_id").annotate(n=Count("id")))


def with_a_page(user_id: UUID, ids: Iterable[UUID]) -> set[UUID]:
    """Those of these that have one still: whatever their status, not forgotten and not faded."""
    rows = Memory.objects.for_user(user_id).unfaded().filter(id__in=list(ids))
    return set(rows.values_list("id", flat=True))


def versions(memory: Memory) -> QuerySet[MemoryVersion]:
    return MemoryVersion.objects.filter(user_id=memory.user_id, memory=memory).order_by("-version")


def sources(memory: Memory) -> QuerySet[MemorySource]:
    return (
        MemorySource.objects.filter(user_id=memory.user_id, memory=memory)
        .select_related("message__turn")
        .order_by("-said_at", "-id")
    )


def feedback_on(memory: Memory) -> QuerySet[Feedback]:
    """What its person said of it, oldest first."""
    said = Feedback.objects.filter(user_id=memory.user_id, memory=memory)
    return said.order_by("created_at", "id")


def taken_from(user_id: UUID, message_ids: Iterable[UUID]) -> QuerySet[MemorySource]:
    """What was remembered from these messages: the chips under a reply.

    Each memory with its ``fades_at``, and ``was_forgotten``: whether its person said it anew after that.
    """
    anew = MemoryVersion.objects.filter(memory=OuterRef("id"), version=1, reason__startswith=SAID_AGAIN)
    memories = Memory.objects.with_expiry().annotate(was_forgotten=Exists(anew)).select_related("kind")
    return (
        _kept_sources(user_id)
        .filter(message_id__in=list(message_ids))
        .prefetch_related(Prefetch("memory", memories))
        .order_by("recorded_at", "id")
    )


def taken_from_messages(user_id: UUID, message_ids: Iterable[UUID]) -> dict[UUID, list[Taken]]:
    """For each of these messages what was remembered from it."""
    rows = _kept_sources(user_id).filter(message_id__in=list(message_ids))
    taken: dict[UUID, list[Taken]] = {}
    for source in rows.select_related("memory").only(
        "message_id", "quote", "memory__statement", "memory__status"
    ):
        if source.message_id:
            is_replaced = source.memory.status == Memory.Status.SUPERSEDED
            known = Taken(source.memory_id, source.memory.statement, source.quote, is_replaced=is_replaced)
            taken.setdefault(source.message_id, []).append(known)
    return taken


def waiting_turns(user_id: UUID, turn_ids: Iterable[UUID]) -> set[UUID]:
    """Those of these that read what strangers wrote, and from which something waits for its person's word."""
    held = _kept_sources(user_id).filter(
        message__turn__in=list(turn_ids), origin=Origin.UNTRUSTED, memory__status=Memory.Status.PENDING
    )
    return set(held.values_list("message__turn", flat=True))


def from_conversation(user_id: UUID, conversation_id: UUID) -> MemoryQuerySet:
    return memories(user_id, status="any", conversation_id=conversation_id).unfaded()


def from_run(user_id: UUID, run_id: UUID) -> MemoryQuerySet:
    """What the assistant remembered during this run."""
    return memories(user_id, status="any", run_id=run_id).unfaded()


def learned_in_each(user_id: UUID) -> Subquery:
    """The same for each row of a query of conversations: to sort and to filter them by."""
    rows = _kept_sources(user_id).filter(message__turn__conversation=OuterRef("pk"))
    counted = (
        rows.order_by().values("message__turn__conversation").annotate(learned=Count("memory", distinct=True))
    )
    return Subquery(counted.values("learned"))


def _kept_sources(user_id: UUID) -> QuerySet[MemorySource]:
    """Of memories that have neither faded nor been forgotten: a join knows nothing of what their manager leaves out."""
    unfaded = Memory.objects.for_user(user_id).unfaded()
    return MemorySource.objects.filter(Exists(unfaded.filter(pk=OuterRef("memory"))), user_id=user_id)


def rival(memory: Memory) -> Memory | None:
    """For what waits: the newest live memory that it does not fit, and would replace."""
    if memory.status not in WAITING:
        return None
    return next(iter(neighbours.around(memory).rivals), None)


def rivals(user_id: UUID, waiting: Iterable[Memory]) -> dict[UUID, Memory]:
    """``rival`` of each of these that has one, in two statements whatever their number."""
    found = neighbours.rivals_of(user_id, waiting)
    rows = by_ids(user_id, found.values()) if found else {}
    return {memory_id: rows[rival_id] for memory_id, rival_id in found.items() if rival_id in rows}


def superseded_by(memory: Memory) -> MemoryQuerySet:
    """The former values that this one replaced, newest first."""
    return (
        memories(memory.user_id, status="any")
        .unfaded()
        .filter(superseded_by=memory)
        .order_by("-superseded_at", "-id")
    )


def expiring_soon(user_id: UUID, *, now: datetime, days: int) -> MemoryQuerySet:
    """What has its last day at most so many days after today."""
    return memories(user_id, expires_before=after_days(days, now=now)).order_by(F("fades_at"), "id")


def ending(user_id: UUID) -> MemoryQuerySet:
    """What is in use and does not stay for ever, what ends first first."""
    return memories(user_id).exclude(Q(fades_at=None)).order_by(F("fades_at"), "id")


def after_days(days: int, *, now: datetime) -> datetime:
    """What has its last day at most so many days after today ends before this, in the time zone that is active: what
    ends at midnight has the day before as its last."""
    after = timezone.localdate(now) + timedelta(days=days + 1)
    midnight = dates.midnight(after, time_zone=timezone.get_current_timezone_name())
    return midnight + timedelta(microseconds=1)


def as_of(user_id: UUID, moment: datetime) -> MemoryQuerySet:
    """What was known at ``moment``, as it was put then: ``statement_then``, ``kind_then`` (a slug), ``key_then`` and
    ``confidence_then``.

    What was recorded by then and neither replaced, set aside nor faded; what waited for a word counts from that word
    on. Forgotten memories are in no past either, nor are those that the sweep has deleted since.
    """
    versions = MemoryVersion.objects.filter(memory=OuterRef("pk"))
    then = versions.filter(recorded_at__lte=moment).order_by("-version")
    waited = MemorySource.objects.filter(memory=OuterRef("pk"), outcome__in=WAITING)
    settled = versions.filter(reason=CONFIRMED, recorded_at__lte=moment)
    return (
        Memory.objects.for_user(user_id)
        .with_expiry()
        .select_related("kind")
        .filter(
            Q(superseded_at=None) | Q(superseded_at__gt=moment),
            Q(fades_at=None) | Q(fades_at__gt=moment),
            ~Exists(waited) | Exists(settled),
            recorded_at__lte=moment,
            status__in=[Memory.Status.ACTIVE, Memory.Status.SUPERSEDED],
        )
        .annotate(
            statement_then=Coalesce(Subquery(then.values("statement")[:1]), F("statement")),
            kind_then=Coalesce(Subquery(then.values("kind_slug")[:1]), F("kind__slug")),
            key_then=Coalesce(Subquery(then.values("key")[:1]), F("key")),
            confidence_then=Coalesce(Subquery(then.values("confidence")[:1]), F("confidence")),
        )
    )


def was_settled(memory: Memory) -> bool:
    """Whether it was ever live: from the beginning, or by its person's word."""
    waited = MemorySource.objects.filter(user_id=memory.user_id, memory=memory, outcome__in=WAITING)
    return not waited.exists() or versions(memory).filter(reason=CONFIRMED).exists()


def trust_of(user_id: UUID, rows: Iterable[Memory]) -> dict[UUID, Origin]:
    """What each of these live memories brings into a prompt: its origin, which never changes, or its person's word,
    where they confirmed or corrected it: then the text is their own, whoever wrote it first."""
    origins = {memory.id: Origin(memory.origin) for memory in rows}
    weak = [memory_id for memory_id, origin in origins.items() if origin.is_strangers]
    settled = neighbours.with_persons_word(user_id, weak) if weak else set()
    return origins | dict.fromkeys(settled, Origin.USER_CONFIRMED)


def quota(user_id: UUID) -> Quota:
    """Every row counts, whatever its status, but what waits only while it has not expired; a day is the last 24 hours.

    Expects the index ``memory_list`` and no row: they are wide, so the few that are being forgotten are left out by id.
    """
    conf = get_conf()
    everything = Memory.everything.for_user(user_id)
    rows = everything.exclude(id__in=everything.exclude(forgetting=None).values("id"))
    day_ago = Now() - timedelta(days=1)
    counts = rows.aggregate(
        used=Count("id"),
        waiting=Count("id", filter=Q(status__in=WAITING)),
        pending_today=Count("id", filter=Q(status__in=WAITING, recorded_at__gt=day_ago)),
    )
    if counts["waiting"]:
        counts["waiting"] = memories(user_id, status="waiting").count()
    return Quota(**counts, limit=conf.memories_per_user, pending_limit=conf.pending_per_day)


def not_embedded(model_id: str) -> QuerySet[Memory]:
    """Rows that recall can so far find by words only, oldest first: what is known, and what was."""
    known = (Memory.Status.ACTIVE, Memory.Status.SUPERSEDED)
    return Memory.objects.filter(of_another_model(model_id), status__in=known).order_by("id")


def faded(*, for_at_least: timedelta = timedelta(0)) -> MemoryQuerySet:
    """Rows past their end for so long, of anyone: for the sweep."""
    return Memory.objects.all().with_expiry().filter(Q(fades_at__lte=Now() - for_at_least))


def of_another_model(model_id: str) -> Q:
    """Or of none. Not ``~Q``: of two ranges an index finds the few in a large table."""
    return Q(embedding_model__lt=model_id) | Q(embedding_model__gt=model_id)


def count(user_id: UUID) -> int:
    return Memory.objects.for_user(user_id).live().count()
