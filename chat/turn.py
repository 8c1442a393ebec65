"""THE agent loop: one claimed turn, from the message to the finished reply."""

import logging
import time
from collections.abc import Callable

from django.db import DatabaseError, connections
from django.utils import timezone

from chat import events
from chat.endings import end_cancelled, end_completed, end_failed
from chat.leases import keeper
from chat.progress import Progress
from chat.storable import storable, storable_reply
from chat.tools import Situation, ToolOutcome, run_tool, why_failed
from chat.window import make_room, messages_of, open_window, recall_for, shrink
from memoryapp.conf import get_conf
from memoryapp.context import assembly
from memoryapp.context import queries as contexts
from memoryapp.context.assembly import ContextWindow
from memoryapp.context.recall import NOTHING
from memoryapp.errors import MemoryAppError
from memoryapp.llm import messages_json
from memoryapp.llm.base import (
    Cancellation,
    Completed,
    ModelMessage,
    ModelReply,
    Retrying,
    Text,
    TextDelta,
    ThinkingStarted,
    ToolResult,
    ToolUse,
    ToolUseStarted,
    Usage,
)
from memoryapp.llm.errors import Cancelled, ContextTooLong, StreamBroken
from memoryapp.llm.registry import get_chat_model
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm.tools import Heard
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Step
from memoryapp.transcript import queries
from memoryapp.transcript.operations import Claim

logger = logging.getLogger(__name__)

EQUAL_ERRORS = 3


class LimitReachedError(MemoryAppError):
    """The run used up its steps or its time."""

    code = "run_limit_reached"


class RunStuckError(MemoryAppError):
    """A tool failed in the same way again and again."""

    code = "run_stuck"


def run_turn(claim: Claim) -> None:
    """Answer the turn. Ends it in one transaction, unless another worker took it over meanwhile."""
    said: list[str] = [""]
    with keeper.keeping(claim, partial_text=lambda: said[0]) as cancellation:
        events.publish(claim.turn_id, {"type": "start", "attempt": claim.attempt}, attempt=claim.attempt)
        try:
            progress = _begin(claim, keep=lambda text: said.__setitem__(0, text))
            make_room(progress, cancellation)
            reply = _converse(progress, cancellation)
        except scratchpad.FencedOffError:
            logger.info("Turn %s was taken over; attempt %s stops.", claim.turn_id, claim.attempt)
        except Cancelled:
            end_cancelled(claim, said[0])
        except MemoryAppError as error:
            end_failed(claim, said[0], code=error.code, message=str(error))
        except Exception:  # the edge of the worker: a defect ends the turn visibly
            if not queries.exists(claim.turn_id):
                logger.info("Turn %s was deleted while it was answered.", claim.turn_id)
                return
            logger.exception("Turn %s failed", claim.turn_id)
            end_failed(
                claim,
                said[0],
                code="internal_error",
                message="Something went wrong on our side. It has been logged.",
            )
        else:
            _finish(progress, reply)


def _finish(progress: Progress, reply: ModelReply) -> None:
    try:
        end_completed(progress, reply)
    except DatabaseError:  # what cannot be stored would be answered again and again
        logger.exception("The reply of turn %s was not stored", progress.claim.turn_id)
        end_failed(
            progress.claim, "", code="reply_not_stored", message="The reply could not be stored. Try again."
        )


def _begin(claim: Claim, *, keep: Callable[[str], None]) -> Progress:
    """Open the run and the window; a run that an earlier attempt began goes on exactly where it stood."""
    turn = queries.turn_for_worker(claim.turn_id)
    text = queries.user_message(turn).text
    run = scratchpad.open_run(user_id=turn.user_id, turn_id=turn.id, goal=text, attempt=claim.attempt)
    recorded = runs.checkpoints(run)
    messages = messages_of(recorded)
    recalled = NOTHING
    if not messages:
        recalled = recall_for(turn, text)
        messages = [assembly.opening_message(text, recalled)]
        scratchpad.checkpoint(
            run,
            number=0,
            delta=[messages_json.to_json(message) for message in messages],
            pad=pads.from_json(run.pad),
            taint=recalled.taint,
            attempt=claim.attempt,
        )
    progress = Progress(
        claim=claim,
        turn=turn,
        run=run,
        pad=pads.from_json(run.pad),
        taint=weakest([recalled.taint, *(Origin(entry.taint) for entry in recorded)]),
        window=open_window(turn, messages),
        chain=contexts.previous_chain(turn.user_id, [turn.id, *([turn.parent_id] if turn.parent_id else [])]),
        recalled=recalled,
        checkpoints=max(len(recorded), 1),
        deadline=time.monotonic() + get_conf().run_max_seconds,
        keep=keep,
    )
    if said := "\n\n".join(_said_before(messages)):
        progress.say(said)
    return progress


