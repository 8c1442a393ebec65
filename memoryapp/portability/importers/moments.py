"""Points in time as other products write them."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# None of the products is older; a zero, a counter or a year typed wrong is.
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_CLOCK_ERROR: Final = timedelta(days=1)
# From so many on, a number counts thousandths, millionths or billionths of a second.
_FINER: Final = ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3))
_NUMBER: Final = re.compile(r"\d{9,19}(?:\.\d{1,9})?")
_LONGEST: Final = 40


def parse(value: object, *, now: datetime) -> datetime | None:
    """The point in time in UTC, or None if it cannot be read or cannot be true.

    Takes seconds (or finer) since 1970 as a number or text, ISO 8601 with or without a zone (then UTC), and
    MongoDB's ``{"$date": …}``.
    """
    if isinstance(value, dict):
        value = value.get("$date")
    if isinstance(value, str):
        moment = _from_text(value.strip())
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        moment = _from_number(value)
    else:
        moment = None
    return moment if moment and _EARLIEST <= moment <= now + _CLOCK_ERROR else None


def parse_end(value: object) -> datetime | None:
    """The same for the end of something, which may well lie in the future."""
    return parse(value, now=datetime.max.replace(tzinfo=UTC) - 2 * _CLOCK_ERROR)


def _from_text(text: str) -> datetime | None:
    if len(text) > _LONGEST:
        return None
    if _NUMBER.fullmatch(text):
        return _from_number(Decimal(text))
    try:
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _from_number(number: int | Decimal) -> datetime | None:
    if not 0 < number < 10**20:
        return None
    unit = next((unit for least, unit in _FINER if number >= least), 1)
    try:
        return _EPOCH + timedelta(microseconds=int(Decimal(number) * 10**6 / unit))
    except OverflowError:
        return None
