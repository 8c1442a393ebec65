"""THE agent loop: one claimed turn, from the message to the finished reply."""

import logging
import time
from collections.abc import Callable

from django.db import DatabaseError, connections
from django.utils import timezone
from django.utils.translation import gettext_noop

from chat import events, waits
from chat.draining import drain
from chat.endings import (
    end_cancelled,
    end_completed,
    end_failed,
    end_handed_over,
    end_stopped_at_limit,
    end_waiting,
)
from chat.leases import keeper
from chat.progress import Progress, allowance, usage_of
from chat.storable import storable, storable_reply
from chat.tool_use import publish_tool, use_tools
from chat.tools import toolbox_of
from chat.waits import HandOver, LimitReachedError, MustWait
from chat.window import extended, make_room, messages_of, open_window, recall_for, said_in, shrink, taint_of
from memoryapp.acting import Actor, acting_as
from memoryapp.conf import get_conf
from memoryapp.context import assembly
from memoryapp.context import queries as contexts
from memoryapp.context.assembly import ContextWindow
from memoryapp.context.recall import NOTHING
from memoryapp.errors import MemoryAppError
from memoryapp.lifecycle import daily_budget
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
    ToolUse,
    ToolUseStarted,
    Usage,
)
from memoryapp.llm.errors import Cancelled, ContextTooLong, StreamBroken
from memoryapp.llm.registry import get_chat_model
from memoryapp.policies.discipline import Tried, why_stuck
from memoryapp.policies.limits import reached
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import edits
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Step
from memoryapp.transcript import queries
from memoryapp.transcript.claims import Claim
from memoryapp.transcript.models import Turn
from memoryapp.tuning import queries as tuning

logger = logging.getLogger(__name__)


class RunStuckError(MemoryAppError):
    """The run got nowhere, and nobody said to go on."""

    code = "run_stuck"


class _Work:
    """What there is to keep of a turn, however it ends: before the run is open, only what was said."""

    def __init__(self) -> None:
        self.said = ""
        self.progress: Progress | None = None

    def keep(self, said: str) -> None:
        self.said = said


def run_turn(claim: Claim) -> None:
    """Answer the turn. Ends it in one transaction, unless it must wait or another worker took it over meanwhile."""
    work = _Work()
    with (
        acting_as(Actor.ASSISTANT),
        keeper.keeping(claim, partial_text=lambda: work.said) as cancellation,
    ):
        events.publish(claim.turn_id, {"type": "start", "attempt": claim.attempt}, attempt=claim.attempt)
        try:
            progress = work.progress = _begin(claim, cancellation, keep=work.keep)
            make_room(progress)
            reply = _converse(progress)
        except scratchpad.FencedOffError:
            logger.info("Turn %s was taken over; attempt %s stops.", claim.turn_id, claim.attempt)
        except MustWait as wait:
            end_waiting(progress, wait)
        except HandOver:
            end_handed_over(claim, work.progress)
        except Cancelled:
            if drain.is_overdue and claim.turn_id not in queries.is_stop_requested([claim.turn_id]):
                end_handed_over(claim, work.progress)
            else:
                end_cancelled(claim, work.said, progress=work.progress)
        except LimitReachedError as error:
            end_stopped_at_limit(progress, error)
        except MemoryAppError as error:
            end_failed(claim, work.said, code=error.code, message=str(error), progress=work.progress)
        except Exception:  # the edge of the worker: a defect ends the turn visibly
            if not queries.exists(claim.turn_id):
                logger.info("Turn %s was deleted while it was answered.", claim.turn_id)
                return
            logger.exception("Turn %s failed", claim.turn_id)
            end_failed(
                claim,
                work.said,
                code="internal_error",
                message="Something went wrong on our side. It has been logged.",
                progress=work.progress,
            )
        else:
            _finish(progress, reply)


def _finish(progress: Progress, reply: ModelReply) -> None:
    try:
        end_completed(progress, reply)
    except DatabaseError:  # what cannot be stored would be answered again and again
        logger.exception("The reply of turn %s was not stored", progress.claim.turn_id)
        end_failed(
            progress.claim,
            "",
            code="reply_not_stored",
            message="The reply could not be stored. Try again.",
            progress=progress,
        )


def _begin(claim: Claim, cancellation: Cancellation, *, keep: Callable[[str], None]) -> Progress:
    """Open the run and the window; a run that an earlier attempt began goes on exactly where it stood."""
    began_at = time.monotonic()
    turn = queries.turn_for_worker(claim.turn_id)
    text = queries.user_message(turn).text
    run = scratchpad.open_run(
        user_id=turn.user_id,
        turn_id=turn.id,
        goal=text,
        attempt=claim.attempt,
        limits=allowance(tuning.conf()),
    )
    recorded = runs.checkpoints(run)
    if not recorded:  # a reply that began is finished
        daily_budget.require_left(turn.user_id, now=timezone.now())
    messages = messages_of(recorded)
    tools = toolbox_of(turn.conversation)
    recalled = NOTHING
    if not messages:
        recalled = recall_for(turn, text)
        if recalled.is_unavailable:
            events.publish(turn.id, {"type": "memory_unavailable"}, attempt=claim.attempt)
        messages = [assembly.opening_message(text, recalled)]
    window = open_window(turn, messages, tools=tools.definitions)
    taint = weakest([recalled.taint, taint_of(window), *(Origin(entry.taint) for entry in recorded)])
    if not recorded:
        scratchpad.checkpoint(
            run,
            number=0,
            delta=[messages_json.to_json(message) for message in messages],
            pad=pads.from_json(run.pad),
            taint=taint,
            attempt=claim.attempt,
        )
    progress = Progress(
        claim=claim,
        turn=turn,
        run=run,
        cancellation=cancellation,
        tools=tools,
        steps=list(runs.steps(run)) if len(recorded) > 1 else [],
        pad=pads.from_json(run.pad),
        taint=taint,
        window=window,
        chain=contexts.previous_chain(turn.user_id, [turn.id, *([turn.parent_id] if turn.parent_id else [])]),
        recalled=recalled,
        checkpoints=max(len(recorded), 1),
        keep=keep,
        usage=usage_of(run),
        calls=run.model_calls,
        began_at=began_at,
    )
    if said := said_in(messages):
        progress.say(said)
        progress.settle()
    return progress


