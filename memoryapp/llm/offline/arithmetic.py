"""Finds a sum in a sentence and writes it in the calculator's syntax (``+ - * / **`` and brackets)."""

import re
from dataclasses import dataclass

_ASKING = re.compile(
    r"(?:please )?(?:(?:can|could) you )?(?:please )?(?:what(?:['’]?s| is| are| does| would)|how much "
    r"(?:is|are)|how many is"
    r"|was (?:ist|sind|ergibt|macht)|wie ?viel (?:ist|sind)|rechne"
    r"|calculate|compute|work out|evaluate|solve|tell me|and)\b:?\s*(?:the (?:result|value|sum|product) "
    r"of )?",
    re.IGNORECASE,
)
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_WORDS = (
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(rf"({_NUMBER})\s*(?:%|percent|per cent)\s+of\b", re.IGNORECASE), r"\1/100*"),
    (re.compile(rf"\bhalf of\s+(?={_NUMBER})", re.IGNORECASE), "0.5*"),
    (re.compile(r"\bsquared\b", re.IGNORECASE), "**2"),
    (re.compile(r"\bcubed\b", re.IGNORECASE), "**3"),
    (re.compile(r"\bto the power of\b|\^", re.IGNORECASE), "**"),
    (re.compile(r"\b(?:multiplied by|times)\b|[×·]|(?<=[\d)\s])x(?=[\s\d(])", re.IGNORECASE), "*"),
    (re.compile(r"\bdivided by\b|[÷:]", re.IGNORECASE), "/"),
    (re.compile(r"\bplus\b", re.IGNORECASE), "+"),
    (re.compile(r"\bminus\b|[−–]", re.IGNORECASE), "-"),
)
_SUM = re.compile(
    rf"[-(]*{_NUMBER}\)*(?:(?:\*\*|[-+*/])[-(]*{_NUMBER}\)*)+",
)
_LONGEST = 200
# Unasked, "2026-11-30", "24/7" and "555-1234" are no sums; "17*23", "2 + 2" and "10 - 4 =" are.
_PLAIN_SUM = re.compile(r"[*+^×÷]|% of|\s[-/−–]\s|=\s*$")


@dataclass(frozen=True, slots=True)
class Sum:
    """``shown`` as the person wrote it, ``expression`` as the calculator wants it."""

    shown: str
    expression: str


def find_sum(sentence: str) -> Sum | None:
    """The sum that ``sentence`` asks for, when it asks for nothing else."""
    asked = _ASKING.match(sentence)
    shown = sentence[asked.end() if asked else 0 :].strip(" ?.!")
    if len(shown) > _LONGEST or (not asked and not _PLAIN_SUM.search(shown)):
        return None
    shown = shown.rstrip("= ")
    expression = shown
    for pattern, symbol in _WORDS:
        expression = pattern.sub(symbol, expression)
    if re.search(r"[0-9]\s+[0-9]", expression):  # "12 34" is not 1234
        return None
    expression = re.sub(r"\s+", "", expression)
    if not _SUM.fullmatch(expression) or expression.count("(") != expression.count(")"):
        return None
    return Sum(shown=re.sub(r"\s*\*\s*", " × ", shown[:1].upper() + shown[1:]), expression=expression)
