"""Recognises what a person says about themself that is worth keeping, in English, without a model.

Precision before recall: a wrong memory is worse than a missing one, so a sentence counts only when one of
the known forms matches it to the end and nothing marks it as a question, a condition, a guess, a report or
another's words.

Limits, on purpose or by nature:

* English only, present tense mostly; irony, metaphor and "we" meaning a company are not understood.
* A sentence with a condition, a doubt or reported speech ("if", "maybe", "she says") is dropped whole, even
  when part of it was a plain fact. So is every message that asks for work on a text ("translate: I live in
  Paris").
* Of third parties only one's family and pets are kept, and of them the plain facts: name, place, work, diet,
  tastes; of anybody else what is told with "remember that …".
* A capital letter tells a name or a place from an ordinary word: "I live in lisbon" is not recognised, and
  "I moved to Erlang" would be taken for a move.
* Pronouns are never resolved: "I love it" and "the second one" say nothing later and are not kept.
* Relative dates stay as they were said ("tomorrow"); ``policies.dates`` reads which day they mean.
* Messages over 4,000 characters are taken for pasted text.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from memoryapp.llm.offline.forms import FORMS
from memoryapp.llm.offline.secrets import has_secret, names_secret
from memoryapp.llm.offline.sentences import Sentence, sentences, without_lead
from memoryapp.llm.offline.vocabulary import WHEN, Form

PASTED_CHARS = 4_000
_SENTENCE_CHARS = 300
# One run allows 16 steps by default: one message must not use them up.
MAX_STATEMENTS = 12

_QUESTION = re.compile(
    r"(?:what|who|whom|whose|where|why|how|which|do|does|did|can|could|will|would|is|are|am|was|were"
    r"|has|have|should|may|shall|isn't|aren't|don't you|doesn't|didn't|any idea|tell me|guess)\b",
    re.IGNORECASE,
)
# The rest of the message is then material to work on, not something the person says.
_TEXT_TASK = re.compile(
    r"(?:please |can you |could you |would you |help me |i want you to |let's )*(?:translate|rewrite"
    r"|rephrase|paraphrase|proofread|summari[sz]e|correct|edit|classify|analy[sz]e|complete|continue"
    r"|explain|write|draft|compose|fix|improve|shorten|reply to|respond to|answer this|role-?play"
    r"|pretend|act as|imagine|say|repeat|spell|format|convert)\b(?! in\b)",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:if|unless|imagine|suppose|supposing|pretend|assuming|assume|let's say|wish|wished|hope"
    r"|hopefully|might|maybe|perhaps|probably|possibly|would have|could have|as though|dreamt?|dreamed"
    r"|dream|joking|kidding|just kidding|for example|for instance|e\.g\.|hypothetically|not sure|don't "
    r"know|wonder|wondering|i guess|i suppose|i think|i believe|i feel like|used to|formerly|back when"
    r"|when i was|as a (?:kid|child)|until recently|not true|in (?:my|this|the) (?:novel|story|game"
    r"|play|movie|film|book)|my character)\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:says?|said|told|tells|claims?|claimed|thinks|thought|believes|wrote|writes|asked|asks"
    r"|insists?|heard|according to|apparently|supposedly|allegedly|lyrics)\b",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    r"(?:please )?(?:(?:can|could|would|will) you )?(?:please )?(?:(?:remember|don['’]t forget|do not "
    r"forget|keep in mind|bear in mind|memori[sz]e|note|make a note|take note|save|store)(?: for (?:me"
    r"|later|next time))?(?:,? that|:| this:| that:)\s+|(?:remember|don['’]t forget|keep in mind"
    r"|note)\s+(?=(?:I|my|we|our|I['’]m|I['’]ve)\b))",
    re.IGNORECASE,
)
_NOTHING_TO_KEEP = re.compile(
    r"(?:time|day|one|night|thing|song|to|when|how|what|who|where|why)\b", re.IGNORECASE
)
_ADDITION = re.compile(r"\b(?:also|another|as well|too)\b", re.IGNORECASE)
_FILLER = re.compile(
    r"^(?:an? |the |my )?(.+?)(?: (?:very much|so much|a lot|now|nowadays|these days|any ?more|too|as "
    r"well))*$",
    re.IGNORECASE,
)
_LIST = re.compile(r",|\b(?:and|or|but|than|over|when|with|because|to|in|more)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """``quote`` is a verbatim span of the message; ``key`` is empty when several can be true at once."""

    statement: str
    kind: str
    key: str
    quote: str


@dataclass(frozen=True, slots=True)
class Findings:
    """``has_withheld``: a secret was told, or was meant to be kept; it is in no statement."""

    statements: tuple[Statement, ...]
    has_withheld: bool


def find_statements(message: str) -> Findings:
    """What ``message`` states about its author, in order, without duplicates."""
    if len(message) > PASTED_CHARS:
        return Findings((), has_withheld=False)
    found: dict[str, Statement] = {}
    has_withheld = False
    for sentence in sentences(message):
        if _TEXT_TASK.match(without_lead(sentence.text)):
            return Findings((), has_withheld=False)
        kept = list(_statements(sentence))
        if has_secret(sentence.text) or any(names_secret(statement.quote) for statement in kept):
            has_withheld = True
        else:
            found.update({statement.statement.casefold(): statement for statement in kept})
    return Findings(tuple(found.values())[:MAX_STATEMENTS], has_withheld)


def is_question(sentence: str) -> bool:
    """Asked rather than told; a polite "can you remember that …?" is told."""
    text = without_lead(sentence)
    if _EXPLICIT.match(text):
        return False
    return text.rstrip(" )\"'”’").endswith(("?", "？")) or bool(_QUESTION.match(text))


def _statements(sentence: Sentence) -> Iterator[Statement]:
    text = sentence.text
    if len(text) > _SENTENCE_CHARS:
        return
    explicit = _EXPLICIT.match(without_lead(text))
    if explicit:
        yield from _told_to_keep(without_lead(text)[explicit.end() :])
    elif sentence.is_own and not (is_question(text) or _is_uncertain(text)):
        for clause in sentence.clauses():
            if statement := _recognised(clause):
                yield statement


def _is_uncertain(text: str) -> bool:
    plain = text.replace("’", "'")
    return bool(_DOUBT.search(plain) or _REPORT.search(plain))


def _told_to_keep(rest: str) -> Iterator[Statement]:
    if _NOTHING_TO_KEEP.match(rest) or len(rest.split()) < 2:
        return
    for clause in Sentence(rest).clauses():
        yield _recognised(clause) or _plain(clause)


def _recognised(clause: str) -> Statement | None:
    text = " ".join(clause.replace("’", "'").split()).rstrip(" .!…,;:")
    for form in FORMS:
        if match := form.pattern.fullmatch(text):
            return _statement(clause, kind=form.kind, key=_key(form, match, text))
    return None


def _plain(clause: str) -> Statement:
    """Kept because the person asked: with a date an event, about themself a preference."""
    is_personal = re.match(r"(?:I|my|we|our)\b", clause, re.IGNORECASE)
    is_dated = re.search(WHEN, clause, re.IGNORECASE)
    return _statement(clause, kind="preference" if is_personal and not is_dated else "event", key="")


def _statement(clause: str, *, kind: str, key: str) -> Statement:
    quote = clause.strip().rstrip(" ,;:?")
    text = " ".join(quote.split())
    ending = "" if text.endswith((".", "!", "…")) else "."
    return Statement(statement=text[:1].upper() + text[1:] + ending, kind=kind, key=key, quote=quote)


def _key(form: Form, match: re.Match[str], text: str) -> str:
    if not form.key or _ADDITION.search(text):
        return ""
    groups = {name: _slug(value or "") for name, value in match.groupdict().items()}
    if not all(groups[name] for name in groups if f"{{{name}}}" in form.key):
        return ""
    return form.key.format(**groups)


def _slug(value: str) -> str:
    """A key segment; nothing for a list, a comparison, more than three words, or no Latin letters."""
    filler = _FILLER.match(value.strip())
    core = filler.group(1) if filler else value
    if _LIST.search(core) or len(core.split()) > 3:
        return ""
    ascii_text = unicodedata.normalize("NFKD", core).encode("ascii", "ignore").decode().lower()
    ascii_text = ascii_text.replace("colour", "color")
    return re.sub(r"[^a-z0-9]+", "_", ascii_text).strip("_")
