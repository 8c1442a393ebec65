"""The facts as they stood on an earlier day, and what has become of each since."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm import forgettings
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory, MemoryVersion
from memoryapp.policies.feedback import Verdict
from tests.inspector.reading import words_of
from tests.longterm.saying import DAY, NOW, remember

AS_OF = reverse("inspector:as_of")


def known_since(memory: Memory, days: int) -> Memory:
    """As if it had been learned so long ago."""
    at = NOW - days * DAY
    Memory.objects.filter(id=memory.id).update(recorded_at=at, affirmed_at=at)
    MemoryVersion.objects.filter(memory=memory, version=1).update(recorded_at=at)
    memory.refresh_from_db()
    return memory


def day(days_ago: int) -> str:
    return (timezone.localdate(NOW) - timedelta(days=days_ago)).isoformat()


def rows(browser, days_ago: int, **values: str):
    return browser.get(AS_OF, {"day": day(days_ago), **values}).context["rows"]


def test_facts_stand_as_they_were_put_then_and_say_what_changed_since(browser, alice):
    figs = known_since(remember(alice, "I like figs", kind="preference").memory, 20)
    known_since(remember(alice, "I have a piano", kind="preference").memory, 19)
    longterm.edit(
        alice.id, figs.id, version=1, now=NOW, statement="I like dried figs", kind="decision", confidence=0.5
    )

    found = {row.statement: row for row in rows(browser, 10)}

    assert set(found) == {"I like figs", "I have a piano"}
    assert (found["I have a piano"].now, found["I have a piano"].since) == ("same", "Still so")
    then = found["I like figs"]
    assert (then.now, then.kind_label, then.confidence_percent) == ("reworded", "Likes and dislikes", 95)
    assert [piece.text for piece in then.changes if piece.sort == "added"] == ["dried "]


def test_what_was_replaced_set_aside_or_expired_since_says_so(browser, alice):
    known_since(remember(alice, "I live in Lisbon", key="city", said_at=NOW - 20 * DAY).memory, 20)
    remember(alice, "I live in Porto", key="city")
    piano = known_since(remember(alice, "I have a piano").memory, 20)
    give_feedback(alice.id, piano.id, Verdict.WRONG, now=NOW)
    parcel = known_since(remember(alice, "The parcel comes soon").memory, 20)
    Memory.objects.filter(id=parcel.id).update(expires_at=NOW - timedelta(hours=1))

    found = {row.statement: (row.now, row.successor) for row in rows(browser, 10)}

    assert found == {
        "I live in Lisbon": ("replaced", "I live in Porto"),
        "I have a piano": ("set_aside", ""),
        "The parcel comes soon": ("expired", ""),
    }


def test_what_was_not_known_yet_and_what_is_forgotten_are_in_no_past(browser, alice):
    remember(alice, "I like figs")
    gone = known_since(remember(alice, "I have a piano").memory, 20)
    forgettings.forget(alice.id, [gone.id], now=NOW)

    response = browser.get(AS_OF, {"day": day(10)})

    assert response.context["rows"] == []
    assert "What you have forgotten since is in no past" in words_of(response)


def test_it_is_the_end_of_that_day_that_counts(browser, alice):
    remember(alice, "I like figs")

    assert [row.statement for row in rows(browser, 0)] == ["I like figs"]
    assert list(rows(browser, 1)) == []


def test_the_words_and_kinds_of_then_are_searched(browser, alice):
    figs = known_since(remember(alice, "I like figs", kind="preference").memory, 20)
    longterm.edit(alice.id, figs.id, version=1, now=NOW, statement="I like dates", kind="event")

    assert [row.statement for row in rows(browser, 10, q="figs", kind="preference")] == ["I like figs"]
    assert list(rows(browser, 10, q="dates")) == []


@pytest.mark.parametrize("given", ["nonsense", "2999-01-01", "1900-01-01", "2026-13-01"])
def test_a_day_that_is_not_past_is_asked_for_again(browser, given):
    response = browser.get(AS_OF, {"day": given})

    assert response.status_code == 422
    assert "Choose a day from the past" in words_of(response)


def test_the_list_of_facts_leads_here(browser):
    response = browser.get(reverse("inspector:facts"), {"as_of": "2026-03-03"})

    assert response["Location"] == f"{AS_OF}?day=2026-03-03"


def test_nothing_can_be_done_to_the_past(browser, alice):
    known_since(remember(alice, "I like figs").memory, 20)

    shown = browser.get(AS_OF, {"day": day(10)}).content.decode()

    assert reverse("inspector:facts_bulk") not in shown
    assert browser.post(AS_OF).status_code == 405


def test_sixty_facts_cost_as_many_queries_as_three(browser, alice):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            browser.get(AS_OF, {"day": day(0)})
        return len(captured)

    for number in range(3):
        remember(alice, f"Invoice {number} was paid")
    few = queries()
    for number in range(3, 60):
        remember(alice, f"Invoice {number} was paid")

    assert queries() == few


def test_the_past_of_alice_is_not_bobs(client, alice, bob):
    known_since(remember(alice, "I like figs").memory, 20)
    client.force_login(bob)

    assert list(client.get(AS_OF, {"day": day(10)}).context["rows"]) == []
