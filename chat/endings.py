"""How a worker lets go of a turn: it ends, waits, or is handed over.

The turn and its run end in one transaction; then come the readers and the background work.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from uuid import UUID

from chat import events
from chat.progress import Progress, usage_of
from chat.waits import LimitReachedError, MustWait
from memoryapp.llm.base import ModelReply, Usage
from memoryapp.nudges import AFTER_TURN, nudge
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Run
from memoryapp.scratchpad.operations import NOTHING_SPENT, Spending
from memoryapp.transcript import claims, queries
from memoryapp.transcript.claims import Claim
from memoryapp.transcript.models import Turn

# How a reply ended when it did not end by itself, said at its end.
CUT_SHORT = "*The reply was cut at the length limit.*"
REMARKS = {
    "max_tokens": CUT_SHORT,
    "model_context_window_exceeded": CUT_SHORT,
    "refusal": "*The model declined to answer this.*",
}


def end_completed(progress: Progress, reply: ModelReply) -> None:
    """End a turn with the reply, which says so itself when it was cut short or declined."""
    claim = progress.claim
    if remark := REMARKS.get(reply.stop_reason):
        progress.say(f"\n\n{remark}" if progress.said.strip() else remark)
    if not progress.said.strip():
        end_failed(
            claim,
            "",
            code="model_empty_reply",
            message="The model sent an empty reply. Try again.",
            progress=progress,
        )
    elif claims.finish_turn(
        claim,
        reply=progress.said,
        model=reply.model,
        usage=progress.usage,
        next_prompt_tokens=progress.window.next_prompt_tokens(
            queries.user_message(progress.turn).text,
            progress.said,
            reported_tokens=reply.usage.total_input_tokens,
        ),
        taint=progress.taint,
        also=_closing(claim, Run.Status.COMPLETED, spending=progress.spending(reply.usage)),
    ):
        _tell(claim, Turn.Status.COMPLETED)


def end_stopped_at_limit(progress: Progress, limit: LimitReachedError) -> None:
    """End a turn whose run may go no further, with what it found and what it would have done next."""
    found = pads.told(progress.pad)
    if found:
        progress.say(f"\n\n{found}" if progress.said.strip() else found)
    end_failed(progress.claim, progress.said, code=limit.code, message=str(limit), progress=progress)


def end_cancelled(claim: Claim, said: str, *, progress: Progress | None = None) -> None:
    """End a turn that someone stopped, with what was said until then."""
    _end_early(claim, said, Turn.Status.CANCELLED, progress=progress)


def end_failed(claim: Claim, said: str, *, code: str, message: str, progress: Progress | None = None) -> None:
    """End a turn that cannot be answered as things stand; its person sees the message and may try again."""
    _end_early(claim, said, Turn.Status.FAILED, code=code, message=message, progress=progress)


def end_interrupted(
    claim: Claim, said: str, *, message: str = "The server that was writing it stopped."
) -> None:
    """End a turn whose worker was lost after its reader had seen part of the reply."""
    _end_early(claim, said, Turn.Status.INTERRUPTED, code="worker_lost", message=message)


def _end_early(
    claim: Claim,
    said: str,
    status: Turn.Status,
    *,
    code: str = "",
    message: str = "",
    progress: Progress | None = None,
) -> None:
    """``progress``: of the worker that ends it; without one the run's account says what it took."""
    of_run = Run.Status.CANCELLED if status == Turn.Status.CANCELLED else Run.Status.FAILED
    if claims.fail_turn(
        claim,
        status=status,
        partial_text=said,
        code=code,
        message=message,
        usage=progress.usage if progress else _usage_of(claim),
        taint=progress.taint if progress else recorded_taint(claim),
        also=_closing(claim, of_run, spending=progress.spending() if progress else NOTHING_SPENT),
    ):
        _tell(claim, status)


