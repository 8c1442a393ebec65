"""REST: searching memories, and what a model call was given."""

from typing import Literal
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema

from memoryapp import rest
from memoryapp.accounts.auth import caller_id
from memoryapp.context import queries, recall
from memoryapp.context.preview import NextPrompt
from memoryapp.context.recall import Considered
from memoryapp.errors import NotFoundError
from memoryapp.longterm.api import MemoryOut, memory_out
from memoryapp.transcript import queries as transcript

router = Router(tags=["memories"])
turns_router = Router(tags=["turns"])


class SearchIn(rest.Body):
    query: str = Field(min_length=1, max_length=2_000)
    limit: int = Field(10, ge=1, le=100)
    include: list[Literal["facts"]] = ["facts"]


class ArmsOut(Schema):
    cosine: float | None
    overlap: float


class FoundOut(Schema):
    memory: MemoryOut
    arms: ArmsOut
    confidence: float
    score: float


class SearchOut(Schema):
    items: list[FoundOut]


class SectionOut(Schema):
    name: str
    tokens: int
    cached: bool


class RecalledOut(Schema):
    """A memory or an experience: the other id is null. ``confidence``: of an experience, how near its goal is."""

    memory_id: UUID | None = None
    experience_id: UUID | None = None
    arms: ArmsOut
    confidence: float | None
    score: float
    included: bool
    reason: str


class ContextOut(Schema):
    """``prefix_tokens``: how many the request began with that the conversation's previous one began with too."""

    model: str
    window_tokens: int
    reserve_output_tokens: int
    estimated_input_tokens: int
    counted_input_tokens: int | None
    reported_input_tokens: int | None
    prefix_tokens: int
    cut_turns: int
    sections: list[SectionOut]
    recalled: list[RecalledOut]


class NextContextOut(Schema):
    """``used_tokens`` counts the turns that were cut, too; nothing is recalled before there is a message."""

    window_tokens: int
    reserve_output_tokens: int
    input_tokens: int
    used_tokens: int
    trigger_tokens: int
    wait_tokens: int
    cut_turns: int
    sections: list[SectionOut]
    recalled: list[RecalledOut] = []


@router.post("/search", response={200: SearchOut, **rest.PROBLEMS})
def search_memories(request: HttpRequest, body: SearchIn) -> dict[str, object]:
    """Live memories that answer the query, best first. An empty list means that nothing is known about it."""
    found = recall.search(caller_id(request), body.query, now=timezone.now(), limit=recall.CANDIDATES)
    return {"items": [_found(item) for item in found if item.included][: body.limit]}


@turns_router.get("/{uuid:turn_id}/context", response={200: ContextOut, **rest.PROBLEMS})
def get_context(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    """What the turn's last model call was given: sections in order, and every candidate of recall with its reason."""
    user_id = caller_id(request)
    transcript.get_turn(user_id, turn_id)
    last = queries.newest_snapshot(user_id, turn_id)
    if last is None:
        raise NotFoundError("This turn has not called the model yet.")
    return {
        "model": last.model,
        "window_tokens": last.window_tokens,
        "reserve_output_tokens": last.reserve_output_tokens,
        "estimated_input_tokens": last.estimated_input_tokens,
        "counted_input_tokens": last.counted_input_tokens,
        "reported_input_tokens": last.reported_input_tokens,
        "prefix_tokens": last.prefix_tokens,
        "cut_turns": last.cut_turns,
        "sections": last.sections,
        "recalled": last.recalled,
    }


def next_context(prompt: NextPrompt) -> dict[str, object]:
    """The numbers of a prompt, without its texts."""
    return {
        "window_tokens": prompt.window_tokens,
        "reserve_output_tokens": prompt.reserve_output_tokens,
        "input_tokens": prompt.input_tokens,
        "used_tokens": prompt.used_tokens,
        "trigger_tokens": prompt.trigger_tokens,
        "wait_tokens": prompt.wait_tokens,
        "cut_turns": prompt.cut_turns,
        "sections": [
            {"name": section.name, "tokens": section.tokens, "cached": section.is_cached}
            for section in prompt.sections
        ],
    }


def _found(item: Considered) -> dict[str, object]:
    return {
        "memory": memory_out(item.memory),
        "arms": {"cosine": item.cosine, "overlap": item.overlap},
        "confidence": item.confidence,
        "score": item.score,
    }