def _said_before(messages: list[ModelMessage]) -> list[str]:
    """What an earlier attempt said between its tools."""
    texts = (
        "".join(b.text for b in m.blocks if isinstance(b, Text)) for m in messages if m.role == "assistant"
    )
    return [text.strip() for text in texts if text.strip()]


def _converse(progress: Progress, cancellation: Cancellation) -> ModelReply:
    """Call the model, run its tools, until it has answered.

    What it asks for is kept before the first tool runs: a resumed run goes on with the tool that was next.
    """
    while True:
        if not _pending_calls(progress.window):
            _require_room(progress)
            reply = _call_model(progress, cancellation)
            progress.usage += reply.usage
            if reply.stop_reason != "tool_use" or not reply.tool_uses:
                return reply
            _extend(progress, ModelMessage("assistant", reply.blocks), usage=reply.usage)
        _extend(progress, _run_pending(progress))
        _require_progress(progress)


def _pending_calls(window: ContextWindow) -> tuple[ToolUse, ...]:
    """The tool calls that have no results yet."""
    newest = window.run[-1]
    if newest.role != "assistant":
        return ()
    return tuple(block for block in newest.blocks if isinstance(block, ToolUse))


def _require_room(progress: Progress) -> None:
    if progress.calls >= get_conf().run_max_steps or time.monotonic() > progress.deadline:
        raise LimitReachedError(
            "This took too many steps or too long, so it was stopped. Ask for a smaller part of it."
        )


def _require_progress(progress: Progress) -> None:
    """Three equal errors in a row end the run: the next call would be the fourth."""
    newest = runs.newest_steps(progress.run, EQUAL_ERRORS)
    failures = {(step.action, why_failed(step.observation)) for step in newest}
    has_failed = len(newest) == EQUAL_ERRORS and all(step.status != Step.Status.OK for step in newest)
    if has_failed and len(failures) == 1:
        ((name, why),) = failures
        raise RunStuckError(
            f"The tool {name} failed {EQUAL_ERRORS} times in the same way, so it was stopped: {why}"
        )


def _call_model(progress: Progress, cancellation: Cancellation) -> ModelReply:
    """One call. When the provider says that the prompt is too long, compact and try once more."""
    progress.window = progress.window.with_fitting_run(previous=progress.chain)
    said_before = progress.said
    try:
        return _stream_reply(progress, cancellation)
    except ContextTooLong as error:
        if progress.said != said_before:
            raise
        shrink(progress, cancellation, refused=error)
        progress.window = progress.window.with_fitting_run(previous=progress.chain)
        return _stream_reply(progress, cancellation)


def _stream_reply(progress: Progress, cancellation: Cancellation) -> ModelReply:
    progress.calls += 1
    claim, call = progress.claim, progress.calls
    progress.chain = assembly.record_snapshot(
        progress.window,
        turn=progress.turn,
        attempt=claim.attempt,
        call=call,
        recall=progress.recalled,
        previous=progress.chain,
        counted_tokens=progress.counted_tokens,
    )
    progress.counted_tokens = None
    # The model may take minutes: no database connection waits for it.
    connections.close_all()
    needs_break = bool(progress.said.strip())  # what was said before the tools is a paragraph of its own
    for event in get_chat_model().stream(progress.window.request(), cancellation):
        match event:
            case TextDelta(text=delta):
                progress.say(("\n\n" if needs_break else "") + storable(delta))
                needs_break = False
            case ThinkingStarted():
                progress.publish({"type": "activity", "text": "Thinking"})
            case Retrying(wait_s=wait_s):
                text = f"Waiting for the model, retrying in {wait_s:.0f} s"
                progress.publish({"type": "activity", "text": text})
            case ToolUseStarted(id=tool_use_id, name=name):
                _publish_tool(progress, tool_use_id, storable(name), "running")
            case Completed(reply=reply):
                assembly.note_reported_tokens(
                    progress.turn.id,
                    attempt=claim.attempt,
                    call=call,
                    input_tokens=reply.usage.total_input_tokens,
                )
                return storable_reply(reply)
    raise StreamBroken("The model's reply ended too early.")


