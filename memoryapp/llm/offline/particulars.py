"""Sentence forms for attributes of a person, and for how to reach them: a part of the table in ``forms``.

An attribute counts only with a value of its sort: "My car is a Volvo" says which, "My car is in the garage" does not,
so it must not take the other's place.
"""

from memoryapp.llm.offline.vocabulary import (
    CAPITAL,
    CHANNEL,
    COLOUR,
    DATED,
    JOB,
    NAME,
    PARTICLES,
    TAIL,
    either,
    form,
)

_IS = r"(?:'s| is| are)(?: now)? "
_NO_MAKE = either("mess,wreck,disaster,lemon,problem,nightmare,joy,dream,pain,piece,bit,beauty,lot,little")
_VALUES = (
    # attributes, what their values look like
    (
        "car,bike",
        (
            rf"an? (?!(?:\w+ ){{0,2}}?{_NO_MAKE}\b)\w.*|the (?:[\w-]+ ){{0,3}}?{CAPITAL}.*"
            rf"|{CAPITAL}(?: (?:{CAPITAL}|\d\w*))*{TAIL}"
        ),
    ),
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
ATTRIBUTES = either(",".join(attributes for attributes, _ in _VALUES))
# "Private" tells one address from another, "new" does not; what any other word tells is unknown.
_WHICH = either("work,business,office,company,private,personal,home,school,university,student")
_SAME = "(?:(?:new|current|main|primary|own) )?"
_EMAIL = r"e-?mail(?: address)?"
_PHONE = "(?:phone|telephone|mobile|cell)(?: number)?"
_NUMBER = r"\+?\d[\d ()/-]{4,}"


ATTRIBUTE_FORMS = (
    *(
        form("identity", rf"My (?P<attribute>{either(attributes)}){_IS}(?:{value})", "{attribute}")
        for attributes, value in _VALUES
    ),
    form("identity", rf"My (?:car|bike) is {COLOUR}"),
)

CONTACT_FORMS = (
    form(
        "contact_preference",
        rf"(?:My {_SAME}{_EMAIL} is|(?:You can )?(?:e-?mail|reach|contact|write to) me at) \S+@\S+\.\w+",
        "email",
    ),
    form("contact_preference", rf"My {_SAME}(?P<which>{_WHICH}) {_EMAIL} is \S+@\S+\.\w+", "email.{which}"),
    form("contact_preference", rf"My (?!old |former )\w+ {_EMAIL} is \S+@\S+\.\w+"),
    form(
        "contact_preference",
        rf"(?:My {_SAME}{_PHONE} is|(?:You can )?(?:call|text|phone|ring) me (?:at|on)) {_NUMBER}",
        "phone",
    ),
    form("contact_preference", r"My (?:(?:new|current) )?number(?:'s| is) \+?\d[\d ()/-]{6,}", "phone"),
    form(
        "contact_preference",
        rf"My {_SAME}(?P<which>{_WHICH}) (?:{_PHONE}|number) is {_NUMBER}",
        "phone.{which}",
    ),
    form("contact_preference", rf"My (?!old |former )\w+ {_PHONE} is {_NUMBER}"),
    form(
        "contact_preference",
        rf"I(?:'d| would)? (?:much )?(?:rather|prefer) (?:(?:to )?be (?:contacted|reached|called|texted"
        rf"|e-?mailed)|(?:by )?{CHANNEL})\b.*",
        "contact.channel",
    ),
    form(
        "contact_preference",
        r"(?:The best way to (?:reach|contact) me is|I(?:'m| am) (?:best reached|easiest to reach)"
        r"|(?:You can )?(?:best )?(?:reach|contact) me (?:by|via|on|through)) (?!not?\b).+",
        "contact.channel",
    ),
    form(
        "contact_preference",
        r"(?:only|do not|don't|never) (?:ever )?(?:call|phone|ring|text|e-?mail|contact|message) me "
        r"(?:at|on|by|before|after|between|during|in|unless|with|via|about) .+",
    ),
    form(
        "contact_preference",
        r"(?:call|text|e-?mail|message|contact) me (?:only|always|after|before|between|instead of"
        r"|rather than|in the (?:morning|evening|afternoon)|on weekdays)\b.*",
    ),
)
