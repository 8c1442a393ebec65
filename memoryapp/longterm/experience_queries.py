"""Reads of experiences; every one but those for jobs starts from the user."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Case, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext
from pgvector.django import CosineDistance

from memoryapp.errors import NotFoundError
from memoryapp.longterm.models import Experience, ExperienceQuerySet
from memoryapp.longterm.queries import of_another_model


def unfaded(user_id: UUID) -> ExperienceQuerySet:
    """Those that have not faded, whether or not they may be recalled, newest first."""
    rows = Experience.objects.for_user(user_id).unfaded().select_related("kind")
    return rows.order_by("-recorded_at", "-id")


def narrowed(user_id: UUID, *, text: str = "", outcome: str = "", state: str = "") -> ExperienceQuerySet:
    """Of those that have not faded, newest first; what is empty does not narrow it.

    ``text``: somewhere in the goal or the lesson. ``state``: used, waits or unsure.
    """
    rows = unfaded(user_id)
    match state:
        case "used":
            rows = rows.live()
        case "waits":
            rows = rows.waiting()
        case "unsure":
            rows = rows.resting()
    if outcome:
        rows = rows.filter(outcome=outcome)
    if text:
        rows = rows.filter(Q(goal__icontains=text) | Q(worked__icontains=text) | Q(avoid__icontains=text))
    return rows


def get(user_id: UUID, experience_id: UUID) -> Experience:
    experience = unfaded(user_id).filter(id=experience_id).first()
    if experience is None:
        raise NotFoundError(gettext("There is no such experience."))
    return experience


def extended_end(user_id: UUID, experience_id: UUID, *, now: datetime) -> datetime | None:
    """When it would expire if it were extended now; None where that moves nothing."""
    row = unfaded(user_id).extendable(now=now).filter(id=experience_id).first()
    return row.extended_at if row else None  # type: ignore[attr-defined]  # annotated by the query


def by_ids(user_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Experience]:
    return {experience.id: experience for experience in unfaded(user_id).filter(id__in=list(ids))}


def with_a_page(user_id: UUID, ids: Iterable[UUID]) -> set[UUID]:
    """Those of these that have one still."""
    return set(unfaded(user_id).filter(id__in=list(ids)).values_list("id", flat=True))


def live(user_id: UUID, *, embedding: list[float] | None, model_id: str) -> list[Experience]:
    """What may be recalled, newest first, with ``cosine``: all of it, for one person has a few hundred at most."""
    rows = Experience.objects.for_user(user_id).live().select_related("kind")
    return list(with_cosine(rows, embedding=embedding, model_id=model_id).order_by("-recorded_at", "-id"))


def with_cosine(
    rows: ExperienceQuerySet, *, embedding: list[float] | None, model_id: str
) -> ExperienceQuerySet:
    """Adds ``cosine``, of the goal's vector: None while one side has none, or that of another model.

    The vectors themselves stay in the database: they are a hundred times the rest.
    """
    never = Value(None, output_field=FloatField())
    similarity = Value(1.0) - CosineDistance("embedding", embedding) if embedding else never
    cosine = Case(When(embedding_model=model_id, then=similarity), default=never, output_field=FloatField())
    return rows.annotate(cosine=cosine).defer("embedding")


def from_run(user_id: UUID, run_id: UUID) -> ExperienceQuerySet:
    return unfaded(user_id).filter(Q(source_run=run_id) | Q(run_ids__contains=[run_id]))


def has_taught(user_id: UUID, run_id: UUID) -> bool:
    """Whether something was learned from this run already."""
    taught = Q(source_run=run_id) | Q(run_ids__contains=[run_id])
    return Experience.objects.for_user(user_id).filter(taught).exists()


def not_embedded(model_id: str) -> QuerySet[Experience]:
    """Those whose goals recall can so far find by words only, oldest first."""
    return Experience.objects.filter(of_another_model(model_id)).order_by("id")


def faded(*, for_at_least: timedelta = timedelta(0)) -> ExperienceQuerySet:
    """Past their end for so long, of anyone: for the sweep."""
    return Experience.objects.with_expiry().filter(Q(fades_at__lte=Now() - for_at_least))
