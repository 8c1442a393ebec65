"""The tools of a conversation: which there are, whether a call may run, and what came of it."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from chat.everyday_tools import CALCULATE, CURRENT_TIME
from chat.storable import storable
from memoryapp.conf import get_conf
from memoryapp.context.tools import RECALL
from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import ToolDefinition, ToolUse
from memoryapp.llm.errors import Cancelled
from memoryapp.longterm.tools import GET_FACT, LIST_FACTS, remember_tool
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Step
from memoryapp.scratchpad.pad import Fact, Failure, Pad
from memoryapp.scratchpad.tools import READ_RESULT, UPDATE_PLAN
from memoryapp.tooling.base import Tool, ToolContext, ToolOutput
from memoryapp.tooling.mcp import tools_of as server_tools
from memoryapp.tooling.page_tool import FETCH_PAGE
from memoryapp.tooling.registry import added_tools
from memoryapp.tooling.running import run_within_time
from memoryapp.transcript.models import Conversation
from memoryapp.transcript.tools import SEARCH_CONVERSATIONS

logger = logging.getLogger(__name__)

REFUSED_REPEAT = "This very call failed before, do not retry it: "
EFFECT_UNKNOWN = "effect_unknown"  # of a call that a crash or the end of its run overtook
CUT_CHARS = 120  # for the note at the end of a result that was cut
CALL_MAX_CHARS = 200  # of a call in the pad, whose lines end at 300
BUILT_IN = frozenset(
    {
        "remember",
        *(
            tool.name
            for tool in (
                RECALL,
                GET_FACT,
                LIST_FACTS,
                SEARCH_CONVERSATIONS,
                UPDATE_PLAN,
                CURRENT_TIME,
                CALCULATE,
                FETCH_PAGE,
                READ_RESULT,
            )
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What a conversation's assistant may use, always in the same order: it is part of the cached prefix."""

    tools: tuple[Tool, ...]

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(tool.definition for tool in self.tools)

    def named(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def has_side_effects(self, name: str) -> bool:
        tool = self.named(name)
        return tool is None or tool.side_effects


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may run, with its checked arguments."""

    call: ToolUse
    tool: Tool
    arguments: Any  # of the tool's own type


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to.

    ``content``: what the model reads; ``observation``: the whole of it. ``origin``: trust of what came back. ``pad``:
    after the call. ``error``: why it failed. ``given``: ids of the memories and experiences that the model read.
    """

    content: str
    observation: str
    pad: Pad
    status: Step.Status = Step.Status.OK
    error: str = ""
    origin: Origin = Origin.USER_TYPED
    event: Mapping[str, Any] | None = None
    given: Sequence[UUID] = ()

    @property
    def is_error(self) -> bool:
        return self.status in (Step.Status.ERROR, Step.Status.REFUSED)


def toolbox(*, use_memory: bool, save_memory: bool, servers: Sequence[Tool] = ()) -> Toolbox:
    """``servers``: the tools of other servers that its person switched on."""
    memory = [remember_tool()] if save_memory else []
    memory += [RECALL, GET_FACT, LIST_FACTS] if use_memory else []
    added = [FETCH_PAGE] if get_conf().fetch_page else []
    added += [*added_tools(BUILT_IN), *servers]
    # Only what comes from elsewhere is ever too long to be read at once.
    reading = [READ_RESULT] if added else []
    return Toolbox((*memory, SEARCH_CONVERSATIONS, UPDATE_PLAN, CURRENT_TIME, CALCULATE, *added, *reading))


def toolbox_of(conversation: Conversation) -> Toolbox:
    """What its switches and those of its person leave, and the servers that they switched on."""
    person = conversation.user
    return toolbox(
        use_memory=conversation.use_memory and person.use_memory,
        save_memory=conversation.save_memory and person.save_memory,
        servers=server_tools(conversation.user_id, conversation.id),
    )


def tools_of(conversation: Conversation) -> tuple[ToolDefinition, ...]:
    return toolbox_of(conversation).definitions


def judge(call: ToolUse, tools: Toolbox, *, pad: Pad, steps: Sequence[Step]) -> Ready | Outcome:
    """Whether the call may run as the next step; if not, what the model reads instead. ``steps``: so far.

    A call that failed before is refused. One that went well before is not made again: its result still stands, unless
    something was changed since, or the tool may answer differently.
    """
    refused = next((failure for failure in pad.failed if failure.call == describe(call)), None)
    if refused:
        return _refused(pad, "do_not_retry", REFUSED_REPEAT + refused.why, error=refused.why)
    tool = tools.named(call.name)
    if tool is None:
        return failed(call, pad, "invalid_input", f"There is no tool '{call.name}' in this conversation.")
    try:
        arguments = tool.checked(call.input)
    except ValidationError as error:
        return failed(call, pad, "invalid_arguments", _explain(error))
    except MemoryAppError as error:
        return failed(call, pad, error.code, str(error))
    earlier = None if tool.is_volatile else _equal_success(call, tools, steps)
    if earlier is None:
        return Ready(call, tool, arguments)
    return Outcome(
        content=_capped(earlier.observation, tool, number=len(steps) + 1),
        observation=earlier.observation,
        pad=pad,
        status=Step.Status.REPEATED,
        origin=Origin(earlier.origin),
    )


def perform(ready: Ready, context: ToolContext, *, pad: Pad, number: int) -> Outcome:
    """Run a call, as step ``number``. What goes wrong is an outcome that the model can read and act on.

    Raises ``Cancelled`` alone.
    """
    call, tool = ready.call, ready.tool
    try:
        with scratchpad.effect() if tool.is_atomic else nullcontext():
            return _answered(run_within_time(tool, ready.arguments, context), ready, pad=pad, number=number)
    except Cancelled:
        raise
    except MemoryAppError as error:
        return failed(call, pad, error.code, str(error), origin=_origin(tool))
    except (Exception, SystemExit):  # the edge of a tool: its defect must not end the turn, nor the worker
        logger.exception("Tool %s failed", call.name)
        return failed(call, pad, "tool_failed", "The tool failed for an internal reason.")


def _answered(output: ToolOutput, ready: Ready, *, pad: Pad, number: int) -> Outcome:
    """Raises ``TypeError`` or ``ValueError`` for what a tool must not return."""
    if not isinstance(output.content, str):
        raise TypeError("A tool answers with text.")
    text = storable(output.content)
    event = None if output.event is None else dict(output.event)
    json.dumps(event, allow_nan=False)
    return Outcome(
        content=_capped(text, ready.tool, number=number),
        observation=text,
        pad=_noted(output, ready.call, pad),
        origin=_origin(ready.tool, Origin(output.origin)),
        event=event,
        given=output.given,
    )


def replayed(step: Step, call: ToolUse, tools: Toolbox, *, pad: Pad) -> Outcome:
    """What a call that was recorded already came to then."""
    tool = tools.named(call.name)
    status = Step.Status(step.status)
    content = step.observation
    if tool and status in (Step.Status.OK, Step.Status.REPEATED):
        content = _capped(content, tool, number=step.number)
    return Outcome(
        content=content or _error(EFFECT_UNKNOWN, step.error),
        observation=step.observation,
        pad=pad,
        status=status,
        error=step.error,
        origin=Origin(step.origin or Origin.USER_TYPED),
    )


def failed(call: ToolUse, pad: Pad, code: str, why: str, *, origin: Origin = Origin.USER_TYPED) -> Outcome:
    """An error, and the same call will be refused from now on."""
    why = storable(why)
    content = _error(code, why)
    noted = pad.with_failure(Failure(describe(call), why))
    return Outcome(content, content, noted, Step.Status.ERROR, error=why, origin=origin)


def denied(call: ToolUse, pad: Pad, why: str) -> Outcome:
    """Not run: a person would not have it, or did not say."""
    return _refused(pad.with_failure(Failure(describe(call), why)), "not_approved", why, error=why)


def unasked(pad: Pad) -> Outcome:
    """Not run for now: nobody was asked. The model may ask for it again."""
    why = "The user was not asked about this call yet. Ask for it once more, by itself."
    return _refused(pad, "not_approved", why, error=why)


def describe(call: ToolUse) -> str:
    """One short line that is the same for equal calls alone: ``name {"a": 1}``.

    The pad shortens its lines, so that two long calls could look alike there: theirs end in a digest.
    """
    line = _canonical(call.name, call.input)
    if len(line) <= CALL_MAX_CHARS and line == " ".join(line.split()):
        return line
    digest = hashlib.sha256(line.encode()).hexdigest()[:12]
    return f"{' '.join(line[:CALL_MAX_CHARS].split())}… #{digest}"


def _equal_success(call: ToolUse, tools: Toolbox, steps: Sequence[Step]) -> Step | None:
    """The newest equal call that went well, if nothing can have changed since: a call that failed may have, too."""
    asked = _canonical(call.name, call.input)
    for step in reversed(steps):
        is_ok = step.status == Step.Status.OK
        if is_ok and _canonical(step.action, step.arguments) == asked:
            return step
        may_have_changed = is_ok or step.status in (Step.Status.ERROR, Step.Status.RUNNING)
        if may_have_changed and tools.has_side_effects(step.action):
            return None
    return None


def _canonical(name: str, arguments: Mapping[str, Any]) -> str:
    """Equal for equal calls alone: in JSON, unlike in Python, true is not 1."""
    return f"{name} {json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)}"


def _noted(output: ToolOutput, call: ToolUse, pad: Pad) -> Pad:
    for key, value in output.facts:
        pad = pad.with_fact(Fact(storable(key), storable(value), call.name))
    if output.plan is not None:
        todo, open_questions = output.plan
        return pad.with_plan(todo=tuple(todo), open_questions=tuple(open_questions))
    if output.done or not output.facts:
        return pad.with_done(storable(output.done) or describe(call))
    return pad


def _origin(tool: Tool, said: Origin = Origin.USER_TYPED) -> Origin:
    return weakest([said, Origin.UNTRUSTED]) if tool.untrusted_output else said


def _capped(text: str, tool: Tool, *, number: int) -> str:
    """As much as the tool may say at once, and where the rest is."""
    if len(text) <= tool.max_output_chars:
        return text
    kept = max(tool.max_output_chars - CUT_CHARS, 0)
    rest = json.dumps({"step": number, "start": kept})
    return f"{text[:kept]}… [cut: {len(text) - kept:,} more characters; read_result {rest} reads on]"


def _refused(pad: Pad, code: str, message: str, *, error: str) -> Outcome:
    content = _error(code, message)
    return Outcome(content, content, pad, Step.Status.REFUSED, error=error)


def _error(code: str, message: str) -> str:
    return json.dumps({"error": code, "message": storable(message)}, ensure_ascii=False)


def _explain(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, item['loc'])) or 'input'}: {item['msg']}" for item in error.errors()[:5]]
    return "The arguments do not fit the schema. " + "; ".join(problems)
