"""The message box in a real Chromium: keys, refusals, drafts, and what is typed while a message is on its way."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.ui.open_chat import CHAT, SEND, open_chat, sent
from tests.ui.pages import CONVERSATION, render

pytestmark = pytest.mark.browser


def test_a_message_box_that_had_to_be_sized_by_script_is_replaced_under_the_content_policy(page, server):
    page.add_init_script("CSS.supports = () => false")  # as in a browser without field-sizing
    box = open_chat(page, server)

    box.fill("Hello\nthere")
    box.press("Enter")
    expect(page.locator(".turn")).to_have_count(1)
    server.end()

    expect(page.locator(".reply")).to_have_text("On 14 March.")


def test_pressing_enter_twice_sends_once_and_keeps_what_is_typed_meanwhile(page, server):
    held = []
    page.route(f"**{SEND}", lambda route: held.append(route))  # noqa: PLW0108 (it takes no builtins)
    box = open_chat(page, server)

    box.fill("Hello")
    with page.expect_request(f"**{SEND}"):
        box.press("Enter")
    box.press("Enter")
    box.press_sequentially(" and then")
    held[0].continue_()

    expect(page.locator(".turn")).to_have_count(1)
    expect(box).to_have_value("and then")
    expect(box).to_be_focused()
    assert [form["text"] for _, form in server.posts] == ["Hello"]


@pytest.mark.parametrize("key", ["Shift+Enter", "Alt+Enter"])
def test_enter_with_a_modifier_starts_a_line(page, server, key):
    box = open_chat(page, server)

    box.fill("One")
    box.press(key)

    assert server.posts == []


def test_enter_that_ends_a_composition_does_not_send(page, server):
    box = open_chat(page, server)
    box.focus()
    keyboard = page.context.new_cdp_session(page)

    keyboard.send("Input.imeSetComposition", {"text": "にほん", "selectionStart": 3, "selectionEnd": 3})
    keyboard.send(
        "Input.dispatchKeyEvent", {"type": "rawKeyDown", "windowsVirtualKeyCode": 229, "key": "Enter"}
    )

    assert server.posts == []
    expect(page.locator(".turn")).to_have_count(0)


def test_empty_message_cannot_be_sent(page, server):
    box = open_chat(page, server)
    send = page.get_by_role("button", name="Send")

    expect(send).to_be_disabled()
    box.fill("   ")
    box.press("Enter")
    expect(send).to_be_disabled()
    box.fill("Hello")
    expect(send).to_be_enabled()

    assert server.posts == []


def test_refused_message_stays_in_the_box(page, server):
    server.answers[SEND] = lambda _: (422, render("_error.html", message="This message is too long."))
    box = open_chat(page, server)

    box.fill("Too long")
    box.press("Enter")

    expect(page.locator("#composer-error")).to_contain_text("This message is too long.")
    expect(box).to_have_value("Too long")


def test_message_written_without_a_connection_survives_a_reload(page, server):
    box = open_chat(page, server)
    page.route(f"**{SEND}", lambda route: route.abort())

    box.fill("Later")
    box.press("Enter")
    expect(page.locator("#composer-error")).to_contain_text("Your message is still here")
    page.reload()

    expect(box).to_have_value("Later")


def test_lost_session_leads_to_the_sign_in_of_the_page_and_keeps_the_text(page, server):
    server.answers[SEND] = lambda _: (302, "/stand-in/sign-in")
    server.answers["/stand-in/sign-in"] = lambda _: (200, "<p>Sign in</p>")
    box = open_chat(page, server)

    box.fill("Hello")
    with page.expect_navigation(url=f"**{CHAT}"):
        box.press("Enter")

    expect(box).to_have_value("Hello")
    expect(page.locator("#turns")).to_be_empty()


def test_a_stale_tab_keeps_the_text_and_can_send_anyway(page, server):
    moved_on = SimpleNamespace(details={"newer": 3})
    html = render("chat/_composer.html#moved-on", conversation=CONVERSATION, moved_on=moved_on)
    server.answers[SEND] = lambda fields: (200, sent(fields["text"])) if "anyway" in fields else (409, html)
    box = open_chat(page, server)

    box.fill("Hello")
    box.press("Enter")
    expect(page.locator("#composer-error")).to_contain_text("This chat moved on (3 newer messages)")
    expect(box).to_have_value("Hello")
    page.get_by_role("button", name="Send anyway").click()

    expect(page.locator(".turn")).to_have_count(1)
    expect(box).to_have_value("")
    assert [fields.get("anyway") for _, fields in server.posts] == [None, "yes"]
