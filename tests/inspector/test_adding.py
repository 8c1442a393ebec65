"""Adding a fact by hand: through the same reconciliation as what is said in a chat."""

import pytest
from django.urls import reverse

from memoryapp.longterm import refusals
from memoryapp.longterm.models import Memory
from tests.inspector.reading import words_of
from tests.longterm.saying import live, remember

ADD = reverse("inspector:fact_add")


def add(browser, statement: str, **values: str):
    return browser.post(ADD, {"statement": statement, "kind": "preference", "key": "", **values})


def test_what_is_written_is_remembered_as_typed_by_its_person_on_this_page(browser, alice):
    response = add(browser, "I like figs", key="fruit.favourite")

    memory = Memory.objects.get(user=alice)
    assert response["Location"] == reverse("inspector:fact", args=[memory.id])
    assert (memory.statement, memory.kind.slug, memory.key) == (
        "I like figs",
        "preference",
        "fruit.favourite",
    )
    assert (memory.origin, memory.channel) == ("user_typed", "inspector")
    assert "Remembered." in words_of(browser.get(response["Location"]))


def test_what_was_said_before_is_made_younger_and_says_so(browser, alice):
    known = remember(alice, "I like figs", kind="preference").memory

    response = add(browser, "I like figs.")

    assert response["Location"] == reverse("inspector:fact", args=[known.id])
    assert "You had said this before" in words_of(browser.get(response["Location"]))
    assert live(alice) == ["I like figs"]


def test_what_it_does_not_fit_is_replaced_and_says_so(browser, alice):
    remember(alice, "I live in Lisbon", key="city")

    response = add(browser, "I live in Porto", key="city")

    assert live(alice) == ["I live in Porto"]
    shown = words_of(browser.get(response["Location"]))
    assert "It replaces what did not fit" in shown
    assert "I live in Lisbon" in shown


@pytest.mark.parametrize(
    ("statement", "values", "field", "said"),
    [
        ("My password is hunter2hunter2", {}, "statement", "Secrets are not kept"),
        ("x" * 3_000, {}, "statement", "at most"),
        ("  ", {}, "statement", "Write what should be remembered"),
        ("I like figs", {"key": "Not A Key!"}, "key", "A key is lower-case words"),
        ("I like figs", {"kind": "nonsense"}, "kind", "There is no kind"),
        ("I like figs", {"kind": ""}, "kind", "There is no kind"),
    ],
)
def test_what_cannot_be_kept_says_why_beside_the_field_and_loses_nothing(
    browser, statement, values, field, said
):
    response = add(browser, statement, **{"key": "some.key", **values})

    assert response.status_code == 422
    assert said in response.context["problem"][field]
    assert statement.strip() in response.content.decode()
    assert not Memory.objects.exists()


def test_a_kind_that_its_person_refuses_is_refused_beside_the_kind(browser, alice):
    refusals.refuse(alice.id, "preference")

    response = add(browser, "I like figs")

    assert response.status_code == 409
    assert "Nothing of the kind" in response.context["problem"]["kind"]
    assert "I like figs" in response.content.decode()


def test_a_full_memory_says_so_above_the_form(browser, alice, configure):
    configure(STRATA_MEMORIES_PER_USER="100")
    Memory.objects.bulk_create(
        Memory(
            user=alice,
            kind=remembered.kind,
            statement=f"Note {number}",
            digest=f"{number}",
            origin="user_typed",
            channel="api",
            confidence=0.9,
            said_at=remembered.said_at,
            valid_from=remembered.said_at,
            affirmed_at=remembered.said_at,
        )
        for remembered in [remember(alice, "The first").memory]
        for number in range(99)
    )

    response = add(browser, "I like figs")

    assert response.status_code == 409
    assert "Memory is full" in response.context["problem"]["form"]
    assert "I like figs" in response.content.decode()


def test_a_stranger_is_asked_to_sign_in(client, db):
    assert add(client, "I like figs").status_code == 302
    assert not Memory.objects.exists()
