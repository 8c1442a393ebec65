"""What every model is given of a text."""

from typing import Final

# About 500 tokens: MiniLM reads 256, USE averages (a long text blurs), and 128 such texts fit one call to any
# service.
MAX_CHARS: Final = 2_000


def readable(text: str) -> str:
    """The text without what no model reads (NUL, lone surrogates), cut to ``MAX_CHARS``."""
    return text[:MAX_CHARS].replace("\0", "").encode("utf-8", "ignore").decode("utf-8")
