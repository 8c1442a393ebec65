"""How a turn ends: its row in one transaction, then the run's record, the readers and the background work."""

from chat import events
from chat.progress import Progress
from memoryapp.llm.base import ModelReply, Usage
from memoryapp.nudges import AFTER_TURN, nudge
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import Turn
from memoryapp.transcript.operations import Claim

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
        end_failed(claim, "", code="model_empty_reply", message="The model sent an empty reply. Try again.")
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


def end_failed(claim: Claim, said: str, *, code: str, message: str) -> None:
    """End a turn that cannot be answered as things stand; its person sees the message and may try again."""
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
