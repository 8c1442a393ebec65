"""A finished run of several steps, or one that failed and then found a way, becomes an experience."""

import json
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.lifecycle import daily_budget, embedding, prompts
from memoryapp.llm.base import Usage
from memoryapp.llm.errors import ModelError
from memoryapp.llm.jobs import whole_reply
from memoryapp.llm.registry import get_chat_model
from memoryapp.longterm import experience_queries, experiences
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Experience
from memoryapp.policies import summaries as form
from memoryapp.policies.fencing import as_data
from memoryapp.policies.inventions import invents
from memoryapp.policies.secrets import find_secret
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.scratchpad.models import Run, Step
from memoryapp.transcript.models import Turn
from memoryapp.tuning import queries as tuning

logger = logging.getLogger(__name__)

MIN_STEPS = 3
# Saving what was said and writing a plan is no work that a later task could repeat.
NOT_WORK = frozenset({"remember", "update_plan"})
FAILED = frozenset({Step.Status.ERROR, Step.Status.REFUSED})

TRIES = 2  # of the model; then code
MAX_TOKENS = 500  # three texts of 300 characters in any script
LESSON_CHARS = 300  # each part: two of them are given to a later task, beside everything else
VALUE_CHARS = 60  # a longer argument is left out as a whole: forgetting finds what stands in full
WHY_CHARS = 120
TOLD_CHARS = 300  # of the arguments, and of the result, of each step that the model is told
TOLD_STEPS = 40
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOOL_NAME = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")


@dataclass(frozen=True, slots=True)
class Promoted:
    """What became of a run that had something to teach, and what the model spent on it.

    ``experience``: None when it may not be kept.
    """

    experience: Experience | None
    usage: Usage


class _Distilled(BaseModel):
    """The model's answer; pydantic holds it to its form."""

    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)

    goal: Annotated[str, StringConstraints(min_length=1, max_length=LESSON_CHARS)]
    worked: Annotated[str, StringConstraints(min_length=1, max_length=LESSON_CHARS)]
    avoid: Annotated[str, StringConstraints(max_length=LESSON_CHARS)]

    @property
    def text(self) -> str:
        return f"{self.goal}\n{self.worked}\n{self.avoid}"


@dataclass(frozen=True, slots=True)
class _Draft:
    """``model``: who wrote it, "" for code. ``told``: None when it may not be kept."""

    told: _Distilled | None
    model: str
    usage: Usage


def promote_run(turn: Turn, *, now: datetime) -> Promoted | None:
    """Learn from the run of a turn; None when it teaches nothing worth keeping, or did so before.

    Nothing is learned in conversations that save nothing to memory, as temporary ones never do, nor while their person
    has paused saving altogether.
    """
    if not (turn.conversation.save_memory and turn.user.save_memory):
        return None
    run = scratchpad.run_of_turn(turn.user_id, turn.id)
    if run is None or run.status != Run.Status.COMPLETED:
        return None
    steps = [step for step in scratchpad.steps(run) if step.action not in NOT_WORK]
    if not _teaches(steps) or experience_queries.has_taught(turn.user_id, run.id):
        return None
    draft = _draft(run, steps)
    if draft.told is None:
        return Promoted(None, draft.usage)
    return Promoted(_kept(run, steps, draft, draft.told, now=now), draft.usage)


def _teaches(steps: Sequence[Step]) -> bool:
    """Three that went well, or a failure and a later one that did."""
    done = [step.number for step in steps if step.status == Step.Status.OK]
    failed = [step.number for step in steps if step.status in FAILED]
    return len(done) >= MIN_STEPS or bool(done and failed and failed[0] < done[-1])


def _kept(
    run: Run, steps: Sequence[Step], draft: _Draft, told: _Distilled, *, now: datetime
) -> Experience | None:
    record = _record(run)
    vector, model_id = _vector(told.goal)
    lesson = Lesson(
        goal=told.goal,
        tools=tuple(sorted({step.action for step in steps})),
        worked=told.worked,
        avoid=told.avoid,
        origin=record.origin,
        model=draft.model,
        embedding=vector,
        embedding_model=model_id,
        memory_ids=record.memory_ids,
    )
    return experiences.record(run.user_id, lesson, run_id=run.id, epoch_at_start=run.memory_epoch, now=now)


@dataclass(frozen=True, slots=True)
class _Record:
    """What the whole run had before it: the weakest origin, and which memories."""

    origin: Origin
    memory_ids: frozenset[UUID]


