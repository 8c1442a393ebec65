"""Questions that a look-up answers better than a search: the value of a key, the last three, what ends soon. Pure.

Only what is asked as a whole is routed. Anything more in the sentence ("… about Rome") is a matter of meaning, and an
unknown form is no error: the search takes it. English first; of other languages the questions that everybody asks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from memoryapp.policies.slots import synonyms

MOST = 20  # rows of a list; more belongs on a page
FEW = 3  # of what a person has several of and asks for as if there were one: an order number
QUESTION_CHARS = 200  # a longer message is no plain question


class Order(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"
    EXPIRING = "expiring"


class Period(StrEnum):
    TODAY = "today"
    YESTERDAY = "yesterday"
    WEEK = "this week"
    LAST_WEEK = "last week"
    MONTH = "this month"
    LAST_MONTH = "last month"


@dataclass(frozen=True, slots=True)
class ByKey:
    """What stands under one of these keys or below it (``pet.dog``: also ``pet.dog.name``), the likeliest first."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """The first ``limit`` in this order. ``noun``: only these, in the singular. ``said``: only what was said then."""

    order: Order = Order.NEWEST
    limit: int = MOST
    noun: str = ""
    said: Period | None = None


Route = ByKey | Listing


def route(question: str) -> Route | None:
    """How to look the answer up; None when it has to be searched for."""
    if len(question) > QUESTION_CHARS:
        return None
    asked = _bare(question)
    return _by_key(asked) or _list(asked)


def days(period: Period, *, today: date) -> tuple[date, date]:
    """The first day and the one after the last. Weeks begin on Monday. ``today``: at the person's place."""
    tomorrow, monday, first = (
        today + timedelta(days=1),
        today - timedelta(days=today.weekday()),
        today.replace(day=1),
    )
    return {
        Period.TODAY: (today, tomorrow),
        Period.YESTERDAY: (today - timedelta(days=1), today),
        Period.WEEK: (monday, tomorrow),
        Period.LAST_WEEK: (monday - timedelta(days=7), monday),
        Period.MONTH: (first, tomorrow),
        Period.LAST_MONTH: ((first - timedelta(days=1)).replace(day=1), first),
    }[period]


# --- the question without politeness

_LEAD = re.compile(
    r"(?:(?:hi|hey|hello|ok|okay|so|and|please|now|well)\b[,!. ]*"
    r"|(?:can|could|would|will) you (?:please )?(?:tell me|remind me(?: of)?|show me|list|give me) "
    r"|(?:do|did) you (?:still )?(?:know|remember) |(?:tell|remind|show|give) me(?: of)? |(?:list|show) "
    r"|i forgot,? )+"
)
_TAIL = re.compile(
    r"(?:[\s,]+(?:again|please|now|right now|currently|exactly|once more))*\s*[?!.。？！]*\s*$"
)


def _bare(question: str) -> str:
    text = " ".join(question.replace("’", "'").lower().split())
    text = _TAIL.sub("", text).strip(" ¿¡")
    return _LEAD.sub("", text, count=1) if (found := _LEAD.match(text)) and found.end() < len(text) else text


# --- the value of a key

