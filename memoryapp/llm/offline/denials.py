"""Sentence forms that say that something is not, or no longer, so, and corrections: a part of the table in ``forms``.

None has a key: a denial says which value is wrong, not which one is right. What it denies is found by its words.
"""

from memoryapp.llm.offline.particulars import ATTRIBUTES
from memoryapp.llm.offline.vocabulary import (
    ACQUAINTANCE,
    CALLED,
    CAPITAL,
    DIET,
    EAT,
    JOB,
    NAME,
    NO_POINTER,
    NOT_A_NAME,
    OBJECT,
    PET,
    PLACE_TAIL,
    RELATIVE,
    SICKNESS,
    TAIL,
    either,
    form,
)

_NO_LONGER = "(?: any ?more| any longer| now| at all)?"
_I_DO_NOT = "I(?: don't| do not| no longer)(?: actually)?"
_I_AM_NOT = "I(?:'m| am) (?:not|no longer)(?: actually| really)?"
_IS_NOT = r"(?: isn't|'s not| is not| is no longer| aren't| are not| are no longer)(?: actually| really)?"
_SOMEONE = (
    rf"(?:My|Our) (?:\w+ )?(?:{RELATIVE}|{ACQUAINTANCE}|parents|kids?|child(?:ren)?|sons|daughters|family)"
)
_ANIMAL = either("meat,fish,seafood,poultry,dairy,eggs,animal products,everything")

DENIALS = (
    form("identity", rf"{_I_DO_NOT} (?:live|reside) in (?:the )?{NAME}(?: any ?more| now)?{PLACE_TAIL}"),
    form("identity", rf"{_I_AM_NOT} (?:living|based) in (?:the )?{NAME}(?: any ?more| now)?{PLACE_TAIL}"),
    form("identity", rf"{_I_DO_NOT} work (?:at|for) {CAPITAL}(?: .+)?{TAIL}"),
    form("identity", rf"{_I_DO_NOT} work (?:at|for|as) (?:an?|the) (?!moment|same|time).+"),
    form("identity", rf"{_I_AM_NOT} working (?:at|for) {CAPITAL}(?: .+)?{TAIL}"),
    form("identity", rf"{_I_AM_NOT} (?:an?|the) (?:[\w-]+ ){{0,2}}?{JOB} any ?more{TAIL}"),
    form(
        "identity", rf"I(?:'m| am) no longer (?:an?|the) (?:[\w-]+ ){{0,2}}?{JOB}(?: (?:at|in|for) .+)?{TAIL}"
    ),
    form(
        "identity",
        rf"{_I_AM_NOT} (?:married|engaged|retired|self-employed|unemployed)(?: to .+)?{_NO_LONGER}",
    ),
    form("identity", rf"{_I_AM_NOT} (?:called|named) {NOT_A_NAME}{NAME}{_NO_LONGER}{TAIL}"),
    form("identity", rf"My (?:(?:full|first|real) )?name{_IS_NOT} {NOT_A_NAME}{NAME}{_NO_LONGER}{TAIL}"),
    form("identity", rf"My (?:{ATTRIBUTES}|time ?zone|birthday){_IS_NOT} {OBJECT}"),
    form(
        "contact_preference",
        rf"My (?:\w+ )?(?:e-?mail|phone|mobile|number)(?: (?:address|number))?{_IS_NOT} \S+.*",
    ),
    form(
        "identity",
        rf"(?:My|Our) (?:{RELATIVE}|{ACQUAINTANCE}|{PET})(?:'s name)?{_IS_NOT} (?:called |named )?"
        rf"{NOT_A_NAME}{NAME}{_NO_LONGER}{TAIL}",
    ),
    form(
        "identity",
        rf"{_I_DO_NOT} have (?:an?|any|my|our|the) (?:\w+ )?(?:{PET}|{RELATIVE}|kid|child)(?:s|ren)?"
        rf"(?:{CALLED} {NAME})?{_NO_LONGER}",
    ),
    form(
        "identity",
        rf"{_SOMEONE} (?:no longer|doesn't|does not|don't|do not) (?:live|work)s? (?:in|at|for) (?:the )?{CAPITAL}.*",
    ),
    form("constraint", rf"{_I_AM_NOT} (?:an? )?(?:strict )?(?:{DIET}|{SICKNESS}){_NO_LONGER}{TAIL}"),
    form("constraint", rf"{_I_AM_NOT} (?:allergic|intolerant) to {OBJECT}"),
    form("constraint", rf"{_I_AM_NOT} on an? (?:[\w-]+ )?[\w-]+ diet{_NO_LONGER}"),
    form(
        "constraint",
        rf"{_I_DO_NOT} have (?:an? |any )?(?:[\w-]+ ){{0,2}}?(?:allergy|allergies|intolerance)(?: to .+)?",
    ),
    form(
        "constraint", rf"{_I_DO_NOT} (?:keep|follow) (?:an? )?(?:[\w-]+ )?(?:kosher|halal|diet){_NO_LONGER}"
    ),
    form(
        "constraint",
        rf"{_SOMEONE}{_IS_NOT} (?:{DIET}|{SICKNESS}|(?:allergic|intolerant) to .+?){_NO_LONGER}{TAIL}",
    ),
    form(
        "preference",
        rf"{_I_AM_NOT} (?:an? (?:big |huge )?fan of|into|fond of|interested in|keen on|afraid of|scared of) {OBJECT}",
    ),
    form("preference", rf"My (?:favou?rite|preferred) [\w -]+?{_IS_NOT} {OBJECT}"),
)

# Who eats meat again is no vegetarian: another answer to the question of the diet, not only a denial.
CORRECTIONS = (
    form("constraint", rf"I (?:can |now |can now )?{EAT} (?:all )?{_ANIMAL} (?:again|now){TAIL}", "diet"),
    form("constraint", rf"I (?:can |now |can now )?{EAT} {NO_POINTER}\w.* again"),
    form("preference", rf"I (?:can |now |can now )?(?:drink|smoke) (?:{NO_POINTER}\w.* )?again"),
)
