"""Which questions are looked up, and how; all others are searched for."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.routing import MOST, ByKey, Listing, Order, Period, days, route

MONDAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("What's my email?", "email"),
        ("what is my e-mail address again?", "email"),
        ("Can you tell me my phone number, please?", "phone"),
        ("Where do I live?", "city"),
        ("which city do i live in", "city"),
        ("Who do I work for?", "employer"),
        ("What do I do for a living?", "occupation"),
        ("When is my birthday?", "birthday"),
        ("Do you remember my name?", "name"),
        ("What time zone am I in?", "time_zone"),
        ("What’s my shoe size?", "shoe_size"),
        ("What is my favourite red wine?", "favorite.red_wine"),
        ("What is my sister's name?", "family.sister.name"),
        ("What's my dog called?", "pet.dog.name"),
        ("Wo wohne ich?", "city"),
        ("Wie heiße ich?", "name"),
        ("¿Dónde vivo?", "city"),
        ("Où est-ce que j'habite ?", "city"),
        ("我住在哪里？", "city"),
        ("我叫什么名字？", "name"),
        ("どこに住んでいますか", "city"),
    ],
)
def test_a_question_for_one_value_goes_by_its_key(question, key):
    way = route(question)

    assert isinstance(way, ByKey)
    assert way.keys[0] == key


def test_the_name_of_a_spouse_is_looked_for_under_all_that_it_may_be_called():
    assert route("What is my wife's name?") == ByKey(
        ("family.wife.name", "family.spouse.name", "wife.name", "wife_name", "wife")
    )


@pytest.mark.parametrize(
    ("question", "listing"),
    [
        ("What are my last three tickets?", Listing(limit=3, noun="ticket")),
        ("my last 3 tickets", Listing(limit=3, noun="ticket")),
        ("Show me my latest two decisions", Listing(limit=2, noun="decision")),
        ("What was my last order?", Listing(limit=1, noun="order")),
        ("What was my first booking?", Listing(order=Order.OLDEST, limit=1, noun="booking")),
        ("List my recent allergies", Listing(noun="allergy")),
        ("What is my order number?", Listing(limit=3, noun="order")),
        ("my last 900 facts", Listing(limit=MOST)),
        ("What expires soon?", Listing(order=Order.EXPIRING)),
        ("Which memories will expire this week?", Listing(order=Order.EXPIRING)),
        ("What did I tell you this week?", Listing(said=Period.WEEK)),
        ("what have you learned about me today", Listing(said=Period.TODAY)),
        ("Was habe ich dir gestern gesagt?", Listing(said=Period.YESTERDAY)),
        ("我昨天跟你说了什么", Listing(said=Period.YESTERDAY)),
        ("What do you know about me?", Listing()),
        ("Tell me what you remember", Listing()),
        ("Was weißt du über mich?", Listing()),
    ],
)
def test_a_question_for_a_list_says_which_and_in_what_order(question, listing):
    assert route(question) == listing


@pytest.mark.parametrize(
    "question",
    [
        "What do I usually drink?",
        "What did I tell you this week about Rome?",
        "What is my plan for tomorrow?",
        "Where does my sister live?",
        "What is the capital of France?",
        "My name is Bob.",
        "my email is bob@example.org",
        "I live in Porto. Where do I live?",
        "What's my email and where do I live?",
        "I like my job",
        "Thanks!",
        "",
        "What's my email? " * 20,
    ],
)
def test_anything_more_or_less_is_searched_for(question):
    assert route(question) is None


@pytest.mark.parametrize(
    ("period", "first", "after"),
    [
        (Period.TODAY, MONDAY, date(2026, 12, 1)),
        (Period.YESTERDAY, date(2026, 11, 29), MONDAY),
        (Period.WEEK, MONDAY, date(2026, 12, 1)),
        (Period.LAST_WEEK, date(2026, 11, 23), MONDAY),
        (Period.MONTH, date(2026, 11, 1), date(2026, 12, 1)),
        (Period.LAST_MONTH, date(2026, 10, 1), date(2026, 11, 1)),
    ],
)
def test_periods_are_half_open_days(period, first, after):
    assert days(period, today=MONDAY) == (first, after)


def test_the_month_before_january_is_in_the_year_before():
    assert days(Period.LAST_MONTH, today=date(2026, 1, 31)) == (date(2025, 12, 1), date(2026, 1, 1))


@given(st.text(max_size=300))
def test_any_text_is_routed_or_not(text):
    way = route(text)

    assert way is None or isinstance(way, ByKey | Listing)
    if isinstance(way, Listing):
        assert 1 <= way.limit <= MOST
