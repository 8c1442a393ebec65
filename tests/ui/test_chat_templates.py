"""What the chat shows for each state of a turn, and what it hands to htmx and to browsers without scripts."""

import pytest
from django.urls import reverse

from chat.memory_presentation import Asking
from chat.presentation import ToolUsed
from tests.ui.pages import (
    CONVERSATION,
    STREAM_URL,
    TURN_ID,
    chat_page,
    composer_html,
    learned,
    live_turn_view,
    turn_html,
    turn_view,
)

REFRESH = '<meta http-equiv="refresh" content="3; url=/c/1/?anew=yes#turn-2">'


def test_live_turn_connects_to_its_stream_and_is_fetched_again_at_its_end():
    html = turn_html(live_turn_view())

    assert f'hx-sse:connect="{STREAM_URL}"' in html
    assert 'hx-sse:close="end"' in html
    assert f'hx-get="{reverse("chat:turn", args=[TURN_ID])}" hx-trigger="end"' in html
    assert 'aria-busy="true"' in html


@pytest.mark.parametrize("place", ["body", "tail", "activity", "stream"])
def test_live_turn_has_the_places_that_frames_name(place):
    assert f'id="turn-{TURN_ID}-{place}"' in turn_html(live_turn_view())


@pytest.mark.parametrize("status", ["completed", "failed", "interrupted", "cancelled"])
def test_ended_turn_opens_no_stream(status):
    html = turn_html(turn_view(status=status))

    assert "hx-sse" not in html
    assert "data-live" not in html
    assert "data-stop" not in html


@pytest.mark.parametrize(
    ("status", "may_retry"),
    [("completed", False), ("failed", True), ("interrupted", True), ("cancelled", True)],
)
def test_only_a_turn_without_a_whole_reply_can_be_tried_again(status, may_retry):
    assert (reverse("chat:retry", args=[TURN_ID]) in turn_html(turn_view(status=status))) is may_retry


def test_failed_turn_says_why():
    html = turn_html(
        turn_view(status="failed", reply_html="", error_message="The model did not answer in 90 seconds.")
    )

    assert "The model did not answer in 90 seconds." in html


@pytest.mark.parametrize("status", ["interrupted", "cancelled"])
def test_partial_reply_is_kept(status):
    assert "<p>On 14 March.</p>" in turn_html(turn_view(status=status))


def test_what_a_person_wrote_is_text_and_never_markup_or_htmx():
    html = turn_html(turn_view(user_text='<b hx-get="/x">bold</b>'))

    assert "&lt;b hx-get=&quot;/x&quot;&gt;bold&lt;/b&gt;" in html
    assert "hx-ignore>&lt;b" in html


def test_empty_reply_leaves_no_gap():
    # ":empty" hides it, which one space would defeat.
    assert "hx-ignore></div>" in turn_html(turn_view(status="failed", reply_html=""))


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("added", "Remembered:"),
        ("reinforced", "Already known:"),
        ("superseded", "Updated:"),
        ("conflict", "Doesn’t fit what you said before:"),
        ("pending", "Waiting for your word:"),
        ("refused", "Not kept:"),
    ],
)
def test_chip_says_what_became_of_the_statement_whence_and_until_when(outcome, words):
    html = turn_html(turn_view(learned=[learned(outcome=outcome)]))

    for said in (words, "The launch is on 14 March", "from your message", "expires 14 March 2027"):
        assert said in html


def test_chip_is_undone_in_its_place_and_without_scripts():
    html = turn_html(turn_view(learned=[learned(undo_url="/t/2/memories/1/take-back")]))

    assert 'action="/t/2/memories/1/take-back"' in html
    assert 'hx-post="/t/2/memories/1/take-back"' in html
    assert 'hx-target="closest li"' in html


def test_chip_of_an_update_says_what_was_before():
    html = turn_html(turn_view(learned=[learned(outcome="superseded", was="The launch is on 7 March")]))

    assert "before: “<bdi>The launch is on 7 March</bdi>”" in html


def test_a_turn_asks_again_for_what_the_background_learns_while_it_may():
    html = turn_html(turn_view(asking=Asking("/t/2/learned?seen=0&tries=1", after_s=2)))

    assert 'hx-get="/t/2/learned?seen=0&amp;tries=1"' in html
    assert 'hx-trigger="load delay:2s"' in html
    assert "/learned" not in turn_html(turn_view())


def test_composer_of_an_open_chat_works_with_and_without_htmx():
    html = composer_html()

    url = reverse("chat:send", args=[CONVERSATION.id])
    assert f'method="post"\n      action="{url}"' in html
    assert f'hx-post="{url}"' in html
    assert 'name="idempotency_key" value="key-2"' in html


def test_composer_of_a_new_chat_navigates():
    html = composer_html(conversation=None)

    assert f'action="{reverse("chat:start")}"' in html
    assert "hx-post" not in html


def test_refused_message_stays_in_the_box_with_the_reason():
    html = composer_html(form_error="This message is too long.", draft="<my> draft")

    assert "This message is too long." in html
    assert ">&lt;my&gt; draft</textarea>" in html


def test_running_turn_is_asked_for_again_where_scripts_are_off():
    assert REFRESH in chat_page(turns=[turn_view(), live_turn_view()], refresh_url="/c/1/?anew=yes#turn-2")
    assert REFRESH not in chat_page(turns=[turn_view()])
    assert REFRESH not in chat_page(conversation=None)


def test_page_of_another_theme_is_rendered_in_it():
    assert 'data-theme="dark"' in chat_page(theme="dark")


def test_receipt_is_fetched_when_it_is_opened_and_a_link_without_scripts():
    html = turn_html(turn_view(given_text="Used 2 memories"))

    url = reverse("chat:used", args=[TURN_ID])
    assert "Used 2 memories" in html
    assert f'hx-get="{url}"' in html
    assert f'href="{url}"' in html


def test_a_reply_that_was_written_without_memory_says_so():
    assert "Memory was unavailable" in turn_html(turn_view(is_memory_away=True))
    assert "Memory was unavailable" not in turn_html(turn_view())


def test_tool_under_a_reply_leads_to_its_run():
    tool = ToolUsed(name="recall", status="", url="/memory/runs/1/")

    assert 'href="/memory/runs/1/"' in turn_html(turn_view(tools=[tool]))


def test_a_turn_is_named_by_who_spoke_and_what_was_said():
    html = turn_html(turn_view())

    assert f'aria-labelledby="turn-{TURN_ID}-asked turn-{TURN_ID}-text"' in html
    assert f'id="turn-{TURN_ID}-asked">You said' in html
    assert f'id="turn-{TURN_ID}-text"' in html
