"""How a model's tokenizer differs from the local estimate, learned from what its calls reported."""

from collections.abc import Sequence
from statistics import median

# Below this the fixed parts of a prompt, which are guessed, outweigh its text.
_MIN_ESTIMATED = 200
_MIN_SAMPLES = 3
# Enough that one odd prompt does not count; few enough that a change at the provider is followed within a day.
NEWEST = 21
_LOWEST, _HIGHEST = 0.5, 2.0


def learned_ratio(samples: Sequence[tuple[int, int]]) -> float:
    """What to multiply an estimate by for one model: the median of reported over estimated tokens.

    ``samples`` are (estimated, reported) input tokens of that model's calls, newest first. Calls of fewer than
    200 estimated tokens or without a report say nothing; of the others the newest 21 count. With fewer than
    three the estimate stands (1.0). Clamped to 0.5..2.0, which holds every tokenizer seen over English text:
    what lies beyond is a server that misreports, and must not make a full window look empty.
    """
    told = [
        reported / estimated
        for estimated, reported in samples
        if estimated >= _MIN_ESTIMATED and reported > 0
    ]
    if len(told) < _MIN_SAMPLES:
        return 1.0
    return min(_HIGHEST, max(_LOWEST, median(told[:NEWEST])))
