"""When a conversation is read for what is worth keeping, and when again after that went wrong. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

# A talk that never pauses is read in the middle all the same.
LONGEST_WAIT = timedelta(minutes=3)
# After a failure: a minute, two, four …; a provider that is down for a day is asked four times more.
FIRST_RETRY = timedelta(minutes=1)
LAST_RETRY = timedelta(hours=6)
# An answer that could not be read so many times in a row will not be read the next time.
UNREADABLE_IN_A_ROW = 4


def is_due(
    *, first_ended_at: datetime, last_ended_at: datetime, is_live: bool, now: datetime, quiet_s: float
) -> bool:
    """Once it has been quiet for ``quiet_s``, or something has waited for long.

    ``first_ended_at``, ``last_ended_at``: when the turns of the oldest and of the newest unread message ended.
    ``is_live``: another turn is under way; its end will ask again.
    """
    is_quiet = not is_live and now - last_ended_at >= timedelta(seconds=quiet_s)
    return is_quiet or now - first_ended_at >= LONGEST_WAIT


def retry_at(outcomes: Sequence[tuple[str, datetime]]) -> datetime | None:
    """When to try again; None: at once.

    ``outcomes``: of each run its error code ("" when it went well) and when it ended, newest first.
    """
    failures = list(takewhile(lambda outcome: outcome[0], outcomes))
    if not failures:
        return None
    doublings = min(len(failures) - 1, 12)  # past the longest wait by far, and no overflow
    return failures[0][1] + min(FIRST_RETRY * (1 << doublings), LAST_RETRY)


def gives_up_on_the_model(outcomes: Sequence[tuple[str, datetime]], *, unreadable: str) -> bool:
    """Whether the newest runs all failed by an answer that could not be read: then rules have to do."""
    newest = [code for code, _ in outcomes[:UNREADABLE_IN_A_ROW]]
    return newest == [unreadable] * UNREADABLE_IN_A_ROW
