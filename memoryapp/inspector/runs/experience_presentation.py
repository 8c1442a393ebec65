"""What the pages of the experiences show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from memoryapp.context.models import Use
from memoryapp.inspector.presentation import turn_url
from memoryapp.longterm.experiences import BY_PERSON, LESSON_MAX_CHARS, words_digest
from memoryapp.longterm.models import Experience
from memoryapp.longterm.presentation import ORIGIN_LABELS, expires_text, last_moment
from memoryapp.policies.trust import Origin

OUTCOME_LABELS: Final = {
    Experience.Outcome.SUCCEEDED: gettext_lazy("Solved"),
    Experience.Outcome.FAILED: gettext_lazy("Not solved"),
}
STATES: Final = {
    "used": gettext_lazy("Given to tasks"),
    "waits": gettext_lazy("Waiting for your word"),
    "unsure": gettext_lazy("Not given any more"),
}


@dataclass(frozen=True, slots=True)
class ExperienceRow:
    """``state``: a key of ``STATES``."""

    id: UUID
    goal: str
    outcome: str
    outcome_label: str
    tools: Sequence[str]
    state: str
    confidence_percent: int
    given_count: int
    recorded_at: datetime
    expires_text: str
    url: str


@dataclass(frozen=True, slots=True)
class ExperiencePage:
    """An ``ExperienceRow`` with everything its own page adds."""

    row: ExperienceRow
    worked: Sequence[str]
    avoid: Sequence[str]
    origin_label: str
    written_by: str
    is_by_person: bool
    seen_count: int
    least_percent: int
    affirmed_at: datetime
    expires_at: datetime | None
    kind_rationale: str
    run_url: str

    def __getattr__(self, name: str) -> object:
        # Templates read one flat object.
        return getattr(self.row, name)


@dataclass(frozen=True, slots=True)
class UseRow:
    """A reply that was given it."""

    conversation_title: str
    used_at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class LessonForm:
    """``now``: the lesson as it stands, where that is not what its person saw; ``problem``: why it was not taken."""

    worked: str
    avoid: str
    seen: str
    problem: str = ""
    now: Sequence[str] = ()
    max_chars: int = LESSON_MAX_CHARS


def lesson_form(
    experience: Experience, *, posted: Mapping[str, str] | None = None, problem: str = ""
) -> LessonForm:
    """With the words as they stand, or as they were sent."""
    seen = words_digest(experience)
    if posted is None:
        return LessonForm(experience.worked, experience.avoid, seen)
    is_stale = posted.get("seen", "") != seen
    return LessonForm(
        worked=posted.get("worked", ""),
        avoid=posted.get("avoid", ""),
        seen=seen,
        problem=problem,
        now=[line for line in (experience.worked, experience.avoid) if line] if is_stale else (),
    )


def use_row(use: Use) -> UseRow:
    return UseRow(use.turn.conversation.title or gettext("New chat"), use.used_at, turn_url(use.turn))


def experience_row(experience: Experience) -> ExperienceRow:
    """``experience`` comes from a query with its kind and ``fades_at``."""
    fades_at: datetime | None = getattr(experience, "fades_at", None)
    return ExperienceRow(
        id=experience.id,
        goal=experience.goal,
        outcome=experience.outcome,
        outcome_label=str(OUTCOME_LABELS[Experience.Outcome(experience.outcome)]),
        tools=experience.tools,
        state=_state(experience),
        confidence_percent=round(experience.confidence * 100),
        given_count=experience.given_count,
        recorded_at=experience.recorded_at,
        expires_text=expires_text(fades_at, now=timezone.now()),
        url=reverse("inspector:experience", args=[experience.id]),
    )


def experience_page(experience: Experience) -> ExperiencePage:
    run_id = experience.source_run_id
    fades_at: datetime | None = getattr(experience, "fades_at", None)
    return ExperiencePage(
        row=experience_row(experience),
        worked=experience.worked.splitlines(),
        avoid=experience.avoid.splitlines(),
        origin_label=str(ORIGIN_LABELS[Origin(experience.origin)]),
        written_by=experience.model,
        is_by_person=experience.model == BY_PERSON,
        seen_count=experience.seen_count,
        least_percent=round(experience.kind.min_confidence * 100),
        affirmed_at=experience.affirmed_at,
        expires_at=last_moment(fades_at) if fades_at else None,
        kind_rationale=experience.kind.rationale,
        run_url=reverse("inspector:run", args=[run_id]) if run_id else "",
    )


def _state(experience: Experience) -> str:
    if experience.waits:
        return "waits"
    return "used" if experience.confidence >= experience.kind.min_confidence else "unsure"