# What a model or a person may have called it beside its name and ``policies.slots.synonyms``: less sure than those.
_NEARLY = {
    "city": ("home_city", "location", "address"),
    "address": ("home_address", "home.address"),
    "occupation": ("job", "profession", "work.role", "job.title"),
    "name": ("first_name", "full_name"),
}
_NOUNS = {
    **dict.fromkeys(("email", "e-mail", "mail", "email address", "e-mail address", "mail address"), "email"),
    **dict.fromkeys(
        ("phone", "phone number", "telephone number", "mobile", "mobile number", "cell number"), "phone"
    ),
    **dict.fromkeys(("city", "home town", "hometown", "place of residence"), "city"),
    **dict.fromkeys(("address", "home address", "postal address"), "address"),
    **dict.fromkeys(("employer", "company"), "employer"),
    **dict.fromkeys(("job", "profession", "occupation", "job title"), "occupation"),
    **dict.fromkeys(("name", "first name", "full name"), "name"),
    **dict.fromkeys(("birthday", "date of birth", "birth date"), "birthday"),
    **dict.fromkeys(("time zone", "timezone"), "time_zone"),
    "diet": "diet",
}
# By name, the ways to ask for it as a whole sentence, a line per language.
_WHOLE = {
    "city": (
        "(?:where|in (?:what|which) (?:city|town|place)) (?:do|am) i (?:live|living|based)(?: in)?",
        "(?:what|which) (?:city|town|place) do i live in",
        "wo (?:wohne|lebe) ich|in welcher stadt (?:wohne|lebe) ich",
        "(?:dónde|en qué ciudad) vivo",
        "où (?:est-ce que )?j'habite|où habit[eé]-?je",
        "dove (?:vivo|abito)|onde (?:eu )?moro",
        "我(?:现在)?住在?(?:哪里?|哪儿|哪个城市|什么地方)",
        "(?:私は)?どこに住んで(?:いますか|いる|る)",
    ),
    "employer": (
        "(?:where|who|for whom) do i work(?: for| at)?|(?:what|which) company do i work (?:for|at)",
        "wo arbeite ich|dónde trabajo|où (?:est-ce que )?je travaille",
        "我在哪里?(?:工作|上班)",
    ),
    "occupation": (
        "what do i do for (?:a living|work)",
        "was bin ich von beruf|a qué me dedico",
        "我是?做什么工作的?",
    ),
    "birthday": (
        "when was i born|when is my birthday",
        "wann (?:habe ich geburtstag|bin ich geboren)|cuándo es mi cumpleaños|quand est mon anniversaire",
        "我(?:的)?生日是(?:什么时候|哪天|几号)|我什么时候生日",
    ),
    "name": (
        "what am i called|who am i",
        "wie heiße ich|cómo me llamo|comment (?:est-ce que )?je m'appelle|come mi chiamo",
        "我叫什么(?:名字)?|我的名字是什么|私の名前は(?:何ですか|何)?",
    ),
    "age": ("how old am i|wie alt bin ich|cuántos años tengo|quel âge ai-je|我(?:今年)?(?:几岁|多大)",),
    "origin": ("where am i from|woher komme ich|de dónde soy",),
    "birthplace": ("where was i born",),
    "time_zone": ("(?:what|which) time ?zone am i in",),
    "email": (
        "(?:wie ist|was ist|wie lautet) meine e?-?mail(?:-?adresse)?",
        "cuál es mi (?:correo|e-?mail)|quelle est mon adresse e-?mail",
        "我的(?:邮箱|电子邮件|邮件地址)是(?:什么|多少)",
    ),
    "phone": (
        "(?:wie ist|was ist|wie lautet) meine (?:telefon|handy)-?nummer|cuál es mi (?:número de )?teléfono",
        "我的(?:电话|手机)(?:号码?)?是(?:什么|多少)",
    ),
}
_WHOLE_FORMS = {name: re.compile("|".join(forms)) for name, forms in _WHOLE.items()}
_MY = re.compile(
    r"(?:(?:what|who|which|when|where)(?:'s| is| are| was)? )?my (?:current )?"
    r"(?P<noun>[a-z][a-z-]*(?: [a-z][a-z-]*){0,3}?)(?: called)?"
)
# "My plan for tomorrow", "my name is Ana": more than the name of a thing.
_NOT_A_NOUN = re.compile(
    r"\b(?:is|are|was|were|be|been|has|had|have|will|would|can|do|did|for|to|in|at|on|with|about|from|and|or|of|not)\b"
)
_DOCUMENT_NUMBER = re.compile(
    r"(?:(?:what|which)(?:'s| is| are| was)? )?my (?P<noun>order|ticket|invoice|booking|reservation|case|tracking"
    r"|confirmation|flight) (?:numbers?|no|ids?|codes?|references?)"
)
_OF_WHOM = re.compile(
    r"(?:(?:what|who)(?:'s| is| was)? )?my (?P<whom>[a-z]+)(?:'s name| called)|what is the name of my (?P<of>[a-z]+)"
)
_PET = re.compile("dog|cat|rabbit|hamster|parrot|horse|bird|puppy|kitten|turtle|fish|pet")
_SPOUSE = re.compile("wife|husband|partner|spouse")


def _by_key(asked: str) -> ByKey | None:
    for name, form in _WHOLE_FORMS.items():
        if form.fullmatch(asked):
            return _called(name)
    if (of_whom := _OF_WHOM.fullmatch(asked)) and (whom := of_whom["whom"] or of_whom["of"]):
        return ByKey(_names_of(whom))
    found = _MY.fullmatch(asked)
    if found is None or _COUNTED.fullmatch(asked) or _DOCUMENT_NUMBER.fullmatch(asked):
        return None
    noun = found["noun"]
    if noun in _NOUNS:
        return _called(_NOUNS[noun])
    return None if _NOT_A_NOUN.search(noun) else _called(*_keys_of(noun))


def _called(*names: str) -> ByKey:
    """What is stored under these names, or under others for the same."""
    same = (key for name in names for key in sorted(synonyms(name)))
    nearly = (key for name in names for key in _NEARLY.get(name, ()))
    return ByKey(tuple(dict.fromkeys((*names, *same, *nearly))))


