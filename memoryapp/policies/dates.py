"""When what somebody tells of happened, or will: relative dates resolved against the moment they were said.

"Yesterday I moved to Porto", said on 1 March, happened on 28 February. Code does it, not a model: whoever reads the
statement months later has no other way to know which day "yesterday" was. Pure.

Read are English words for days, weekdays, weeks, months and years, dates in figures, and the words for yesterday,
today and tomorrow of a few other languages. Not read: seasons, holidays, clock times, and whatever comes round again
("every Friday", a birthday): those have no one day.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

FARTHEST_YEARS = 120  # what lies farther off is no date of a life


def happened(text: str, *, said_at: datetime, time_zone: str) -> datetime | None:
    """The midnight, in ``time_zone``, that begins the day which the first date in ``text`` means; in UTC.

    Of a week, a month or a year it is the first day. None where the text names no day. ``said_at`` is aware.
    """
    zone = ZoneInfo(time_zone)
    day = day_meant(text, said_on=said_at.astimezone(zone).date())
    return None if day is None else midnight(day, time_zone=time_zone)


def midnight(day: date, *, time_zone: str) -> datetime:
    """The moment at which ``day`` begins in ``time_zone``; in UTC."""
    return datetime.combine(day, time(), tzinfo=ZoneInfo(time_zone)).astimezone(UTC)


def years_held(text: str) -> tuple[date, date] | None:
    """The first day of a span of years ("from 2019 to 2020", "2019–20") and the day after its last; None without one.

    The last year counts as a whole.
    """
    span = _SPAN.search(text)
    if span is None:
        return None
    first, last = int(span["first"]), span["last"]
    after = int(f"{first // 100}{last}" if len(last) == 2 else last) + 1
    return (date(first, 1, 1), date(after, 1, 1)) if first < after else None


def day_meant(text: str, *, said_on: date) -> date | None:
    """The day, or the first day of the time, that ``text`` names; None when it names none, or several.

    Of a span ("from Monday to Friday") it is the first, of "last year, in May" the narrower.
    """
    if _RECURRING.search(text):
        return None
    found = list(_moments(text, said_on))
    for (first, day), (second, later) in pairwise(found):
        if day != later and not _SPANNED.fullmatch(text[first.end() : second.start()]):
            return None
    return found[0][1] if found else None


def _moments(text: str, said_on: date) -> Iterator[tuple["re.Match[str]", date]]:
    """From left to right; of what overlaps the longest, and nothing for a part of a date that is none."""
    matches = sorted(
        ((match, read) for pattern, read in _FORMS for match in pattern.finditer(text)),
        key=lambda form: (form[0].start(), -form[0].end()),
    )
    end = 0
    for match, read in matches:
        if match.start() < end:
            continue
        end = match.end()
        day = _read(read, match, said_on, text)
        if day and abs(day.year - said_on.year) <= FARTHEST_YEARS:
            yield match, day


_Reader = Callable[["re.Match[str]", date, str], date | None]


def _read(read: _Reader, match: re.Match[str], said_on: date, text: str) -> date | None:
    try:
        return read(match, said_on, text)
    except (ValueError, OverflowError):  # 31 February, the year 0
        return None


_MONTHS = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?",
    "sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = (
    "an?|one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_COUNT = rf"(?P<count>\d{{1,4}}|a (?:couple of|few)|{'|'.join(_NUMBERS)})"
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_DAY = rf"(?P<weekday>{'|'.join(_DAYS)})"
_YEAR = r"(?P<year>(?:18|19|20|21)\d\d)"
_NUMBER = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_UNIT = r"(?P<unit>day|night|week|fortnight|month|year)"
_WHICH = r"(?P<which>last|this|next|coming)"
_OF_YEAR = r"(?:(?P<whose>last|this|next) year,? (?:on (?:the )?)?)?"
_LED = rf"(?:(?:on )?(?:{'|'.join(_DAYS)}),? (?:the )?)?"  # "Friday, 3 May"
_IN = r"\b(?:in|since|until|by)"
_NO_YEAR = r"(?!,? ?\d{3,4}\b)"

# "2010-12" may be a month; and "in 2019 and 2023" is no span.
_SPAN = re.compile(
    r"(?<!-)\b(?P<first>(?:18|19|20|21)\d\d)(?: ?[-–—] ?| (?:to|until|till|through) |(?<=between \d{4}) and )"
    r"(?P<last>(?:18|19|20|21)\d\d|1[3-9]|[2-9]\d)\b(?!-)",
    re.IGNORECASE,
)
_RECURRING = re.compile(
    rf"\b(?:every|each|birthdays?|anniversar(?:y|ies)|annually|yearly|monthly|weekly|daily|always|usually)\b"
    rf"|\b(?:{'|'.join(_DAYS)})s\b",
    re.IGNORECASE,
)
# Of a date without a year, and of a bare weekday: whether it is told or announced.
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|came|left|met|saw|bought|sold|broke|began|started|ate|ran|won|lost|took|made|found"
    r"|gave|quit|became|flew|drove|spent|fell|built|wrote|since"
    r"|(?!need|indeed|speed|feed|breed|planned|scheduled|supposed)\w{2,}ed)\b",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"\b(?:will|'ll|shall|going to|is on|are on|by|until|deadline|due|planned|scheduled|tomorrow|next|leaves|starts"
    r"|flying|travell?ing|moving|meeting|getting|visiting|have an?|has an?|am|are)\b",
    re.IGNORECASE,
)


_BIRTH = re.compile(r"\b(?:born|birth|birthdate)\b", re.IGNORECASE)
_NO_DAY_AFTER = re.compile(
    r"\b(?:called|named|name is|day is|loves?|likes?|hates?|enjoys?|prefers?|black|good|casual|cyber|ash|palm|easter"
    r"|super|an?)\s[\"'“]?$",
    re.IGNORECASE,
)
# Between the ends of a span.
_SPANNED = re.compile(r"\s*(?:-|–|—|to|until|till|through)\s*(?:the\s*)?", re.IGNORECASE)


def _named_day(offset: int) -> _Reader:
    return lambda _match, said_on, _text: said_on + timedelta(days=offset)


def _ago(match: re.Match[str], said_on: date, _text: str) -> date:
    return _moved(said_on, match["unit"], -_count(match["count"]))


def _half(match: re.Match[str], said_on: date, _text: str) -> date:
    """Half a year; of a month fifteen days."""
    sign = 1 if match["ahead"] else -1
    is_year = match["unit"].lower() == "year"
    return _moved(said_on, "month", 6 * sign) if is_year else said_on + timedelta(days=15 * sign)


def _from_then(match: re.Match[str], said_on: date, _text: str) -> date:
    """ "A week from Friday" is a week after the next one."""
    then = match["then"].lower()
    days = {"now": 0, "today": 0, "tomorrow": 1}
    ahead = days[then] if then in days else (_DAYS.index(then) - said_on.weekday()) % 7 or 7
    return _moved(said_on + timedelta(days=ahead), match["unit"], _count(match["count"]))


def _ahead(match: re.Match[str], said_on: date, _text: str) -> date:
    return _moved(said_on, match["unit"], _count(match["count"]))


def _moved(day: date, unit: str, count: int) -> date:
    days = {"day": 1, "night": 1, "week": 7, "fortnight": 14}.get(unit.lower())
    if days:
        return day + timedelta(days=days * count)
    months = day.year * 12 + day.month - 1 + count * (12 if unit.lower() == "year" else 1)
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _count(word: str) -> int:
    word = word.lower()
    if word.isdecimal():
        return int(word)
    if word.startswith("a "):
        return 2 if "couple" in word else 3
    return next(number for number, name in enumerate(_NUMBERS, start=1) if re.fullmatch(name, word))


_STEPS = {"last": -1, "this": 0, "next": 1, "coming": 1}


def _which_unit(match: re.Match[str], said_on: date, _text: str) -> date:
    """The beginning of last, this or next week, month or year."""
    step = _STEPS[match["which"].lower()]
    unit = match["unit"].lower()
    if unit in {"week", "fortnight"}:
        return _monday(said_on) + timedelta(weeks=step)
    if unit in {"day", "night"}:
        return said_on + timedelta(days=step)
    moved = _moved(said_on, unit, step)
    return moved.replace(day=1, month=1 if unit == "year" else moved.month)


def _weekend(match: re.Match[str], said_on: date, _text: str) -> date:
    return _monday(said_on) + timedelta(days=5, weeks=_STEPS[match["which"].lower()])


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _weekday(match: re.Match[str], said_on: date, text: str) -> date | None:
    """Last: the newest before today. This: of this week. Next: of the next week. Bare: by the tense, never today.

    None for what only has its name: Black Friday, a dog called Friday, "I love Friday".
    """
    if match[0] == match["weekday"] and _NO_DAY_AFTER.search(text, 0, match.start()):
        return None
    weekday = _DAYS.index(match["weekday"].lower())
    ahead = (weekday - said_on.weekday()) % 7
    which = (match["which"] or "").lower()
    if which in {"this", "next"}:
        return _monday(said_on) + timedelta(days=weekday, weeks=_STEPS[which])
    if which == "last" or (not which and _is_told(text)):
        return said_on - timedelta(days=7 - ahead)
    return said_on + timedelta(days=ahead or 7)


def _full(match: re.Match[str], _said_on: date, _text: str) -> date:
    return date(int(match["year"]), _month(match["month"]), int(match["day"]))


def _day_and_month(match: re.Match[str], said_on: date, text: str) -> date | None:
    day, month = int(match["day"]), _month(match["month"])
    return _of_the_year_meant(lambda year: date(year, month, day), match, said_on, text)


def _only_month(match: re.Match[str], said_on: date, text: str) -> date | None:
    """The first of it: of last, this or next year where that is said, else by the tense."""
    month = _month(match["month"])
    which = (match.groupdict().get("which") or "").lower()
    if which == "this":
        return date(said_on.year, month, 1)
    if which == "last":
        return date(said_on.year - (month >= said_on.month), month, 1)
    if which:
        return date(said_on.year + (month <= said_on.month), month, 1)
    return _of_the_year_meant(lambda year: date(year, month, 1), match, said_on, text)


def _of_the_year_meant(
    of: Callable[[int], date], match: re.Match[str], said_on: date, text: str
) -> date | None:
    """Of last, this or next year where that is said. Else the newest of them when it is told, the next when it is
    announced, else the nearest; and of somebody's birth none, for it may be any.
    """
    whose = (match["whose"] or "").lower()
    if whose:
        return of(said_on.year + _STEPS[whose])
    if _BIRTH.search(text):
        return None
    days = [day for year in range(said_on.year - 4, said_on.year + 5) if (day := _valid(of, year))]
    if _is_told(text):
        return max(day for day in days if day <= said_on)
    if _AHEAD.search(text):
        return min(day for day in days if day >= said_on)
    return min(days, key=lambda day: abs(day - said_on))


def _valid(of: Callable[[int], date], year: int) -> date | None:
    try:
        return of(year)
    except ValueError:  # 29 February
        return None


def _month_of_year(match: re.Match[str], _said_on: date, _text: str) -> date:
    return date(int(match["year"]), _month(match["month"]), 1)


def _only_year(match: re.Match[str], _said_on: date, _text: str) -> date:
    return date(int(match["year"]), 1, 1)


def _in_figures(match: re.Match[str], _said_on: date, _text: str) -> date | None:
    """Day first, as with dots; with slashes only where the other order is impossible."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if match["mark"] == "/" and first <= 12 and second <= 12 and first != second:
        return None
    return date(year, first, second) if match["mark"] == "/" and second > 12 else date(year, second, first)


