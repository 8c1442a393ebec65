"""Sentence forms about the people around the user, and about the user's daily life: a part of the table in ``forms``.

What is said of somebody else names them in the statement and in the key: "My sister lives in Rome" never says where
the user lives.
"""

from memoryapp.llm.offline.vocabulary import (
    CAPITAL,
    DATED,
    DEMONYM,
    JOB,
    NAME,
    NO_POINTER,
    NOT_A_HOME,
    NOT_A_NAME,
    NOT_A_PLACE,
    NUMBER,
    OBJECT,
    PET,
    PLACE_TAIL,
    RELATIVE,
    TAIL,
    WHEN,
    either,
    form,
)

# "My older sister" says that there is another, so that nothing said of her has a key.
_ONE = rf"(?:My|Our) (?P<relative>{RELATIVE})"
_SOMEONE = (
    rf"(?:My|Our) (?:(?:\w+er|little|big|\w+est|twin|late) )?(?:{RELATIVE}"
    rf"|parents|grandparents|in-laws|kids?|child(?:ren)?|sons|daughters|brothers|sisters|family)(?: {NAME})?"
)
# One who is named may be one of several.
_NAMED_ONE = rf"(?:My|Our) (?:\w+ )?{RELATIVE} {NAME}"
_SHE_IS = r"(?:'s|'re| is| are)(?: (?:also|now|still|a strict|severely|highly))*"
_LIKES = r"(?:really )?(?:likes?|loves?|enjoys?|adores?|hates?|dislikes?|prefers?|can't stand|(?:doesn't|don't) like)"
_BUSINESS = either(
    "bakery,shop,store,company,business,restaurant,caf[eé],bar,farm,studio,agency,start-?up,practice,hotel,hostel,"
    "gallery,bookshop,salon,brewery,garage,workshop,consultancy"
)
_PASTIME = either(
    "piano,guitar,violin,cello,drums,flute,bass,saxophone,trumpet,ukulele,clarinet,harp,chess,tennis,football,soccer,"
    "basketball,volleyball,badminton,golf,hockey,rugby,cricket,squash,table tennis,bridge,poker,padel"
)

FAMILY = (
    form(
        "identity",
        rf"{_ONE} (?:lives|is living|resides) in (?:the )?{NAME}{PLACE_TAIL}",
        "family.{relative}.city",
    ),
    form("identity", rf"{_SOMEONE} (?:live|lives|are living|is living) in (?:the )?{NAME}{PLACE_TAIL}"),
    form(
        "identity",
        rf"{_ONE}(?: has)?(?: just| recently)? moved to {NOT_A_PLACE}(?:the )?{NAME}{PLACE_TAIL}",
        "family.{relative}.city",
    ),
    form("identity", rf"{_ONE} works (?:at|for) {CAPITAL}(?: .+)?{TAIL}", "family.{relative}.employer"),
    form(
        "identity",
        rf"{_ONE} (?:is|works as) (?:an?|the) (?:(?!bad |good |great |terrible )[\w-]+ ){{0,2}}?{JOB}"
        rf"(?: (?:at|in|for) .+)?{TAIL}",
        "family.{relative}.occupation",
    ),
    form("identity", rf"{_ONE} is \d{{1,3}}(?: years old)?", "family.{relative}.age"),
    form(
        "identity",
        rf"{_NAMED_ONE} (?:works (?:at|for) {CAPITAL}(?: .+)?"
        rf"|(?:is|works as) (?:an?|the) (?:[\w-]+ ){{0,2}}?{JOB}(?: .+)?"
        rf"|is \d{{1,3}}(?: years old)?|(?:has )?(?:just |recently )?moved to {NOT_A_PLACE}{NAME}{PLACE_TAIL})",
    ),
    form("identity", rf"{_SOMEONE} (?:was|were) born (?=.*{DATED}).+"),
    form("identity", rf"{_SOMEONE}{_SHE_IS} (?:(?:originally )?from (?:the )?{NAME}|{DEMONYM}){TAIL}"),
    form("constraint", rf"{_SOMEONE}{_SHE_IS} (?:allergic|intolerant) to {OBJECT}"),
    form(
        "constraint",
        rf"{_SOMEONE}{_SHE_IS} (?:vegetarian|vegan|pescatarian|diabetic|coeliac|celiac"
        rf"|(?:lactose|gluten)[- ]intolerant)s?{TAIL}",
    ),
    form("preference", rf"{_SOMEONE} {_LIKES} {NO_POINTER}(?!me\b|my\b){OBJECT}"),
    form(
        "identity",
        rf"(?:My|Our) (?:kids|children|sons|daughters|brothers|sisters|parents|{PET}s) are (?:called|named) {NAME}"
        rf"(?:(?:, and|,| and) {NAME})*",
    ),
    form("identity", rf"(?:My|Our) (?:wedding )?anniversary(?:'s| is) (?=.*{DATED}).+", "anniversary"),
)

