from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.portability.importers.moments import parse, parse_end
from tests.portability.importers.uploads import NOW


@pytest.mark.parametrize(
    "value",
    [
        1714581311,
        Decimal("1714581311.0"),
        1714581311000,
        1714581311000000,
        1714581311000000000,
        "1714581311",
        "1714581311.000",
        "2024-05-01T16:35:11Z",
        "2024-05-01T16:35:11.000000Z",
        "2024-05-01T09:35:11-07:00",
        "2024-05-01 16:35:11",
        "2024-05-01 16:35:11 UTC",
        " 2024-05-01T16:35:11+00:00 ",
        {"$date": "2024-05-01T16:35:11Z"},
        {"$date": 1714581311000},
    ],
)
def test_every_way_to_write_a_moment_is_read(value):
    assert parse(value, now=NOW) == datetime(2024, 5, 1, 16, 35, 11, tzinfo=UTC)


def test_fractions_of_seconds_are_exact():
    assert parse(Decimal("1714581311.123456"), now=NOW).microsecond == 123456


@pytest.mark.parametrize(
    "value",
    [
        None, "", "soon", 0, -1, 1, True, False, [], {}, {"$date": {"$date": 1}}, "13:18:04 GMT-0400", 10**40,
        Decimal("1e400"), "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1970-01-01", "9" * 10_000,
        "1999-12-31T23:59:59Z", "2024-13-01",
    ],
)  # fmt: skip
def test_what_cannot_be_a_moment_is_none(value):
    assert parse(value, now=NOW) is None


def test_the_future_begins_a_day_from_now():
    assert parse((NOW + timedelta(hours=23)).isoformat(), now=NOW)
    assert parse((NOW + timedelta(hours=25)).isoformat(), now=NOW) is None
    assert parse_end("2099-01-01") == datetime(2099, 1, 1, tzinfo=UTC)


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text())
def test_any_value_is_a_plausible_moment_or_none(value):
    moment = parse(value, now=NOW)

    assert moment is None or 2000 <= moment.year <= 2026
