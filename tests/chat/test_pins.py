"""Keeping words of a message, on the conversation page."""

import re

import pytest
from django.urls import reverse

from memoryapp.transcript import queries, summaries
from tests.transcript.branching import edited, said, talk

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def keep(browser, turn, text, *, side="user", htmx=False):
    fields = {"text": text, "side": side}
    return browser.post(reverse("chat:keep", args=[turn.id]), fields, headers=HTMX if htmx else {})


def kept(turn):
    return [line.text for line in queries.pinned_lines(turn.user_id, turn.conversation_id)]


def page_of(browser, turn):
    return browser.get(reverse("chat:conversation", args=[turn.conversation_id])).content.decode()


def test_the_form_offers_what_both_said_as_a_dialog_or_as_a_page(browser, alice):
    turn = said(alice, "I drink <green> tea")
    address = reverse("chat:keep", args=[turn.id])

    page = browser.get(address).content.decode()
    dialog = browser.get(address, headers=HTMX).content.decode()

    for html in (page, dialog):
        assert ">I drink &lt;green&gt; tea</textarea>" in html
        assert ">I drink &lt;green&gt; tea!</textarea>" in html
    assert "<html" in page
    assert "<html" not in dialog
    assert "<dialog" in dialog


def test_words_are_kept_and_listed_with_who_said_them(browser, alice):
    first, second = talk(alice, "I drink green tea", "two")

    response = keep(browser, first, "green tea")
    keep(browser, second, "two!", side="assistant")

    html = re.sub(r"\s+", " ", page_of(browser, first))
    assert response.status_code == 303
    assert response["Location"].endswith(f"#turn-{first.id}")
    assert kept(first) == ["green tea", "two!"]
    assert re.search(r"2<span class=\"kept__words\"> lines always kept", html)
    assert html.index("You said this") < html.index("Strata said this")
    assert f'href="{reverse("chat:turn", args=[first.id])}"' in html


def test_with_htmx_the_list_of_kept_lines_changes_in_place(browser, alice):
    turn = said(alice, "green tea")

    html = keep(browser, turn, "green tea", htmx=True).content.decode()

    assert 'hx-target="#kept"' in html
    assert "green tea" in html
    assert "Kept word for word" in html


@pytest.mark.parametrize("htmx", [False, True])
def test_words_that_were_not_said_are_refused_and_stay_in_the_form(browser, alice, htmx):
    turn = said(alice, "green tea")

    response = keep(browser, turn, "black tea", htmx=htmx)

    html = response.content.decode()
    assert response.status_code == 422
    assert "exactly as they stand" in html
    assert ("black tea" in html) is not htmx
    assert kept(turn) == []


@pytest.mark.parametrize("htmx", [False, True])
def test_a_line_is_taken_off(browser, alice, htmx):
    turn = said(alice, "green tea")
    line = summaries.pin_line(alice.id, turn.id, text="tea")

    for _ in range(2):
        response = browser.post(reverse("chat:let_go", args=[line.id]), headers=HTMX if htmx else {})

    assert response.status_code == (200 if htmx else 303)
    assert kept(turn) == []
    assert "always kept" not in page_of(browser, turn)


def test_without_a_line_there_is_no_list(browser, alice):
    turn = said(alice, "green tea")

    assert "always kept" not in page_of(browser, turn)


def test_lines_of_another_version_are_not_listed(browser, alice):
    turn = said(alice, "green tea")
    summaries.pin_line(alice.id, turn.id, text="tea")

    edited(turn, "black coffee")

    assert "always kept" not in page_of(browser, turn)


def test_bob_keeps_and_takes_off_nothing_of_alice(client, alice, bob):
    turn = said(alice, "green tea")
    line = summaries.pin_line(alice.id, turn.id, text="tea")
    client.force_login(bob)

    statuses = {
        client.get(reverse("chat:keep", args=[turn.id])).status_code,
        keep(client, turn, "green").status_code,
        client.post(reverse("chat:let_go", args=[line.id])).status_code,
    }

    assert statuses == {404}
    assert kept(turn) == ["tea"]
