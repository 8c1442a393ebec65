"""REST: what the assistant learned from earlier tasks."""

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema, Status

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.longterm import experience_queries, experiences
from memoryapp.longterm.models import Experience

router = Router(tags=["experiences"])


class FeedbackIn(rest.Body):
    helped: bool


class ExperienceOut(Schema):
    """``waits``: nothing uses it before its user confirms it on its page. ``seen_count``: runs that taught it."""

    id: UUID
    goal: str
    tools: list[str]
    outcome: str
    worked: str
    avoid: str
    origin: str
    confidence: float
    waits: bool
    seen_count: int
    given_count: int
    run_id: UUID | None
    recorded_at: datetime
    affirmed_at: datetime
    expires_at: datetime | None


class ExperiencePage(Schema):
    items: list[ExperienceOut]
    next_cursor: str | None


@router.get("", response={200: ExperiencePage, **rest.PROBLEMS})
def list_experiences(request: HttpRequest, cursor: str = "", limit: int = 50) -> dict[str, object]:
    """Newest first; also those that are too unsure to be recalled."""
    rows = experience_queries.unfaded(caller_id(request))
    items, next_cursor = rest.page(rows, order=("-recorded_at", "-id"), cursor=cursor, limit=limit)
    return {"items": [experience_out(experience) for experience in items], "next_cursor": next_cursor}


@router.get("/{uuid:experience_id}", response={200: ExperienceOut, **rest.PROBLEMS})
def get_experience(request: HttpRequest, experience_id: UUID) -> dict[str, object]:
    return experience_out(experience_queries.get(caller_id(request), experience_id))


@router.post(
    "/{uuid:experience_id}/feedback", response={200: ExperienceOut, 409: rest.Problem, **rest.PROBLEMS}
)
def give_feedback(request: HttpRequest, experience_id: UUID, body: FeedbackIn) -> dict[str, object]:
    """Moves its confidence. What waits for its user is confirmed on its page only: 409 ``needs_confirmation``."""
    experience = experiences.give_feedback(
        caller_id(request), experience_id, helped=body.helped, now=timezone.now()
    )
    return experience_out(experience)


@router.delete("/{uuid:experience_id}", response={204: None, **rest.PROBLEMS})
def forget_experience(request: HttpRequest, experience_id: UUID) -> Status[None]:
    """Forgotten for good, with the records of the runs that hold it."""
    experiences.forget(caller_id(request), experience_id)
    return Status(204, None)


def experience_out(experience: Experience) -> dict[str, object]:
    return {
        "id": experience.id,
        "goal": experience.goal,
        "tools": experience.tools,
        "outcome": experience.outcome,
        "worked": experience.worked,
        "avoid": experience.avoid,
        "origin": experience.origin,
        "confidence": experience.confidence,
        "waits": experience.waits,
        "seen_count": experience.seen_count,
        "given_count": experience.given_count,
        "run_id": experience.source_run_id,
        "recorded_at": experience.recorded_at,
        "affirmed_at": experience.affirmed_at,
        "expires_at": getattr(experience, "fades_at", None),
    }
