"""What is asked, and which of the recalled memories answer it.

Words decide together with recall's own confidence: a memory that is in every prompt (a name, an allergy) is
not quoted unless the question is about it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoryapp.llm.offline.arithmetic import Sum, find_sum
from memoryapp.llm.offline.foreign import is_foreign
from memoryapp.llm.offline.prompt import Recalled
from memoryapp.llm.offline.secrets import has_secret
from memoryapp.llm.offline.sentences import sentences, without_lead
from memoryapp.llm.offline.statements import PASTED_CHARS, is_question
from memoryapp.llm.offline.vocabulary import FORBIDDEN

_NONE = frozenset[str]()
ANSWERS_SHOWN = 5
_GUESSES_SHOWN = 3
OVERVIEW_SHOWN = 20  # as many as its tool lists at once
_QUESTIONS_PER_MESSAGE = 3
# Recall's confidence is calibrated: from here on an item is more likely an answer than not.
_CONFIDENT = 0.5
# Half of the words is not enough ("my dog's name" against "My name is Ana"); with some confidence a third is.
_ENOUGH = 0.6
_SAME_TOPIC = 0.8  # a related word counts a little less than the same word

_TIME = re.compile(
    r"(?:what(?:['’]s|s| is)?|which|tell me|do you know|can you tell me|could you tell "
    r"me)\b.*?\b(?:(?:the )?(?:current )?(?:time|date|day|year|month)(?: of the week)?(?: is it| is "
    r"today| it is)?(?: now| today| right now| please)*|today['’]?s date|day today|time now)\s*[?.!]*",
    re.IGNORECASE,
)
_TIME_IN_GERMAN = re.compile(
    r"(?:wie (?:spät ist es|viel uhr ist es)|welche[rs]? (?:tag|datum) (?:ist|haben wir)|der wievielte ist)"
    r"(?: jetzt| gerade| heute)*\W*",
    re.IGNORECASE,
)
_TIME_OF_SOMETHING = re.compile(
    r"\b(?:my|our|zone|i|we|of (?!the week)|for|next|until|birthday)\b", re.IGNORECASE
)
_OVERVIEW = re.compile(
    r"(?:what|tell me (?:what|everything)|show me what|list (?:what|everything)|do) .*\b(?:(?:know"
    r"|remember|recall|saved|stored|noted|learne?[dt]?) (?:about|of) (?:me|us)|you(?: have)? (?:remember|know"
    r"|saved|stored|noted)|memories|facts).*"
    r"|(?:who am i(?: to you| for you)?|(?:do|did) you (?:know|remember) (?:me|who i am)"
    r"|tell me (?:who i am|about (?:me|myself))|was (?:weißt|weisst) du (?:alles )?(?:über|von) mi[rc]h?"
    r"|was hast du dir (?:alles )?gemerkt|wer bin ich)[\s?.!]*$",
    re.IGNORECASE,
)
_NARROWED = re.compile(r"\b(?:about (?!me\b|us\b|myself\b)|my|our)\b", re.IGNORECASE)
_ASKS_TO_TELL = re.compile(
    r"(?:do you (?:know|remember)|remind me|tell me (?:what|when|where|who|which|how|my|about))\b",
    re.IGNORECASE,
)


_FOR_A_LIVING = re.compile(r"\bfor a living\b")
# The month stays a word.
_MAY = re.compile(r"\b(?:may|might|must)\b(?= (?:not|never|i|we|my)\b)|(?<=\bi )(?:may|might|must)\b")
_ASKS_FORBIDDEN = re.compile(
    r"\b(?:(?:may|can|must|should|am|do) (?:I|we) (?:not|never)|not (?:allowed|supposed)|forbidden|avoid"
    r"|darf ich (?:nicht|kein))\b|n['’]t (?:I|we)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:not|never|no|cannot|avoid|allerg\w+|intoleran\w+|vegan|vegetarian|forbidden|kein\w*|nicht|nie)\b"
    r"|\bonly (?:eat|drink)s? (?!at\b|with\b|in\b)|n['’]t\b",
    re.IGNORECASE,
)
# "What am I not allowed to do?" asks for all of these.
_IS_FORBIDDEN = re.compile(rf"I{FORBIDDEN}\b|ich darf (?:nicht|kein)", re.IGNORECASE)
# "My daughter is 7" says how old she is; "my shoe size is 42" does not.
_AGE = re.compile(r"\b(?:I am|I['’]m|s?he is|s?he['’]s) \d{1,3}\b(?! \w)", re.IGNORECASE)
_AGE_OF_SOMEBODY = re.compile(r"\b(?:is|turned) \d{1,3}\W*$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP = _words(
    "a about again all also am an and any are as at be been before but by can could did do does doing "
    "done down for from had has have having how i if in into is it its just know let list lot many me "
    "mine more much my myself no not of on or our out over please recall remember remind said say see "
    "should show so some tell than that the their them then there these they thing things this those to "
    "told too up us very was we were what when where which who whom whose why will with would you your "
    "allowed permitted supposed s t d m ve re ll currently ever exactly yet still day days today now often "
    # What people keep in German is found by the commonest of its words.
    "ich du dass mich mir meinen meinem meiner meines über "
    "darf kann muss soll nicht kein keine keinen keiner ein eine einen der das mein meine wo wie wann "
    "wer bin ist habe hat hast was welche welcher welches"
)
# They name the relation, not the topic: enough only for a question that has nothing else ("what do I like?").
_GENERIC = _words(
    "like love enjoy hate dislike prefer want need go come get make use usually always never only favourite "
    "favorite avoid"
)
_EVERYTHING = _words("everything anything something memory memories fact facts last ago")
# Too wide to be a topic where anything else is asked: "what food could make me ill?".
_VAGUE = _words("food dish meal thing person kind sort type good bad best better current new")
_TOPICS = (
    "live city town home address moved move based reside country where place house flat household",
    (
        "work job employer occupation profession company career employed office engineer teacher nurse "
        "doctor developer pay salary wage earn firm retired"
    ),
    "name called call nickname",
    "birthday born birth old age",
    "diet eat vegetarian vegan pescatarian allergic allergy allergies intolerant avoid",
    "allergic allergy allergies intolerant ill sick unwell react reaction poison harm",
    "drink coffee tea beverage",
    "contact reach email mail phone text message",
    "order ticket invoice booking reservation parcel",
    "decide decided decision agreed chose chosen choice",
    "appointment meeting event plan plans planned happening",
    "hobby hobbies learning interest interested",
    "hate dislike",
    "car vehicle drive auto",
    "bike bicycle cycle cycling",
)
_RELATIONS = (
    "dog puppy pet pets",
    "cat kitten pet pets",
    "rabbit hamster parrot horse bird pet pets",
    "wife spouse married partner husband fiancee fiance girlfriend boyfriend",
    "mother mum mom parent parents",
    "father dad parent parents",
    "sister sibling siblings",
    "brother sibling siblings",
    "son boy kid kids child children baby",
    "daughter girl kid kids child children baby",
    "boss landlord landlady roommate flatmate cousin aunt uncle niece nephew friend colleague",
)
_IRREGULAR = {
    "": "", "drank": "drink", "drunk": "drink", "ate": "eat", "eaten": "eat", "flew": "fly",
    "bought": "buy", "chose": "choose", "chosen": "choose", "went": "go", "met": "meet",
    "children": "child", "wives": "wife", "colour": "color", "favourite": "favorite", "spoke": "speak",
    "spoken": "speak", "made": "make", "took": "take", "wore": "wear",
    "essen": "eat", "esse": "eat", "trinken": "drink", "trinke": "drink", "wohnen": "live", "wohne": "live",
    "heißen": "name", "heiße": "name", "heißt": "name", "isst": "eat", "trinkt": "drink", "wohnt": "live",
    "arbeitet": "work", "bruder": "brother", "schwester": "sister", "frau": "wife", "mann": "husband",
    "mutter": "mother", "vater": "father", "sohn": "son", "tochter": "daughter",
    "arbeiten": "work", "arbeite": "work", "beruf": "job", "hund": "dog",
    "katze": "cat", "geburtstag": "birthday", "allergisch": "allergic", "allergie": "allergy",
}  # fmt: skip
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ied", "y"), ("ed", ""), ("s", ""))


@dataclass(frozen=True, slots=True)
class Questions:
    """Everything one message asks; ``about_memory`` keeps the sentences as they were typed."""

    asks_time: bool
    sums: tuple[Sum, ...]
    asks_overview: bool
    about_memory: tuple[str, ...]


def find_questions(message: str) -> Questions:
    """What ``message`` asks; a sentence with a secret in it is left alone, lest it travel in a query."""
    asked: list[str] = []
    sums: list[Sum] = []
    asks_time = asks_overview = False
    for sentence in sentences(message[:PASTED_CHARS]):
        text = without_lead(sentence.text)
        if has_secret(text):
            continue
        if a_sum := find_sum(text):
            sums.append(a_sum)
        elif not (is_question(text) or _ASKS_TO_TELL.match(text)):
            continue
        elif _asks_time(text):
            asks_time = True
        elif _OVERVIEW.match(text) and not _NARROWED.search(text):
            asks_overview = True
        else:
            asked.append(text)
    return Questions(
        asks_time, tuple(sums[:_QUESTIONS_PER_MESSAGE]), asks_overview, tuple(asked[:_QUESTIONS_PER_MESSAGE])
    )


def _asks_time(text: str) -> bool:
    return bool(
        (_TIME.fullmatch(text) and not _TIME_OF_SOMETHING.search(text)) or _TIME_IN_GERMAN.fullmatch(text)
    )


def pertinent(question: str, items: Sequence[Recalled]) -> list[Recalled]:
    """The items that answer ``question``, best first, at most ``ANSWERS_SHOWN``; usually none or one."""
    asked = _Words.of(question)
    if not asked.stems and _ASKS_FORBIDDEN.search(question):
        return _forbidden(items)[:ANSWERS_SHOWN]
    scored = [(score, item) for item in _evidence(items) if (score := _score(asked, item)) > 0]
    scored.sort(key=lambda pair: -pair[0])
    best, wanted = (scored[0][0], _covered(asked, scored[0][1])) if scored else (0.0, 0.0)
    if _ASKS_FORBIDDEN.search(question):
        scored = [pair for pair in scored if _FORBIDS.search(pair[1].statement)] or scored
        wanted = _SAME_TOPIC  # an allergy says it as well as "I can't eat"
    close = [
        item
        for score, item in scored
        # The words say as much, however sure recall is of the other.
        if score >= 0.75 * best or _covered(asked, item) >= max(wanted, _SAME_TOPIC)
    ]
    return close[:ANSWERS_SHOWN]


def _forbidden(items: Sequence[Recalled]) -> list[Recalled]:
    return [item for item in _evidence(items) if _IS_FORBIDDEN.match(item.statement.replace("’", "'"))]


def closest(question: str, items: Sequence[Recalled]) -> list[Recalled]:
    """What may answer ``question`` though few words say so, best first: recall found it for this very message.

    What is in every prompt was not found for it, and what is about another person or number is no answer; nor is
    what shares no word and no topic, where the lists of words know both languages.
    """
    asked = _Words.of(question)
    found = [
        item
        for item in _evidence(items)
        if item.confidence is not None
        and not _is_of_another(asked, item)
        and (_covered(asked, item) > 0 or is_foreign(question) or is_foreign(item.statement))
    ]
    return sorted(found, key=lambda item: -(item.confidence or 0.0))[:_GUESSES_SHOWN]


def key_word(text: str) -> str:
    """The longest word that says what ``text`` is about; "" where none does, or none can stand in an address."""
    words = re.findall(r"[a-z]+", text.lower(), re.ASCII) if text.isascii() else []
    return max((word for word in words if word not in _STOP | _GENERIC | _EVERYTHING), key=len, default="")


def _evidence(items: Sequence[Recalled]) -> list[Recalled]:
    """An earlier question or an earlier reply is no evidence of what it is about."""
    return [item for item in items if item.said_by != "assistant" and not is_question(item.statement)]


@dataclass(frozen=True, slots=True)
class _Words:
    stems: frozenset[str]
    topics: frozenset[str]
    relations: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "_Words":
        words = [
            word
            for word in re.findall(r"\w+", _MAY.sub("", _FOR_A_LIVING.sub("job", text.lower())))
            if word not in _STOP
        ]
        stems = frozenset(_stem(word) for word in words)
        numbers = frozenset(word for word in words if any(character.isdigit() for character in word))
        relations = _groups(stems, _RELATION_STEMS)
        topics = _groups(stems, _TOPIC_STEMS)
        if _AGE.search(text) or (relations and _AGE_OF_SOMEBODY.search(text)):
            topics |= _TOPIC_STEMS[_stem("age")]
        return cls(stems, topics, relations, numbers)


def _score(asked: _Words, item: Recalled) -> float:
    """0 when the item does not answer; else coverage and confidence together, about 0..2."""
    told = _Words.of(item.statement)
    # 1041 is not 1042 and a dog is not a wife, however near their vectors are.
    if not asked.numbers <= told.numbers or (asked.relations and not asked.relations & told.relations):
        return 0.0
    confidence = item.confidence or 0.0
    coverage = _covered(asked, item)
    is_pertinent = coverage > 0 and (confidence >= _CONFIDENT or coverage + confidence >= _ENOUGH)
    precision = len(asked.stems & told.stems) / max(1, len(told.stems))
    return coverage + confidence + precision / 4 if is_pertinent else 0.0


def _covered(asked: _Words, item: Recalled) -> float:
    coverage = _coverage(asked, _Words.of(item.statement))
    # "I live in Porto with my wife" is not about her.
    is_of_another = _Words.of(item.statement.partition(" with ")[0]).relations - asked.relations
    return coverage / 2 if is_of_another else coverage


def _is_of_another(asked: _Words, item: Recalled) -> bool:
    told = _Words.of(item.statement)
    pairs = ((asked.numbers, told.numbers), (asked.relations, told.relations))
    return any(wanted and named and not wanted & named for wanted, named in pairs)


def _coverage(asked: _Words, told: _Words) -> float:
    """The share of the question's words that the statement has, itself or by its topic."""
    needed = asked.stems - _GENERIC_STEMS - _VAGUE_STEMS or asked.stems - _VAGUE_STEMS or asked.stems
    if not needed:
        return 0.0
    shared_topics = (asked.topics & told.topics) | (asked.relations & told.relations)
    hits = (
        1.0 if stem in told.stems else _SAME_TOPIC * bool(_GROUPS.get(stem, _NONE) & shared_topics)
        for stem in needed
    )
    return sum(hits) / len(needed)


def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word.removesuffix(ending) + replacement
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
        word = word[:-1]
    return word.removesuffix("e")


def _stems_of(groups: Iterable[str]) -> dict[str, frozenset[str]]:
    """Each stem with the names of its groups; a group is named by its first word."""
    table: dict[str, frozenset[str]] = {}
    for group in groups:
        name, *_ = words = group.split()
        for word in words:
            table[_stem(word)] = table.get(_stem(word), _NONE) | {name}
    return table


def _groups(stems: frozenset[str], table: dict[str, frozenset[str]]) -> frozenset[str]:
    return _NONE.union(*(table.get(stem, _NONE) for stem in stems))


_TOPIC_STEMS = _stems_of(_TOPICS)
_RELATION_STEMS = _stems_of(_RELATIONS)
_GROUPS = _TOPIC_STEMS | _RELATION_STEMS
_VAGUE_STEMS = frozenset(_stem(word) for word in _VAGUE)
_GENERIC_STEMS = frozenset(_stem(word) for word in _GENERIC)
