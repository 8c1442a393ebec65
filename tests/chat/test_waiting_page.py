"""What a person sees of a turn that waits, and does about it: the same on every device, with scripts or without."""

import re
from datetime import UTC, datetime

import pytest
from django.urls import reverse

from memoryapp.inspector.unseen import with_unseen_named
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.scratchpad.models import Approval
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.turns import claim, fresh, post
from tests.waits import NOTE, SAID, asking, waiting

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
HTMX = {"HX-Request": "true"}
REFRESH = 'http-equiv="refresh"'


def page_of(browser, turn):
    return browser.get(reverse("chat:conversation", args=[turn.conversation_id])).content.decode()


def card_of(browser, turn):
    return browser.get(reverse("chat:waiting", args=[turn.id]), headers=HTMX).content.decode()


def answer(browser, turn, approval, decision, *, htmx=True, **fields):
    form = {"tool_use_id": approval.tool_use_id, "nonce": approval.nonce, "decision": decision, **fields}
    return browser.post(reverse("chat:decide", args=[turn.id]), form, headers=HTMX if htmx else {})


def test_a_turn_that_waits_for_the_model_shows_its_text_so_far_when_it_goes_on_and_what_can_be_done(
    browser, alice
):
    turn = waiting(alice, "model")

    html = page_of(browser, turn)

    assert f"<p>{SAID}</p>" in html
    assert "Waiting for the model, retrying" in html
    assert re.search(r'data-countdown="1[12]"', html)
    assert "The model is overloaded." in html
    assert f'action="{reverse("chat:resume", args=[turn.id])}"' in html
    assert "Try now" in html
    assert REFRESH in html  # without scripts the page asks again


def test_a_stuck_turn_says_what_happened_and_asks_whether_to_go_on(browser, alice):
    turn = waiting(alice, "stuck", message="Three calls in a row failed with the same error.")

    html = page_of(browser, turn)

    assert "Paused, because it got nowhere" in html
    assert "Three calls in a row failed with the same error." in html
    assert "Go on" in html
    assert REFRESH not in html


def test_a_question_shows_the_tool_why_what_it_touches_and_the_exact_arguments(browser, alice):
    turn, [approval] = asking(
        alice, call={"text": "Bring <b>it</b>\nnow", "to": ["Anna", 7, "x" * 60], "urgent": True}
    )

    html = page_of(browser, turn)

    assert "<code>send_note</code>" in html
    assert "The shared notebook." in html
    assert f"hx-ignore>{SAID}</p>" in html
    assert "Bring &lt;b&gt;it&lt;/b&gt;\nnow" in html
    assert "[\n  &quot;Anna&quot;,\n  7,\n" in html
    assert '<code class="args__json" dir="ltr">true</code>' in html
    assert html.count(f'name="nonce" value="{approval.nonce}"') == 2
    assert html.count(approval.nonce) == 2  # in the two forms, and in no address
    assert REFRESH not in html  # a reload would take the reason that is being written


def test_who_offers_a_tool_is_said_once_where_that_is_what_it_touches(browser, alice):
    turn, [approval] = asking(alice)
    approval.source = approval.touches = "Example at tools.example"
    approval.save()

    html = page_of(browser, turn)

    assert html.count("Example at tools.example") == 1
    assert "It will touch" in html


def test_what_cannot_be_seen_in_an_argument_is_named():
    html = with_unseen_named("a\u202eb\u200bc<i>\U000e0041")

    named = re.findall(r"U\+[0-9A-F]+", html)
    assert named == ["U+202E", "U+200B", "U+E0041"]
    assert "&lt;i&gt;" in html
    assert not re.search("[\u202e\u200b\U000e0041]", html)


def test_an_argument_that_is_long_is_shown_whole_in_a_box_that_the_keyboard_can_scroll(browser, alice):
    turn, _ = asking(alice, call={"text": "word " * 1000 + "the end"})

    html = page_of(browser, turn)

    assert "the end" in html
    assert re.search(r'class="args__long"\s+tabindex="0"', html)


