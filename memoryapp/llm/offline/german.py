"""Sentence forms of plain German statements: a part of the table in ``forms``.

Few, and those sure: what is denied, or goes on in a way that is not foreseen, is not learned. The keys are those of
the English forms, so that a statement takes the place of an earlier one in either language.
"""

from memoryapp.llm.offline.vocabulary import CAPITAL, NAME, TAIL, either, form

_AFFIRMED = r"(?!.*\b(?:nicht|nie|niemals|kein\w*|kaum|ob|wenn|falls)\b)"
_DETAIL = (
    r"(?: (?:mit|bei|in|im|an|am|auf|nahe|neben|seit|zusammen|jetzt|nun|derzeit|zurzeit|und arbeite)\b.*)?"
    rf"{TAIL}"
)
_COUNTRIES = (
    "(?:der (?:Schweiz|Türkei|Slowakei|Ukraine|Mongolei)|den (?:Niederlanden|USA|Vereinigten Staaten))"
)
_NOT_A_HOME = (
    "(?!"
    + either("Angst,Frieden,Armut,Sorge,Trennung,Scheidung,Luxus,Freiheit,Not,Untermiete,Miete")
    + r"\b)"
)
_ADVERBS = (
    r"(?:seit (?:[\w.]+ ){1,3}?)?"
    "(?:(?:jetzt|inzwischen|schon immer|immer noch|strenge[rn]?|überzeugte[rn]?|sehr|stark|hoch) )*"
)
_DIET = r"(?:(?:vegetarier|veganer|pesce?tarier|flexitarier)(?:in)?|vegetarisch|vegan)"
# "Ich mag dich" and "ich mag das" say nothing later.
_NO_POINTER = (
    "(?!"
    + either(
        r"dich,euch,sie,es,ihn,ihr\w*,das,den,die,der,dies\w*,dein\w*,sein\w*,mich,uns,was,wie,dass,alles,beide\w*,so"
        r",solche\w*,jede\w*,lieber,gern\w*,sagen,behaupten,meinen,nur,auch"
    )
    + r"\b)"
)
_RELATIVES = {
    "frau": "wife", "ehefrau": "wife", "mann": "husband", "ehemann": "husband", "partner": "partner",
    "partnerin": "partner", "mutter": "mother", "mama": "mom", "vater": "father",
    "papa": "dad", "chef": "boss", "chefin": "boss",
}  # fmt: skip
_SEVERAL = {
    "schwester": "family.sister", "bruder": "family.brother", "sohn": "family.son", "tochter": "family.daughter",
    "oma": "family.grandma", "opa": "family.grandpa", "tante": "family.aunt", "onkel": "family.uncle",
    "cousine": "family.cousin", "cousin": "family.cousin", "nichte": "family.niece", "neffe": "family.nephew",
    "hund": "pet.dog", "hündin": "pet.dog", "katze": "pet.cat", "kater": "pet.cat", "hase": "pet.rabbit",
    "hamster": "pet.hamster", "pferd": "pet.horse", "papagei": "pet.parrot",
}  # fmt: skip
_MY = "(?:Meine?|Unsere?)"
_IS_CALLED = "hei(?:ß|ss)t"

GERMAN = (
    form("identity", rf"(?:Ich hei(?:ß|ss)e|Mein (?:voller )?Name ist) {_AFFIRMED}{NAME}{TAIL}", "name"),
    form(
        "identity",
        rf"(?:Ich wohne|Ich lebe|Wir wohnen|Wir leben) {_AFFIRMED}(?:jetzt |derzeit |zurzeit )?in "
        rf"(?:{_NOT_A_HOME}{NAME}|{_COUNTRIES}){_DETAIL}",
        "city",
    ),
    form("identity", rf"Ich arbeite {_AFFIRMED}(?:derzeit |jetzt )?als {CAPITAL}{_DETAIL}", "occupation"),
    form("identity", r"Ich bin \d{1,3} Jahre alt", "age"),
    form("constraint", rf"Ich bin {_AFFIRMED}{_ADVERBS}{_DIET}(?: seit .+)?{TAIL}", "diet"),
    form("constraint", rf"Ich bin {_AFFIRMED}{_ADVERBS}allergisch (?:gegen|auf) {_NO_POINTER}\w.*"),
    form(
        "constraint",
        rf"Ich habe {_AFFIRMED}eine (?:\w+ )?\w*(?:allergie|intoleranz|unverträglichkeit)(?: gegen \w.*)?",
    ),
    form(
        "preference", rf"Ich (?:mag|liebe|hasse) {_AFFIRMED}{_NO_POINTER}(?P<object>\w.*)", "taste.{object}"
    ),
    form("preference", r"Ich mag keine?n? (?P<object>\w.*?)(?: mehr)?", "taste.{object}"),
    *(
        form("identity", rf"{_MY} {german} {_IS_CALLED} {_AFFIRMED}{NAME}{TAIL}", f"family.{english}.name")
        for german, english in _RELATIVES.items()
    ),
    *(
        form(
            "identity",
            rf"{_MY} {german} {_IS_CALLED} {_AFFIRMED}(?P<who>{NAME}){TAIL}",
            f"{key}.name.{{who}}",
        )
        for german, key in _SEVERAL.items()
    ),
    form("identity", rf"{_MY} (?:[\w-]+ )?{CAPITAL} {_IS_CALLED} {_AFFIRMED}{NAME}{TAIL}"),
)
