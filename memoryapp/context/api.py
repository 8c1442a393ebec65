"""REST: searching memories, and what a model call was given."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from ninja import Field, Router, Schema
from pydantic import AwareDatetime

from memoryapp import rest
from memoryapp.accounts import queries as accounts
from memoryapp.accounts.auth import caller_id
from memoryapp.acting import Actor, current
from memoryapp.context import considered as verdicts
from memoryapp.context import queries, recall
from memoryapp.context.considered import Considered
from memoryapp.context.preview import NextPrompt
from memoryapp.errors import NotFoundError
from memoryapp.longterm.api import MemoryOut, memory_out, note_reads
from memoryapp.longterm.experience_api import ExperienceOut, experience_out
from memoryapp.longterm.models import Memory
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.queries import PastMessage

router = Router(tags=["memories"])
turns_router = Router(tags=["turns"])


class SearchIn(rest.Body):
    """``as_of``: what was known at that moment; experiences are known now only."""

    query: str = Field(min_length=1, max_length=2_000)
    limit: int = Field(10, ge=1, le=100)
    as_of: AwareDatetime | None = None
    include: list[recall.Arm] = Field(list(recall.ARMS), min_length=1)


class ArmsOut(Schema):
    """How a candidate was compared: by meaning and by words. Null where it was not: it was looked up by key or date,
    is always used, or has no vector yet."""

    cosine: float | None = None
    overlap: float | None = None


class FoundOut(Schema):
    """``confidence``: the probability that it answers the query, of an experience how near its goal is."""

    arms: ArmsOut
    confidence: float
    score: float


class FoundFactOut(FoundOut):
    type: Literal["fact"]
    memory: MemoryOut


class PastMessageOut(Schema):
    """``speaker``: a person's name in an imported chat. ``origin``: the weakest in the turn that it belongs to."""

    id: UUID
    conversation_id: UUID
    turn_id: UUID
    seq: int
    role: str
    speaker: str
    said_at: datetime
    text: str
    origin: str


class FoundTurnOut(FoundOut):
    type: Literal["turn"]
    message: PastMessageOut


class FoundExperienceOut(FoundOut):
    type: Literal["experience"]
    experience: ExperienceOut


class SearchOut(Schema):
    items: list[FoundFactOut | FoundTurnOut | FoundExperienceOut]


class SectionOut(Schema):
    name: str
    tokens: int
    cached: bool


class RecalledOut(Schema):
    """A memory, a past message or an experience: the other ids are null, all of them when recall failed.

    ``confidence``: of an experience, how near its goal is.
    """

    memory_id: UUID | None = None
    message_id: UUID | None = None
    experience_id: UUID | None = None
    arms: ArmsOut
    confidence: float | None
    score: float
    included: bool
    reason: str


class ContextOut(Schema):
    """``prefix_tokens``: how many the request began with that the conversation's previous one began with too.

    ``is_memory_unavailable``: recall failed, and the turn went on without memory.
    """

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
    is_memory_unavailable: bool


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


@router.post("/search", response={200: SearchOut, 409: rest.Problem, **rest.PROBLEMS})
def search_memories(request: HttpRequest, body: SearchIn) -> dict[str, object]:
    """Facts, past messages and experiences that answer the query, best first, each with how it was found.

    An empty list means that nothing is known about it. A program is refused (409 ``memory_paused``) while its person
    has paused the use of memory.
    """
    if current().actor == Actor.PROGRAM:
        accounts.require_memory_use(caller_id(request))
    found = recall.search(
        caller_id(request),
        body.query,
        now=timezone.now(),
        limit=max(body.limit, recall.SHOWN),
        include=body.include,
        as_of=body.as_of,
    )
    given = [item for item in found if item.included][: body.limit]
    note_reads(request, [item.memory for item in given if item.sort == "fact"])
    return {"items": [_found(item) for item in given]}


@turns_router.get("/{uuid:turn_id}/context", response={200: ContextOut, **rest.PROBLEMS})
def get_context(request: HttpRequest, turn_id: UUID) -> dict[str, object]:
    """What the turn's last model call was given: sections in order, and every candidate of recall with its reason."""
    user_id = caller_id(request)
    transcript.get_turn(user_id, turn_id)
    last = queries.newest_snapshot(user_id, turn_id)
    if last is None:
        raise NotFoundError(gettext("This turn has not called the model yet."))
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
        "is_memory_unavailable": any(item["reason"] == verdicts.UNAVAILABLE for item in last.recalled),
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
    found: dict[str, object] = {
        "type": item.sort,
        "arms": dict(item.arms),
        "confidence": item.confidence,
        "score": item.score,
    }
    match item.what:
        case Memory():
            return found | {"memory": memory_out(item.what)}
        case PastMessage():
            return found | {"message": _message(item.what)}
        case _:
            return found | {"experience": experience_out(item.what)}


def _message(message: PastMessage) -> dict[str, object]:
    return {
        "id": message.id,
        "conversation_id": message.conversation_id,
        "turn_id": message.turn_id,
        "seq": message.seq,
        "role": message.role,
        "speaker": message.speaker,
        "said_at": message.said_at,
        "text": message.text,
        "origin": message.taint,
    }
