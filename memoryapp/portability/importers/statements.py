"""Free text that another product wrote about a person, as single statements."""

import re
from collections.abc import Iterator
from typing import Final

_BULLET: Final = re.compile(r"(?:[-*•‣–]|\d{1,4}[.)])\s+")
# A heading in Markdown, or a line that is nothing but bold: they name what follows and state nothing.
_HEADING: Final = re.compile(r"#{1,6}\s.*|\*\*[^*]+\*\*:?|__[^_]+__:?|[-*_=]{3,}|```.*")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+")


def statements(text: str, *, most_chars: int, by_line: bool = False) -> Iterator[str]:
    """Each bullet and each paragraph (``by_line``: each line), without its mark; a longer one in parts of sentences."""
    for paragraph in _paragraphs(text.replace("\n", "\n\n") if by_line else text):
        if len(paragraph) <= most_chars:
            yield paragraph
        else:
            yield from _parts(paragraph, most_chars)


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in (*(" ".join(line.split()) for line in text.splitlines()), ""):
        bullet = _BULLET.match(line)
        if lines and (not line or bullet or _HEADING.fullmatch(line)):
            yield " ".join(lines)
            lines = []
        if line and not _HEADING.fullmatch(line):
            lines.append(line[bullet.end() :] if bullet else line)


def _parts(paragraph: str, most_chars: int) -> Iterator[str]:
    part = ""
    for sentence in _SENTENCE_END.split(paragraph):
        if part and len(part) + 1 + len(sentence) > most_chars:
            yield part
            part = ""
        part = f"{part} {sentence}" if part else sentence
        while len(part) > most_chars:
            yield part[:most_chars].rstrip()
            part = part[most_chars:].lstrip()
    if part:
        yield part
