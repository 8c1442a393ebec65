"""What the chat shows for each state of a turn, and what it hands to htmx and to browsers without scripts."""

import pytest
from django.urls import reverse

from chat.presentation import Recalled, ToolUsed
from tests.ui.pages import (
    CONVERSATION,
    STREAM_URL,
    TURN_ID,
    chat_page,
    composer_html,
    live_turn_view,
    notice,
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
        ("reinforced", "Remembered already:"),
        ("superseded", "Updated:"),
        ("conflict", "Does not fit with what you said before:"),
        ("pending", "Waiting for your word:"),
        ("refused", "Not remembered:"),
    ],
)
def test_notice_says_what_happened_to_the_memory(outcome, words):
    html = turn_html(turn_view(notices=[notice(outcome=outcome)]))

    assert words in html
    assert "The launch is on 14 March" in html


def test_composer_of_an_open_chat_works_with_and_without_htmx():
    html = composer_html()

    url = reverse("chat:send", args=[CONVERSATION.id])
    assert f'method="post"\n        action="{url}"' in html
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


def test_receipt_says_what_the_model_was_given_and_what_became_of_it():
    replaced = Recalled(
        statement="Lives in Lisbon",
        kind_label="Identity",
        said_on="1 May 2026",
        confidence_percent=None,
        url="/memory/facts/1/",
        is_replaced=True,
    )

    html = turn_html(turn_view(recalled=[replaced], forgotten_count=1))

    assert "Given 2 memories" in html
    assert "replaced since" in html
    assert "1 forgotten since" in html


def test_tool_under_a_reply_leads_to_its_run():
    tool = ToolUsed(name="recall", status="ok", url="/memory/runs/1/")

    assert 'href="/memory/runs/1/"' in turn_html(turn_view(tools=[tool]))


def test_a_turn_is_named_by_who_spoke_and_what_was_said():
    html = turn_html(turn_view())

    assert f'aria-labelledby="turn-{TURN_ID}-asked turn-{TURN_ID}-text"' in html
    assert f'id="turn-{TURN_ID}-asked">You said' in html
    assert f'id="turn-{TURN_ID}-text"' in html
