"""The list of facts: what filters find, how they are taken off, in which order, by kind, and at what cost."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.context.models import Use
from memoryapp.inspector.facts.bulk import Action
from memoryapp.longterm import lifetimes, operations
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import Origin
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.longterm.saying import DAY, NOW, message, remember, remember_from

FACTS = reverse("inspector:facts")


def listed(response) -> list[str]:
    return [row.statement for row in response.context["memories"]]


def used(memory: Memory, *, times: int = 1, score: float = 0.5) -> None:
    """As if so many replies had been given it."""
    for _ in range(times):
        source = message(memory.user, f"A question {uuid4()}")
        turn = Turn.objects.get(messages=source.message_id)
        Use.objects.create(user=memory.user, turn=turn, memory=memory, rank=1, score=score, used_at=NOW)


def test_what_replies_only_had_at_hand_was_never_used(browser, figs):
    used(figs, times=2)
    used(figs, score=Use.AT_HAND)
    other = remember(figs.user, "My name is Ana", kind="identity").memory
    used(other, score=Use.AT_HAND)

    assert [(row.statement, row.use_count) for row in browser.get(FACTS).context["memories"]] == [
        ("My name is Ana", 0),
        ("I like figs", 2),
    ]
    assert listed(browser.get(f"{FACTS}?usage=never")) == ["My name is Ana"]


def test_replies_that_are_not_shown_any_more_do_not_count(browser, figs):
    used(figs, times=2)
    Turn.objects.filter(id=Use.objects.first().turn_id).update(is_current=False)

    assert [row.use_count for row in browser.get(FACTS).context["memories"]] == [1]


@pytest.mark.parametrize("address", [FACTS, f"{FACTS}?group=kind"])
def test_a_fact_in_the_words_of_its_person_says_so(browser, alice, figs, address):
    operations.edit(alice.id, figs.id, version=1, now=NOW, statement="I like dates")

    assert "You corrected" in words_of(browser.get(address))


@pytest.fixture
def figs(alice) -> Memory:
    return remember(alice, "I like figs", kind="preference", said_at=NOW - 3 * DAY).memory


@pytest.fixture
def tired(alice) -> Memory:
    return remember(alice, "Probably tired on Mondays", origin=Origin.MODEL_INFERRED).memory


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("sure_from=90", ["I like figs"]),
        ("sure_to=75", ["Probably tired on Mondays"]),
        ("sure_from=95&sure_to=95", ["I like figs"]),
        ("usage=used", ["I like figs"]),
        ("usage=never", ["Probably tired on Mondays"]),
        ("lifetime=kept", ["I like figs"]),
        ("channel=inspector", []),
        ("expires=200", ["Probably tired on Mondays"]),
        ("sort=used", ["I like figs", "Probably tired on Mondays"]),
        ("sort=unsure", ["Probably tired on Mondays", "I like figs"]),
        (
            "sort=nonsense&usage=nonsense&sure_from=x&since=never",
            ["Probably tired on Mondays", "I like figs"],
        ),
    ],
)
@pytest.mark.usefixtures("tired")
def test_every_filter_and_order_is_an_address(browser, figs, query, found):
    used(figs)
    lifetimes.keep(figs.user_id, [figs.id])
    Memory.objects.filter(id=figs.id).update(recorded_at=NOW - 3 * DAY)

    assert listed(browser.get(f"{FACTS}?{query}")) == found


def test_what_is_wrong_and_what_was_replaced_are_two_states(browser, alice, figs):
    remember(alice, "I live in Lisbon", key="city")
    remember(alice, "I live in Porto", key="city")
    give_feedback(alice.id, figs.id, Verdict.WRONG, now=timezone.now())

    replaced = browser.get(f"{FACTS}?status=superseded")
    wrong = browser.get(f"{FACTS}?status=set_aside")

    assert listed(replaced) == ["I live in Lisbon"]
    assert listed(wrong) == ["I like figs"]
    assert wrong.context["actions"] == [Action.FORGET]
    assert [chip.text for chip in wrong.context["chips"]] == ["Set aside as wrong"]


@pytest.mark.usefixtures("tired")
def test_days_are_meant_whole(browser, figs):
    day = timezone.localdate(figs.said_at).isoformat()

    assert listed(browser.get(FACTS, {"since": day, "until": day})) == ["I like figs"]


def test_facts_of_one_conversation(browser, alice, figs):
    source = message(alice, "I have a piano")
    remember_from(alice, source, "I have a piano")
    conversation = Turn.objects.get(messages=source.message_id).conversation

    response = browser.get(FACTS, {"conversation": str(conversation.id)})

    assert listed(response) == ["I have a piano"]
    assert "From “I have a piano”" in words_of(response)


def test_a_chip_takes_one_filter_off_and_leaves_the_others(browser, figs):
    response = browser.get(FACTS, {"kind": "preference", "sure_from": "90", "sort": "oldest"})

    assert [(chip.text, chip.url) for chip in response.context["chips"]] == [
        ("Likes and dislikes", "?sort=oldest&sure_from=90"),
        ("At least 90 % sure", "?kind=preference&sort=oldest"),
    ]


def test_by_kind_shows_the_first_of_each_and_leads_to_all(browser, alice):
    for number in range(7):
        remember(alice, f"Invoice {number} was paid", kind="event")
    remember(alice, "I like figs", kind="preference")

    sections = browser.get(FACTS, {"group": "kind"}).context["sections"]

    assert {section.slug: (section.count, len(section.rows)) for section in sections} == {
        "preference": (1, 1),
        "event": (7, 5),
    }
    event = next(section for section in sections if section.slug == "event")
    assert [row.statement for row in event.rows][:1] == ["Invoice 6 was paid"]
    assert browser.get(FACTS + event.url).context["total"] == 7


@pytest.mark.parametrize("query", ["", "?group=kind", "?sort=used", "?status=all&q=invoice"])
def test_three_facts_cost_as_many_queries_as_sixty(browser, alice, query):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(FACTS + query).status_code == 200
        return len(captured)

    for number in range(3):
        remember(alice, f"Invoice {number} was paid")
    few = queries()
    for number in range(3, 60):
        remember(alice, f"Invoice {number} was paid")

    assert queries() == few


def test_a_page_of_long_facts_stays_small(browser, alice):
    for number in range(50):
        remember(alice, f"Note {number}: " + "a long story about nothing " * 70)

    response = browser.get(FACTS)

    assert len(response.context["memories"]) == 50
    assert len(response.content) <= 100_000


def test_bob_finds_nothing_of_alice(client, bob, figs, alice):
    source = message(alice, "I have a piano")
    remember_from(alice, source, "I have a piano")
    conversation = Turn.objects.get(messages=source.message_id).conversation
    client.force_login(bob)

    for query in ("", "?group=kind", "?q=figs", "?status=all", f"?conversation={conversation.id}"):
        response = client.get(FACTS + query)
        assert "figs" not in words_of(response).replace("“figs”", "")
        assert "piano" not in words_of(response)


def test_a_stranger_is_asked_to_sign_in(client, db):
    assert client.get(FACTS).status_code == 302


def test_what_expires_after_the_asked_days_is_not_listed(browser, alice):
    soon = remember(alice, "The parcel comes on Friday").memory
    lifetimes.end_at(alice.id, [soon.id], at=(timezone.now() + timedelta(days=3)))

    assert listed(browser.get(FACTS, {"expires": "7"})) == ["The parcel comes on Friday"]
    assert listed(browser.get(FACTS, {"expires": "1"})) == []


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("?q=&kind=&status=&sort=", FACTS),
        ("?q=figs&kind=&sort=oldest", f"{FACTS}?q=figs&sort=oldest"),
    ],
)
def test_a_form_with_filters_that_are_off_leads_to_the_address_without_them(browser, figs, query, address):
    response = browser.get(FACTS + query)

    assert (response.status_code, response["Location"]) == (302, address)
    assert browser.get(address).status_code == 200


def test_an_unknown_kind_or_state_is_left_out_with_a_note(browser, figs):
    response = browser.get(FACTS, {"kind": "no-such-kind", "status": "no-such-state"})

    assert listed(response) == ["I like figs"]
    assert "There is no kind “no-such-kind”: facts of any kind are listed." in words_of(response)
    assert "There is no state “no-such-state”: what is in use is listed." in words_of(response)
    assert response.context["chips"] == []


def test_taking_the_last_filter_off_leads_to_the_plain_address(browser, figs):
    context = browser.get(FACTS, {"kind": "preference"}).context

    assert [chip.url for chip in context["chips"]] == [FACTS]
    assert context["clear_url"] == FACTS


def test_what_is_kept_for_ever_is_not_offered_to_be_kept_or_extended(browser, figs):
    assert browser.get(FACTS, {"lifetime": "kept"}).context["actions"] == ["follow", "change_kind", "forget"]
