"""Writes of experiences: what runs taught, settled among what is known already, and what its person says of it.

Confidence begins by origin (``policies.trust``) and moves by the rules of ``policies.experiences``: seen again, a tenth
of the way to 1; helped, a quarter; did not help, down to 60 % of it. Under the least confidence of its kind (0.3 unless
an admin changed it) an experience stays on its page and is recalled no more.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryapp.activity.models import Verb
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError, StaleVersionError
from memoryapp.longterm import experience_queries, forgettings, history, operations, queries, tombstones
from memoryapp.longterm.candidates import refuse_secret
from memoryapp.longterm.models import Experience, ExperienceQuerySet, Forgetting, Kind
from memoryapp.policies import experiences as policy
from memoryapp.policies.flags import storable
from memoryapp.policies.reconciliation import normalise
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin
from memoryapp.policies.verbatim import holds_any

LESSON_MAX_CHARS = 300  # of each part, as of those that a run taught
BY_PERSON = "you"  # in place of the model that put a lesson into words
RUNS_KEPT = 50  # a task that is delivered again comes within minutes, not fifty runs later


class NeedsConfirmationError(MemoryAppError):
    """It comes from text that its person did not write: they confirm it on its page, programs do not."""

    code = "needs_confirmation"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a run taught, on its way to become an experience.

    ``origin`` comes from code: the weakest in the run. ``tools``: names in order of the alphabet. ``model``: who put it
    into words, "" for code. ``embedding``: of the goal, by ``embedding_model``; None when there is no vector yet.
    ``memory_ids``: the memories that the run had before it.
    """

    goal: str
    tools: tuple[str, ...]
    worked: str
    avoid: str
    origin: Origin
    outcome: Experience.Outcome = Experience.Outcome.SUCCEEDED
    model: str = ""
    embedding: list[float] | None = None
    embedding_model: str = ""
    memory_ids: frozenset[UUID] = frozenset()


def record(
    user_id: UUID, lesson: Lesson, *, run_id: UUID, epoch_at_start: int, now: datetime
) -> Experience | None:
    """Keep what a run taught, or affirm what says the same: as good a goal, the same tools and outcome.

    None when the run taught it before, when a forgetting has overtaken the run (``epoch_at_start``: the memory epoch
    when it began), when its record is gone, or when no kind gives experiences a rule. Where there is no room, the least
    sure one makes some.
    """
    try:
        with transaction.atomic(durable=True):
            person = operations.lock_person(user_id)
            kind = queries.kinds().filter(subject=Kind.Subject.EXPERIENCE).first()
            is_overtaken = person.memory_epoch != epoch_at_start
            if kind is None or is_overtaken or experience_queries.has_taught(user_id, run_id):
                return None
            same = _same(user_id, lesson)
            return (
                _seen_again(same, lesson, run_id, now)
                if same
                else _create(person.id, kind, lesson, run_id, now)
            )
    except IntegrityError:
        return None  # the run went with its conversation meanwhile


def give_feedback(
    user_id: UUID, experience_id: UUID, *, helped: bool, now: datetime, may_confirm: bool = False
) -> Experience:
    """A person says whether it helped: that moves its confidence, and a yes affirms it.

    The first yes also confirms one that waits for it, where ``may_confirm``: on its page, where a person reads it. Else
    NeedsConfirmationError is raised.
    """
    with transaction.atomic(durable=True):
        experience = _locked(user_id, experience_id)
        if helped and experience.waits and not may_confirm:
            raise NeedsConfirmationError(
                gettext(
                    "This was learned from text that its user did not write. They confirm it on the Memory page."
                )
            )
        if helped:
            experience.confidence = policy.when_helped(experience.confidence)
            experience.affirmed_at = now
            experience.confirmed_at = experience.confirmed_at or now
        else:
            experience.confidence = policy.when_not_helped(experience.confidence)
        experience.save(update_fields=["confidence", "affirmed_at", "confirmed_at"])
        history.note_done(user_id, Verb.CONFIRMED if helped else Verb.UNHELPFUL, [experience_id])
    return experience_queries.get(user_id, experience_id)


