"""Using tools in a run: asked for where a person must say yes, run once, recorded."""

import logging
import time
from contextlib import AbstractContextManager, nullcontext

from django.utils import timezone

from chat.draining import drain
from chat.progress import Progress
from chat.storable import storable
from chat.tools import EFFECT_UNKNOWN, Outcome, Ready, denied, failed, judge, perform, replayed, unasked
from chat.waits import HandOver, LimitReachedError, MustWait
from memoryapp.context import exclusions, uses
from memoryapp.context.short_results import brief
from memoryapp.inspector.stored_texts import LED_BY_STRANGERS
from memoryapp.llm.base import Text, ToolResult, ToolUse
from memoryapp.llm.errors import Cancelled
from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.trust import weakest
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Approval, Step
from memoryapp.tooling.base import Heard, Tool, ToolContext
from memoryapp.transcript import queries
from memoryapp.transcript.models import Turn

logger = logging.getLogger(__name__)

UNKNOWN_EFFECT = (
    "The worker stopped while this call was under way. Whether it took effect is not known, so it was not made again. "
    "Find out before you go on."
)
NOBODY_ANSWERED = "The user was asked and did not answer in time."
_SHOWN = {
    Step.Status.OK: "done",
    Step.Status.REPEATED: "done",
    Step.Status.ERROR: "failed",
    Step.Status.REFUSED: "refused",
}


def use_tools(progress: Progress, calls: tuple[ToolUse, ...]) -> tuple[ToolResult, ...]:
    """The results of the calls, in their order. Raises ``MustWait`` before any of them ran while a person is asked.

    Before each of them it may be time to leave: whoever goes on begins with the next. Raises ``Cancelled``,
    ``HandOver``, ``LimitReachedError``.
    """
    answers = _ask_first(progress, calls)
    outcomes = []
    for call in calls:
        _require_leave(progress)
        outcomes.append(_use(progress, call, answers.get(call.id)))
    progress.taint = weakest([progress.taint, *(outcome.origin for outcome in outcomes)])
    return tuple(
        ToolResult(call.id, outcome.content, is_error=outcome.is_error)
        for call, outcome in zip(calls, outcomes, strict=True)
    )


def _require_leave(progress: Progress) -> None:
    if progress.cancellation.is_set:
        raise Cancelled("Stopped.")
    if drain.has_begun:
        raise HandOver
    if progress.spent.seconds >= progress.limits.seconds:
        raise LimitReachedError(f"{progress.limits.seconds:,.0f} seconds of work")


def _ask_first(progress: Progress, calls: tuple[ToolUse, ...]) -> dict[str, Approval]:
    """The person's word on those calls that need it, by ``tool_use_id``."""
    asked = {}
    for call in calls:
        if _recorded(progress, call):
            continue
        ready = _judged(progress, call)
        if isinstance(ready, Ready) and _asks_first(ready, context(progress, call)):
            asked[call.id] = approvals.ask(
                progress.run, _question(progress, ready), attempt=progress.claim.attempt
            )
    waiting = [approval for approval in asked.values() if approval.status == Approval.Status.PENDING]
    if waiting:
        for approval in waiting:
            publish_tool(progress, approval.tool_use_id, approval.action, "waiting")
        names = ", ".join(sorted({approval.action for approval in waiting}))
        raise MustWait(
            Turn.WaitReason.APPROVAL,
            f"May {names} run?",
            until=min(approval.expires_at for approval in waiting),
        )
    return asked


def _asks_first(ready: Ready, told: ToolContext) -> bool:
    """A tool that cannot say asks, and so does any that acts outside once strangers' text is in the prompt.

    What somebody else wrote, even if it is remembered by now, never acts by itself. ``remember`` need not ask: what it
    keeps then waits for its person's word.
    """
    if told.taint.is_strangers and ready.tool.side_effects and not ready.tool.is_atomic:
        return True
    try:
        return ready.tool.asks_first(ready.arguments, told)
    except Exception:  # the edge of a tool
        logger.exception("Tool %s cannot say whether it asks", ready.tool.name)
        return True


def _question(progress: Progress, ready: Ready) -> approvals.Question:
    said = "".join(b.text for b in progress.window.run[-1].blocks if isinstance(b, Text)).strip()
    return approvals.Question(
        tool_use_id=ready.call.id,
        action=ready.call.name,
        arguments=ready.call.input,
        why=said,
        touches=_touched(progress, ready),
        source=ready.tool.source,
        fingerprint=_fingerprint(progress, ready.tool),
    )


def _touched(progress: Progress, ready: Ready) -> str:
    try:
        touched = storable(ready.tool.will_touch(ready.arguments))
    except Exception:  # the edge of a tool
        logger.exception("Tool %s cannot say what it touches", ready.tool.name)
        touched = ""
    if not progress.taint.is_strangers:
        return touched
    room = approvals.TOUCHES_MAX_CHARS - len(LED_BY_STRANGERS) - 1
    return f"{touched[:room]} {LED_BY_STRANGERS}".strip()


def _fingerprint(progress: Progress, tool: Tool) -> str:
    """What an "always" relies on: the tool as it is, and whether strangers' text was there when it was given."""
    return f"{tool.fingerprint[:-1]}+" if progress.taint.is_strangers else tool.fingerprint


def _use(progress: Progress, call: ToolUse, answer: Approval | None) -> Outcome:
    """Run a tool once per (run, tool_use_id); a call that was recorded already returns what it returned then."""
    known = _recorded(progress, call)
    if known:
        return replayed(known, call, progress.tools, pad=progress.pad)
    started = time.perf_counter()
    judged = _judged(progress, call)
    with _at_once(progress, judged) as keep:
        outcome = _outcome(progress, call, judged, answer)
        uses.note_looked_up(progress.turn, outcome.given)
        record = _record(progress, call, outcome, started=started)
        step = (
            keep(record, pad=outcome.pad)
            if keep
            else scratchpad.record_step(progress.run, record, pad=outcome.pad, attempt=progress.claim.attempt)
        )
    progress.pad = outcome.pad
    progress.steps = [*(s for s in progress.steps if s.tool_use_id != call.id), step]
    publish_tool(progress, call.id, call.name, _SHOWN[outcome.status])
    if outcome.event:
        progress.publish(dict(outcome.event))
    return outcome


def _at_once(progress: Progress, judged: Ready | Outcome) -> AbstractContextManager[scratchpad.Keep | None]:
    """One transaction around the effect and its record, of a tool that writes to this database."""
    if isinstance(judged, Ready) and judged.tool.is_atomic:
        return scratchpad.recording(progress.run, attempt=progress.claim.attempt, holds_person=True)
    return nullcontext()


def _outcome(progress: Progress, call: ToolUse, judged: Ready | Outcome, answer: Approval | None) -> Outcome:
    if isinstance(judged, Outcome):
        return judged
    tool = judged.tool
    told = context(progress, call)
    if answer is None and _asks_first(judged, told):
        return unasked(progress.pad)  # it could not run when people were asked, and can now
    if answer and answer.status != Approval.Status.APPROVED:
        return denied(call, progress.pad, _why_not(answer))
    if tool.side_effects and not tool.is_atomic:
        if _begun(progress, call) and not tool.is_idempotent:
            return failed(call, progress.pad, EFFECT_UNKNOWN, UNKNOWN_EFFECT)
        _begin(progress, call)
    return perform(judged, told, pad=progress.pad, number=_number(progress, call))


def _why_not(answer: Approval) -> str:
    if answer.status == Approval.Status.EXPIRED:
        return NOBODY_ANSWERED
    return f"The user said no: {answer.reason}" if answer.reason else "The user said no."


def _judged(progress: Progress, call: ToolUse) -> Ready | Outcome:
    before = [step for step in progress.steps if step.tool_use_id != call.id]
    return judge(call, progress.tools, pad=progress.pad, steps=before)


def _of_call(progress: Progress, call: ToolUse) -> Step | None:
    return next((step for step in progress.steps if step.tool_use_id == call.id), None)


def _recorded(progress: Progress, call: ToolUse) -> Step | None:
    step = _of_call(progress, call)
    return step if step and step.status != Step.Status.RUNNING else None


def _begun(progress: Progress, call: ToolUse) -> Step | None:
    step = _of_call(progress, call)
    return step if step and step.status == Step.Status.RUNNING else None


def _begin(progress: Progress, call: ToolUse) -> None:
    if not _begun(progress, call):
        step = scratchpad.begin_step(
            progress.run,
            tool_use_id=call.id,
            action=call.name,
            arguments=dict(call.input),
            round=progress.checkpoints,
            attempt=progress.claim.attempt,
        )
        progress.steps = [*progress.steps, step]


def _number(progress: Progress, call: ToolUse) -> int:
    step = _of_call(progress, call)
    return step.number if step else len(progress.steps) + 1


def _record(progress: Progress, call: ToolUse, outcome: Outcome, *, started: float) -> scratchpad.StepRecord:
    return scratchpad.StepRecord(
        tool_use_id=call.id,
        action=call.name[:128],  # as long as the API allows; other servers may not care
        arguments=dict(call.input),
        observation=outcome.observation,
        brief=brief(outcome.content, is_error=outcome.is_error),
        error=outcome.error,
        status=outcome.status,
        tokens=estimate_text(outcome.content),
        duration_ms=round((time.perf_counter() - started) * 1000),
        origin=outcome.origin,
        taint=weakest([progress.taint, outcome.origin]),
        round=progress.checkpoints,
        number=_number(progress, call),
    )


def context(progress: Progress, call: ToolUse) -> ToolContext:
    """What the tool may know of the run."""
    turn = progress.turn
    asked = queries.user_message(turn)
    heard = [Heard(asked.id, asked.text, asked.created_at)]
    heard += [
        Heard(said.user_message_id, said.user_text, said.said_at) for said in reversed(progress.window.spoken)
    ]
    return ToolContext(
        user_id=turn.user_id,
        conversation_id=turn.conversation_id,
        run_id=progress.run.id,
        tool_use_id=call.id,
        time_zone=turn.user.time_zone,
        now=timezone.now(),
        epoch_at_start=turn.epoch_at_start,
        cancellation=progress.cancellation,
        heard=heard,
        taint=progress.taint,
        may_search_others=turn.conversation.use_memory and turn.user.use_memory,
        without=exclusions.left_out(turn.user_id, turn.id),
        hears_strangers=any(tool.is_foreign for tool in progress.tools.tools),
        remembered_so_far=sum(s.action == "remember" and s.status == Step.Status.OK for s in progress.steps),
    )


def publish_tool(progress: Progress, tool_use_id: str, name: str, status: str) -> None:
    progress.publish({"type": "tool", "tool_use_id": tool_use_id, "name": name, "status": status})