@pytest.mark.parametrize(
    ("decision", "kept", "verdict"),
    [
        ("once", ("approved", False), "You approved this call"),
        ("always", ("approved", True), "You allowed this tool in this chat"),
        ("deny", ("denied", False), "You denied this call"),
        ("", ("denied", False), "You denied this call"),
    ],
)
def test_an_answer_is_kept_and_shown_and_the_turn_goes_on(browser, alice, decision, kept, verdict):
    turn, [approval] = asking(alice)

    response = answer(browser, turn, approval, decision)

    approval.refresh_from_db()
    html = response.content.decode()
    assert response.status_code == 200
    assert (approval.status, approval.is_always) == kept
    assert fresh(turn).status == Turn.Status.QUEUED
    assert verdict in html
    assert "data-waits" not in html


def test_the_reason_of_a_denial_is_for_the_model(browser, alice):
    turn, [approval] = asking(alice)

    html = answer(browser, turn, approval, "deny", reason="Anna is on holiday").content.decode()

    approval.refresh_from_db()
    assert approval.reason == "Anna is on holiday"
    assert "Anna is on holiday" in html


def test_of_several_questions_one_is_answered_and_the_others_still_wait(browser, alice):
    turn, [first, second] = asking(alice, one=NOTE, two={"text": "Another"})

    html = answer(browser, turn, first, "once").content.decode()

    assert fresh(turn).status == Turn.Status.WAITING
    assert "You approved this call" in html
    assert second.nonce in html
    assert first.nonce not in html


def test_a_second_answer_is_refused_and_the_card_shows_what_stands(browser, alice):
    turn, [approval] = asking(alice)
    answer(browser, turn, approval, "deny")

    response = answer(browser, turn, approval, "once")

    approval.refresh_from_db()
    html = response.content.decode()
    assert response.status_code == 409
    assert approval.status == "denied"
    assert 'hx-target="#alert"' in html
    assert "Your answer was not taken" in html
    assert "You denied this call" in html


@pytest.mark.parametrize("nonce", ["", "of another page"])
def test_an_answer_to_another_call_than_the_one_that_was_shown_is_refused(browser, alice, nonce):
    turn, [approval] = asking(alice)

    response = answer(browser, turn, approval, "once", nonce=nonce)

    approval.refresh_from_db()
    assert response.status_code == 409
    assert approval.status == "pending"
    assert approval.nonce in response.content.decode()


def test_an_answer_that_comes_too_late_is_refused_also_without_scripts(browser, alice):
    turn, [approval] = asking(alice)
    Approval.objects.update(expires_at=datetime(2026, 1, 1, tzinfo=UTC))

    response = answer(browser, turn, approval, "once", htmx=False)

    approval.refresh_from_db()
    html = response.content.decode()
    assert response.status_code == 409
    assert approval.status == "pending"
    assert "Your answer was not taken" in html
    assert "Nobody answered in time" in html
    assert "Approve once" not in html


def test_without_scripts_an_answer_leads_back_to_the_turn(browser, alice):
    turn, [approval] = asking(alice)

    response = answer(browser, turn, approval, "once", htmx=False)

    assert response.status_code == 303
    assert response["Location"].endswith(f"#turn-{turn.id}")


def test_what_was_allowed_always_is_listed_and_can_be_taken_back(browser, alice):
    turn, [approval] = asking(alice)
    answered = answer(browser, turn, approval, "always").content.decode()

    url = reverse("chat:ask_again", args=[turn.conversation_id])
    taken_back = browser.post(url, {"action": "send_note"}, follow=True).content.decode()

    assert f'action="{url}"' in answered  # the open page lists it at once
    assert "The tool asks again before it runs in this chat." in taken_back
    assert f'action="{url}"' not in taken_back
    assert not scratchpad.grants(alice.id, turn.conversation_id)


