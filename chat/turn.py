"""THE agent loop: one claimed turn, from the message to the finished reply."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import DatabaseError, connections
from django.utils import timezone

from chat import events
from chat.leases import keeper
from chat.storable import storable, storable_reply
from chat.tools import Situation, ToolOutcome, definitions, run_tool
from memoryapp.conf import get_conf
from memoryapp.context import assembly
from memoryapp.context import queries as contexts
from memoryapp.context.assembly import ContextWindow, Link
from memoryapp.context.recall import NOTHING, Recall, recall
from memoryapp.errors import MemoryAppError
from memoryapp.lifecycle import compaction
from memoryapp.lifecycle import operations as lifecycle
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
from memoryapp.llm.tokens import estimate_request, estimate_text
from memoryapp.longterm.tools import Heard
from memoryapp.nudges import AFTER_TURN, nudge
from memoryapp.policies import compaction as policy
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Checkpoint, Run, Step
from memoryapp.scratchpad.pad import Pad
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import Summary, Turn
from memoryapp.transcript.operations import Claim

logger = logging.getLogger(__name__)

# How a reply ended when it did not end by itself, said at its end.
CUT_SHORT = "*The reply was cut at the length limit.*"
REMARKS = {
    "max_tokens": CUT_SHORT,
    "model_context_window_exceeded": CUT_SHORT,
    "refusal": "*The model declined to answer this.*",
}


EQUAL_ERRORS = 3
# Of a window, and of a prompt, that proved too large this much is filled at most, so that the second try fits.
SHRUNK_TO = 0.7


class LimitReachedError(MemoryAppError):
    """The run used up its steps or its time."""

    code = "run_limit_reached"


class RunStuckError(MemoryAppError):
    """A tool failed in the same way again and again."""

    code = "run_stuck"


@dataclass(slots=True)
class Progress:
    """What the run has so far. ``said`` is what the reader has seen, across all model calls."""

    claim: Claim
    turn: Turn
    run: Run
    pad: Pad
    taint: Origin
    window: ContextWindow
    chain: Sequence[Link]
    recalled: Recall
    checkpoints: int
    deadline: float
    keep: Callable[[str], None]
    said: str = ""
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    counted_tokens: int | None = None
    has_shrunk: bool = False
    errors_in_a_row: list[tuple[str, str]] = field(default_factory=list)

    def publish(self, event: events.Event) -> None:
        events.publish(self.claim.turn_id, event, attempt=self.claim.attempt)

    def say(self, delta: str) -> None:
        """Show it to the readers, and count it to the reply."""
        self.said += delta
        self.keep(self.said)
        self.publish({"type": "text", "delta": delta})


def run_turn(claim: Claim) -> None:
    """Answer the turn. Ends it in one transaction, unless another worker took it over meanwhile."""
    said: list[str] = [""]
    with keeper.keeping(claim, partial_text=lambda: said[0]) as cancellation:
        events.publish(claim.turn_id, {"type": "start", "attempt": claim.attempt}, attempt=claim.attempt)
        try:
            progress = _begin(claim, keep=lambda text: said.__setitem__(0, text))
            _make_room(progress, cancellation)
            reply = _converse(progress, cancellation)
        except scratchpad.FencedOffError:
            logger.info("Turn %s was taken over; attempt %s stops.", claim.turn_id, claim.attempt)
        except Cancelled:
            end_cancelled(claim, said[0])
        except MemoryAppError as error:
            _end_failed(claim, said[0], code=error.code, message=str(error))
        except Exception:  # the edge of the worker: a defect ends the turn visibly
            if not queries.exists(claim.turn_id):
                logger.info("Turn %s was deleted while it was answered.", claim.turn_id)
                return
            logger.exception("Turn %s failed", claim.turn_id)
            _end_failed(
                claim,
                said[0],
                code="internal_error",
                message="Something went wrong on our side. It has been logged.",
            )
        else:
            _finish(progress, reply)


def _finish(progress: Progress, reply: ModelReply) -> None:
    try:
        _end_completed(progress, reply)
    except DatabaseError:  # what cannot be stored would be answered again and again
        logger.exception("The reply of turn %s was not stored", progress.claim.turn_id)
        _end_failed(
            progress.claim, "", code="reply_not_stored", message="The reply could not be stored. Try again."
        )


def _begin(claim: Claim, *, keep: Callable[[str], None]) -> Progress:
    """Open the run and the window; a run that an earlier attempt began goes on exactly where it stood."""
    turn = queries.turn_for_worker(claim.turn_id)
    text = queries.user_message(turn).text
    run = scratchpad.open_run(user_id=turn.user_id, turn_id=turn.id, goal=text, attempt=claim.attempt)
    recorded = runs.checkpoints(run)
    messages = _messages(recorded)
    recalled = NOTHING
    if not messages:
        recalled = _recall(turn, text)
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
        window=_open_window(turn, messages),
        chain=contexts.previous_chain(turn.user_id, [turn.id, *([turn.parent_id] if turn.parent_id else [])]),
        recalled=recalled,
        checkpoints=max(len(recorded), 1),
        deadline=time.monotonic() + get_conf().run_max_seconds,
        keep=keep,
    )
    if said := "\n\n".join(_said_before(messages)):
        progress.say(said)
    return progress


def _recall(turn: Turn, text: str) -> Recall:
    if not turn.conversation.use_memory:
        return NOTHING
    limits = get_chat_model().limits(get_conf().chat_model)
    return recall(turn.user_id, text, now=timezone.now(), max_tokens=assembly.recall_tokens(limits))


def _open_window(turn: Turn, run: Sequence[ModelMessage], *, shrunk_to: float = 1.0) -> ContextWindow:
    """The history is chosen for the message alone, so that a run that goes on stands behind what it began with."""
    conversation, model = turn.conversation, get_conf().chat_model
    opened = assembly.open_window(
        conversation,
        before_seq=turn.seq,
        run=run[:1],
        tools=definitions(use_memory=conversation.use_memory, save_memory=conversation.save_memory),
        model=model,
        limits=get_chat_model().limits(model),
        shrunk_to=shrunk_to,
    )
    return opened.with_messages(*run[1:])


def _make_room(progress: Progress, cancellation: Cancellation) -> None:
    """Compact before the call when the prompt is nearly full: the one case in which a turn waits for it.

    Near the threshold the provider's count decides, elsewhere the estimate. A run that goes on had room made for it
    when it began.
    """
    conf, window = get_conf(), progress.window
    if len(window.run) > 1:
        return
    share = conf.for_model(conf.chat_model).compaction_wait_share
    used, limit = window.used_tokens, window.budget.input_tokens
    if not window.cut_turns and policy.is_near(used_tokens=used, input_tokens=limit, share=share):
        used = progress.counted_tokens = get_chat_model().count_tokens(window.request())
    if policy.is_due(used_tokens=used, input_tokens=limit, share=share):
        _compact(progress, cancellation, used_tokens=used, trigger=Summary.Trigger.BEFORE_TURN)
    if progress.window.is_too_long:
        raise transcript.MessageTooLongError(
            "This message does not fit the model's window beside what must stay. Send it in parts."
        )


def _compact(
    progress: Progress,
    cancellation: Cancellation,
    *,
    used_tokens: int,
    trigger: Summary.Trigger,
    shrunk_to: float = 1.0,
) -> None:
    """Fold older turns into the summary now, and open the window anew."""
    turn = progress.turn
    progress.publish({"type": "activity", "text": "Summarising earlier messages"})
    lifecycle.compacted(
        turn.conversation,
        lambda: compaction.compact(
            turn.user_id,
            turn.conversation_id,
            trigger=trigger,
            used_tokens=used_tokens,
            shrunk_to=shrunk_to,
            cancellation=cancellation,
        ),
    )
    progress.window = _open_window(turn, _messages(runs.checkpoints(progress.run)), shrunk_to=shrunk_to)
    progress.counted_tokens = None


def _messages(recorded: Sequence[Checkpoint]) -> list[ModelMessage]:
    return [messages_json.from_json(message) for entry in recorded for message in entry.delta]


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
    errors = progress.errors_in_a_row[-EQUAL_ERRORS:]
    if len(errors) == EQUAL_ERRORS and len(set(errors)) == 1:
        name, why = errors[0]
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
        if progress.has_shrunk or progress.said != said_before:
            raise
        progress.has_shrunk = True
        told = error.details.get("prompt_tokens")
        _compact(
            progress,
            cancellation,
            used_tokens=told if isinstance(told, int) else progress.window.budget.window_tokens,
            trigger=Summary.Trigger.TOO_LONG,
            shrunk_to=_shrunk_to(progress.window, error),
        )
        progress.window = progress.window.with_fitting_run(previous=progress.chain)
        return _stream_reply(progress, cancellation)


def _shrunk_to(window: ContextWindow, refused: ContextTooLong) -> float:
    """The share of the window that there is, by what the provider told of it, else by the prompt that it refused."""
    budget = window.budget
    estimated = window.ratio * estimate_request(window.request())
    told, limit = refused.details.get("prompt_tokens"), refused.details.get("limit_tokens")
    if isinstance(told, int) and isinstance(limit, int):
        room = limit * min(estimated / max(told, 1), 1.0)  # in tokens as they are estimated here
    else:
        room = SHRUNK_TO * (estimated + budget.reserve_output_tokens)
    return min(room / budget.window_tokens, SHRUNK_TO)


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
    for call, outcome in zip(calls, outcomes, strict=True):
        if outcome.is_error:
            progress.errors_in_a_row.append((call.name, outcome.why))
        else:
            progress.errors_in_a_row.clear()
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


def _end_completed(progress: Progress, reply: ModelReply) -> None:
    claim = progress.claim
    if remark := REMARKS.get(reply.stop_reason):
        progress.say(f"\n\n{remark}" if progress.said.strip() else remark)
    if not progress.said.strip():
        _end_failed(claim, "", code="model_empty_reply", message="The model sent an empty reply. Try again.")
    elif transcript.finish_turn(
        claim,
        reply=progress.said,
        model=reply.model,
        usage=progress.usage,
        next_prompt_tokens=progress.window.next_prompt_tokens(
            queries.user_message(progress.turn).text,
            progress.said,
            reported_tokens=reply.usage.total_input_tokens,
        ),
    ):
        _close(claim, Turn.Status.COMPLETED, usage=reply.usage)


def end_cancelled(claim: Claim, said: str) -> None:
    """End a turn that someone stopped, with what was said until then."""
    if transcript.fail_turn(claim, status=Turn.Status.CANCELLED, partial_text=said):
        _close(claim, Turn.Status.CANCELLED)


def _end_failed(claim: Claim, said: str, *, code: str, message: str) -> None:
    if transcript.fail_turn(claim, status=Turn.Status.FAILED, partial_text=said, code=code, message=message):
        _close(claim, Turn.Status.FAILED)


def end_interrupted(claim: Claim, said: str) -> None:
    """End a turn whose worker was lost after its reader had seen part of the reply."""
    ended = transcript.fail_turn(
        claim,
        status=Turn.Status.INTERRUPTED,
        partial_text=said,
        code="worker_lost",
        message="The server that was writing it stopped.",
    )
    if ended:
        _close(claim, Turn.Status.INTERRUPTED)


def _close(claim: Claim, status: Turn.Status, *, usage: Usage | None = None) -> None:
    """After the commit: the run's record, the readers, and the background work."""
    ended = {Turn.Status.COMPLETED: Run.Status.COMPLETED, Turn.Status.CANCELLED: Run.Status.CANCELLED}
    scratchpad.close_run(
        claim.turn_id, attempt=claim.attempt, status=ended.get(status, Run.Status.FAILED), usage=usage
    )
    events.publish(claim.turn_id, {"type": "end", "status": status}, attempt=claim.attempt)
    nudge(AFTER_TURN, claim.turn_id)
