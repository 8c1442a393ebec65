"""When a run is getting nowhere. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

EQUAL_ERRORS = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """A call and what came of it.

    ``error``: why it failed, "" when it went well. ``is_news``: it told something new. ``round``: calls of one round
    were made before the model read what came of any of them.
    """

    action: str
    error: str
    is_news: bool
    round: int


def why_stuck(tried: Sequence[Tried], *, stall_steps: int) -> str:
    """A sentence for people when the last three calls failed alike, or the last ``stall_steps`` told nothing new.

    "" while there is progress. ``tried``: oldest first; of calls that failed alike in one round the first counts.
    """
    tried = list({(t.round, t.action, t.error) if t.error else (n,): t for n, t in enumerate(tried)}.values())
    last = tried[-EQUAL_ERRORS:]
    if len(last) == EQUAL_ERRORS and last[0].error and len({(t.action, t.error) for t in last}) == 1:
        return f"The tool {last[0].action} failed {EQUAL_ERRORS} times in the same way: {last[0].error}"
    stalled = tried[-stall_steps:]
    if len(stalled) == stall_steps and not any(t.is_news for t in stalled):
        return f"The last {stall_steps} steps told nothing new."
    return ""
