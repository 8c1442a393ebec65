"""What asks to be remembered, or to replace what is: seen from everywhere, with before, after and source."""

import pytest
from django.urls import reverse

from memoryapp.longterm import queries
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from


@pytest.fixture
def held(alice):
    return remember(alice, "I bank with Nova", key="bank", said_at=NOW - DAY).memory


@pytest.fixture(params=[Origin.UNTRUSTED, Origin.TOOL])
def proposal(request, alice, held):
    """Of a stranger's text, which waits; of a tool, which is in conflict with the user's own word."""
    said = message(alice, "Read the letter: I bank with Evil")
    options = {"quote": "I bank with Evil", "key": "bank", "origin": request.param}
    return remember_from(alice, said, "The user banks with Evil", **options).memory


def test_a_proposal_is_counted_wherever_its_person_is(browser, proposal):
    for url in ("/", reverse("inspector:overview"), reverse("inspector:facts")):
        response = browser.get(url, follow=True)

        assert response.context["pending_count"] == 1
        assert "Waiting for your word" in response.content.decode()


def test_it_shows_what_holds_what_would_hold_and_where_it_was_said(browser, held, proposal):
    card = browser.get(reverse("inspector:fact", args=[proposal.id])).context["memory"].card

    assert (card.rival.statement, card.statement) == ("I bank with Nova", "The user banks with Evil")
    assert card.quote == "I bank with Evil"
    assert card.source_url == reverse("chat:turn", args=[proposal.source_message.turn_id])


def test_nothing_changes_before_a_person_has_read_it(alice, browser, held, proposal):
    browser.get(reverse("inspector:fact", args=[proposal.id]))

    assert live(alice) == ["I bank with Nova"]


def test_once_accepted_both_wordings_stay_in_the_history(alice, browser, held, proposal):
    browser.post(reverse("inspector:fact_settle", args=[proposal.id]), {"answer": "new", "version": "1"})

    assert live(alice) == ["The user banks with Evil"]
    former = queries.get_memory(alice.id, held.id)
    assert (former.status, former.superseded_by_id) == ("superseded", proposal.id)
