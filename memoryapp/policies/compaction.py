"""When a transcript is compacted, and where it is cut. Pure: token counts in, turn numbers out."""


def is_due(*, used_tokens: int, window_tokens: int, trigger_share: float) -> bool:
    return used_tokens >= trigger_share * window_tokens


def last_turn_to_cover(turn_seqs: list[int], *, keep_turns: int) -> int | None:
    """The last turn that goes into the summary: all but the newest ``keep_turns``; None when nothing is left to cover.

    ``turn_seqs``: the finished turns since the current summary, in order. Cuts lie between turns only.
    """
    covered = turn_seqs[:-keep_turns] if keep_turns else turn_seqs
    return covered[-1] if covered else None
