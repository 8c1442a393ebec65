"""The tools of the assistant: what the model may ask for, checked and run."""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chat.arithmetic import MAX_CHARS, calculate
from memoryapp.conf import get_conf
from memoryapp.context.tools import RECALL, RecallArguments, run_recall
from memoryapp.errors import InvalidInputError, MemoryAppError
from memoryapp.llm.base import ToolDefinition, ToolUse
from memoryapp.longterm.tools import Heard, RememberArguments, remember_definition, run_remember
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad.models import Step
from memoryapp.scratchpad.pad import Fact, Failure, Pad
from memoryapp.scratchpad.tools import UPDATE_PLAN
from memoryapp.transcript.models import Conversation
from memoryapp.transcript.tools import (
    SEARCH_CONVERSATIONS,
    SearchConversationsArguments,
    run_search_conversations,
)

logger = logging.getLogger(__name__)

REFUSED_REPEAT = "This very call failed before, do not retry it: "
CALL_MAX_CHARS = 200  # of a call in the pad, whose lines end at 300
Line = Annotated[str, Field(min_length=1, max_length=300)]


class NoArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CalculateArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    expression: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


class PlanArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    todo: Annotated[list[Line], Field(max_length=20)]
    open_questions: Annotated[list[Line], Field(max_length=20)] = []


