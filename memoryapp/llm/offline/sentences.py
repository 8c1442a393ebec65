"""Cuts a message into sentences and clauses without ever changing a character, so that quotes stay verbatim.

Quoted, pasted, forwarded and code text is not the user speaking: it is blotted out first, at equal length.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memoryapp.llm.offline.vocabulary import GERMAN_MONTH, ON_A_DAY

BLOT = "\ufffc"

_NOT_THE_USER = re.compile(
    r"""```.*?(?:```|\Z)                                             # code
    |"{3}.*?(?:"{3}|\Z)                                      # a text between lines of three quotation marks
    |`[^`\n]+`
    |^[ \t]*>[^\n]*                                                  # a quoted line
    |^(?:From|Sent|To|Cc|Subject):\ .*\Z                             # a pasted mail, to its end
    |^Dear\ (?!Strata|assistant|AI\b)[^\n,:!?]{1,60},.*\Z            # a letter, to its end
    |^(?:-{2,}\ ?(?:Original|Forwarded)|Begin\ forwarded|On\ [^\n]{4,80}\ wrote:).*\Z
    # Bounded: of many that are never closed, none may search the whole message for its end.
    |"[^"\n]{1,600}"|“[^”\n]{1,600}”|„[^“”\n]{1,600}[“”]|«[^»\n]{1,600}»
    |(?<!\w)['‘](?=\w)[^\n]{0,600}?(?<=[\w.!?,])['’](?!\w)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_BOUNDARY = re.compile(r"(?<=[.!?…])[)\]]*[ \t]+|(?<=[。？！])|;[ \t]+|\s*\n\s*")
_NEVER_LAST = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|vs|approx|hr|fr|nr|ca|bzw|evtl|ggf|inkl|geb|e\.\s?g|i\.\s?e|z\.\s?b|d\.\s?h|u\.\s?a"
    r"|o\.\s?ä)\.\Z"
    # Of "z. B." the first half, and the German "am 1. März", "mein 2. Kind".
    r"|\b(?-i:[zduo])\.(?=\Z)|\b(?:am|vom|zum|bis|ab|im|de[rnms]|das|die|mein\w*|jede\w*|und|oder) \d{1,2}\.\Z",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\b\d{1,2}\.\Z")
_DATED = re.compile(GERMAN_MONTH, re.IGNORECASE)
_DOTTED = re.compile(r"\b[a-z]\.[a-z]\.\Z", re.IGNORECASE)  # a.m., p.m.: may also end a sentence
_BULLET = re.compile(rf"\s*(?:[-*•]|\d{{1,2}}[.)](?!\s+{GERMAN_MONTH}))\s+", re.IGNORECASE)
_LOOKED_AT = 20  # characters on either side of a full stop
_CORRECTION = (
    r"(?:that(?:['’]s| is| was) (?:wrong|incorrect|not (?:right|correct|true any ?more)|a mistake)|I was wrong|I meant"
    r"|you(?:['’]re| are) wrong|correction)"
)
_PUTS_RIGHT = re.compile(rf"(?:(?:no|nope|sorry|oh|actually)[,.!]? )*{_CORRECTION}\b", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| all| strata)?|hallo|guten (?:tag|morgen|abend)"
    r"|übrigens|ja|nein|und|aber|bitte|danke|by the way|btw|actually"
    r"|well|so|also|oh|ok|okay|yes|yep|yeah|no|nope|fyi|just so you know|for your information|for the record"
    r"|as I (?:said|told you|mentioned)(?: before| already| earlier)?|and|but|please|now|honestly"
    rf"|{_CORRECTION}|to be honest|in fact|sorry|thanks|thank you|great|look|listen)\b[,:!]?\s+",
    re.IGNORECASE,
)
# "…, I am allergic to them" says nothing without what stands before it.
POINTS_BACK = r"I(?: am|['’]m) (?:\w+ )?(?:allergic|intolerant) to (?:it|them|that|those|these|both)\b"
# A clause ends where the user begins a new one about themself: "…, and I live in Porto".
_CLAUSE = re.compile(
    r"(?:\s*,\s*(?:and |but |so |plus |und |aber )?|\s+(?:and|but|plus|und|aber)\s+)(?:also\s+)?"
    r"(?=(?:I|I['’](?:m|ve)|my|we|our|ich|meine?|wir|unsere?|(?:you can )?call me"
    rf"|{ON_A_DAY},? (?:I|I['’]m|we|we['’]re))\b)(?!{POINTS_BACK})",
    re.IGNORECASE,
)
# Cutting a sentence that opens with its condition would lose the condition.
_CONDITION = re.compile(
    r"(?:when|whenever|while|before|after|until|since|because|although|though|during|on|in|at|for|every"
    r"|as)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """``text`` is a verbatim span of the message; ``is_own`` is false when part was quoted or pasted."""

    text: str
    is_own: bool = True

    def clauses(self) -> Iterator[str]:
        """Verbatim parts of the sentence that each say one thing."""
        text = without_lead(self.text)
        if _CONDITION.match(text):
            yield text
            return
        start = 0
        for cut in _CLAUSE.finditer(text):
            yield text[start : cut.start()]
            start = cut.end()
        yield text[start:]


def sentences(message: str) -> Iterator[Sentence]:
    """The message's sentences in order; one that is quoted or pasted from end to end is left out."""
    masked = own_words(message)
    start = 0
    for end, next_start in _cuts(masked):
        bullet = _BULLET.match(masked, start, end)
        start = bullet.end() if bullet else start
        text = message[start:end].strip()
        visible = masked[start:end]
        if text and visible.strip(BLOT + " \t\n"):
            yield Sentence(text, is_own=BLOT not in visible)
        start = next_start


def puts_right(message: str) -> bool:
    """Whether it begins by saying that something was wrong."""
    return bool(_PUTS_RIGHT.match(message.strip()))


def own_words(message: str) -> str:
    """The message with what is quoted, pasted, forwarded or code in it blotted out, at equal length."""
    return _NOT_THE_USER.sub(_blot, message)


def without_lead(text: str) -> str:
    """``text`` without openers such as "By the way," that belong to no statement."""
    while lead := _LEAD.match(text):
        text = text[lead.end() :]
    return text


def _blot(quoted: re.Match[str]) -> str:
    # One or two quoted words are a name or an emphasis, not somebody else's sentence.
    text = quoted.group()
    is_name = text[0] in "\"“„«'‘" and len(text.split()) <= 2
    return text if is_name else BLOT * len(text)


def _cuts(masked: str) -> Iterator[tuple[int, int]]:
    for boundary in _BOUNDARY.finditer(masked):
        start, end = boundary.span()
        if "\n" in boundary.group() or not _is_abbreviation(
            masked[max(0, start - _LOOKED_AT) : start], masked[end : end + _LOOKED_AT]
        ):
            yield start, end
    yield len(masked), len(masked)


def _is_abbreviation(before: str, after: str) -> bool:
    if _NEVER_LAST.search(before) or (_NUMBERED.search(before) and _DATED.match(after)):
        return True
    return bool(_DOTTED.search(before)) and not after[:1].isupper()
