"""What users of other assistants complain about in deleting, editing and keeping apart, and what happens here instead.

docs/forgetting.md names all of them; those that belong to one room are shown there.
"""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryapp.context import recall as recalls
from memoryapp.forgetting import operations
from memoryapp.forgetting.scopes import Asked
from memoryapp.lifecycle import embedding
from memoryapp.longterm.models import Memory
from memoryapp.policies.trust import Origin
from memoryapp.receipts.models import Receipt, Scope
from tests.api.requests import assert_problem, send
from tests.longterm.saying import live, remember
from tests.turns import COMMITTED, ask, configure, nudges, reply_to

__all__ = ["configure", "nudges"]

pytestmark = pytest.mark.usefixtures("nudges")

MORE_THAN_A_PAGE = 1_500


@pytest.fixture
def browser(client, alice) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def many(alice, bob) -> None:
    """More facts than any page or batch holds, and one of somebody else."""
    first = remember(alice, "I own boat number 0", kind="event").memory
    names = [field.attname for field in Memory._meta.concrete_fields if not field.primary_key]
    values = {name: getattr(first, name) for name in names}
    Memory.objects.bulk_create(
        Memory(**values | {"statement": f"I own boat number {number}", "digest": f"{number:064}"})
        for number in range(1, MORE_THAN_A_PAGE)
    )
    remember(bob, "I own boat number 1", kind="event")


WIDE = {Scope.EVERYTHING: "", Scope.KIND: "event", Scope.SOURCE: "api", Scope.RECENT: "day"}


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(("scope", "subject"), WIDE.items(), ids=WIDE)
def test_however_many_there_are_none_is_left_and_nobody_else_loses_one(alice, bob, scope, subject):
    receipt = operations.forget(alice.id, Asked(scope, subject), now=timezone.now(), at_once=True)

    assert Memory.everything.for_user(alice.id).count() == 0
    assert receipt.counts.get("memories") == MORE_THAN_A_PAGE or (
        len(receipt.items["memory"]) == MORE_THAN_A_PAGE
    )
    assert live(bob) == ["I own boat number 1"]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("step", ["records.delete_within", "receipts._write"])
def test_a_forgetting_that_fails_half_way_took_nothing(alice, monkeypatch, step):
    def fail(*_: object, **__: object) -> None:
        raise OSError("half-way")

    monkeypatch.setattr(f"memoryapp.forgetting.operations.{step}", fail)

    with pytest.raises(OSError, match="half-way"):
        operations.forget(alice.id, Asked(Scope.KIND, "event"), now=timezone.now(), at_once=True)

    assert Memory.objects.for_user(alice.id).count() == MORE_THAN_A_PAGE
    assert not Receipt.objects.exists()


def found(client: Client, query: str) -> list[str]:
    items = send(client, "POST", "/memories/search", {"query": query}).json()["items"]
    return [item["memory"]["statement"] for item in items]


def test_what_is_forgotten_on_its_page_is_found_neither_by_its_words_nor_by_its_meaning(browser, alice):
    memory = remember(alice, "My sister is a physician").memory
    embedding.embed_memory(memory.id)
    questions = ("What is my sister?", "Which of my relatives is a doctor?")
    before = [found(browser, question) for question in questions]

    browser.post(reverse("inspector:fact_delete", args=[memory.id]))

    assert before == [["My sister is a physician"]] * 2
    assert [found(browser, question) for question in questions] == [[], []]
    assert list(recalls.recall(alice.id, questions[0], now=timezone.now()).considered) == []


def read_everywhere(client: Client, user, word: str) -> set[str]:
    """The reads that tell of it."""
    reads = {
        "search": found(client, word),
        "list": [item["statement"] for item in send(client, "GET", "/memories").json()["items"]],
        "every status": str(send(client, "GET", "/memories?status=any").json()),
        "page": client.get(reverse("inspector:facts"), {"q": word}).context["memories"],
        "waiting": client.get(reverse("inspector:pending")).context["cards"],
        "recall": [
            item.memory.statement for item in recalls.recall(user.id, word, now=timezone.now()).considered
        ],
    }
    return {name for name, read in reads.items() if word in str(read) or (name == "waiting" and read)}


def test_a_proposal_that_is_turned_down_is_in_no_read(browser, alice):
    waiting = remember(alice, "The user banks with Zephyrine", origin=Origin.UNTRUSTED).memory
    before = read_everywhere(browser, alice, "Zephyrine")

    answer = {"answer": "held", "version": "1"}
    browser.post(reverse("inspector:fact_settle", args=[waiting.id]), answer)

    assert before == {"waiting", "every status"}
    assert read_everywhere(browser, alice, "Zephyrine") == set()


@COMMITTED
def test_asked_to_forget_one_of_three_alike_the_chat_forgets_none_and_leads_to_what_is_meant(
    alice, configure
):
    configure(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    for what, where in ADDRESSES:
        remember(alice, f"My {what} address is {where}")

    reply = reply_to(ask(alice, "Forget my address"))

    assert len(live(alice)) == 3
    assert "(/memory/facts/?q=address)" in reply


ADDRESSES = (("home", "Elm Street 4"), ("work", "Harbour Road 9"), ("holiday", "Beach Lane 2"))


@pytest.mark.parametrize("path", ["user_id", "metadata"])
def test_no_body_says_whose_a_fact_is(browser, alice, bob, path):
    whose = {"user_id": str(bob.id), "metadata": {"user_id": str(bob.id)}}[path]

    refused = send(browser, "POST", "/memories", {"statement": "I own a boat", path: whose})

    assert_problem(refused, 422)
    assert (live(alice), live(bob)) == ([], [])


NOT_EQUAL = ("event' OR 1=1 --", "event,preference", "e", "%", "_vent", "*")


@pytest.mark.parametrize(("name", "equal"), [("kind", "event"), ("key", "boat"), ("origin", "user_typed")])
def test_a_filter_is_a_value_and_matches_what_is_equal_to_it_alone(browser, alice, bob, name, equal):
    remember(alice, "I own a boat", kind="event", key="boat")
    remember(bob, "I own a canoe", kind="event", key="boat")

    matched = [listed(browser, **{name: value}) for value in (equal, *NOT_EQUAL)]

    assert matched == [["I own a boat"], *([] for _ in NOT_EQUAL)]


def test_a_filter_that_there_is_not_shows_nothing_of_anybody_else(browser, alice, bob):
    remember(bob, "I own a canoe", kind="event")

    assert listed(browser, user_id=str(bob.id)) == listed(browser, kind__in="event") == []


def listed(client: Client, **filters: str) -> list[str]:
    """Empty where the filter is refused."""
    response = client.get("/api/v1/memories", filters)
    assert response.status_code in {200, 422}
    return [item["statement"] for item in response.json().get("items", [])]
