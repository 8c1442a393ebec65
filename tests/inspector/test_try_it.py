"""What would be remembered of a text: shown with what would become of each statement, and nothing of it kept."""

import logging

import pytest
from django.urls import reverse

from memoryapp.longterm import queries, refusals
from tests.inspector.reading import words_of
from tests.longterm.saying import DAY, NOW, live, remember
from tests.world import rows_of

TRY = reverse("inspector:try")


def tried(browser, text: str):
    return browser.post(TRY, {"text": text})


def slug_of(label: str) -> str:
    return queries.statement_kinds().get(label=label).slug


def rows(response) -> list[tuple[str, str]]:
    return [(row.statement, row.would) for row in response.context["rows"]]


def test_statements_are_shown_with_kind_confidence_lifetime_and_quote(browser):
    [row] = tried(browser, "Hello! I am allergic to peanuts. What is the time?").context["rows"]

    assert "allergic to peanuts" in row.statement
    assert row.would == "Would be remembered"
    assert (row.kind_label != "", row.confidence_percent, row.expires_text) == (
        True,
        95,
        "kept until you forget it",
    )


def test_nothing_of_it_is_stored_or_logged(browser, alice, caplog):
    remember(alice, "I live in Lisbon", key="city")
    before = rows_of(alice)

    with caplog.at_level(logging.DEBUG):
        response = tried(browser, "I live in Marmaladeville. I am allergic to peanuts. I like marmalade.")

    assert response.status_code == 200
    assert rows(response)
    assert rows_of(alice) == before
    assert "marmalade" not in caplog.text.lower()


def test_what_is_known_or_does_not_fit_names_the_fact_that_decides(browser, alice):
    known = remember(alice, "I am allergic to peanuts", kind="constraint", said_at=NOW - DAY).memory
    lisbon = remember(alice, "I live in Lisbon", kind="identity", said_at=NOW - DAY).memory

    found = tried(browser, "I am allergic to peanuts. I live in Porto.").context["rows"]

    assert {(row.would, row.met_url) for row in found} == {
        ("Said again: would make this younger", reverse("inspector:fact", args=[known.id])),
        ("Would replace", reverse("inspector:fact", args=[lisbon.id])),
    }
    assert live(alice) == ["I am allergic to peanuts", "I live in Lisbon"]


def test_a_refused_kind_is_told_as_refused(browser, alice):
    [row] = tried(browser, "I am allergic to peanuts.").context["rows"]
    refusals.refuse(alice.id, slug_of(row.kind_label))

    [refused] = tried(browser, "I am allergic to peanuts.").context["rows"]

    assert refused.is_refused
    assert "You do not want anything of the kind" in refused.would


def test_small_talk_would_not_be_remembered(browser):
    assert "Nothing of it would be remembered" in words_of(tried(browser, "What a day! How are you?"))


@pytest.mark.parametrize(
    ("text", "said"), [("  ", "Paste a text first"), ("x" * 8_001, "At most 8,000 characters")]
)
def test_what_cannot_be_tried_says_why_and_stays_in_the_box(browser, text, said):
    response = tried(browser, text)

    assert response.status_code == 422
    assert said in words_of(response)
    assert response.context["text"] == text


def test_a_stranger_is_asked_to_sign_in(client, db):
    assert tried(client, "I like figs.").status_code == 302


@pytest.mark.parametrize("text", ["My password is hunter2", "I live in Porto. My password is hunter2."])
def test_a_secret_is_told_as_not_kept(browser, text):
    shown = words_of(tried(browser, text))

    assert "Not kept: looks like a password." in shown
    assert "It holds no statement about you" not in shown


def test_what_stands_beside_a_secret_is_shown(browser):
    found = tried(browser, "I live in Porto. My password is hunter2.")

    assert rows(found) == [("I live in Porto.", "Would be remembered")]