CURRENT_TIME = ToolDefinition(
    name="current_time",
    description="The current date and time in the user's time zone.",
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
)
CALCULATE = ToolDefinition(
    name="calculate",
    description="Exact arithmetic: numbers, + - * / // % ** and parentheses. Use it for every calculation.",
    input_schema={
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "For example: (1299.95 - 120) * 0.19"}
        },
        "required": ["expression"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a tool may know of the run it works for. Nothing in it comes from the model."""

    user_id: UUID
    conversation_id: UUID
    run_id: UUID
    epoch_at_start: int
    time_zone: str
    now: datetime
    heard: Sequence[Heard]
    taint: Origin
    may_recall: bool
    may_save: bool
    remembered_so_far: int


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """``content``: JSON text for the model. ``origin``: trust of what came back. ``pad``: the pad after the call."""

    content: str
    pad: Pad
    is_error: bool = False
    is_refused: bool = False  # an error without having been run
    origin: Origin = Origin.USER_TYPED
    event: dict[str, Any] | None = field(default=None)

    @property
    def status(self) -> Step.Status:
        if self.is_refused:
            return Step.Status.REFUSED
        return Step.Status.ERROR if self.is_error else Step.Status.OK


def definitions(*, use_memory: bool, save_memory: bool) -> tuple[ToolDefinition, ...]:
    """The tools of a conversation, always in the same order: they are part of the cached prefix."""
    memory = [remember_definition()] if save_memory else []
    memory += [RECALL] if use_memory else []
    return (*memory, SEARCH_CONVERSATIONS, UPDATE_PLAN, CURRENT_TIME, CALCULATE)


def tools_of(conversation: Conversation) -> tuple[ToolDefinition, ...]:
    """The tools that its switches leave."""
    return definitions(use_memory=conversation.use_memory, save_memory=conversation.save_memory)


def run_tool(call: ToolUse, pad: Pad, situation: Situation) -> ToolOutcome:
    """Run one call. Whatever goes wrong is a result that the model can read and act on; nothing is raised."""
    refused = next((failure for failure in pad.failed if failure.call == describe(call)), None)
    if refused:
        message = REFUSED_REPEAT + refused.why
        return replace(_error(pad, "do_not_retry", message), is_refused=True)
    try:
        return _dispatch(call, pad, situation)
    except ValidationError as error:
        return _failed(call, pad, "invalid_arguments", _explain(error))
    except MemoryAppError as error:
        return _failed(call, pad, error.code, str(error))
    except Exception:  # the edge of a tool: its defect must not end the turn
        logger.exception("Tool %s failed", call.name)
        return _failed(call, pad, "tool_failed", "The tool failed for an internal reason.")


def why_failed(observation: str) -> str:
    """Of an error, what went wrong; of a refused repeat, what went wrong the first time; "" of what went well."""
    result = json.loads(observation) if observation.startswith('{"error"') else {}
    return str(result.get("message", "")).removeprefix(REFUSED_REPEAT)


def describe(call: ToolUse) -> str:
    """One short line that is the same for equal calls alone: ``name {"a": 1}``.

    The pad shortens its lines, so that two long calls could look alike there: theirs end in a digest.
    """
    line = f"{call.name} {json.dumps(dict(call.input), sort_keys=True, ensure_ascii=False)}"
    if len(line) <= CALL_MAX_CHARS and line == " ".join(line.split()):
        return line
    digest = hashlib.sha256(line.encode()).hexdigest()[:12]
    return f"{' '.join(line[:CALL_MAX_CHARS].split())}… #{digest}"


def _dispatch(call: ToolUse, pad: Pad, situation: Situation) -> ToolOutcome:
    match call.name:
        case "remember" if situation.may_save:
            return _remember(RememberArguments.model_validate(dict(call.input)), pad, situation)
        case "recall" if situation.may_recall:
            return _recall(RecallArguments.model_validate(dict(call.input)), pad, situation)
        case "search_conversations":
            return _search(SearchConversationsArguments.model_validate(dict(call.input)), pad, situation)
        case "update_plan":
            plan = PlanArguments.model_validate(dict(call.input))
            planned = pad.with_plan(todo=tuple(plan.todo), open_questions=tuple(plan.open_questions))
            return ToolOutcome(json.dumps({"outcome": "updated"}), planned)
        case "current_time":
            NoArguments.model_validate(dict(call.input))
            return _current_time(pad, situation)
        case "calculate":
            return _calculate(CalculateArguments.model_validate(dict(call.input)), pad)
    raise InvalidInputError(f"There is no tool '{call.name}' in this conversation.")


def _remember(arguments: RememberArguments, pad: Pad, situation: Situation) -> ToolOutcome:
    if situation.remembered_so_far >= get_conf().memories_per_turn:
        raise InvalidInputError("Enough was remembered for one message; leave the rest.")
    content, remembered = run_remember(
        arguments,
        user_id=situation.user_id,
        heard=situation.heard,
        taint=situation.taint,
        run_id=situation.run_id,
        epoch_at_start=situation.epoch_at_start,
    )
    memory = remembered.memory
    event = {
        "type": "memory",
        "outcome": remembered.outcome,
        "memory_id": str(memory.id),
        "statement": memory.statement,
        "kind": memory.kind.slug,
    }
    return ToolOutcome(content, pad.with_done(f"{remembered.outcome}: {memory.statement}"), event=event)


def _recall(arguments: RecallArguments, pad: Pad, situation: Situation) -> ToolOutcome:
    content, origin = run_recall(arguments, user_id=situation.user_id, now=situation.now)
    return ToolOutcome(content, pad.with_done(f"recalled: {arguments.query}"), origin=origin)


def _search(arguments: SearchConversationsArguments, pad: Pad, situation: Situation) -> ToolOutcome:
    content, origin = run_search_conversations(
        arguments,
        user_id=situation.user_id,
        conversation_id=situation.conversation_id,
        may_search_others=situation.may_recall,
    )
    looked_up = arguments.query or f"turns {arguments.turns}"
    return ToolOutcome(content, pad.with_done(f"searched conversations: {looked_up}"), origin=origin)


def _current_time(pad: Pad, situation: Situation) -> ToolOutcome:
    local = situation.now.astimezone(ZoneInfo(situation.time_zone))
    result = {
        "iso": local.isoformat(timespec="seconds"),
        "text": f"{local:%A}, {local.day} {local:%B %Y}, {local:%H:%M} ({situation.time_zone})",
    }
    return ToolOutcome(
        json.dumps(result), pad.with_fact(Fact("current time", result["text"], "current_time"))
    )


def _calculate(arguments: CalculateArguments, pad: Pad) -> ToolOutcome:
    result = calculate(arguments.expression)
    content = json.dumps({"expression": arguments.expression, "result": result}, ensure_ascii=False)
    return ToolOutcome(content, pad.with_fact(Fact(arguments.expression, result, "calculate")))


def _failed(call: ToolUse, pad: Pad, code: str, why: str) -> ToolOutcome:
    return _error(pad.with_failure(Failure(describe(call), why)), code, why)


def _error(pad: Pad, code: str, message: str) -> ToolOutcome:
    return ToolOutcome(
        json.dumps({"error": code, "message": message}, ensure_ascii=False), pad, is_error=True
    )


def _explain(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, item['loc'])) or 'input'}: {item['msg']}" for item in error.errors()[:5]]
    return "The arguments do not fit the schema. " + "; ".join(problems)
