"""The page of all chats, as a person uses it: by mouse, by keyboard, on a phone, and without scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.conftest import Installation
from tests.browser.programs import Program

pytestmark = [
    pytest.mark.browser,
    pytest.mark.stack,
    # Nothing here depends on who answers.
    pytest.mark.parametrize("installation", ["built-in responder"], indirect=True, scope="module"),
]

NAMES = [f"Errand {number}" for number in range(1, 7)]


@pytest.fixture
def errands(context: BrowserContext, installation: Installation) -> Iterator[list[str]]:
    """Six chats, the last one the newest."""
    program = Program.in_session_of(context, installation.url)
    made = [program.chat(name) for name in NAMES]
    yield NAMES
    for id_ in made:
        program.delete_chat(id_)


def shown(page: Page) -> list[str]:
    return page.locator(".chat-row__title").all_inner_texts()


def tick(page: Page, *names: str) -> None:
    for name in names:
        page.get_by_role("checkbox", name=f"Select {name}").check()


def test_what_is_ticked_is_counted_deleted_and_brought_back(page: Page, errands: list[str]):
    page.goto("/conversations/")
    delete = page.get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()

    tick(page, "Errand 1", "Errand 3", "Errand 4")
    expect(delete).to_have_text("Delete 3 chats")
    expect(page.get_by_role("button", name="Archive 3 chats")).to_be_enabled()
    delete.click()

    expect(page.get_by_text("3 chats deleted")).to_be_visible()
    assert shown(page)[:3] == ["Errand 6", "Errand 5", "Errand 2"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("3 chats brought back")).to_be_visible()
    assert shown(page)[:6] == errands[::-1]


def test_all_that_is_shown_is_ticked_at_once_and_the_rest_of_the_box_follows(page: Page, errands: list[str]):
    page.goto("/conversations/?q=Errand")
    all_of_them = page.get_by_role("checkbox", name="Select all shown")

    all_of_them.check()
    expect(page.get_by_role("button", name="Archive 6 chats")).to_be_enabled()
    page.get_by_role("checkbox", name="Select Errand 2").uncheck()
    expect(page.get_by_role("button", name="Archive 5 chats")).to_be_enabled()
    assert all_of_them.evaluate("box => box.indeterminate")
    all_of_them.check()
    all_of_them.uncheck()

    expect(page.get_by_role("button", name="Archive selected")).to_be_disabled()


def test_a_range_is_ticked_with_shift(page: Page, errands: list[str]):
    page.goto("/conversations/")

    page.get_by_role("checkbox", name="Select Errand 6").click()
    page.get_by_role("checkbox", name="Select Errand 2").click(modifiers=["Shift"])

    expect(page.get_by_role("button", name="Archive 5 chats")).to_be_enabled()


def test_the_keyboard_is_enough(page: Page, errands: list[str]):
    page.goto("/conversations/?q=Errand")
    page.get_by_role("checkbox", name="Select all shown").focus()

    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Archive 6 chats")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_text("6 chats archived")).to_be_visible()
    page.get_by_role("link", name="Archived", exact=True).press("Enter")
    row = page.get_by_role("button", name="Bring back Errand 3")
    row.press("Enter")
    expect(page.get_by_text("1 chat brought back")).to_be_visible()
    expect(row).to_have_count(0)


def test_back_from_a_chat_the_ticks_and_their_count_agree(page: Page, errands: list[str]):
    page.goto("/conversations/")
    tick(page, "Errand 1", "Errand 2")
    page.locator(".chat-row__link", has_text="Errand 3").click()
    page.wait_for_url("**/c/*/")

    page.go_back()

    ticked = page.locator('input[name="id"]:checked').count()
    words = f"Archive {ticked} chats" if ticked else "Archive selected"
    expect(page.locator('[data-bulk="archive"]')).to_have_text(words)


def test_nothing_runs_over_the_edge_or_is_lost_on_paper(page: Page, errands: list[str]):
    page.goto("/conversations/?q=Errand")
    tick(page, *errands)

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="print")
    expect(page.locator(".chat-row__title").first).to_be_visible()
    expect(page.locator(".bulk")).to_be_hidden()


def test_a_chat_is_pinned_from_its_menu_and_stays_on_top(page: Page, errands: list[str]):
    page.goto("/conversations/?q=Errand 1")
    page.locator(".chat-row__link").first.click()
    page.get_by_text("More about this chat").locator("..").click()

    page.get_by_role("button", name="Pin to the top").click()

    expect(page.get_by_text("Pinned: it stays on top of your chats.")).to_be_visible()
    assert "Errand 1" in page.locator("#conversations ul").first.inner_text()
    page.goto("/conversations/?show=pinned")
    assert shown(page) == ["Errand 1"]


def test_a_search_in_the_sidebar_goes_on_among_all_chats(page: Page):
    wait_for_reply(page, new_chat(page, "The wombat sleeps in a burrow."))
    page.goto("/?q=wombat")
    if page.locator(".topbar__menu").first.is_visible():
        page.locator(".topbar__menu").first.click()

    page.get_by_role("link", name="Search all chats").click()

    expect(page.get_by_role("searchbox", name="Search titles and what was said")).to_have_value("wombat")
    expect(page.locator(".chat-row mark").first).to_have_text("wombat")


def test_all_of_it_works_without_scripts(chromium: Browser, installation: Installation, errands: list[str]):
    context = chromium.new_context(
        base_url=installation.url, storage_state=installation.storage_state, java_script_enabled=False
    )
    page = context.new_page()
    page.goto("/conversations/")
    page.get_by_role("searchbox", name="Search titles and what was said").fill("Errand")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#select-all")).to_be_hidden()

    page.get_by_role("link", name="Select all shown").click()
    page.get_by_role("checkbox", name="Select Errand 5").uncheck()
    page.get_by_role("button", name="Delete selected").click()

    expect(page.get_by_text("5 chats deleted")).to_be_visible()
    assert shown(page) == ["Errand 5"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("5 chats brought back")).to_be_visible()
    assert shown(page) == errands[::-1]
    context.close()