def _record(run: Run) -> _Record:
    """Of every step and prompt of the run, those included that teach nothing themselves."""
    steps, recorded = list(scratchpad.steps(run)), scratchpad.checkpoints(run)
    origins = {*(step.origin for step in steps), *(step.taint for step in steps)}
    origins |= {entry.taint for entry in recorded}
    texts = [json.dumps(entry.delta) for entry in recorded] + [step.observation for step in steps]
    named = {UUID(found) for text in texts for found in _UUID.findall(text)}
    return _Record(
        origin=weakest([Origin.MODEL_INFERRED, *(Origin(origin) for origin in origins if origin)]),
        memory_ids=frozenset(longterm.by_ids(run.user_id, named)) if named else frozenset(),
    )


def _vector(goal: str) -> tuple[list[float] | None, str]:
    try:
        return embedding.embed_goal(goal)
    except EmbedderUnavailable as error:
        logger.warning("An experience waits for its vector: %s", error)
        return None, ""


def _draft(run: Run, steps: Sequence[Step]) -> _Draft:
    """By the model, asked twice at most; else by code."""
    conf, spent, reason = tuning.conf(), Usage(), ""
    if (
        conf.model_experiences
        and get_chat_model().name != "offline"
        and not daily_budget.is_spent(run.user_id)
    ):
        for _ in range(TRIES):
            try:
                answer, usage = _asked(run, steps)
            except ModelError as error:
                reason = error.code
                break
            spent += usage
            told, reason = _checked(answer, run, steps)
            if told:
                return _Draft(told, conf.cheap_model, spent)
        logger.warning("What run %s taught is put together without the model: %s", run.id, reason)
    return _Draft(_by_code(run, steps), "", spent)


def _asked(run: Run, steps: Sequence[Step]) -> tuple[str, Usage]:
    """The model's answer; empty unless it ended by itself."""
    task = as_data({"goal": form.goal(run.goal), "steps": [_told(step) for step in steps[-TOLD_STEPS:]]})
    told = f"<task>\n{task}\n</task>\n\n{prompts.EXPERIENCE_NOW}"
    reply = whole_reply(prompts.EXPERIENCE, told, max_tokens=MAX_TOKENS)
    return (reply.text if reply.stop_reason == "end_turn" else ""), reply.usage


def _told(step: Step) -> dict[str, str]:
    return {
        "tool": step.action,
        "arguments": json.dumps(step.arguments, ensure_ascii=False)[:TOLD_CHARS],
        "status": step.status,
        "result": (_why(step) if step.status in FAILED else step.brief or step.observation)[:TOLD_CHARS],
    }


def _checked(answer: str, run: Run, steps: Sequence[Step]) -> tuple[_Distilled | None, str]:
    """The answer, or why it may not be used: its form, a secret, or something that did not occur in the run."""
    try:
        told = _Distilled.model_validate_json(form.prepared(answer))
    except ValidationError:
        return None, "malformed"
    if "\x00" in told.text:
        return None, "malformed"
    if find_secret(told.text):
        return None, "secret"
    source = "\n".join([run.goal, *(" ".join(_told(step).values()) for step in steps)])
    known = {*_TOOL_NAME.findall(source), *(step.action for step in steps)}
    if invents(told.text, source) or not known.issuperset(_TOOL_NAME.findall(told.text)):
        return None, "invented"
    return told, ""


def _by_code(run: Run, steps: Sequence[Step]) -> _Distilled | None:
    """The goal as it was put, the calls in order, and those that failed with why; None when the goal is a secret."""
    goal = _short(run.goal, LESSON_CHARS)
    if not goal or find_secret(run.goal):
        return None
    worked = [_call(step) for step in steps if step.status == Step.Status.OK]
    avoid = [f"{_call(step)}: {_short(_why(step), WHY_CHARS)}" for step in steps if step.status in FAILED]
    return _Distilled.model_construct(
        goal=goal, worked="\n".join(_fitting(worked)), avoid="\n".join(_fitting(avoid))
    )


def _call(step: Step) -> str:
    """``calculate(expression: 6 * 7)``: words as they stand, so that forgetting finds them."""
    values = ", ".join(f"{name}: {_value(value)}" for name, value in step.arguments.items())
    return f"{step.action}({values})"


def _value(value: object) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= VALUE_CHARS else "…"


def _fitting(lines: Sequence[str]) -> Iterator[str]:
    """The first lines that have room, each once, without those that hold a secret."""
    left = LESSON_CHARS
    for line in dict.fromkeys(lines):
        if len(line) < left and not find_secret(line):
            left -= len(line) + 1
            yield line


def _why(step: Step) -> str:
    return " ".join((step.error or step.observation).split())


def _short(text: str, max_chars: int) -> str:
    text = " ".join(text.replace("\x00", " ").split())
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
