"""Sentence forms about the people around the user and their animals: a part of the table in ``forms``.

What is said of somebody else names them in the statement and in the key: "My sister lives in Rome" never says where
the user lives.
"""

from memoryapp.llm.offline.vocabulary import (
    ACQUAINTANCE,
    CALLED,
    CAPITAL,
    DATED,
    DEMONYM,
    FRIEND,
    JOB,
    NAME,
    NO_POINTER,
    NOT_A_NAME,
    NOT_A_PLACE,
    OBJECT,
    ONLY_ONE,
    PET,
    PLACE_TAIL,
    RELATIVE,
    SUPERIOR,
    TAIL,
    WE_HAVE,
    form,
)

# "My older sister" says that there is another, so that nothing said of her has a key.
_ONE = rf"(?:My|Our) (?P<relative>{RELATIVE})"
_SOMEONE = (
    rf"(?:My|Our) (?:(?:(?:\w+er|little|big|\w+est|twin|late) )?(?:{RELATIVE}"
    rf"|parents|grandparents|in-laws|kids?|child(?:ren)?|sons|daughters|brothers|sisters|family)(?: {NAME})?"
    rf"|(?:\w+ )?{FRIEND} {NAME})"
)
# One who is named may be one of several.
_NAMED_ONE = rf"(?:My|Our) (?:\w+ )?(?:{RELATIVE}|{FRIEND}) {NAME}"
_HAS_A_JOB = (
    rf"(?:works as an? \w.+|(?:is|works as) (?:an?|the) (?:(?!bad |good |great |terrible )[\w-]+ ){{0,2}}?{JOB}"
    rf"(?: (?:at|in|for) .+)?{TAIL})"
)
_SHE_IS = r"(?:'s|'re| is| are)(?: (?:also|now|still|a strict|severely|highly))*"
_LIKES = r"(?:really )?(?:likes?|loves?|enjoys?|adores?|hates?|dislikes?|prefers?|can't stand|(?:doesn't|don't) like)"

FAMILY = (
    form(
        "identity",
        rf"(?:My|Our) (?P<relative>{ONLY_ONE}(?= is|{CALLED})|{SUPERIOR}(?={CALLED}))(?:{CALLED}| "
        rf"is) {NOT_A_NAME}(?!{DEMONYM}$){NAME}{TAIL}",
        "family.{relative}.name",
    ),
    # Of whom there may be several, the key names the one: a second son takes no other's place.
    form(
        "identity",
        rf"(?:My|Our) (?P<relative>{RELATIVE}(?= is|{CALLED})|{ACQUAINTANCE}(?={CALLED}))(?:{CALLED}| "
        rf"is) {NOT_A_NAME}(?!{DEMONYM}$)(?P<who>{NAME}){TAIL}",
        "family.{relative}.name.{who}",
    ),
    # "My older sister" says that there is another.
    form("identity", rf"(?:My|Our) (?:\w+er|little|big|\w+est) {RELATIVE}{CALLED} {NAME}{TAIL}"),
    form("identity", rf"(?:My|Our) (?:{RELATIVE}|{ACQUAINTANCE})'s birthday is (?!not\b)(?=.*{DATED}).+"),
    # "My wife Ana" on its own, cut out of a sentence. Of sisters, sons and friends there may be several.
    form(
        "identity", rf"(?:My|Our) (?P<relative>{ONLY_ONE}) {NOT_A_NAME}{NAME}{TAIL}", "family.{relative}.name"
    ),
    form("identity", rf"(?:My|Our) {RELATIVE} {NOT_A_NAME}{NAME}{TAIL}"),
    form("identity", rf"(?:My|Our) (?P<pet>{PET}) {NOT_A_NAME}(?P<who>{NAME}){TAIL}", "pet.{pet}.name.{who}"),
    form("identity", rf"I(?:'m| am) (?:married|engaged) to {NAME}{TAIL}", "family.spouse.name"),
    form(
        "identity",
        rf"(?:My|Our) (?P<pet>{PET})(?:{CALLED}| is) {NOT_A_NAME}(?P<who>{NAME}){TAIL}",
        "pet.{pet}.name.{who}",
    ),
    form(
        "identity", rf"{WE_HAVE} (?:another|an? (?:second|third|other)) (?:\w+ )?{PET}{CALLED} {NAME}{TAIL}"
    ),
    form(
        "identity",
        rf"{WE_HAVE} an? (?:\w+ ){{0,2}}?(?P<pet>{PET}){CALLED} (?P<who>{NAME}){TAIL}",
        "pet.{pet}.name.{who}",
    ),
    form(
        "identity",
        rf"{WE_HAVE} (?:an?|one|two|three|four|five|six|\d) (?:\w+ )?(?:kids?|child(?:ren)?|sons?"
        rf"|daughters?|brothers?|sisters?|siblings?|grandchild(?:ren)?|dogs?|cats?|pets?|horses?)(?: "
        rf"(?:called|named|and) .+)?{TAIL}",
    ),
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
        rf"{_ONE} {_HAS_A_JOB}",
        "family.{relative}.occupation",
    ),
    form("identity", rf"{_ONE} is \d{{1,3}}(?: years old)?", "family.{relative}.age"),
    form(
        "identity",
        rf"{_NAMED_ONE} (?:works (?:at|for) {CAPITAL}(?: .+)?"
        rf"|{_HAS_A_JOB}"
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