def extend(user_id: UUID, experience_id: UUID, *, now: datetime) -> bool:
    """The lifetime of its kind starts again, where it then expires on a later day; whether it did."""
    with transaction.atomic(durable=True):
        experience = _locked(user_id, experience_id)
        if experience_queries.extended_end(user_id, experience_id, now=now) is None:
            return False
        experience.affirmed_at = now
        experience.save(update_fields=["affirmed_at"])
        history.note_done(user_id, Verb.LIFETIME, [experience_id], detail=history.STARTS_AGAIN)
    return True


def correct(
    user_id: UUID, experience_id: UUID, *, worked: str, avoid: str, seen: str, now: datetime
) -> Experience:
    """A person's own words for what it taught, which affirm it; one that waits goes on waiting for their yes.

    ``seen``: the ``words_digest`` of what they had before them. Raises StaleVersionError when it is worded otherwise by
    now, SecretRefusedError, InvalidInputError.
    """
    words = [_lesson_text(worked), _lesson_text(avoid)]
    if not any(words):
        raise InvalidInputError(gettext("Say what worked or what to avoid. If it taught nothing, forget it."))
    with transaction.atomic(durable=True):
        experience = _locked(user_id, experience_id)
        if words_digest(experience) != seen:
            raise StaleVersionError(gettext("This lesson changed since you opened it."))
        experience.worked, experience.avoid = words
        experience.model, experience.affirmed_at = BY_PERSON, now
        experience.save(update_fields=["worked", "avoid", "model", "affirmed_at"])
        history.note_done(user_id, Verb.EDITED, [experience_id])
    return experience_queries.get(user_id, experience_id)


def words_digest(experience: Experience) -> str:
    """Differs whenever the words of the lesson do."""
    return hashlib.sha256(f"{experience.worked}\0{experience.avoid}".encode()).hexdigest()[:16]


def _lesson_text(text: str) -> str:
    lines = [" ".join(line.split()) for line in storable(text).splitlines()]
    text = "\n".join(filter(None, lines))
    if len(text) > LESSON_MAX_CHARS:
        said = gettext("Each part has at most {most} characters; this has {n}.")
        present = number_format(len(text), force_grouping=True)
        raise InvalidInputError(said.format(most=LESSON_MAX_CHARS, n=present))
    refuse_secret(text)
    return text


def forget(user_id: UUID, experience_id: UUID) -> None:
    """Delete an experience for good, with all that ``forgettings.forget_experiences`` takes along."""
    forgettings.forget_experiences(user_id, [experience_id], now=timezone.now(), is_final=True)


def note_given(user_id: UUID, experience_ids: Iterable[UUID]) -> None:
    """Count that a prompt held them; for the pages alone."""
    ids = list(experience_ids)
    if ids:
        given = Experience.objects.for_user(user_id).filter(id__in=ids)
        given.update(given_count=F("given_count") + 1)


def drop(
    user_id: UUID, *, run_ids: Iterable[UUID], texts: Iterable[str], forgetting_id: UUID | None = None
) -> None:
    """Delete what these runs taught and what holds one of these texts, within the caller's transaction; with
    ``forgetting_id`` it is hidden as a part of that forgetting, unless an earlier one hides it already.

    A text that is the id of a memory also finds what was learned with that memory in view, whatever its words.
    """
    rows = holding(Experience.everything.for_user(user_id), run_ids=run_ids, texts=texts)
    act = Forgetting(id=forgetting_id) if forgetting_id else None
    tombstones.bury_lessons(user_id, rows, now=timezone.now(), forgetting=act)
    if forgetting_id:
        rows.filter(forgetting=None).update(forgetting=forgetting_id)
        # What an earlier forgetting hides must not come back with words that this one takes: it is gone for both.
        rows = rows.exclude(forgetting=forgetting_id)
    rows.delete()