LIFE = (
    form("identity", rf"I(?:'m| am) (?:called|named) {NOT_A_NAME}{NAME}{TAIL}", "name"),
    form("identity", rf"We live in {NOT_A_HOME}(?:the )?{NAME}{PLACE_TAIL}", "city"),
    form("identity", rf"I(?:'ve| have) (?:lived|been living) in (?:the )?{NAME} (?:since|for) .+", "city"),
    form(
        "identity",
        rf"(?:I|We)(?:'ve| have)? (?:just |recently )?(?:relocated|moved) to {NOT_A_PLACE}(?:the )?{NAME}{PLACE_TAIL}",
        "city",
    ),
    form("identity", rf"I grew up in {NAME}{TAIL}", "home_town"),
    form("identity", rf"I(?:'m| am) working as (?:an?|the) .*\b{JOB}\b.*", "occupation"),
    form(
        "identity",
        rf"I(?: own|'m running| run| have) (?:an?|my own) (?:[\w-]+ ){{0,2}}?{_BUSINESS}{PLACE_TAIL}",
        "business",
    ),
    form("identity", rf"I teach (?!you\b|him\b|her\b|them\b|myself\b|that\b){NO_POINTER}.+", "occupation"),
    form(
        "identity",
        r"I(?:'ve| have)? (?:just |recently )?retired(?: (?:last|this|in|from|two|a|at) .+)?",
        "occupation",
    ),
    form(
        "identity",
        rf"I(?:'ve| have)?(?: just)? got a (?:new )?job (?:at|with) {NAME}{PLACE_TAIL}",
        "employer",
    ),
    form("identity", r"I(?:'m| am) (?:left-handed|right-handed|ambidextrous)", "handedness"),
    form("identity", r"I wear (?:glasses|contact lenses|contacts|hearing aids|a hearing aid)"),
    form("identity", rf"I drive an? (?:\w+ )?{CAPITAL}(?: {CAPITAL})?", "car"),
    form("contact_preference", r"(?:You can )?(?:reach|contact|write to) me at \S+@\S+\.\w+", "email"),
    form("contact_preference", r"My (?:(?:new|current) )?number(?:'s| is) \+?\d[\d ()/-]{6,}", "phone"),
    form("constraint", rf"(?:never|do not|don't) (?:ever )?call me {NOT_A_NAME}{NAME}"),
    form("constraint", r"I(?: follow|'m following| am following) an? (?:[\w-]+ )?[\w-]+ diet"),
    form(
        "event",
        rf"(?:My|Our|The) (?:[\w'-]+ ){{1,3}}?(?:is|are) due (?=.*{WHEN}).+",
    ),
    form("event", rf"(?:My|Our) (?:[\w'-]+ ){{1,3}}?(?:expires?|ends?|runs? out|renews?) (?=.*{WHEN}).+"),
    form("event", rf"I(?:'m turning| turn|'ll turn| will turn) \d{{1,3}} (?=.*{WHEN}).+"),
    form("event", r"(?:Yesterday|Today|Last \w+)?,? ?I (?:quit|lost|left) my job(?: .+)?"),
    form(
        "ticket",
        rf"(?:My|The|Our) (?:\w+ )?(?:confirmation|reservation|booking|tracking) (?:code|number) is {NUMBER}",
    ),
    form("preference", rf"I play (?:the )?{_PASTIME}(?: .+)?"),
    form("preference", rf"I use {NOT_A_NAME}{CAPITAL}(?: {CAPITAL})*(?: (?:for|on|at|as|every) .+)?"),
)