def _names_of(whom: str) -> tuple[str, ...]:
    if _PET.fullmatch(whom):
        return (f"pet.{whom}.name", f"{whom}.name", f"{whom}_name", "pet.name")
    spouse = ("family.spouse.name",) if _SPOUSE.fullmatch(whom) else ()
    return (f"family.{whom}.name", *spouse, f"{whom}.name", f"{whom}_name", whom)


def _keys_of(noun: str) -> Iterator[str]:
    """ "favourite red wine" → favorite.red_wine, favorite_red_wine; "shoe size" → shoe_size, shoe.size."""
    words = noun.replace("favourite", "favorite").replace("-", " ").split()
    if words[0] == "favorite" and len(words) > 1:
        yield f"favorite.{'_'.join(words[1:])}"
    yield "_".join(words)
    yield ".".join(words)


# --- lists

_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip
_COUNTED = re.compile(
    r"(?:what (?:are|were|is|was) )?(?:my|the) (?P<order>last|latest|newest|most recent|recent|first|oldest|earliest)"
    rf"(?: (?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}))? (?P<noun>[a-z]+(?:[ -][a-z]+)?)"
)
_TOLD = re.compile(
    r"(?:what (?:did i (?:tell|say to) you|have i told you|did you (?:learn|note|save|remember)"
    r"|have you (?:learne?[dt]|noted|saved|remembered))(?: about me)?"
    r"|was habe ich dir|qué te (?:dije|he dicho)|qu'est-ce que je t'ai dit|我(?P<zh>今天|昨天|这周|这个星期|本周|上周)"
    r"(?:都)?(?:跟|和|对)你说了(?:些)?什么) ?(?P<when>.*)"
)
_WHEN = {
    **dict.fromkeys(("today", "heute", "hoy", "aujourd'hui", "今天"), Period.TODAY),
    **dict.fromkeys(("yesterday", "gestern", "ayer", "hier", "昨天"), Period.YESTERDAY),
    **dict.fromkeys(
        ("this week", "diese woche", "esta semana", "cette semaine", "这周", "这个星期", "本周"), Period.WEEK
    ),
    **dict.fromkeys(
        ("last week", "letzte woche", "la semana pasada", "la semaine dernière", "上周"), Period.LAST_WEEK
    ),
    **dict.fromkeys(("this month", "diesen monat", "este mes", "ce mois-ci"), Period.MONTH),
    **dict.fromkeys(("last month", "letzten monat", "el mes pasado", "le mois dernier"), Period.LAST_MONTH),
}
_EXPIRING = re.compile(
    r"(?:what|which (?:facts|memories))(?: will| is going to| are going to| is| are)? "
    r"(?:expires?|expiring|fades?|fading|ends?|ending|(?:be )?forgotten|runs? out)"
    r"(?: soon| next| first| this week| today)*"
    r"|was (?:läuft|verblasst) bald(?: ab)?|qué caduca pronto|什么(?:快要|即将)(?:过期|到期)(?:了)?"
)
_EVERYTHING = re.compile(
    r"(?:what|everything)(?: else)?(?: do)? you (?:know|remember|have)(?: (?:about|of|on) me)?"
    r"|what (?:is|do you have) (?:stored|saved|remembered) about me"
    r"|was (?:weißt|weisst) du über mich|qué sabes (?:de|sobre) mí|que sais-tu (?:de|sur) moi|cosa sai di me"
    r"|o que (?:você )?sabe sobre mim"
    r"|你(?:都)?(?:知道|记得)(?:关于)?我(?:的)?(?:什么|些什么|哪些事)|私について何を知って(?:いますか|る)"
)


def _list(asked: str) -> Listing | None:
    if _EXPIRING.fullmatch(asked):
        return Listing(order=Order.EXPIRING)
    if _EVERYTHING.fullmatch(asked):
        return Listing()
    if counted := _COUNTED.fullmatch(asked):
        return _counted(counted)
    if document := _DOCUMENT_NUMBER.fullmatch(asked):
        return Listing(limit=FEW, noun=document["noun"])
    told = _TOLD.fullmatch(asked)
    said = _WHEN.get(((told["zh"] or told["when"]) if told else "").removesuffix(" gesagt"))
    return Listing(said=said) if said else None


def _counted(found: re.Match[str]) -> Listing:
    count = found["count"] or ("1" if _singular(found["noun"]) == found["noun"] else str(MOST))
    return Listing(
        order=Order.OLDEST if found["order"] in {"first", "oldest", "earliest"} else Order.NEWEST,
        limit=max(1, min(_NUMBERS.get(count) or int(count), MOST)),
        noun="" if found["noun"] in {"facts", "memories"} else _singular(found["noun"]),
    )


def _singular(noun: str) -> str:
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun
