"""When a transcript is compacted, and where it is cut. Pure: token counts in, turn numbers out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryapp.policies.budget import newest_that_fit

NEAR_SHARE = 0.1  # of the threshold, on both sides: about how far the local estimate is off
FALLBACKS_IN_A_ROW = 3  # they open the breaker


@dataclass(frozen=True, slots=True)
class Sized:
    """A finished turn."""

    seq: int
    tokens: int


def is_due(*, used_tokens: int, input_tokens: int, share: float) -> bool:
    """Whether a prompt of ``used_tokens`` has reached its ``share`` of what a prompt may hold."""
    return used_tokens >= share * input_tokens


def is_near(*, used_tokens: int, input_tokens: int, share: float) -> bool:
    """Whether an estimate is too close to the threshold to be trusted: worth an exact count."""
    threshold = share * input_tokens
    return abs(used_tokens - threshold) <= NEAR_SHARE * threshold


def last_to_cover(
    turns: Sequence[Sized], *, keep_tokens: int, keep_turns: int, chunk_tokens: int
) -> int | None:
    """The last turn that goes into the next summary, or None when there is nothing to cover.

    ``turns``: the finished ones since the summary, in order. At most ``keep_turns`` of the newest stay verbatim, fewer
    when they exceed ``keep_tokens``, the newest one always. Of the others the oldest are covered, as many as fit
    ``chunk_tokens``, and at least one, so that a giant does not stop compaction for good.
    """
    sizes = [turn.tokens for turn in turns]
    kept = max(min(keep_turns, newest_that_fit(sizes, allowance_tokens=keep_tokens)), 1)
    foldable = turns[: max(len(turns) - kept, 0)]
    if not foldable:
        return None
    # The newest that fit of the reversed row are the oldest of the row.
    oldest_first = [turn.tokens for turn in reversed(foldable)]
    count = newest_that_fit(oldest_first, allowance_tokens=chunk_tokens)
    return foldable[max(count, 1) - 1].seq


def is_breaker_open(fallbacks: Sequence[tuple[str, datetime]], *, now: datetime, minutes: int) -> bool:
    """Whether to leave the model alone: the newest three summaries all fell back, the last within ``minutes``.

    ``fallbacks``: of each summary why the model's was not used ("" when it was) and when it was made, newest first.
    """
    newest = fallbacks[:FALLBACKS_IN_A_ROW]
    if len(newest) < FALLBACKS_IN_A_ROW or not all(reason for reason, _ in newest):
        return False
    return now - newest[0][1] < timedelta(minutes=minutes)
