"""A question that a look-up answers is not searched for: the value of a key, the last three, what ends soon."""

from datetime import UTC, datetime, timedelta

import pytest

from memoryapp.context.recall import Recall, recall, search, trace
from memoryapp.longterm.models import Kind, Memory
from memoryapp.policies.trust import Origin
from tests.context.saying import talk
from tests.longterm.saying import DAY, NOW, remember


@pytest.fixture
def no_search(embedder, monkeypatch):
    """Neither the words nor the meaning of the question are compared with anything."""
    monkeypatch.setattr(type(embedder), "embed_queries", lambda *_: pytest.fail("searched"))


def asked(user, question: str, *, now: datetime = NOW) -> Recall:
    return recall(user.id, question, now=now)


def answers(user, question: str, *, now: datetime = NOW) -> list[str]:
    return [item.memory.statement for item in asked(user, question, now=now).included]


def contact(user, statement: str, key: str, **values) -> Memory:
    return remember(user, statement, **{"kind": "contact_preference", "key": key, **values}).memory


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("What's my email?", "email"),
        ("What's my e-mail address?", "contact.email"),
        ("Where do I live?", "home.city"),
        ("What is my shoe size?", "shoe_size"),
        ("What's my dog's name?", "pet.dog.name"),
        ("Who is my boss?", "boss.name"),
    ],
)
def test_the_value_of_a_key_is_looked_up(alice, question, key):
    contact(alice, "It is as I said.", key)
    contact(alice, "It is something else.", "something.else")
    talk(alice, "It is as I said the other day.")

    found = asked(alice, question)

    assert [item.memory.key for item in found.included] == [key]
    assert [entry["reason"] for entry in trace(found)] == ["asked by key"]


def test_what_is_always_used_and_asked_for_stands_there_once(alice):
    remember(alice, "I live in Porto.", kind="identity", key="city")
    remember(alice, "I am Ana.", kind="identity", key="name")

    found = asked(alice, "Where do I live?")

    assert [(item.text, item.reason) for item in found.included] == [
        ("I am Ana.", "always used"),
        ("I live in Porto.", "asked by key"),
    ]


def test_a_key_that_is_not_there_is_searched_for(alice):
    remember(alice, "You can write to ana@example.org, my email", kind="contact_preference")

    assert answers(alice, "What is my email?") == ["You can write to ana@example.org, my email"]


@pytest.mark.usefixtures("no_search")
def test_the_last_three_of_a_kind_come_newest_first(alice):
    for number in range(1, 6):
        remember(alice, f"Case {number}0{number} is open", kind="ticket", said_at=NOW - number * DAY)
    remember(alice, "I like tea", kind="preference")

    found = asked(alice, "What are my last three tickets?")

    assert [item.text for item in found.included] == [f"Case {n}0{n} is open" for n in (1, 2, 3)]
    assert {item.reason for item in found.included} == {"the last 3 of kind ticket"}


@pytest.mark.usefixtures("no_search")
def test_what_is_no_kind_is_listed_by_its_word(alice):
    remember(alice, "My order number is A-1041", kind="ticket")
    remember(alice, "Ticket 77 is about the heating", kind="ticket")

    assert answers(alice, "What is my order number?") == ["My order number is A-1041"]


@pytest.mark.usefixtures("no_search")
def test_today_begins_at_the_persons_midnight(alice):
    alice.time_zone = "Pacific/Auckland"
    alice.save(update_fields=["time_zone"])
    noon = datetime.combine(
        NOW.date(), datetime.min.time(), tzinfo=UTC
    )  # just after noon of the same day there
    remember(alice, "I bought a kite", said_at=noon - timedelta(hours=4))
    remember(alice, "I bought a boat", said_at=noon - timedelta(hours=20))

    assert answers(alice, "What did I tell you today?", now=noon) == ["I bought a kite"]
    assert answers(alice, "What did I tell you yesterday?", now=noon) == ["I bought a boat"]


@pytest.mark.usefixtures("no_search")
def test_what_expires_soon_comes_in_that_order_without_what_never_does(alice):
    remember(alice, "I like figs", kind="preference")
    remember(alice, "Case 12 is open", kind="ticket")
    Kind.objects.filter(slug="identity").update(is_always_used=False)
    remember(alice, "I am Ana", kind="identity")

    assert answers(alice, "What expires soon?") == ["Case 12 is open", "I like figs"]


@pytest.mark.usefixtures("no_search")
def test_a_list_holds_only_what_may_be_recalled(alice, bob):
    remember(alice, "I like figs", kind="preference")
    remember(alice, "I like plums", kind="preference", origin=Origin.UNTRUSTED)
    remember(alice, "I like pears", kind="preference", said_at=NOW - 500 * DAY)
    remember(bob, "I like limes", kind="preference")

    assert answers(alice, "What do you know about me?") == ["I like figs"]


@pytest.mark.usefixtures("no_search")
def test_a_search_looks_up_as_well(alice):
    contact(alice, "Write to ana@example.org", "email")

    [item] = search(alice.id, "What's my email?", now=NOW, limit=5)

    assert (item.text, item.confidence, item.arms) == ("Write to ana@example.org", 1.0, {})
