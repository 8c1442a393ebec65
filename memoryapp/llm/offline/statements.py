"""Recognises what a person says about themself that is worth keeping, without a model.

Precision before recall: a wrong memory is worse than a missing one, so a sentence counts only when one of
the known forms matches it to the end and nothing marks it as a question, a condition, a guess, a report or
another's words.

Limits, on purpose or by nature:

* English and a few plain sentences of German, present tense mostly; irony, metaphor and "we" meaning a company
  are not understood.
* A sentence with a condition, a doubt or reported speech ("if", "maybe", "she says") is dropped whole, even
  when part of it was a plain fact. So is every message that asks for work on a text ("translate: I live in
  Paris").
* Of third parties only one's family, pets and friends by name are kept, and of them the plain facts: name, place,
  work, diet, tastes; of anybody else what is told with "remember that …".
* A capital letter tells a name or a place from an ordinary word: "I live in lisbon" is not recognised, and
  "I moved to Erlang" would be taken for a move.
* Pronouns are never resolved: "I love it" and "the second one" say nothing later and are not kept.
* Relative dates stay as they were said ("tomorrow"); ``policies.dates`` reads which day they mean.
* Messages over 4,000 characters are taken for pasted text.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from memoryapp.llm.offline.forms import FORMS
from memoryapp.llm.offline.oneself import is_of_oneself
from memoryapp.llm.offline.secrets import has_secret, names_secret
from memoryapp.llm.offline.sentences import POINTS_BACK, Sentence, sentences, without_lead
from memoryapp.llm.offline.vocabulary import (
    DIET,
    DOCUMENT,
    FRIEND,
    NAME,
    PET,
    RELATIVE,
    SICKNESS,
    TAIL,
    WHEN,
    Form,
)

PASTED_CHARS = 4_000
STATEMENT_CHARS = 300
# One run allows 16 steps by default: one message must not use them up.
MAX_STATEMENTS = 12

_QUESTION = re.compile(
    r"(?:what|who|whom|whose|where|why|how|which|do|does|did|can|could|will|would|is|are|am(?= I\b)|was|were"
    r"|has|have|should|may|shall|isn't|aren't|don't you|doesn't|didn't|any idea|tell me|guess)\b",
    re.IGNORECASE,
)
# Not learned from, but told from statements in the commonest of other languages, with or without a mark.
_QUESTION_ELSEWHERE = re.compile(
    r"¿|(?:kann|darf|soll|muss|habe|hatte|bin|war|könnte|sollte|müsste) (?:ich|wir)\b"
    r"|(?:kannst|könntest|würdest|willst|weißt|hast|bist) du\b"
    r"|(?:qué|cuál|dónde|donde|cuándo|cuando|quién|cómo|où|quand|qui|quel(?:le)?s?|comment|onde|quando|quem|qual"
    r"|dove|chi|wo|wann|wer|wie|warum|wat|waar|где|когда|кто|что|как|какой)\b|.*(?:吗|呢|什么|哪[里儿个]|谁|几[点岁]"
    r"|多少|怎么|なに|何|どこ|いつ|だれ|ですか|ますか)",
    re.IGNORECASE,
)
# The rest of the message is then material to work on, not something the person says.
_TEXT_TASK = re.compile(
    r"(?:please |can you |could you |would you |help me |i want you to |let's )*(?:translate|rewrite"
    r"|rephrase|paraphrase|proofread|summari[sz]e|correct|edit|classify|analy[sz]e|complete|continue"
    r"|explain|write|draft|compose|fix|improve|shorten|reply to|respond to|answer this|role-?play"
    r"|pretend|act as|imagine|say|repeat|spell|format|convert)\b(?! in\b)"
    r"|(?:bitte |kannst du |kannst du bitte )?(?:übersetzen?|schreibe?|formulier\w*|korrigier\w*|verbesser\w*|fasse?"
    r"|erklär\w*|wiederhole?|stell dir vor|tu so)\b",
    re.IGNORECASE,
)
# Who lives or works there does not.
_GAMES = (
    "(?:simulator|minecraft|roblox|fortnite|gta|sims|warcraft|skyrim|animal crossing|stardew valley|second life"
    "|metaverse)"
)
_DOUBT = re.compile(
    r"\b(?:if|unless|imagine|suppose|supposing|pretend|assuming|assume|let's say|wish|wished|hope"
    r"|hopefully|might|maybe|perhaps|probably|possibly|would have|could have|as though|dreamt?|dreamed"
    r"|dream|joking|kidding|just kidding|for example|for instance|e\.g\.|hypothetically|not sure|don't "
    r"know|wonder|wondering|i guess|i suppose|i think|i believe|i feel like|used to|formerly|back when"
    r"|vielleicht|wahrscheinlich|vermutlich|angeblich|eventuell|glaube? ich|denke ich|früher|falls|scherz"
    r"|when i was|as a (?:kid|child)|until recently|not true|in (?:my|this|the) (?:novel|story|game"
    r"|play|movie|film|book)|my character|(?:no longer|not|isn't) valid"
    r"|but i (?:(?:still|sometimes|often|always) )?(?:do|did|can|am|have)(?: (?:it|so|anyway|sometimes|often|still))*"
    r"(?=\W*$)"
    rf"|in (?:[\w']+ ){{0,3}}?{_GAMES})\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:says?|said|told|tells|claims?|claimed|thinks|thought|believes|wrote|writes|asked|asks"
    r"|sagte?|meinte?|behauptete?|laut|insists?|heard|according to|apparently|supposedly|allegedly|lyrics)\b",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    r"(?:please )?(?:(?:can|could|would|will) you )?(?:please )?(?:(?:remember|don['’]t forget|do not "
    r"forget|keep in mind|bear in mind|memori[sz]e|note|make a note|take note|save|store)(?: for (?:me"
    r"|later|next time))?(?:,? that\b(?!['’,]|,? (?:please|thanks|for (?:me|later|next time))\b):?|:| this:)\s*"
    r"|(?:bitte )?(?:merke? dir|vergiss nicht|denke? (?:bitte )?daran)(?: bitte)?:\s*"
    r"|(?:remember|don['’]t forget|keep in mind|note)\s+(?=(?:I|my|we|our|I['’]m|I['’]ve)\b))",
    re.IGNORECASE,
)
_POLITE = re.compile(r"(?:please )?(?:can|could|would|will) you\b", re.IGNORECASE)
_NOTHING_TO_KEEP = re.compile(
    r"(?:time|day|one|night|thing|song|to|when|how|what|who|where|why)\b", re.IGNORECASE
)
# What is said to the assistant, or of it, is no fact, unless a form knows it ("you can call me Al").
_OF_THE_ASSISTANT = re.compile(
    r"(?:^|(?:[,;:]|\b(?:and|but|or|und|aber|oder))\s+)"
    r"(?:(?:from now on|going forward|ab (?:jetzt|sofort|heute)|von nun an|künftig),? )?(?:bitte |please )?"
    r"(?:you|your|you['’]\w+|ignore|disregard|forget|override|obey|bypass|reveal|pretend"
    r"|(?:\w+(?:st|sst|ßt) )?(?:du|dir|dich)|dein\w*|sie (?:müssen|sollen|dürfen)|ignorier\w*|missacht\w*|vergiss"
    r"|vergesse|gehorch\w*|umgeh\w*|verrat\w*|enthüll\w*|tu(?:e)? so)(?![\w-])",
    re.IGNORECASE,
)
# After a statement: it was none.
_TAKEN_BACK = re.compile(
    r"\W*(?:not|nope|just kidding|kidding|jk|lol jk|joking|just joking)\W*", re.IGNORECASE
)
# A later statement about an earlier time: "In 2015 I moved to Porto" says nothing against "I live in Lisbon".
_OLD_NEWS = re.compile(r"\b(?:in|until|before|during|around) (?:19|20)\d\d\b|\bago\b", re.IGNORECASE)
_ADDITION = re.compile(r"\b(?:also|another|as well|too)\b", re.IGNORECASE)
_FILLER = re.compile(
    r"^(?:an? |the |my )?(.+?)(?: (?:very much|so much|a lot|now|nowadays|these days|any ?more|too|as "
    r"well))*$",
    re.IGNORECASE,
)
_LIST = re.compile(
    r",|\b(?:and|or|but|und|oder|aber|als|wenn|mit|than|over|when|with|because|to|in|more)\b", re.IGNORECASE
)

_PERSONAL = re.compile(r"(?:I|my|we|our|ich|mein\w*|wir|unser\w*)\b", re.IGNORECASE)
_CANNOT_HAVE = re.compile(
    rf"\b(?:{DIET}|{SICKNESS}|allerg\w*|intoleran\w*|vegetari\w*|vegan\w*|\w*allergie|\w*unverträglichkeit|diet"
    r"|darf (?:kein|nicht)\w*)\b",
    re.IGNORECASE,
)
_OF_SOMEBODY = re.compile(rf"(?:my|our) (?:\w+ )?(?:{RELATIVE}|{FRIEND})\b", re.IGNORECASE)
# Alone such a clause says nothing: "…, so I can't have one".
_OF_WHAT_PRECEDES = re.compile(
    r"\b(?:it|them|that|this|those|these|one|so|too|here|there)\W*$", re.IGNORECASE
)
_ALLERGIC_TO_IT = re.compile(
    rf"(?P<first>.+?)(?:,? and|,? but|,? so|,)(?: also)? {POINTS_BACK}(?: (?:too|both|all))*", re.IGNORECASE
)
_PETS = re.compile(rf"\b{PET}s?\b", re.IGNORECASE)
_CONTRAST = re.compile(r",? (?:and )?not (?P<wrong>[^,]+)$", re.IGNORECASE)
_HOUSEHOLD = re.compile(
    rf"((?:I|We)\b.*?\b(?:live|living|moved|relocated|based)\b.+?),? (?:together )?with "
    rf"((?:my|our) (?:{RELATIVE}|{PET}) {NAME}{TAIL})",
    re.IGNORECASE,
)
_WITH_WHOM = re.compile(rf"(?:my|our) (?:{RELATIVE}|{PET}) {NAME}", re.IGNORECASE)
_TOGETHER = re.compile(
    rf"(?P<who>I|We) live (?:together )?with (?P<whom>{_WITH_WHOM.pattern}(?:(?:, and|,| and) {_WITH_WHOM.pattern})*)"
    rf"(?: in (?P<place>{NAME}))?",
    re.IGNORECASE,
)
_ITS_NAME = re.compile(rf"(?<=\w) (?!and\b){NAME}(?=$|,| and)")
_GOES_ON = re.compile(
    r"(?P<first>(?:My|Our)\b.+?)(?:,| and| but|, and|, but) (?P<rest>(?:he|she|it|they)(?P<more>(?: |['’]).+))",
    re.IGNORECASE,
)
_SUBJECT = re.compile(rf"(?P<subject>(?:My|Our) (?:\w+ )?(?:{RELATIVE}|{PET}|{DOCUMENT}))\b", re.IGNORECASE)


_DATES = {"birthday", "anniversary"}  # keys whose value is a time


@dataclass(frozen=True, slots=True)
class Statement:
    """``quote`` is a verbatim span of the message; ``key`` is empty when several can be true at once."""

    statement: str
    kind: str
    key: str
    quote: str


@dataclass(frozen=True, slots=True)
class Findings:
    """``has_withheld``: a secret was told, or was meant to be kept; it is in no statement.

    ``more``: how many statements follow those that were asked for. ``missed``: the sentences in which the person
    speaks of themself, or asks for something to be kept, and from which nothing was. ``too_long``: the characters of
    what was to be kept and is longer than a statement may be; else 0.
    """

    statements: tuple[Statement, ...]
    has_withheld: bool
    more: int = 0
    missed: tuple[str, ...] = ()
    too_long: int = 0


def find_statements(message: str, *, at_most: int = MAX_STATEMENTS) -> Findings:
    """What ``message`` states about its author, in order, without duplicates: the first ``at_most``."""
    if len(message) > PASTED_CHARS:
        return Findings((), has_withheld=False, too_long=_too_long(message))
    found: dict[str, Statement] = {}
    missed: list[str] = []
    too_long = 0
    has_withheld = False
    for sentence, following in pairwise((*sentences(message), Sentence(""))):
        if _TEXT_TASK.match(without_lead(sentence.text)):
            return Findings((), has_withheld=False)
        is_taken_back = bool(_TAKEN_BACK.fullmatch(following.text))
        kept = [] if is_taken_back else list(_statements(sentence))
        if has_secret(sentence.text) or any(names_secret(statement.quote) for statement in kept):
            has_withheld = True
        else:
            found.update({statement.statement.casefold(): statement for statement in kept})
            too_long = max(too_long, _too_long(sentence.text))
            missed += [] if is_taken_back or _too_long(sentence.text) else _missed(sentence, kept)
    statements = tuple(found.values())
    more = max(len(statements) - at_most, 0)
    return Findings(statements[:at_most], has_withheld, more=more, missed=tuple(missed), too_long=too_long)


def is_question(sentence: str) -> bool:
    """Asked rather than told; a polite "can you remember that …?" is told."""
    text = without_lead(sentence)
    is_marked = text.rstrip(" )\"'”’").endswith(("?", "？"))
    if explicit := _EXPLICIT.match(text):
        return is_marked and not _POLITE.match(explicit[0])
    return is_marked or bool(_QUESTION.match(text) or _QUESTION_ELSEWHERE.match(text))


def _statements(sentence: Sentence) -> Iterator[Statement]:
    text = sentence.text
    if len(text) > STATEMENT_CHARS:
        return
    explicit = _EXPLICIT.match(without_lead(text))
    if explicit and not is_question(text):
        yield from _told_to_keep(explicit[0], without_lead(text)[explicit.end() :])
    elif sentence.is_own and not (is_question(text) or _is_uncertain(text)):
        if together := _together(without_lead(text)):
            yield from together
            return
        for clause in sentence.clauses():
            yield from _stated(clause)


def _too_long(text: str) -> int:
    """The characters of what asks to be kept and has more than a statement may; else 0."""
    return len(text) if len(text) > STATEMENT_CHARS and _EXPLICIT.match(without_lead(text)) else 0


def _missed(sentence: Sentence, kept: Sequence[Statement]) -> list[str]:
    """Of ``sentence`` what people may take for remembered though it is in none of ``kept``."""
    if not kept:
        return [sentence.text] if _may_seem_kept(sentence) else []
    if _EXPLICIT.match(without_lead(sentence.text)):
        return []
    quotes = [statement.quote for statement in kept]
    clauses = (_quote(clause) for clause in sentence.clauses())
    rest = (clause for clause in clauses if not any(clause in quote or quote in clause for quote in quotes))
    return [text for text in rest if _may_seem_kept(Sentence(text)) and not _OF_WHAT_PRECEDES.search(text)]


def _may_seem_kept(sentence: Sentence) -> bool:
    text = without_lead(sentence.text)
    return sentence.is_own and is_of_oneself(text) and not (is_question(text) or names_secret(text))


def _is_uncertain(text: str) -> bool:
    plain = text.replace("’", "'")
    return bool(_DOUBT.search(plain) or _REPORT.search(plain))


def _told_to_keep(told: str, rest: str) -> Iterator[Statement]:
    """What the forms know of ``rest``, and beside it what they do not; where they know nothing, the whole as it is."""
    is_vague = not told.rstrip().endswith(":") and _NOTHING_TO_KEEP.match(rest)
    if is_vague or len(rest.split()) < 2:
        return
    stated = [(clause, tuple(_stated(clause))) for clause in Sentence(rest).clauses()]
    if not any(known for _, known in stated):
        stated = [(rest, ())]
    for clause, known in stated:
        yield from known
        if not known and not _OF_THE_ASSISTANT.search(clause):
            yield _plain(clause)


def _stated(clause: str) -> Iterator[Statement]:
    """What one clause says: mostly one thing, each of several so that it can change without the others."""
    several = _allergic(clause) or _apart(clause) or _with_more(clause) or _without_contrast(clause)
    if several:
        yield from several
    elif statement := _recognised(clause):
        yield statement


def _allergic(clause: str) -> tuple[Statement, ...]:
    """ "I love cats, but I'm allergic to them": the taste, and the whole, which alone says what is not borne."""
    parts = _ALLERGIC_TO_IT.fullmatch(clause.rstrip(" .!"))
    first = _recognised(parts["first"]) if parts else None
    if first is None:
        return ()
    whole = _statement(clause, kind="constraint", key="")
    if first.kind == "preference":
        return (first, whole) if first.key else (whole,)
    return (whole,) if first.kind == "constraint" or _PETS.search(first.quote) else (first,)


def _apart(clause: str) -> tuple[Statement, ...]:
    """ "I live in Porto with my wife Ana": where, and who she is."""
    parts = _HOUSEHOLD.fullmatch(clause)
    found = [_recognised(part) for part in parts.groups()] if parts else []
    return tuple(part for part in found if part) if all(found) else ()


def _together(text: str) -> tuple[Statement, ...]:
    """ "I live with my wife Ana and our dog Bruno in Lisbon": where, or with whom, and who they are."""
    parts = _TOGETHER.fullmatch(text.rstrip(" .!"))
    found = [_recognised(who[0]) for who in _WITH_WHOM.finditer(parts["whom"])] if parts else []
    home = _recognised(_home(parts)) if parts else None
    if not (home and all(found)):
        return ()
    return replace(home, quote=_quote(text)), *(who for who in found if who)


def _home(parts: re.Match[str]) -> str:
    if parts["place"]:
        return f"{parts['who']} live in {parts['place']}"
    return f"{parts['who']} live with {_ITS_NAME.sub('', parts['whom'])}"


def _without_contrast(clause: str) -> tuple[Statement, ...]:
    """ "My dog is called Bono, not Bruno": the value alone, where it takes the place of the other."""
    contrast = _CONTRAST.search(clause)
    value = _recognised(clause[: contrast.start()]) if contrast else None
    if not (contrast and value and value.key and value.kind != "preference"):
        return ()
    kept, name, _ = value.key.rpartition(".name.")
    # It takes the place of the one that is named as wrong.
    return (replace(value, key=f"{kept}{name}{_slug(contrast['wrong'])}"),) if name else (value,)


def _with_more(clause: str) -> tuple[Statement, ...]:
    """ "My daughter's name is Clara and she is 7": her name, and her age with "my daughter" for "she".

    What goes on in a way that no form knows, or where neither has a key, stays one statement.
    """
    parts = _GOES_ON.fullmatch(clause)
    first = _recognised(parts["first"]) if parts else None
    subject = _SUBJECT.match(clause)
    if not (parts and first and subject):
        return ()
    goes_on = parts["more"].replace("’", "'").replace("'s ", " is ")
    more = _recognised(f"{subject['subject']}{goes_on}")
    if more is None or first.key == more.key:
        return (_statement(clause, kind=first.kind, key=first.key),)
    return first, replace(more, quote=_quote(parts["rest"]))


def _recognised(clause: str) -> Statement | None:
    text = " ".join(clause.replace("’", "'").split()).rstrip(" .!…,;:")
    for form in FORMS:
        if match := form.pattern.fullmatch(text):
            return _statement(clause, kind=form.kind, key=_key(form, match, text))
    return None


def _plain(clause: str) -> Statement:
    """Kept because the person asked."""
    return _statement(clause, kind=_plain_kind(clause), key="")


def _plain_kind(clause: str) -> str:
    """With a date an event; about the person what they cannot have, who somebody is, or a preference."""
    if not _PERSONAL.match(clause) or re.search(WHEN, clause, re.IGNORECASE):
        return "event"
    if _CANNOT_HAVE.search(clause):
        return "constraint"
    return "identity" if _OF_SOMEBODY.match(clause) else "preference"


def _statement(clause: str, *, kind: str, key: str) -> Statement:
    quote = _quote(clause)
    text = " ".join(quote.split())
    ending = "" if text.endswith((".", "!", "…")) else "."
    return Statement(statement=text[:1].upper() + text[1:] + ending, kind=kind, key=key, quote=quote)


def _quote(clause: str) -> str:
    return clause.strip().rstrip(" ,;:?")


def _key(form: Form, match: re.Match[str], text: str) -> str:
    if not form.key or _ADDITION.search(text) or _is_old_news(form, text):
        return ""
    groups = {name: _slug(value or "") for name, value in match.groupdict().items()}
    if not all(groups[name] for name in groups if f"{{{name}}}" in form.key):
        return ""
    return form.key.format(**groups)


def _is_old_news(form: Form, text: str) -> bool:
    return form.kind == "identity" and form.key not in _DATES and bool(_OLD_NEWS.search(text))


def _slug(value: str) -> str:
    """A key segment; nothing for a list, a comparison, more than three words, or no Latin letters."""
    filler = _FILLER.match(value.strip())
    core = filler.group(1) if filler else value
    if _LIST.search(core) or len(core.split()) > 3:
        return ""
    ascii_text = unicodedata.normalize("NFKD", core).encode("ascii", "ignore").decode().lower()
    ascii_text = ascii_text.replace("colour", "color")
    return re.sub(r"[^a-z0-9]+", "_", ascii_text).strip("_")
