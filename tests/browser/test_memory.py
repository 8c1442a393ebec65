"""What a person sees of memory: the chip where something is learned, the receipt where it is used, its history."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Response, expect

from tests.browser.chatting import new_chat, say, wait_for_reply
from tests.browser.conftest import WITH_BOTH, Installation
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack, *WITH_BOTH]

LIVES_FOR = re.compile(r"kept until you forget it|expires \d+ \w+ 20\d\d")


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """No answer of the server is an error, whatever is done here."""
    refused: list[str] = []

    def note(response: Response) -> None:
        if response.status >= 400:
            refused.append(f"{response.status} {response.url}")

    page.on("response", note)
    yield page
    assert refused == []


def chip(turn: Locator, text: str) -> Locator:
    return turn.locator(".remembered > li", has_text=text)


def told(page: Page, text: str) -> Locator:
    """A turn of a new chat, answered."""
    turn = new_chat(page, text)
    wait_for_reply(page, turn)
    return turn


def fits(page: Page) -> bool:
    """Whether nothing sticks out to the side."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.fixture(autouse=True)
def _nothing_is_known(context: BrowserContext, installation: Installation) -> None:
    """The installation is shared with others."""
    Program.in_session_of(context, installation.url).forget_all()


def test_what_is_said_contradicted_and_asked_for_in_other_words_is_shown_at_each_step(page: Page):
    turn = told(page, "I live in Lisbon.")
    learned = chip(turn, "I live in Lisbon")
    expect(learned).to_contain_text("Remembered:")
    expect(learned).to_contain_text("from your message")
    expect(learned).to_contain_text(LIVES_FOR)
    expect(learned.get_by_role("button", name="Undo")).to_be_visible()
    expect(learned.get_by_role("link", name="Edit")).to_be_visible()
    assert fits(page)

    turn = say(page, "I live in Porto.")
    wait_for_reply(page, turn)
    updated = chip(turn, "I live in Porto")
    expect(updated).to_contain_text("Updated:")
    expect(updated).to_contain_text("before: “I live in Lisbon")
    assert fits(page)

    page.goto("/memory/facts/")
    expect(page.locator(".rows .fact", has_text="I live in")).to_have_count(1)
    page.locator(".rows .fact", has_text="I live in Porto").click()
    expect(page.locator("h1")).to_contain_text("I live in Porto")
    former = page.locator("#former")
    expect(former).to_contain_text("I live in Lisbon")
    expect(former.get_by_role("link", name="your message")).to_be_visible()
    assert fits(page)

    turn = told(page, "What is my home town?")
    expect(turn.locator(".reply").first).to_contain_text("Porto")
    turn.locator(".receipt > summary").click()
    used = turn.locator(".receipt__list").first
    expect(used).to_contain_text("I live in Porto")
    expect(used).not_to_contain_text("I live in Lisbon")
    expect(used).to_contain_text(
        re.compile(r"Why: (matches your words|similar in meaning|you asked for exactly this)")
    )
    expect(used.get_by_role("button", name="Wrong").first).to_be_visible()
    assert fits(page)


def test_undo_takes_an_update_back_where_it_stands_and_after_a_reload(page: Page):
    told(page, "I live in Lisbon.")
    turn = say(page, "I live in Porto.")
    wait_for_reply(page, turn)

    chip(turn, "I live in Porto").get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")

    back = turn.locator(".remembered > li", has_text="Taken back.")
    expect(back).to_contain_text("In use again: I live in Lisbon")
    expect(back.locator("[autofocus]")).to_be_focused()
    page.reload()
    expect(page.locator(".remembered", has_text="I live in Porto")).to_have_count(0)
    page.goto("/memory/facts/")
    expect(page.locator(".rows .fact", has_text="I live in")).to_have_count(1)
    expect(page.locator(".rows .fact", has_text="I live in")).to_contain_text("Lisbon")


def test_a_memory_is_said_to_be_irrelevant_and_forgotten_from_the_receipt_by_keyboard(page: Page):
    told(page, "I only drink green tea, never coffee.")
    turn = told(page, "What do I usually drink?")
    turn.locator(".receipt > summary").focus()

    page.keyboard.press("Enter")
    turn.get_by_role("button", name="Not relevant").first.focus()
    page.keyboard.press("Enter")

    used = turn.locator(".receipt__list").first
    expect(used).to_contain_text("nothing to do with it")
    turn.locator(".receipt__forget > summary").first.focus()
    page.keyboard.press("Enter")
    turn.get_by_role("button", name="Forget this memory").first.focus()
    page.keyboard.press("Enter")
    expect(used).to_contain_text("forgotten since")
    expect(used.get_by_role("link", name="green tea, never coffee")).to_have_count(0)


def test_without_scripts_a_chip_is_undone_and_a_receipt_is_read(
    chromium, installation: Installation, page: Page
):
    told(page, "I only drink green tea, never coffee.")
    learned_at = page.url
    told(page, "What do I usually drink?")
    asked_at = page.url
    context = chromium.new_context(
        base_url=installation.url, storage_state=installation.storage_state, java_script_enabled=False
    )
    plain = context.new_page()

    plain.goto(asked_at)
    plain.locator(".receipt > summary").click()
    plain.get_by_role("link", name="Show what this reply used").click()
    expect(plain.locator(".receipt__list").first).to_contain_text("green tea, never coffee")
    plain.goto(learned_at)
    plain.locator(".remembered").get_by_role("button", name="Undo").click()

    expect(plain.get_by_text("Taken back.")).to_be_visible()
    expect(plain.locator(".remembered")).to_contain_text("Taken back or forgotten")
    assert plain.url.partition("#")[0] == learned_at.partition("#")[0]
    context.close()
