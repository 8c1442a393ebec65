"""The turns of a chat in a real Chromium: streaming, following, waiting, editing, losing the connection."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID

import pytest
from django.urls import reverse
from django.utils.safestring import mark_safe
from playwright.sync_api import expect

from chat.presentation import Versions
from memoryapp.accounts.models import User
from memoryapp.inspector.templatetags import budgets, memory_switches
from memoryapp.lifecycle.daily_budget import DailyBudget
from tests.ui.open_chat import CHAT, STOP, frame, open_chat, paragraphs
from tests.ui.pages import (
    TURN_ID,
    card_html,
    live_turn_view,
    question,
    render,
    turn_html,
    turn_view,
    wait_view,
)

pytestmark = pytest.mark.browser

WAITING = reverse("chat:waiting", args=[TURN_ID])
DECIDE = reverse("chat:decide", args=[TURN_ID])


def _scrolled_to(page):
    return page.evaluate("document.getElementById('transcript').scrollTop")


def _is_at_end(page):
    rest = "({scrollHeight, scrollTop, clientHeight}) => scrollHeight - scrollTop - clientHeight"
    return page.evaluate(f"({rest})(document.getElementById('transcript'))") < 2


def test_reply_streams_in_and_gives_way_to_the_finished_turn(page, server):
    box = open_chat(page, server)

    box.fill("When do we launch?")
    box.press("Enter")
    server.emit(frame("body", "<p>First block.</p>") + frame("tail", "<p>and the</p>"))
    expect(page.locator(".reply")).to_have_text("First block.")
    expect(page.locator(".prose--tail")).to_have_text("and the")
    server.emit(frame("body", "<p>Second block.</p>", swap="beforeend") + frame("tail", ""))
    expect(page.locator(".reply > p")).to_have_count(2)
    server.end()

    expect(page.locator(".turn[data-live]")).to_have_count(0)
    expect(page.locator(".reply")).to_have_text("On 14 March.")
    assert server.resumed_after == [""]
    assert page.evaluate("announced") == ["Strata is answering", "Reply complete. One memory noted."]


def test_lost_connection_resumes_after_the_last_event(page, server):
    open_chat(page, server, live_turn_view())
    server.emit(frame("body", "<p>First block.</p>"))
    expect(page.locator(".reply > p")).to_have_count(1)

    server.cut()
    server.emit(frame("body", "<p>Second block.</p>", swap="beforeend"))

    expect(page.locator(".reply > p")).to_have_text(["First block.", "Second block."])
    assert server.resumed_after == ["", "1"]


def test_stream_that_never_opened_is_tried_again(page, server):
    page.route("**/stand-in/stream", lambda route: route.abort())
    open_chat(page, server, live_turn_view())

    expect(page.locator(".activity")).to_contain_text("Connection lost, trying again…")
    page.unroute("**/stand-in/stream")

    expect(page.locator(".reply")).to_have_text("On 14 March.")
    expect(page.get_by_text("Connection lost")).to_have_count(0)


def test_a_connection_lost_in_mid_reply_is_said_beside_it_until_it_is_back(page, server):
    open_chat(page, server, live_turn_view())
    server.emit(frame("body", "<p>First block.</p>") + frame("activity", "Writing"))
    activity = page.locator(".activity")
    expect(activity).to_contain_text("Writing")

    page.route("**/stand-in/stream", lambda route: route.abort())
    server.cut()
    expect(activity).to_contain_text("Connection lost, trying again…")
    expect(activity.get_by_text("Writing")).to_be_hidden()
    page.unroute("**/stand-in/stream")

    expect(activity.get_by_text("Writing")).to_be_visible()
    expect(page.get_by_text("Connection lost")).to_have_count(0)
    expect(page.locator(".reply")).to_have_text("First block.")


def test_try_again_in_a_stale_tab_shows_the_turn_as_it_stands_and_says_why(page, server):
    retry = reverse("chat:retry", args=[TURN_ID])
    why = render("_error.html", message="This message has been answered already.")
    alert = f'<hx-partial hx-target="#alert" hx-swap="innerHTML">{why}</hx-partial>'
    server.answers[retry] = lambda _: (409, turn_html(turn_view()) + alert)
    open_chat(page, server, turn_view(status="failed", reply_html=""))

    page.get_by_role("button", name="Try again").click()

    expect(page.locator(".turn")).to_have_attribute("data-status", "completed")
    expect(page.locator(".reply")).to_have_text("On 14 March.")
    expect(page.locator("#alert")).to_contain_text("This message has been answered already.")


def test_transcript_follows_until_the_reader_scrolls_and_again_on_request(page, server):
    open_chat(page, server, live_turn_view())
    server.emit(frame("body", paragraphs(40)))
    expect(page.locator(".reply > p")).to_have_count(40)
    page.wait_for_function("document.getElementById('transcript').scrollTop > 0")
    assert _is_at_end(page)

    page.mouse.move(700, 300)
    page.mouse.wheel(0, -300)
    expect(page.locator("#jump")).to_be_visible()
    read_at = _scrolled_to(page)
    server.emit(frame("body", paragraphs(5), swap="beforeend"))
    expect(page.locator(".reply > p")).to_have_count(45)
    assert _scrolled_to(page) == read_at

    page.get_by_role("button", name="Jump to latest").click()
    expect(page.locator("#jump")).to_be_hidden()
    assert _is_at_end(page)


@pytest.mark.parametrize(
    "leave",
    [
        "document.getElementById('transcript').scrollTop = 40",
        "document.querySelector('.turn a').focus()",
    ],
    ids=["by the scroll bar", "by the focus"],
)
def test_following_ends_whichever_way_the_reader_leaves_the_end(page, server, leave):
    open_chat(page, server, turn_view(id=UUID(int=7)), live_turn_view())
    server.emit(frame("body", paragraphs(40)))
    expect(page.locator("[data-live] .reply > p")).to_have_count(40)
    page.wait_for_function("document.getElementById('transcript').scrollTop > 0")

    page.evaluate(leave)
    expect(page.locator("#jump")).to_be_visible()
    server.emit(frame("body", paragraphs(5), swap="beforeend"))
    expect(page.locator("[data-live] .reply > p")).to_have_count(45)

    expect(page.locator("#jump")).to_be_visible()
    assert not _is_at_end(page)


def test_escape_stops_the_reply_but_first_closes_an_open_menu(page, server):
    open_chat(page, server, live_turn_view())
    page.locator(".topbar .menu > summary").click()

    page.keyboard.press("Escape")
    expect(page.locator(".topbar .menu")).not_to_have_attribute("open", "")
    assert server.posts == []
    with page.expect_response(re.compile(STOP)):
        page.keyboard.press("Escape")

    assert [path for path, _ in server.posts] == [STOP]


def _fetch_card(server):
    server.emit(frame("waiting", render("chat/_waiting.html#loader", turn_id=TURN_ID)))


def test_a_wait_is_announced_once_counts_down_and_gives_way_to_the_reply(page, server):
    server.answers[WAITING] = lambda _: (200, card_html(wait_view("model")))
    page.clock.install()
    open_chat(page, server, live_turn_view())

    _fetch_card(server)
    title = page.get_by_role("heading", name="Waiting for the model")
    expect(title).to_contain_text(re.compile(r"retrying\s+in 1[12] s"))
    expect(page.locator(".activity")).to_be_hidden()
    expect(page.locator(".turn")).to_have_attribute("aria-busy", "false")
    page.clock.fast_forward(5000)
    expect(title).to_contain_text(re.compile(r"retrying\s+in [567] s"))
    page.clock.fast_forward(60_000)
    expect(title).to_contain_text("any moment now")
    server.answers[WAITING] = lambda _: (200, card_html())
    _fetch_card(server)

    expect(title).to_have_count(0)
    expect(page.locator(".activity")).to_be_visible()
    expect(page.locator(".turn")).to_have_attribute("aria-busy", "true")
    assert page.evaluate("announced") == ["Waiting for the model", "Strata is answering"]


def test_a_card_that_could_not_be_fetched_is_fetched_again(page, server):
    server.answers[WAITING] = lambda _: (200, card_html(wait_view("stuck")))
    page.clock.install()
    page.route(f"**{WAITING}", lambda route: route.abort())
    open_chat(page, server, live_turn_view())
    with page.expect_request(f"**{WAITING}"):
        _fetch_card(server)
    page.unroute(f"**{WAITING}")

    page.clock.fast_forward(11_000)

    expect(page.get_by_role("heading", name="Paused, because it got nowhere")).to_be_visible()


def test_escape_stops_a_wait_for_the_model_but_never_answers_a_question(page, server):
    asks = live_turn_view(wait=wait_view("approval", open=[question()]))
    open_chat(page, server, asks, live_turn_view(id=UUID(int=3), status="queued"))
    expect(page.locator("[data-waits]")).to_be_visible()

    page.keyboard.press("Escape")
    page.get_by_label("Why not").press("Escape")
    expect(page.get_by_role("button", name="Approve once")).to_be_visible()
    assert server.posts == []
    open_chat(page, server, live_turn_view(wait=wait_view("model")))
    with page.expect_response(re.compile(STOP)):
        page.keyboard.press("Escape")

    assert [path for path, _ in server.posts] == [STOP]


def test_a_question_is_answered_by_keyboard_and_a_refused_answer_says_why(page, server):
    why = render("_error.html", title="Your answer was not taken", message="This was decided already.")
    alert = f'<hx-partial hx-target="#alert" hx-swap="innerHTML">{why}</hx-partial>'
    server.answers[DECIDE] = lambda _: (409, card_html() + alert)
    open_chat(page, server, live_turn_view(wait=wait_view("approval", open=[question()])))

    page.get_by_label("Why not").fill("Not today")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Deny")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("#alert")).to_contain_text("This was decided already.")
    expect(page.locator("[data-waits]")).to_have_count(0)
    expect(page.locator(".turn")).to_be_focused()
    [(path, form)] = server.posts
    del form["csrfmiddlewaretoken"]
    assert path == DECIDE
    assert form == {
        "tool_use_id": "call-1",
        "nonce": "nonce-1",
        "reason": "Not today",
        "decision": "deny",
    }


def test_focus_on_a_button_of_a_turn_moves_to_the_turn_that_replaces_it_without_a_frame(page, server):
    open_chat(page, server, live_turn_view())
    page.get_by_role("button", name="Stop").focus()

    server.end()

    expect(page.locator(".reply")).to_have_text("On 14 March.")
    expect(page.locator(".turn")).to_be_focused()
    expect(page.locator(".turn")).to_have_css("outline-style", "none")


def test_an_edit_opens_in_its_place_and_escape_leads_back_without_stopping_a_reply(page, server):
    asked = SimpleNamespace(id=TURN_ID)
    edit = reverse("chat:edit", args=[TURN_ID])
    form = render("chat/edit.html#form", turn=asked, text="When do we launch?", back_url=CHAT)
    server.answers[edit] = lambda _: (200, form)
    other = live_turn_view(id=UUID(int=3))
    open_chat(page, server, turn_view(), other)

    page.get_by_role("link", name="Edit").click()
    words = page.get_by_label("Your message")
    expect(words).to_be_focused()
    expect(words).to_have_value("When do we launch?")
    page.keyboard.press("Escape")

    expect(words).to_have_count(0)
    expect(page.get_by_role("link", name="Edit").first).to_be_focused()
    assert server.posts == []


def test_a_refused_edit_says_why_and_keeps_the_words(page, server):
    asked = SimpleNamespace(id=TURN_ID)
    edit = reverse("chat:edit", args=[TURN_ID])
    form = render("chat/edit.html#form", turn=asked, text="When do we launch?", back_url=CHAT)
    why = render("_error.html", message="Wait until the reply is finished.")
    server.answers[edit] = lambda fields: (409, why) if fields else (200, form)
    open_chat(page, server, turn_view())

    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Your message").fill("When do we land?")
    page.keyboard.press("Control+Enter")

    expect(page.locator("[data-edit]")).to_contain_text("Wait until the reply is finished.")
    expect(page.get_by_label("Your message")).to_have_value("When do we land?")
    assert [fields["text"] for _, fields in server.posts] == ["When do we land?"]


def test_the_dialog_of_kept_words_leads_back_to_its_menu_and_closes_when_they_are_kept(page, server):
    keep = reverse("chat:keep", args=[TURN_ID])
    said = [("user", "What you said", "When do we launch?")]
    dialog = render("chat/keep.html#dialog", turn=SimpleNamespace(id=TURN_ID), said=said, limit_chars=9)
    kept = '<hx-partial hx-target="#kept" hx-swap="outerHTML"><div id="kept">1 line</div></hx-partial>'
    server.answers[keep] = lambda fields: (200, kept if fields else dialog)
    open_chat(page, server, turn_view())
    menu = page.locator(".turn .menu > summary")

    menu.click()
    page.get_by_role("link", name="Always keep…").click()
    expect(page.get_by_label("What you said")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(menu).to_be_focused()
    menu.click()
    page.get_by_role("link", name="Always keep…").click()
    page.get_by_role("button", name="Keep these words").click()

    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator("#kept")).to_have_text("1 line")


def test_leafing_through_versions_keeps_the_place_and_the_focus(page, server):
    second = Versions(position=2, count=2, previous_id=UUID(int=7), next_id=None)
    first = Versions(position=1, count=2, previous_id=None, next_id=TURN_ID)
    older = turn_html(turn_view(id=UUID(int=7), versions=first, reply_html=mark_safe("<p>On 13 March.</p>")))
    server.answers[reverse("chat:show", args=[UUID(int=7)])] = lambda _: (200, older)
    open_chat(page, server, turn_view(versions=second))

    page.get_by_role("button", name="Show the previous version").focus()
    page.keyboard.press("Enter")

    expect(page.locator(".reply")).to_have_text("On 13 March.")
    expect(page.get_by_role("group", name="Version 1 of 2 of this message")).to_be_visible()
    expect(page.get_by_role("button", name="Show the previous version")).to_be_focused()


def test_phone_shows_the_sidebar_on_request_and_nothing_overflows(chromium, server):
    context = chromium.new_context(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    page = context.new_page()
    open_chat(page, server, turn_view(user_text="Donaudampfschifffahrt" * 20, reply_html=paragraphs(3)))
    sidebar = page.locator("#sidebar")

    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("document.documentElement.scrollHeight") == 640
    expect(sidebar).to_be_hidden()
    page.get_by_role("button", name="Menu", exact=True).click()
    expect(sidebar).to_be_visible()
    page.keyboard.press("Escape")
    expect(sidebar).to_be_hidden()
    context.close()


def test_settings_offer_the_zone_of_the_browser_where_another_one_is_chosen(chromium, server, monkeypatch):
    unlimited = DailyBudget(
        tokens=0, tokens_limit=0, usd=0, usd_limit=0, resets_at=datetime(2026, 12, 1, tzinfo=UTC)
    )
    monkeypatch.setattr(budgets.daily_budget, "budget_of", lambda *_, **__: unlimited)
    monkeypatch.setattr(memory_switches.accounts, "get_person", lambda id_: User(id=id_))
    monkeypatch.setattr(memory_switches.refusals, "refused", lambda _: set())
    monkeypatch.setattr(memory_switches.queries, "statement_kinds", list)
    context = chromium.new_context(timezone_id="Europe/Berlin")
    page = context.new_page()
    html = render("accounts/settings.html", time_zones=["Europe/Berlin", "UTC"], conversation_groups=[])
    server.answers["/stand-in/settings"] = lambda _: (200, html)
    page.goto(server.url + "/stand-in/settings")
    offer = page.get_by_role("button", name="Use Europe/Berlin (this browser)")

    offer.click()

    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    expect(offer).to_be_hidden()
    context.close()
