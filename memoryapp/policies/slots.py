"""Which question about its user a statement answers, where the question has one answer at a time. Pure.

"I live in Lisbon" and "I moved to Porto" answer the same one (``city``), so the newer takes the other's place, although
no word says so. Rules of words, in several languages, and precision first: what is compound ("in Lisbon and Porto"),
past, planned, hedged or about somebody else answers none, and both statements stay. So do questions with many answers:
allergies, children, pets, things that are liked. One thing that is liked has one answer: it is loved or hated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memoryapp.policies.likeness import essence, listed
from memoryapp.policies.places import COUNTRIES, GERMAN_CONDITIONS, NO_PLACES, REGIONS
from memoryapp.policies.reconciliation import normalise

MAX_VALUE_WORDS = (
    5  # "Rua de Santa Catarina 112"; a longer value is a sentence, which may say more than one thing
)
MAX_VALUE_CHARS = 12  # the same, in characters of scripts that have no spaces


@dataclass(frozen=True, slots=True)
class _Rule:
    """``pattern`` is matched from end to end on the normalised statement; ``value`` is what it answers.

    ``is_name``: every word of the answer is written with a capital letter, where its script has them. ``shape``: what
    an answer looks like. ``sign``: what it holds. ``of_object``: the value is what the question is about, not the
    answer.
    """

    slot: str
    pattern: re.Pattern[str]
    is_name: bool = False
    shape: re.Pattern[str] | None = None
    sign: str = ""
    of_object: bool = False


@lru_cache(maxsize=4_096)  # as often asked as ``essence``
def slot_of(statement: str) -> str:
    """The question: a key such as ``city``, or ``attitude:chines food`` for one about an object; "" for none.

    A key without an object may be stored; an object is what a person said, so it stays in the statement. "I no longer
    live in Lisbon" answers nothing: it denies one answer and gives no other.
    """
    said = _CLOSING.sub("", _OPENING.sub("", normalise(statement)))
    for rule in _RULES:
        found = rule.pattern.fullmatch(said)
        if found is None:
            continue
        if "?" in statement or (rule.slot != "attitude" and essence(statement).is_negative):
            return ""
        if rule.of_object:
            return f"{rule.slot}:{_object(found)}"
        return _question(rule, found["value"], statement)
    return ""


def _question(rule: _Rule, value: str, statement: str) -> str:
    is_answer = (
        rule.shape.fullmatch(value) if rule.shape else _is_plain(value) and not _is_compound(value, statement)
    )
    if not is_answer or rule.sign not in statement or (rule.is_name and not _is_capital(statement, value)):
        return ""
    if rule.slot == "city" and value in REGIONS:
        return ""
    return "country" if rule.slot == "city" and value.removeprefix("the ") in COUNTRIES else rule.slot


def _is_compound(value: str, statement: str) -> bool:
    """By the signs after the answer's beginning, or in all of the statement where that is spelt otherwise."""
    written = statement[max(statement.casefold().rfind(value.split(maxsplit=1)[0]), 0) :]
    place, _, country = written.partition(",")
    return bool(_COMPOUND.search(place if normalise(country) in COUNTRIES | REGIONS else written))


def synonyms(key: str) -> frozenset[str]:
    """Other keys for the same question, and ``key`` itself."""
    return frozenset(next((keys for keys in _FAMILIES if key in keys), (key,)))


def _object(found: re.Match[str]) -> str:
    other = found.groupdict().get("other") or ""
    return "|".join(sorted(filter(None, (essence(part).text for part in (found["value"], other)))))


def _is_plain(value: str) -> bool:
    if _UNSPACED.search(value):
        return len(value) <= MAX_VALUE_CHARS
    words = value.split()
    begins_well = words[0] not in _NOT_FIRST or (words[0] in _ARTICLES and len(words) == 1)
    is_one_thing = not _NOT_A_VALUE.intersection(words[1:] if words[0] in _ARTICLES else words)
    return len(words) <= MAX_VALUE_WORDS and begins_well and is_one_thing


def _is_capital(statement: str, value: str) -> bool:
    """Whether ``value`` is a name: "moved to Porto" is a city, "moved to marketing" or "Porto as a child" is not."""
    names = [word for word in value.split() if word not in _IN_NAMES]
    small = {
        part
        for word in statement.split()
        if (bare := word.lstrip("\"'“”‘’«»([{"))[:1].islower()
        for part in normalise(bare).split()
    }
    return bool(names) and not small.intersection(names)


