"""What a text that was made of another says that does not stand in it. Pure."""

import re
import unicodedata
from collections.abc import Iterator

_ADDRESS = re.compile(r"https?://[^\s<>\"'“”`]*[^\s<>\"'“”.,;:!?)\]}*_`]")
# Latin letters and digits only: scripts without spaces would make one word of a number and its sentence.
_MAIL = re.compile(r"(?<![A-Za-z\d_.+-])[A-Za-z\d_.+-]++@[A-Za-z\d-]+(?:\.[A-Za-z\d-]+)+")
_NUMBER = re.compile(r"[A-Za-z\d_](?:[A-Za-z\d_.,:/-]*[A-Za-z\d_])?")
_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?!\d)")
_WITH_UNIT = re.compile(
    r"(\d[\d.,:]*)(?:k|m|g|kg|mg|km|cm|mm|am|pm|kb|mb|gb|tb|ms|s|h|min|px|w|kw|kwh|v|l|ml|x|st|nd|rd|th)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\s*(\d{1,3})[.)]\s")
_QUOTATION = re.compile(r"[\"“„«]([^\"“”„«»\n]{2,})[\"“”»]|[「『]([^「」『』\n]{2,})[」』]|`([^`\n]{2,})`")
_EDGES = " .,;:!?。、"  # punctuation belongs to the sentence that quotes
_OMISSION = re.compile(r"\[?(?:…|\.\.\.)\]?")


def invents(summary: str, source: str) -> bool:
    """Whether an address, number, identifier, quotation or code span in it does not stand in the source as a whole."""
    summary, source = _comparable(_unnumbered(summary)), _comparable(source)
    if not set(_ADDRESS.findall(source)).issuperset(_ADDRESS.findall(summary)):
        return True
    mails = {mail.casefold() for mail in _MAIL.findall(source)}
    if not mails.issuperset(mail.casefold() for mail in _MAIL.findall(summary)):
        return True
    known = {*_pieces(source), *_pieces(_without_separators(source))}
    numbers = [piece for piece in _pieces(_without_separators(summary)) if any(map(str.isdigit, piece))]
    if not all(piece in known or _bare(piece) in known for piece in numbers):
        return True
    words = " ".join(source.split()).casefold()
    return not all(_is_quoted_from(words, "".join(parts)) for parts in _QUOTATION.findall(summary))


def numbers_of(text: str) -> set[str]:
    """Its numbers and identifiers with digits, without their units."""
    return {_bare(piece) for piece in _pieces(_comparable(text)) if any(map(str.isdigit, piece))}


def _comparable(text: str) -> str:
    return unicodedata.normalize("NFKC", text.replace("’", "'").replace("‘", "'"))


def _without_separators(text: str) -> str:
    """With "12,000" written "12000"."""
    return _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)


def _unnumbered(summary: str) -> str:
    """Without the numbers of numbered lists, which count 1, 2, 3; "10. March" stays."""
    lines, expected = [], 1
    for line in summary.splitlines():
        ordinal = _ORDINAL.match(line)
        number = int(ordinal[1]) if ordinal else 0
        if ordinal and number in (1, expected):
            expected = number + 1
            lines.append(line[ordinal.end() :])
        else:
            lines.append(line)
    return "\n".join(lines)


def _pieces(text: str) -> Iterator[str]:
    """Words and numbers, whole and in parts: "2026-03-01" is also "2026", "5kg" is also "5"; "1041" is not "104"."""
    for match in _NUMBER.finditer(text):
        for piece in (match.group(), *re.split(r"[.,:/-]", match.group())):
            yield piece
            yield _bare(piece)


def _bare(piece: str) -> str:
    """A number without its unit."""
    match = _WITH_UNIT.fullmatch(piece)
    return match[1] if match else piece


def _is_quoted_from(words: str, quotation: str) -> bool:
    """Whether its parts, where something was left out between them, stand in ``words`` one after the other."""
    place = 0
    for part in _OMISSION.split(quotation.casefold()):
        wanted = " ".join(part.split()).strip(_EDGES)
        found = words.find(wanted, place)
        if found < 0:
            return False
        place = found + len(wanted)
    return True