def end_waiting(progress: Progress, wait: MustWait) -> None:
    """Let go of a turn until it can go on; nothing that was said is lost meanwhile.

    One that a forgetting overtook does not wait: its notes may hold just that. It is taken up anew (``open_run``).
    """
    claim = progress.claim
    if runs.is_overtaken(progress.run):
        end_handed_over(claim, progress)
        return
    _note_wait(progress, model_failures=wait.model_failures)
    until = claims.wait_turn(
        claim,
        reason=wait.reason,
        message=wait.message,
        wait_s=wait.wait_s,
        until=wait.until,
        partial_text=progress.said,
        taint=progress.taint,
    )
    if until is None:  # someone asked to stop meanwhile, or it is another worker's
        end_cancelled(claim, progress.said, progress=progress)
        return
    progress.publish(
        {"type": "waiting", "reason": wait.reason, "text": wait.message, "until": until.isoformat()}
    )
    if wait.reason == Turn.WaitReason.APPROVAL:  # the word may have come before there was anyone to wake
        go_on_when_decided(progress.turn.user_id, claim.turn_id)


def go_on_when_decided(user_id: UUID, turn_id: UUID) -> None:
    """Let a turn go on of whose calls none waits for a word any more."""
    if not runs.pending_approvals(user_id).filter(run__turn=turn_id).exists():
        with suppress(claims.TurnNotWaitingError):  # not yet, or it was stopped
            claims.end_wait(user_id, turn_id, reasons=[Turn.WaitReason.APPROVAL])


def end_handed_over(claim: Claim, progress: Progress | None) -> None:
    """Give the turn back to the others, unless its reader saw words that nobody else could say again."""
    if progress and progress.said[progress.settled_chars :].strip():
        end_interrupted(claim, progress.said, message="The server was restarted while it was written.")
        return
    if progress:
        _note_wait(progress, model_failures=progress.run.model_failures)
    said, taint = (progress.said, progress.taint) if progress else ("", None)
    is_back = claims.hand_back(claim, partial_text=said, counts=False, taint=taint)
    if not is_back:  # someone asked to stop meanwhile
        end_cancelled(claim, said, progress=progress)


def recorded_taint(claim: Claim) -> Origin | None:
    """Of what a lost worker's checkpoints say that its model had read."""
    run = _run_of(claim)
    return weakest(Origin(entry.taint) for entry in runs.checkpoints(run)) if run else None


def _usage_of(claim: Claim) -> Usage | None:
    """What a lost worker left on the run's account."""
    run = _run_of(claim)
    return usage_of(run) if run else None


def _run_of(claim: Claim) -> Run | None:
    if not queries.exists(claim.turn_id):
        return None
    turn = queries.turn_for_worker(claim.turn_id)
    return runs.run_of_turn(turn.user_id, turn.id)


def _note_wait(progress: Progress, *, model_failures: int) -> None:
    with suppress(scratchpad.FencedOffError):  # then it is for another worker to say what becomes of the turn
        scratchpad.note_wait(
            progress.run,
            model_failures=model_failures,
            active_ms=progress.active_ms,
            attempt=progress.claim.attempt,
        )


def close_stopped(turn: Turn) -> None:
    """The run of a turn that was stopped while no worker held it, within the caller's transaction."""
    scratchpad.close_run(turn.id, attempt=turn.attempt, status=Run.Status.CANCELLED)


def _closing(claim: Claim, status: Run.Status, *, spending: Spending = NOTHING_SPENT) -> Callable[[], None]:
    """The end of the run, for the transaction in which its turn ends."""
    return partial(
        scratchpad.close_run, claim.turn_id, attempt=claim.attempt, status=status, spending=spending
    )


def _tell(claim: Claim, status: Turn.Status) -> None:
    """After the commit: the readers, and the background work."""
    events.publish(claim.turn_id, {"type": "end", "status": status}, attempt=claim.attempt)
    nudge(AFTER_TURN, claim.turn_id)