def _rules() -> Iterator[_Rule]:
    for slot, patterns in _OF_THE_PERSON.items():
        for pattern in patterns:
            yield _Rule(slot, re.compile(pattern))
    for slot, patterns in _NAMED.items():
        for pattern in patterns:
            yield _Rule(slot, re.compile(pattern), is_name=True)
    for slot, patterns in _OF_OBJECTS.items():
        for pattern in patterns:
            yield _Rule(slot, re.compile(pattern), of_object=True)
    for slot, patterns in _SHAPED.items():
        for pattern in patterns:
            yield _shaped(slot, pattern)
    for attributes, _ in _SHAPES:
        for attribute in attributes.split():
            mine = rf"(?:my|{_USERS}) (?:new |current )?{attribute.replace('_', ' ?')}"
            yield _shaped(attribute, rf"{mine} (?:is|are)(?: now)? {_SHORT}")
    for person in _PEOPLE:
        mine = rf"(?:my|{_USERS}) {person}(?:s name is|s called|s named| is called| is named) {_V}"
        yield _Rule(f"name_of.{person}", re.compile(mine), is_name=True)


def _shaped(attribute: str, pattern: str) -> _Rule:
    shape = next(shape for attributes, shape in _SHAPES if attribute in attributes.split())
    return _Rule(
        _canonical(attribute),
        re.compile(pattern),
        is_name=shape == _NAME,
        shape=None if shape == _NAME else re.compile(shape),
        sign="@" if attribute in _ADDRESSES else "",
    )


def _canonical(attribute: str) -> str:
    return next((keys[0] for keys in _FAMILIES if attribute in keys), attribute)


_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_USERS = r"(?:the )?users"
# The speaker, as a person or a model writes it: "I", "the user", or left out.
_I = r"(?:(?:i|ive|im|the user|user) )?(?:have )?(?:(?:now|just|recently|currently) )?"
_V = r"(?P<value>.+)"
_SHORT = r"(?P<value>(?:\S+ ){0,5}\S+)"

_LANGUAGES = (
    "english|german|french|spanish|portuguese|italian|dutch|russian|chinese|mandarin|cantonese|japanese|korean|arabic|"
    "turkish|polish|swedish|danish|norwegian|finnish|greek|czech|hungarian|ukrainian|hindi|hebrew|vietnamese|thai"
)

_OPENING = re.compile(
    r"^(?:(?:by the way|btw|fyi|well|actually|oh|no|sorry|correction|update|please|note that|remember that|remember|"
    r"from now on|as of today|now|currently|ahora|agora|jetzt|maintenant|сейчас|теперь) )+"
)
_CLOSING = re.compile(
    r"(?: (?:now|again|currently|these days|at the moment|at present|any ?more|from now on|please|instead|"
    r"as of (?:today|now)|ahora|agora|jetzt|maintenant|сейчас|теперь))+$|(?<=\S)了$"
)
_ARTICLES = frozenset(["a", "an", "the", "o", "os", "as", "la", "le", "les", "el", "los", "las"])
# A value that begins or goes on like this is not one: "at home", "in a flat", "back later", "Lisbon and Porto".
_NOT_FIRST = listed(
    "a an my your his her their our this that it home night nights weekend weekends work school fear peace hope "
    "back later tomorrow today tonight on in at by if when after before maybe any anytime asap about once ein eine "
    "einer einem un una uno une um uma not no never only crazy up out over off away least"
)
_NOT_A_VALUE = listed(
    "and or but because when while if until till for with also too sometimes often usually mostly partly both either "
    "than used was were will would might may want wants plan plans hope soon next und oder aber weil wenn mit auch y o "
    "pero con también e mas com também et ou mais avec aussi и или но с тоже during summer winter weekend weekends "
    "moment weekdays week month temporarily part-time parttime another second not never"
)

