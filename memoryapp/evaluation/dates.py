"""When something was said, as the files of several data sets write it. No locale, no time zone but UTC."""

import re
from datetime import UTC, datetime
from typing import Final

from memoryapp.policies.terms import MONTHS

_MONTH: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS)
_DAYS: Final = (
    re.compile(r"(?P<year>\d{4})\s*[-/.年]\s*(?P<month>\d{1,2})\s*[-/.月]\s*(?P<day>\d{1,2})"),
    re.compile(
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<name>{_MONTH})\b\.?,?\s+(?P<year>\d{{4}})", re.IGNORECASE
    ),
    re.compile(
        rf"(?P<name>{_MONTH})\b\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})", re.IGNORECASE
    ),
    re.compile(r"(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?P<year>\d{4})"),
)
_TIME: Final = re.compile(
    r"(?<!\d)(?P<hour>\d{1,2})[:：](?P<minute>\d{2})(?::\d{2})?\s*(?P<half>[ap])?\.?m?", re.IGNORECASE
)


def said_at(written: object) -> datetime | None:
    """``1:56 pm on 8 May, 2023``, ISO, ``2023年5月8日`` and the like; None when no day can be read from it."""
    text = str(written or "")
    for day in _DAYS:
        found = day.search(text)
        if found:
            return _moment(found, _TIME.search(text, 0))
    return None


def _moment(day: re.Match[str], time: re.Match[str] | None) -> datetime | None:
    parts = day.groupdict()
    month = int(parts["month"]) if parts.get("month") else _number(parts["name"])
    hour, minute = (int(time["hour"]), int(time["minute"])) if time else (0, 0)
    if time and time["half"]:
        hour = hour % 12 + 12 * (time["half"].lower() == "p")
    try:
        return datetime(int(parts["year"]), month, int(parts["day"]), hour, minute, tzinfo=UTC)
    except ValueError:  # 31 February, 25 o'clock
        return None


def _number(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))
