"""What a summary left out is listed beside it, and kept word for word when its person says so."""

import html

import pytest
from django.urls import reverse

from memoryapp.inspector.conversations.summary_presentation import LINES_LISTED, LINES_SHOWN
from memoryapp.transcript import queries, summaries
from memoryapp.transcript.models import PinnedLine
from memoryapp.transcript.summaries import NewLine
from tests.inspector.reading import words_of
from tests.inspector.summarising import ALLERGY, FIRST, GOAL, RULE, page_of, summarise, turn_of
from tests.talking import say
from tests.turns import start


def left_out(response) -> list[str]:
    return [line.text for line in response.context["summary"].left_out.lines]


def test_pinned_lines_say_who_said_them_and_what_they_are(browser, conversation):
    lines = [
        NewLine(turn_of(conversation, 1).id, PinnedLine.Kind.GOAL, GOAL),
        NewLine(turn_of(conversation, 1).id, PinnedLine.Kind.CONSTRAINT, RULE),
    ]
    summary = summarise(conversation, FIRST, last_seq=2, lines=lines)
    summaries.pin_line(conversation.user_id, turn_of(conversation, 4).id, text="There is one at noon.")

    rows = browser.get(page_of(summary)).context["summary"].pinned

    assert [(row.kind_label, row.who, row.text, row.seq) for row in rows] == [
        ("Goal", "You", GOAL, 1),
        ("Rule", "You", RULE, 1),
        ("Kept by you", "Strata", "There is one at noon.", 4),
    ]
    assert rows[0].message_url == reverse("chat:turn", args=[turn_of(conversation, 1).id])


def test_a_pinned_line_is_taken_off_and_the_page_is_shown_again(browser, conversation, first):
    line = summaries.pin_line(conversation.user_id, turn_of(conversation, 2).id, text=ALLERGY)

    response = browser.post(reverse("inspector:unpin", args=[line.id]), {"version": "1"})

    assert response["Location"] == page_of(first)
    assert list(queries.pinned_lines(conversation.user_id, conversation.id)) == []


def test_what_was_left_out_leads_to_its_message_and_can_be_kept(browser, conversation, first):
    response = browser.get(page_of(first))

    (line,) = [row for row in response.context["summary"].left_out.lines if row.text == ALLERGY]
    assert (line.seq, line.who) == (2, "You")
    kept = browser.post(
        reverse("inspector:pin", args=[conversation.id]),
        {"turn": str(line.turn_id), "text": line.text, "version": "1"},
    )
    assert kept["Location"] == f"{page_of(first)}#left-out"
    again = browser.get(page_of(first))
    assert [row.text for row in again.context["summary"].pinned] == [ALLERGY]
    assert ALLERGY not in left_out(again)


def test_with_scripts_a_kept_line_says_so_in_its_place_and_joins_the_pinned_ones(
    browser, conversation, first
):
    response = browser.post(
        reverse("inspector:pin", args=[conversation.id]),
        {"turn": str(turn_of(conversation, 2).id), "text": ALLERGY, "version": "1"},
        HTTP_HX_REQUEST="true",
    )

    shown = response.content.decode()
    assert response.status_code == 200
    assert words_of(response).startswith("Kept Kept word for word")
    assert 'hx-target="#pinned"' in shown
    assert html.escape(ALLERGY) in shown


def test_what_an_earlier_version_left_out_is_still_listed(browser, second):
    response = browser.get(page_of(second))

    found = response.context["summary"].left_out
    assert (found.first_seq, found.last_seq) == (1, 3)
    assert ALLERGY in left_out(response)


def test_a_long_list_of_what_was_left_out_is_cut_and_counted(browser, conversation, alice):
    said = " ".join(f"Walnut tree {number:03d} stands beside brook {number:03d}." for number in range(250))
    say(conversation, said, "Many trees.")
    summary = summarise(conversation, "## Goal\n- Something else.", last_seq=5)

    short, long = browser.get(page_of(summary)), browser.get(page_of(summary, "?left_out=all"))

    assert len(short.context["summary"].left_out.lines) == LINES_SHOWN
    assert f"Show {LINES_LISTED - LINES_SHOWN} more" in words_of(short)
    found = long.context["summary"].left_out
    assert len(found.lines) == LINES_LISTED
    assert found.count > 250
    assert f"{found.count - LINES_LISTED} more are not listed" in words_of(long)


def test_what_was_said_twice_is_left_out_once(browser, conversation):
    say(conversation, f"{ALLERGY} {ALLERGY}", "I heard you.")
    summary = summarise(conversation, "## Goal\n- Something else.", last_seq=5)

    lines = browser.get(page_of(summary)).context["summary"].left_out.lines

    assert [line.seq for line in lines if line.text == ALLERGY] == [2]


def test_a_sentence_too_long_to_be_pinned_says_so_instead_of_offering_it(browser, conversation):
    say(conversation, "walnut trees " * 150, "Indeed.")
    summary = summarise(conversation, "## Goal\n- Something else.", last_seq=5)

    lines = browser.get(page_of(summary)).context["summary"].left_out.lines

    assert [row.problem for row in lines if row.seq == 5 and row.who == "You"] == [
        "Too long to keep as one line"
    ]


@pytest.fixture
def passing(alice):
    """A temporary chat of one exchange."""
    passing = start(alice, is_temporary=True)
    say(passing, ALLERGY, "Noted, thank you.")
    passing.refresh_from_db()
    return passing


def test_lines_of_a_temporary_chat_are_kept_and_taken_off_like_any(browser, passing):
    made = summarise(passing, FIRST, last_seq=1)
    form = {"turn": str(turn_of(passing, 1).id), "text": ALLERGY, "version": "1"}

    browser.post(reverse("inspector:pin", args=[passing.id]), form)
    (line,) = browser.get(page_of(made)).context["summary"].pinned
    browser.post(reverse("inspector:unpin", args=[line.id]), {"version": "1"})

    assert line.text == ALLERGY
    assert browser.get(page_of(made)).context["summary"].pinned == []


def test_lines_of_a_temporary_chat_go_with_it(browser, passing):
    summaries.pin_line(passing.user_id, turn_of(passing, 1).id, text=ALLERGY)

    browser.post(reverse("inspector:conversation_delete", args=[passing.id]))

    assert not PinnedLine.objects.exists()


def test_bob_keeps_no_line_of_alices_temporary_chat(client, bob, passing):
    client.force_login(bob)
    form = {"turn": str(turn_of(passing, 1).id), "text": ALLERGY}

    answer = client.post(reverse("inspector:pin", args=[passing.id]), form)

    assert answer.status_code == 404
    assert not PinnedLine.objects.exists()