def test_bob_takes_back_nothing_that_alice_allowed(client, alice, bob):
    turn, [approval] = asking(alice)
    approvals.decide(alice.id, turn.id, approval.tool_use_id, approve=True, always=True)
    client.force_login(bob)

    url = reverse("chat:ask_again", args=[turn.conversation_id])

    assert client.post(url, {"action": "send_note"}).status_code == 404
    assert scratchpad.grants(alice.id, turn.conversation_id).exists()


def test_trying_now_queues_the_turn_and_clears_its_card(browser, alice):
    turn = waiting(alice, "model")

    html = browser.post(reverse("chat:resume", args=[turn.id]), headers=HTMX).content.decode()

    assert fresh(turn).status == Turn.Status.QUEUED
    assert f'id="turn-{turn.id}-waiting"' in html
    assert "Try now" not in html


def test_going_on_with_what_does_not_wait_is_refused(browser, alice):
    turn = post(alice, "Hello")

    response = browser.post(reverse("chat:resume", args=[turn.id]), headers=HTMX)

    assert response.status_code == 409
    assert "There is nothing to wait for" in response.content.decode()


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_stopping_a_turn_that_waits_answers_with_the_ended_turn_and_its_text(browser, alice):
    turn, _ = asking(alice)

    html = browser.post(reverse("chat:stop", args=[turn.id]), headers=HTMX).content.decode()

    assert fresh(turn).status == Turn.Status.CANCELLED
    assert 'data-status="cancelled"' in html
    assert f"<p>{SAID}</p>" in html


def test_the_list_of_chats_shows_which_one_asks(browser, alice):
    asked, _ = asking(alice)
    waits = waiting(alice, "model")

    beside, all_chats = page_of(browser, waits), browser.get(reverse("chat:list")).content.decode()

    assert beside.count("Asks you") == 1
    assert all_chats.count("Asks you") == 2  # in the list, and beside it
    assert asked.conversation_id != waits.conversation_id


def test_the_lists_cost_the_same_however_many_chats_ask(browser, alice, django_assert_max_num_queries):
    turn, _ = asking(alice)
    url = reverse("chat:conversation", args=[turn.conversation_id])
    with django_assert_max_num_queries(100) as few:
        browser.get(url)
    for _ in range(3):
        asking(alice)

    with django_assert_max_num_queries(len(few)):
        browser.get(url)


def test_a_turn_that_ended_at_a_limit_says_so_and_offers_to_go_on(browser, alice):
    turn = post(alice, "Hello")
    claims.fail_turn(
        claim(turn),
        status=Turn.Status.FAILED,
        partial_text="Found so far: two of three.",
        code="run_limit_reached",
        message="It reached the limit of 16 steps.",
    )

    html = page_of(browser, turn)

    assert "<p>Found so far: two of three.</p>" in html
    assert "Stopped at a limit" in html
    assert "It reached the limit of 16 steps." in html
    assert "There is no answer to this one" not in html
    assert re.search(r"Go on\s*</button>", html)
    assert "Try again" not in html


def test_a_card_that_is_not_needed_any_more_comes_back_empty(browser, alice):
    turn = post(alice, "Hello")

    html = card_of(browser, turn)

    assert re.search(rf'id="turn-{turn.id}-waiting">\s*</div>', html)


@pytest.mark.parametrize("action", ["waiting", "decide", "resume"])
def test_bob_reaches_nothing_of_what_alice_is_asked(client, alice, bob, action):
    turn, [approval] = asking(alice)
    client.force_login(bob)
    address = reverse(f"chat:{action}", args=[turn.id])
    form = {"tool_use_id": approval.tool_use_id, "nonce": approval.nonce, "decision": "once"}

    response = client.get(address) if action == "waiting" else client.post(address, form)

    approval.refresh_from_db()
    assert response.status_code == 404
    assert approval.status == "pending"
    assert list(scratchpad.pending_approvals(bob.id)) == []