_OF_THE_PERSON = {
    "diet": [
        (
            rf"{_I}(?:(?:am|is|became|turned|went) )?(?:an? )?(?:strict )?"
            r"(?P<value>vegetarian|vegan|pescatarian|flexitarian)"
        ),
        r"(?:yo )?soy (?P<value>vegetarian[oa]|vegan[oa])",
        r"(?:eu )?sou (?P<value>vegetarian[oa]|vegan[oa])",
        r"je suis (?:maintenant )?(?P<value>vegetarien(?:ne)?|végétarien(?:ne)?|vegan(?:e)?)",
        r"ich bin (?:jetzt )?(?P<value>vegetarier(?:in)?|veganer(?:in)?|vegetarisch|vegan)",
        r"我(?:现在)?(?:是|吃)(?P<value>素|纯素|素食者|纯素食者)(?:了)?",
    ],
    "reply_language": [
        (
            r"(?:always )?(?:answer|reply|respond|write|talk|speak)(?: to)?(?: me)?(?: only| always)? in "
            rf"(?P<value>{_LANGUAGES})"
        ),
        r"(?:antworte|schreib) (?:mir )?(?:immer )?auf (?P<value>(?:deutsch|\w+[iö]sch))",
        (
            r"(?:respondeme|respóndeme|contesta|responde)(?: siempre)? en "
            r"(?P<value>español|\w+és|alemán|italiano|ruso|chino)"
        ),
        r"réponds (?:moi )?(?:toujours )?en (?P<value>\w+ais|allemand|espagnol|italien|russe|chinois)",
        r"(?:请)?用(?P<value>中文|英文|英语|法语|日语|德语|西班牙语|粤语)(?:回答|回复)(?:我)?",
    ],
}
_SHAPED = {
    "email": [
        rf"mi (?:correo|correo electronico|correo electrónico|email) es {_SHORT}",
        rf"(?:o )?meu e ?mail é {_SHORT}",
        rf"mon (?:adresse )?e ?mail est {_SHORT}",
        rf"mon adresse (?:e ?mail|mail) est {_SHORT}",
        rf"meine e ?mail(?: ?adresse)? (?:ist|lautet) {_SHORT}",
        rf"la mia e ?mail è {_SHORT}",
        rf"мо[йя] (?:email|почта|электронная почта) {_SHORT}",
        rf"我的(?:邮箱|电子邮箱|邮箱地址|电邮|email)(?:地址)?(?:是|改成|换成)(?:了)? ?{_SHORT}",
    ],
    "phone": [
        rf"我的(?:电话|手机|手机号|电话号码|手机号码)(?:是|改成|换成)(?:了)? ?{_SHORT}",
        rf"meine (?:telefonnummer|handynummer|nummer) (?:ist|lautet) {_SHORT}",
        rf"mi (?:telefono|teléfono|numero|número) es {_SHORT}",
    ],
}
# "My name is pronounced …", "moved to marketing", "live in peace", "work for fun" are no answers.
_NAMED = {
    "nickname": [
        rf"{_I}(?:go by|goes by) {_V}",
        rf"(?:you can |just |you may )?call me (?!(?:mon|tues|wednes|thurs|fri|satur|sun)day){_V}",
        rf"{_I}(?:prefer|prefers) to be called {_V}",
        rf"(?:puedes )?llamame {_V}",
        rf"(?:puedes )?llámame {_V}",
        rf"(?:podes |pode )?me cham[ea] de {_V}",
        rf"chama me {_V}",
        rf"appelle moi {_V}",
        rf"appelez moi {_V}",
        rf"nenn(?:e)? mich {_V}",
        rf"chiamami {_V}",
        rf"зови меня {_V}",
        r"(?:请|以后|以后请)?叫我(?![起去来做吃一回干过帮买写看说上下])(?P<value>\S{1,6}?)(?:吧|就好|就行)?",
    ],
    "name": [
        rf"my (?:full |first )?name is {_V}",
        rf"(?:the )?users name is {_V}",
        rf"(?:yo )?me llamo {_V}",
        rf"mi nombre es {_V}",
        rf"(?:eu )?(?:chamo me|me chamo) {_V}",
        rf"(?:o )?meu nome é {_V}",
        rf"je mappelle {_V}",
        rf"ich heisse {_V}",
        rf"mein name ist {_V}",
        rf"mi chiamo {_V}",
        rf"меня зовут {_V}",
        r"我叫(?:做)?(?![你他她它了])(?P<value>\S{1,8})",
        r"我的名字(?:是|叫)(?P<value>\S+)",
        r"(?:私の名前は|名前は)(?P<value>.+?)(?:です)?",
        r"(?:제 이름은 |내 이름은 )(?P<value>.+?)(?:입니다|이에요|예요|야)?",
    ],
    "city": [
        rf"{_I}(?:live|lives|am living|living|reside|resides|am based|is based|based) in {_V}",
        rf"my home is in {_V}",
        rf"{_I}lived in (?P<value>.+?) since (?:\w+ )?(?:\d{{4}}|last \w+)",
        rf"(?:yo )?(?:vivo|resido) en {_V}",
        rf"(?:eu )?(?:moro|vivo|resido) em {_V}",
        rf"jhabite (?:a|à|en|au) {_V}",
        rf"je vis (?:a|à|en|au) {_V}",
        rf"ich (?:wohne|lebe) (?:jetzt )?in (?!(?:{GERMAN_CONDITIONS})\b){_V}",
        rf"(?:io )?(?:vivo|abito) a {_V}",
        rf"я (?:сейчас |теперь )?живу в {_V}",
        r"我?(?:现在|目前|已经)?(?:住在|搬到|搬去|搬家到|定居在)(?:了)?(?P<value>[^的和跟与 ]+(?<![家里店舍院楼边]))",
        (
            r"(?:私は|僕は|俺は|今は|今)*(?P<value>[^はがをでとや]+?)(?:に|へ)(?:住んでいます|住んでいる|住んでる|引っ越しました|"
            r"引っ越した)"
        ),
        r"(?:저는 |나는 |지금 )*(?P<value>\S+?)(?:에|에서) (?:살아요|살고 있어요|삽니다|살아)",
        (
            rf"{_I}(?:moved|moves|has moved|relocated)"
            rf"(?: house)?(?: from (?:\w+ ){{1,3}}?)? ?to (?!(?:{NO_PLACES})\b)(?P<value>\D+?)"
            r"(?: yesterday| today| recently| (?:last|this) (?:week|weekend|month)| \w+ (?:days?|weeks?) ago)?"
        ),
        rf"me (?:he mudado|mude|mudé) a {_V}",
        rf"(?:eu )?(?:me mudei|mudei me|mudei) para {_V}",
        rf"jai demenage (?:a|à) {_V}",
        rf"jai déménagé (?:a|à) {_V}",
        rf"je me suis installée? (?:a|à) {_V}",
        r"ich bin nach (?P<value>.+) (?:gezogen|umgezogen)",
        rf"mi sono trasferit[oa] a {_V}",
        rf"я переехала? в {_V}",
    ],
    "employer": [
        rf"{_I}(?:work|works|am working|working) (?:at|for) {_V}",
        rf"{_I}(?:am )?employed (?:at|by) {_V}",
        rf"{_I}started (?:working |a (?:new )?(?:job|position) )?at {_V}",
        rf"{_I}worked (?:at|for) (?P<value>.+?) since (?:\w+ )?(?:\d{{4}}|last \w+)",
        rf"(?:my|{_USERS}) (?:new |current )?employer is {_V}",
        rf"(?:yo )?trabajo para {_V}",
        rf"je travaille (?:maintenant )?(?:chez|pour) {_V}",
        rf"ich arbeite (?:jetzt )?(?:bei|fur|für) {_V}",
        rf"(?:io )?lavoro (?:per|presso) {_V}",
        r"我(?:现在|目前)?在(?P<value>\S+?(?:公司|集团|银行|大学|医院)|[a-z]+)(?:工作|上班)",
        r"我(?:现在|目前)?(?:就职于|任职于)(?P<value>\S+)",
    ],
}
_LOVE = "love|loves|like|likes|enjoy|enjoys|adore|adores|really like|really love"
_HATE = (
    "hate|hates|dislike|dislikes|detest|detests|loathe|loathes|dont like|do not like|doesnt like|does not like|"
    "cant stand|can not stand|cannot stand|no longer like|no longer likes|no longer love|dont enjoy|do not enjoy|"
    "dont love|do not love"
)
_OF_OBJECTS = {
    "attitude": [
        rf"{_I}(?:really |absolutely |now |still )?(?:{_HATE}|{_LOVE}) {_V}",
        rf"(?:a mi )?(?:no )?me (?:gustan?|encantan?) {_V}",
        rf"(?:yo )?(?:odio|detesto|amo|adoro) {_V}",
        rf"(?:eu )?(?:nao |não )?(?:gosto d[eoa]s?|adoro|odeio|detesto) {_V}",
        rf"(?:jaime|jadore|je deteste|je déteste|je hais) (?:le |la |les |l)?{_V}",
        rf"je naime (?:pas|plus) (?:le |la |les |l)?{_V}",
        r"ich (?:mag|liebe|hasse) (?:kein(?:e|en)? )?(?P<value>.+?)(?: (?:nicht|sehr|gar nicht|nicht mehr))?",
        rf"(?:io )?(?:non )?(?:mi piac(?:e|ciono)|amo|adoro|odio|detesto) (?:il |la |lo |i |le |gli |l)?{_V}",
        rf"я (?:очень |больше )?(?:не )?(?:люблю|ненавижу|обожаю) {_V}",
        r"我(?:现在|很|非常|最|真的|特别)*(?:不)?(?:再)?(?:喜欢|爱|讨厌|恨|爱吃|爱喝)(?P<value>[^和跟与 ]+)",
        r"(?:私は|僕は|俺は)?(?P<value>[^はがを]+?)(?:が|は)(?:大)?(?:好きです|好き|嫌いです|嫌い|好きではありません|好きじゃない)",
        r"(?:저는 |나는 )?(?P<value>\S+?)(?:을|를) (?:좋아해요|좋아합니다|싫어해요|싫어합니다|좋아해|싫어해)",
    ],
    "choice": [
        rf"{_I}prefers? (?P<value>.+?) (?:to|over|rather than) (?P<other>.+)",
    ],
    "favourite": [
        r"my (?:new |current )?(?:favourite|favorite) (?P<value>.+?) (?:is|are)(?: now)? .+",
        rf"(?:{_USERS}) (?:favourite|favorite) (?P<value>.+?) (?:is|are) .+",
    ],
}
# What an answer looks like, and to which attributes: as keys are written; between the words of one a person writes a
# space, or none. "My phone is broken" and "my address is private" are no answers.
_NAME = "a name"
_UNITS = r"[kc]?m|mm|kgs?|kilos?|kilograms?|lbs?|pounds?|stones?|met(?:er|re)s?|feet|foot|ft|in|inch(?:es)?"
_ZONES = (
    r"(?:africa|america|asia|atlantic|australia|europe|indian|pacific) \S+(?: \S+)?|(?:utc|gmt)(?: ?[+-]?\d.*)?"
    r"|ces?t|e[es]?[sd]?t|[cmp][sd]t|bst|ist|jst|kst|wet|msk"
    r"|(?:central european|eastern|central|mountain|pacific)(?: time)?"
)
_NO_USERNAMES = (
    "broken|private|wrong|taken|secret|hidden|unknown|forgotten|lost|gone|old|new|different|misspelled"
)
_SHAPES = (
    ("email e_mail email_address work_email private_email", r"\S+(?: \S+){0,5}"),
    ("phone phone_number mobile_number", r"\+?\d[\d -]{3,}"),
    ("weight height", rf"\d\S*(?: (?:\d\S*|{_UNITS}))*"),
    ("address home_address work_address postcode zip_code shoe_size", r".*\d.*"),
    ("birthday date_of_birth licence_plate license_plate", r".*\d.*"),
    ("shirt_size", r"\d+|x*[sml]|small|medium|large|extra large"),
    ("time_zone", _ZONES),
    ("native_language mother_tongue job_title home_town emergency_contact", _NAME),
    ("blood_type", r"(?:ab?|b|o|0)(?: ?[+-]| pos(?:itive)?| neg(?:ative)?)?"),
    ("username", rf"(?!(?:{_NO_USERNAMES})$)\S+"),
    ("marital_status", r"single|engaged|married|divorced|separated|widowed"),
)
_ADDRESSES = listed("email e_mail email_address work_email private_email")
# Small words inside names of people and places, in any language.
_IN_NAMES = _ARTICLES | listed("de da do dos das di du del della den der van von of upon sur am im bei and")
# Between two answers, or after one that is taken back: "Lisbon & Porto", "Lisbon, I wish".
_COMPOUND = re.compile(r"[,;+/(]|\s[&–—]\s")
_PEOPLE = (
    "wife", "husband", "partner", "spouse", "boss", "manager", "mother", "father", "girlfriend", "boyfriend",
    "landlord",
)  # fmt: skip
# Keys that ask the same; the first of each is the one that is stored.
_FAMILIES = (
    ("city", "home.city", "location.city", "address.city", "residence", "lives_in", "city_of_residence"),
    ("employer", "company", "workplace", "work.employer", "job.employer", "work.company", "works_at"),
    ("email", "e_mail", "email_address", "contact.email", "mail"),
    ("phone", "phone_number", "mobile_number", "contact.phone", "telephone", "mobile"),
    ("birthday", "date_of_birth", "birth_date"),
    ("time_zone", "timezone"),
    ("nickname", "preferred_name", "call_me", "name.preferred"),
    ("native_language", "mother_tongue"),
    ("home_town", "hometown"),
    ("diet", "dietary_preference"),
    ("licence_plate", "license_plate"),
)
_RULES = tuple(_rules())
