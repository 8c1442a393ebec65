"""Sentence forms for what a person has one of: attributes, e-mail addresses, numbers: a part of the table in ``forms``.

An attribute counts only with a value of its sort: "My car is a Volvo" says which, "My car is in the garage" does not,
so it must not take the other's place.
"""

from collections.abc import Iterator

from memoryapp.llm.offline.vocabulary import (
    CAPITAL,
    COLOUR,
    DATED,
    JOB,
    NAME,
    PARTICLES,
    TAIL,
    Form,
    either,
    form,
)

_IS = r"(?:'s| is| are)(?: now)? "
_NO_MAKE = either("mess,wreck,disaster,lemon,problem,nightmare,joy,dream,pain,piece,bit,beauty,lot,little")
_VALUES = (
    # attributes, what their values look like
    ("car,bike", rf"an? (?!(?:\w+ ){{0,2}}?{_NO_MAKE}\b)\w.*"),
    ("car,bike", rf"the (?:[\w-]+ ){{0,3}}?{CAPITAL}.*|{CAPITAL}(?: (?:{CAPITAL}|\d\w*))*{TAIL}"),
    ("job,profession,occupation", rf"(?:(?:an?|the) )?(?:[\w-]+ ){{0,3}}?{JOB}(?: (?:at|in|for) .+)?{TAIL}"),
    (
        (
            "shoe size,height,home address,address,post(?:al)? ?code,zip ?code,customer number,membership number"
            ",number plate,licen[cs]e plate"
        ),
        r"(?=.*\d)\S.*",
    ),
    ("clothing size,dress size", r"(?:\d.*|x*[sml]\b|(?:extra )?(?:small|medium|large)\b).*"),
    ("blood type", r"(?:ab?|b|0|o)(?: ?[+-]| pos(?:itive)?| neg(?:ative)?)?(?: (?:rhesus|rh)\b.*)?"),
    ("pronouns", r"\w+(?:(?:/| and | or )\w+)+"),
    ("anniversary", rf"(?=.*{DATED}).+"),
    (
        (
            "nickname,star sign,surname,last name,middle name,mother tongue,native language,nationality,employer"
            ",home ?town"
        ),
        rf"{PARTICLES}{NAME}(?:,? .*)?",
    ),
)
# "Private" tells one address from another, "new" does not; what any other word tells is unknown.
_WHICH = either("work,business,office,company,private,personal,home,school,university,student")
_SAME = "(?:(?:new|current|main|primary|own) )?"
_EMAIL = r"e-?mail(?: address)?"
_PHONE = "(?:phone|telephone|mobile|cell)(?: number)?"
_NUMBER = r"\+?\d[\d ()/-]{4,}"


def _attributes() -> Iterator[Form]:
    for attributes, value in _VALUES:
        yield form("identity", rf"My (?P<attribute>{either(attributes)}){_IS}(?:{value})", "{attribute}")


ATTRIBUTE_FORMS = (*_attributes(), form("identity", rf"My (?:car|bike) is {COLOUR}"))

CONTACT_FORMS = (
    form(
        "contact_preference",
        rf"(?:My {_SAME}{_EMAIL} is|(?:You can )?e-?mail me at) \S+@\S+\.\w+",
        "email",
    ),
    form("contact_preference", rf"My {_SAME}(?P<which>{_WHICH}) {_EMAIL} is \S+@\S+\.\w+", "email.{which}"),
    form("contact_preference", rf"My (?!old |former )\w+ {_EMAIL} is \S+@\S+\.\w+"),
    form(
        "contact_preference",
        rf"(?:My {_SAME}{_PHONE} is|(?:You can )?(?:call|text|phone|ring) me (?:at|on)) {_NUMBER}",
        "phone",
    ),
    form(
        "contact_preference",
        rf"My {_SAME}(?P<which>{_WHICH}) (?:{_PHONE}|number) is {_NUMBER}",
        "phone.{which}",
    ),
    form("contact_preference", rf"My (?!old |former )\w+ {_PHONE} is {_NUMBER}"),
)