def _run_pending(progress: Progress) -> ModelMessage:
    """The results of the pending calls, then the pad unless the model has just this one in front of it."""
    calls = _pending_calls(progress.window)
    outcomes = [_use_tool(progress, call) for call in calls]
    progress.taint = weakest([progress.taint, *(outcome.origin for outcome in outcomes)])
    results = tuple(
        ToolResult(call.id, outcome.content, is_error=outcome.is_error)
        for call, outcome in zip(calls, outcomes, strict=True)
    )
    rendered = pads.render(progress.pad, max_tokens=progress.window.budget.scratchpad_tokens)
    if not rendered or rendered == _rendered_before(progress.window):
        return ModelMessage("user", results)
    return ModelMessage("user", (*results, Text(rendered)))


def _rendered_before(window: ContextWindow) -> str:
    """The newest pad in the prompt: the text after the results of a round."""
    closing = (message.blocks[-1] for message in reversed(window.run[1:]) if message.role == "user")
    return next((block.text for block in closing if isinstance(block, Text)), "")


def _use_tool(progress: Progress, call: ToolUse) -> ToolOutcome:
    """Run a tool once per (run, tool_use_id); a call that was recorded already returns what it returned then."""
    known = runs.step_of_tool_use(progress.run, call.id)
    if known:
        is_error = known.status != Step.Status.OK
        return ToolOutcome(known.observation, progress.pad, is_error=is_error, origin=Origin(known.origin))
    started = time.perf_counter()
    outcome = run_tool(call, progress.pad, _situation(progress))
    progress.pad = outcome.pad
    scratchpad.record_step(
        progress.run,
        scratchpad.StepRecord(
            tool_use_id=call.id,
            action=call.name[:128],  # as long as the API allows; other servers may not care
            arguments=dict(call.input),
            observation=outcome.content,
            status=outcome.status,
            tokens=estimate_text(outcome.content),
            duration_ms=round((time.perf_counter() - started) * 1000),
            origin=outcome.origin,
        ),
        pad=outcome.pad,
        attempt=progress.claim.attempt,
    )
    _publish_tool(progress, call.id, call.name, "failed" if outcome.is_error else "done")
    if outcome.event:
        progress.publish(outcome.event)
    return outcome


def _extend(progress: Progress, message: ModelMessage, *, usage: Usage | None = None) -> None:
    """Add a message to the window, and keep it so that a resumed run has it too."""
    scratchpad.checkpoint(
        progress.run,
        number=progress.checkpoints,
        delta=[messages_json.to_json(message)],
        pad=progress.pad,
        taint=progress.taint,
        attempt=progress.claim.attempt,
        usage=usage,
    )
    progress.checkpoints += 1
    progress.window = progress.window.with_messages(message)


def _situation(progress: Progress) -> Situation:
    turn = progress.turn
    asked = queries.user_message(turn)
    heard = [Heard(asked.id, asked.text, asked.created_at)]
    heard += [
        Heard(said.user_message_id, said.user_text, said.said_at) for said in reversed(progress.window.spoken)
    ]
    return Situation(
        user_id=turn.user_id,
        conversation_id=turn.conversation_id,
        run_id=progress.run.id,
        epoch_at_start=turn.epoch_at_start,
        time_zone=turn.user.time_zone,
        now=timezone.now(),
        heard=heard,
        taint=progress.taint,
        may_recall=turn.conversation.use_memory,
        may_save=turn.conversation.save_memory,
        remembered_so_far=runs.steps(progress.run).filter(action="remember", status=Step.Status.OK).count(),
    )


def _publish_tool(progress: Progress, tool_use_id: str, name: str, status: str) -> None:
    progress.publish({"type": "tool", "tool_use_id": tool_use_id, "name": name, "status": status})
