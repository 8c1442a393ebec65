"""The main job, as a stranger meets it: say something once, and it is there in the next chat."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chatting import new_chat, reply_of, say, wait_for_reply
from tests.browser.conftest import WITH_BOTH, Installation
from tests.modelserver import reply

pytestmark = [pytest.mark.browser, pytest.mark.stack, *WITH_BOTH]

LONG = "count to 150"


def test_what_was_said_once_is_remembered_in_another_conversation(page: Page, installation: Installation):
    wait_for_reply(page, new_chat(page, "I only drink green tea, never coffee."))
    expect(page.locator(".remembered")).to_contain_text("I only drink green tea, never coffee.")

    answer = wait_for_reply(page, new_chat(page, "What do I usually drink?"))

    assert "green tea" in answer
    page.locator(".receipt summary").click()
    expect(page.locator(".receipt__list").first).to_contain_text("I only drink green tea, never coffee.")
    page.goto("/memory/facts/")
    page.locator(".fact", has_text="I only drink green tea").first.click()
    expect(page.locator("blockquote")).to_contain_text("I only drink green tea, never coffee.")
    page.get_by_role("link", name="Open the conversation").click()
    expect(page.locator("article.turn").first).to_contain_text("I only drink green tea, never coffee.")
    assert _rejected(installation) == []


def test_an_unrelated_question_recalls_nothing(page: Page, installation: Installation):
    wait_for_reply(page, new_chat(page, "I only drink green tea, never coffee."))

    answer = wait_for_reply(page, new_chat(page, "How tall is the Eiffel tower?"))

    assert "tea" not in answer
    expect(page.locator(".receipt", has_text="Used")).to_have_count(0)
    assert _rejected(installation) == []


def test_a_reload_in_mid_reply_goes_on_with_the_same_reply(page: Page, installation: Installation):
    _will_count(installation)
    turn = new_chat(page, LONG)
    expect(turn).to_contain_text("11, 12")

    page.reload()

    turn = page.locator("article.turn").last
    expect(turn).to_contain_text("11, 12")
    text = wait_for_reply(page, turn)
    assert text.startswith("1, 2, 3")
    assert text.rstrip().endswith("149, 150")
    assert text.count("11, 12, 13") == 1


def test_two_tabs_see_the_same_reply(page: Page, installation: Installation):
    _will_count(installation)
    new_chat(page, LONG)
    page.wait_for_url(re.compile("/c/"))
    other = page.context.new_page()

    other.goto(page.url)

    texts = [wait_for_reply(tab, tab.locator("article.turn").last) for tab in (page, other)]
    assert texts[0] == texts[1]
    assert "149, 150" in texts[0]
    other.close()


def test_stop_keeps_what_was_written_and_offers_to_try_again(page: Page, installation: Installation):
    _will_count(installation, chunk_delay_s=0.1)
    turn = new_chat(page, "count to 500" if installation.provider is None else LONG)
    expect(turn).to_contain_text("1, 2, 3")

    page.get_by_role("button", name="Stop").click()

    expect(turn).to_contain_text("You stopped this reply.")
    expect(reply_of(turn)).to_contain_text("1, 2, 3")
    _will_count(installation)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("article.turn")).to_have_count(1)
    text = wait_for_reply(page, page.locator("article.turn").last)
    assert text.startswith("1, 2, 3")


def test_messages_sent_during_a_reply_are_answered_in_their_order(page: Page, installation: Installation):
    _will_count(installation)
    new_chat(page, LONG)
    page.wait_for_url(re.compile("/c/"))

    say(page, "hello")

    expect(page.locator("article.turn")).to_have_count(2)
    wait_for_reply(page, page.locator("article.turn").nth(1))
    first, second = (page.locator("article.turn").nth(place) for place in (0, 1))
    expect(first).to_contain_text("149, 150")
    expect(second).to_have_attribute("data-status", "completed")


def test_a_memory_is_corrected_and_forgotten_in_the_inspector(page: Page):
    wait_for_reply(page, new_chat(page, "I like hiking in the Alps."))
    page.locator(".remembered").get_by_role("link", name="Edit").first.click()

    page.get_by_label("Statement").fill("I like hiking in the Dolomites.")
    page.get_by_role("button", name="Save the correction").click()
    expect(page.locator("h1")).to_have_text("I like hiking in the Dolomites.")
    expect(page.locator("#history")).to_contain_text("Alps")
    page.get_by_role("button", name="Forget", exact=True).click()

    expect(page.locator(".undo")).to_contain_text("Forgotten.")
    page.goto("/memory/facts/?status=all&q=Dolomites")
    expect(page.get_by_text("Nothing matches")).to_be_visible()


def test_a_memory_is_undone_where_it_was_made(page: Page):
    turn = new_chat(page, "I love paragliding.")
    wait_for_reply(page, turn)
    url = page.url

    page.locator(".remembered").get_by_role("button", name="Undo").click()

    expect(page.locator(".remembered")).to_contain_text("Taken back.")
    assert page.url == url
    page.reload()
    expect(page.locator(".remembered > li")).to_have_count(1)
    expect(page.locator(".remembered")).to_contain_text("Taken back or forgotten")
    page.goto("/memory/facts/?status=all&q=paragliding")
    expect(page.get_by_text("Nothing matches")).to_be_visible()


def test_without_scripts_a_message_is_sent_and_answered(chromium, installation: Installation):
    context = chromium.new_context(
        base_url=installation.url, storage_state=installation.storage_state, java_script_enabled=False
    )
    page = context.new_page()
    page.goto("/")

    page.get_by_label("Message", exact=True).fill("hello")
    page.get_by_role("button", name="Send").click()

    turn = page.locator("article.turn[data-status=completed]")  # the page refreshes itself until then
    expect(turn).to_contain_text("hello", timeout=20_000)
    context.close()


def _will_count(installation: Installation, *, chunk_delay_s: float = 0.02) -> None:
    """The built-in responder counts by itself; the model server is told to."""
    if installation.provider:
        lines = [", ".join(map(str, range(start, start + 10))) for start in range(1, 151, 10)]
        installation.provider.script(reply("\n\n".join(lines), chunk_chars=12, event_delay_s=chunk_delay_s))


def _rejected(installation: Installation) -> list[int]:
    """Requests that the strict server turned down."""
    calls = installation.provider.calls if installation.provider else []
    return [call.status for call in calls if call.status == 400]
