"""How sure an experience is, and when a goal resembles another. Pure; constants say where they come from.

Measured with each bundled embedder over 20 messages that resemble one of 18 goals and 50 that resemble none: a cosine
of 0.40 finds 15 or 16 of the 20 and takes 1 to 4 of the 50 for one of them. Reworded goals lie at 0.76 to 0.99, similar
tasks with another aim ("delete", "restore") at up to 0.90 (tests/embeddings/test_goals.py).
"""

import re
import unicodedata

SAME_GOAL_COSINE = 0.92
# Shared words of both, where there is no vector. Half of them is seldom reached by chance.
MIN_WORD_OVERLAP = 0.5
# "Thanks!", "ok, go on", 好的: less than a task. In bytes, because some scripts say more in a character.
TRIVIAL_BYTES = 12

HELPED_SHARE = 0.25
SEEN_AGAIN_SHARE = 0.1
NOT_HELPED_FACTOR = 0.6

_WORD = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS = 4  # shorter Latin words are mostly grammar
_STEM = 6  # letters: "convert" and "converting" are one word


def when_helped(confidence: float) -> float:
    """A quarter of the way to certainty: a person says so."""
    return confidence + (1 - confidence) * HELPED_SHARE


def when_not_helped(confidence: float) -> float:
    """A person says so, and twice is enough for what began at 0.75: 0.27 is under the kind's 0.3."""
    return confidence * NOT_HELPED_FACTOR


def when_seen_again(confidence: float) -> float:
    """A tenth of the way to certainty: another run ended well in the same way, and nobody judged it."""
    return confidence + (1 - confidence) * SEEN_AGAIN_SHARE


def is_trivial(message: str) -> bool:
    """Whether a message is too short to be a task that resembles another."""
    return len(" ".join(message.split()).encode(errors="replace")) < TRIVIAL_BYTES


def word_overlap(one: str, other: str) -> float:
    """Dice's coefficient of their content words, 0..1; for when there are no vectors."""
    first, second = _words(one), _words(other)
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def _words(text: str) -> set[str]:
    found = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return {word[:_STEM] for word in found if len(word) >= _LEAST_LETTERS or not word.isascii()}