def _month(name: str) -> int:
    if name.isdecimal():
        return int(name)
    return next(
        number for number, form in enumerate(_MONTHS, start=1) if re.fullmatch(form, name, re.IGNORECASE)
    )


def _is_told(text: str) -> bool:
    return bool(_PAST.search(text)) and not re.search(r"\b(?:will|going to)\b", text, re.IGNORECASE)


_TABLE: tuple[tuple[str, _Reader], ...] = (
    (r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b", _full),
    (r"\b(?P<first>\d{1,2})(?P<mark>[./])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})\b", _in_figures),
    (rf"\b{_LED}\b{_NUMBER}(?: of)? {_MONTH}\.?,? {_YEAR}\b", _full),
    (rf"\b{_LED}\b{_MONTH}\.? {_NUMBER},? {_YEAR}\b", _full),
    (rf"\b{_OF_YEAR}{_LED}\b{_NUMBER}(?: of)? {_MONTH}\b{_NO_YEAR}", _day_and_month),
    (rf"\b{_OF_YEAR}{_LED}\b{_MONTH}\.? {_NUMBER}\b(?! ?%){_NO_YEAR}", _day_and_month),
    (rf"\b(?:in|since|of|until|by) (?:early |mid-?|late )?{_MONTH}\.?,? {_YEAR}\b", _month_of_year),
    (rf"\b{_OF_YEAR}{_IN} (?:early |mid-?|late )?{_MONTH}\b{_NO_YEAR}", _only_month),
    (rf"\b(?P<whose>){_WHICH} {_MONTH}\b", _only_month),
    (rf"\b(?:in|since|until|by) {_YEAR}\b", _only_year),
    (r"\bthe day before yesterday\b", _named_day(-2)),
    (r"\bthe day after tomorrow\b", _named_day(2)),
    (r"\b(?:yesterday|last night)\b", _named_day(-1)),
    (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", _named_day(0)),
    (r"\btomorrow\b", _named_day(1)),
    (r"\b(?P<ahead>in )?half an? (?P<unit>year|month)(?(ahead)| ago)\b", _half),
    (rf"\b{_COUNT} {_UNIT}s? from (?P<then>now|today|tomorrow|{'|'.join(_DAYS)})\b", _from_then),
    (rf"\b{_COUNT} {_UNIT}s? ago\b", _ago),
    (rf"\bin {_COUNT} {_UNIT}s?\b", _ahead),
    (rf"\b{_WHICH} {_UNIT}\b(?!end)", _which_unit),
    (rf"\b{_WHICH} weekend\b", _weekend),
    (rf"\b(?:on )?(?:{_WHICH} )?{_DAY}\b", _weekday),
    # The rest of the world's three commonest; "hier" and "morgen" mean something else next door.
    (r"\b(?:vorgestern|avant-hier|anteayer|anteontem|l'altro ieri)\b|前天|おととい|一昨日", _named_day(-2)),
    (r"\b(?:gestern|ayer|ieri|ontem)\b|昨天|昨日|어제", _named_day(-1)),
    (r"\b(?:heute|aujourd'hui|hoy|oggi)\b|今天|今日|오늘", _named_day(0)),
    (r"\b(?:demain|domani|amanhã)\b|明天|明日|내일", _named_day(1)),
    (r"\b(?:übermorgen|après-demain|pasado mañana|dopodomani)\b|后天|明後日", _named_day(2)),
)  # fmt: skip
_FORMS = tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in _TABLE)