def _converse(progress: Progress) -> ModelReply:
    """Call the model, run its tools, until it has answered.

    What it asks for is kept before the first tool runs: a resumed run goes on with the tool that was next.
    """
    _require_progress(progress)
    while True:
        if drain.has_begun:
            raise HandOver
        _take_up_edits(progress)
        if not _pending_calls(progress.window):
            _require_room(progress)
            _show_edited_pad(progress)
            reply = _call_model(progress)
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
    limit = reached(progress.limits, progress.spent)
    if limit:
        raise LimitReachedError(limit)


def _require_progress(progress: Progress) -> None:
    """A run that gets nowhere waits for its person's word; without it, it ends."""
    judged_from = progress.run.judged_from
    seen: set[str] = set()
    tried = []
    for step in progress.steps:
        is_news = step.status == Step.Status.OK and step.observation not in seen
        seen.add(step.observation)
        if step.number > judged_from:
            tried.append(Tried(step.action, step.error, is_news=is_news, round=step.round))
    why = why_stuck(tried, stall_steps=get_conf().run_stall_steps)
    if not why:
        return
    if progress.claim.waited_for == Turn.WaitReason.STUCK:
        raise RunStuckError(f"{why} Nobody said to go on, so it was stopped.")
    raise MustWait(Turn.WaitReason.STUCK, why, wait_s=get_conf().approval_hours * 3600)


def _call_model(progress: Progress) -> ModelReply:
    """One call. When the provider says that the prompt is too long, compact and try once more."""
    progress.window = progress.window.with_fitting_run(previous=progress.chain)
    said_before = progress.said
    try:
        return _stream_reply(progress)
    except ContextTooLong as error:
        if progress.said != said_before:
            raise
        shrink(progress, refused=error)
        progress.window = progress.window.with_fitting_run(previous=progress.chain)
        return _stream_reply(progress)


def _stream_reply(progress: Progress) -> ModelReply:
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
    answer = get_chat_model().stream(
        progress.window.request(), progress.cancellation, failed_attempts=progress.run.model_failures
    )
    for event in answer:
        match event:
            case TextDelta(text=delta):
                progress.say(("\n\n" if needs_break else "") + storable(delta))
                needs_break = False
            case ThinkingStarted():
                progress.publish({"type": "activity", "text": gettext_noop("Thinking")})
            case Retrying():
                progress.calls -= 1  # it was not answered
                raise waits.for_model(event)
            case ToolUseStarted(id=tool_use_id, name=name):
                publish_tool(progress, tool_use_id, storable(name), "running")
            case Completed(reply=reply):
                assembly.note_reported_tokens(
                    progress.turn.id,
                    attempt=claim.attempt,
                    call=call,
                    input_tokens=reply.usage.total_input_tokens,
                )
                return storable_reply(reply, taken={step.tool_use_id for step in progress.steps})
    raise StreamBroken("The model's reply ended too early.")


def _run_pending(progress: Progress) -> ModelMessage:
    """The results of the pending calls, then the pad unless the model has just this one in front of it."""
    results = use_tools(progress, _pending_calls(progress.window))
    _take_up_edits(progress)
    return ModelMessage("user", (*results, *_pad_to_show(progress)))


def _take_up_edits(progress: Progress) -> None:
    """What its person did to the pad meanwhile holds from here on, also for what may be called."""
    progress.pad = edits.take_up(progress.run, progress.pad, attempt=progress.claim.attempt)


def _show_edited_pad(progress: Progress) -> None:
    """A pad that its person changed after the model read it is what the model reads last.

    Also after a worker that took the change up and went before it was shown.
    """
    if progress.pad.is_edited and (shown := _pad_to_show(progress)):
        _extend(progress, ModelMessage("user", shown))


def _pad_to_show(progress: Progress) -> tuple[Text, ...]:
    rendered = pads.render(progress.pad, max_tokens=progress.window.budget.scratchpad_tokens)
    return (Text(rendered),) if rendered and rendered != _rendered_before(progress.window) else ()


def _rendered_before(window: ContextWindow) -> str:
    """The newest pad in the prompt: the text after the results of a round."""
    closing = (message.blocks[-1] for message in reversed(window.run) if message.role == "user")
    return next((block.text for block in closing if isinstance(block, Text)), "")


def _extend(progress: Progress, message: ModelMessage, *, usage: Usage | None = None) -> None:
    """Add a message to the window, and keep it so that a resumed run has it too."""
    scratchpad.checkpoint(
        progress.run,
        number=progress.checkpoints,
        delta=[messages_json.to_json(message)],
        pad=progress.pad,
        taint=progress.taint,
        attempt=progress.claim.attempt,
        spending=progress.spending(usage),
    )
    progress.run.model_failures = 0
    progress.settle()
    progress.checkpoints += 1
    progress.window = extended(progress.window, message)
