"""Relative dates are resolved against the moment they were said, in the user's zone."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies import dates

# A Wednesday.
SAID_ON = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Yesterday I moved to Porto.", "2026-11-17"),
        ("I adopted a cat last night", "2026-11-17"),
        ("The day before yesterday I saw Ana", "2026-11-16"),
        ("I have an exam tomorrow at 9.", "2026-11-19"),
        ("We leave the day after tomorrow", "2026-11-20"),
        ("I started a new job today", "2026-11-18"),
        ("dinner with Tom tonight", "2026-11-18"),
        ("I moved two weeks ago", "2026-11-04"),
        ("I quit 3 days ago", "2026-11-15"),
        ("We met a month ago", "2026-10-18"),
        ("I moved here a couple of years ago", "2024-11-18"),
        ("My visa ends in two weeks", "2026-12-02"),
        ("We get married in 3 months", "2027-02-18"),
        ("I moved last week", "2026-11-09"),
        ("The audit is next week", "2026-11-23"),
        ("I am off this week", "2026-11-16"),
        ("We moved last month", "2026-10-01"),
        ("The lease ends next month", "2026-12-01"),
        ("I graduated last year", "2025-01-01"),
        ("The wedding is next year", "2027-01-01"),
        ("We went hiking last weekend", "2026-11-14"),
        ("Last Friday I ran a marathon", "2026-11-13"),
        ("Last Wednesday I ran a marathon", "2026-11-11"),
        ("The meeting is next Friday", "2026-11-27"),
        ("The meeting is this Friday", "2026-11-20"),
        ("I'm flying to Rome on Friday", "2026-11-20"),
        ("On Friday I broke my leg", "2026-11-13"),
        ("I'm meeting her on Wednesday", "2026-11-25"),
        ("I need the report by Monday", "2026-11-23"),
        ("I moved to Lisbon in March", "2026-03-01"),
        ("I broke my leg in December", "2025-12-01"),
        ("We are going to Japan in March", "2027-03-01"),
        ("I was hired last December", "2025-12-01"),
        ("The conference is next March", "2027-03-01"),
        ("We married in May 2019", "2019-05-01"),
        ("I moved here in 2019", "2019-01-01"),
        ("The dentist saw me on 3 May", "2026-05-03"),
        ("My exam is on 3 May", "2027-05-03"),
        ("I have an appointment on 5 December at 10:00", "2026-12-05"),
        ("I have an appointment on December 5th", "2026-12-05"),
        ("I was born on 5 May 1990", "1990-05-05"),
        ("May 3, 2024 was the day", "2024-05-03"),
        ("Delivered on 2026-03-01", "2026-03-01"),
        ("seit dem 3.5.2026", "2026-05-03"),
        ("due 25/12/2026", "2026-12-25"),
        ("due 12/25/2026", "2026-12-25"),
        ("Gestern bin ich nach Bonn gezogen", "2026-11-17"),
        ("Ayer me mudé", "2026-11-17"),
        ("昨天我搬到了上海", "2026-11-17"),
        ("明日は試験です", "2026-11-19"),
        ("I quit half a year ago", "2026-05-18"),
        ("We move in half a year", "2027-05-18"),
        ("I quit one year ago", "2025-11-18"),
        ("The fair is a week from Friday", "2026-11-27"),
        ("Due two weeks from tomorrow", "2026-12-03"),
        ("Last year on 3 May I married", "2025-05-03"),
        ("Last year in May I married", "2025-05-01"),
        ("Next year in March we go to Rome", "2027-03-01"),
        ("The party is on Friday, 3 December 2027", "2027-12-03"),
        ("Our son was born last Friday", "2026-11-13"),
        ("I was there from 3 May to 5 May", "2026-05-03"),
        ("Yesterday, on Tuesday, I fell", "2026-11-17"),
    ],
)
def test_a_date_is_read(text, day):
    assert dates.day_meant(text, said_on=SAID_ON) == date.fromisoformat(day)


@pytest.mark.parametrize(
    "text",
    [
        "I like tea.",
        "Every Friday I go swimming.",
        "I work from home on Fridays.",
        "My birthday is May 3rd.",
        "Our anniversary is on 4 June.",
        "I may come.",
        "They march through the town.",
        "Invoice 1041 is paid.",
        "due 03/05/2026",
        "on 31 February 2026",
        "I always take the train on Monday",
        "Hier wohne ich.",
        "I was there in 3000 years",
        "I was born on 3 May.",
        "My son was born in May",
        "I love Black Friday.",
        "I love Friday",
        "My dog is called Friday",
        "It was a Friday",
        "It was built on 3 May 1890",
        "It was built on 3 May 1066",
        "",
    ],
)
def test_what_names_no_one_day_is_left_undated(text):
    assert dates.day_meant(text, said_on=SAID_ON) is None


def test_yesterday_said_on_the_first_of_march_is_the_last_of_february():
    said_at = datetime(2026, 3, 1, 12, tzinfo=UTC)

    moment = dates.happened("Yesterday I moved to Porto", said_at=said_at, time_zone="UTC")

    assert moment == datetime(2026, 2, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time_zone", "midnight"),
    [
        # 23:30 UTC is already the 2nd in Tokyo, and still the 1st in New York.
        ("Asia/Tokyo", datetime(2026, 3, 1, tzinfo=ZoneInfo("Asia/Tokyo"))),
        ("America/New_York", datetime(2026, 2, 28, tzinfo=ZoneInfo("America/New_York"))),
    ],
)
def test_the_day_is_one_of_the_users_zone(time_zone, midnight):
    said_at = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)

    moment = dates.happened("yesterday", said_at=said_at, time_zone=time_zone)

    assert moment == midnight
    assert moment.tzinfo == UTC


@pytest.mark.parametrize(
    "text",
    [
        "I moved on 3 May 2024, and last week I moved again.",
        "Yesterday I booked a flight for 3 May",
        "I moved here in 2019 and left in 2021",
    ],
)
def test_a_statement_about_two_days_is_left_undated(text):
    assert dates.day_meant(text, said_on=SAID_ON) is None


WORDS = st.sampled_from(
    [
        "yesterday",
        "in",
        "ago",
        "31",
        "February",
        "2026",
        "last",
        "next",
        "Friday",
        "two",
        "weeks",
        "May",
        "0",
        "9999",
    ]
)


@given(
    st.lists(WORDS | st.text(max_size=8), max_size=8).map(" ".join),
    st.dates(date(1971, 1, 1), date(2200, 1, 1)),
)
def test_no_text_raises_and_what_is_read_lies_within_a_life(text, said_on):
    day = dates.day_meant(text, said_on=said_on)

    assert day is None or abs(day.year - said_on.year) <= 120


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("I worked at Acme from 2019 to 2020", 2019, 2021),
        ("I worked at Acme 2019–20.", 2019, 2021),
        ("Between 2019 and 2021 I lived in Faro", 2019, 2022),
        ("At Acme, 2019-2019", 2019, 2020),
    ],
)
def test_a_span_of_years_ends_with_its_last_one(text, first, after):
    assert dates.years_held(text) == (date(first, 1, 1), date(after, 1, 1))


@pytest.mark.parametrize(
    "text",
    [
        "Since 2019",
        "In 2019 and 2023",
        "On 2019-05-12",
        "In 2010-12",
        "From 2020 to 2019",
        "Call 1-2019-2020-33",
    ],
)
def test_what_is_no_span_of_years_is_none(text):
    assert dates.years_held(text) is None