def holding(rows: ExperienceQuerySet, *, run_ids: Iterable[UUID], texts: Iterable[str]) -> ExperienceQuerySet:
    """Those of these that ``drop`` takes."""
    texts, run_ids = set(texts), set(run_ids)
    # A person has a few hundred at most, and the texts may be thousands: they are compared here.
    told = rows.values_list("id", "source_run", "memory_ids", "goal", "worked", "avoid")
    return rows.filter(
        id__in=[
            experience_id
            for experience_id, run_id, memory_ids, *words in told
            if run_id in run_ids or not texts.isdisjoint(map(str, memory_ids)) or holds_any(words, texts)
        ]
    )


def store_embedding(experience_id: UUID, *, embedding: list[float], model_id: str) -> bool:
    """Keep the vector of its goal, which never changes."""
    stored = Experience.objects.filter(id=experience_id).update(embedding=embedding, embedding_model=model_id)
    return stored == 1


def _same(user_id: UUID, lesson: Lesson) -> Experience | None:
    """What says the same and is at least as trusted: what a stronger source says is never left to a weaker one."""
    known = experience_queries.with_cosine(
        experience_queries.unfaded(user_id).filter(tools=list(lesson.tools), outcome=lesson.outcome),
        embedding=lesson.embedding,
        model_id=lesson.embedding_model,
    )
    goal = normalise(lesson.goal)
    for experience in known:
        cosine: float | None = getattr(experience, "cosine", None)
        is_near = cosine is not None and cosine >= policy.SAME_GOAL_COSINE
        is_same = is_near or normalise(experience.goal) == goal
        if is_same and Origin(experience.origin).is_at_least(lesson.origin):
            return experience
    return None


def _seen_again(experience: Experience, lesson: Lesson, run_id: UUID, now: datetime) -> Experience:
    """The words stay those of the first run. A less trusted run is counted, and makes nothing surer or younger."""
    experience.run_ids = [*experience.run_ids, run_id][-RUNS_KEPT:]
    experience.seen_count += 1
    if lesson.origin.is_at_least(Origin(experience.origin)):
        experience.confidence = policy.when_seen_again(experience.confidence)
        experience.affirmed_at = now
    experience.save(update_fields=["run_ids", "seen_count", "confidence", "affirmed_at"])
    return experience


def _create(user_id: UUID, kind: Kind, lesson: Lesson, run_id: UUID, now: datetime) -> Experience:
    _make_room(user_id)
    return Experience.objects.create(
        user_id=user_id,
        kind=kind,
        source_run_id=run_id,
        run_ids=[run_id],
        memory_ids=sorted(lesson.memory_ids),
        goal=lesson.goal,
        tools=list(lesson.tools),
        outcome=lesson.outcome,
        worked=lesson.worked,
        avoid=lesson.avoid,
        model=lesson.model,
        origin=lesson.origin,
        confidence=INITIAL_CONFIDENCE[lesson.origin],
        affirmed_at=now,
        embedding=lesson.embedding,
        embedding_model=lesson.embedding_model if lesson.embedding else "",
    )


def _make_room(user_id: UUID) -> None:
    """For one more: the surest and newest stay."""
    rows = Experience.objects.for_user(user_id).order_by("-confidence", "-affirmed_at", "-id")
    surplus = rows.values_list("id", flat=True)[get_conf().experiences_per_user - 1 :]
    Experience.objects.for_user(user_id).filter(id__in=list(surplus)).delete()


def _locked(user_id: UUID, experience_id: UUID) -> Experience:
    rows = Experience.objects.for_user(user_id).unfaded().select_related("kind")
    experience = rows.select_for_update(of=("self",)).filter(id=experience_id).first()
    if experience is None:
        raise NotFoundError(gettext("There is no such experience."))
    return experience
