"""What a phone's width must not break: tables that fit, targets that a finger meets, and nothing that jumps."""

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import Installation
from tests.browser.programs import Program

pytestmark = [
    pytest.mark.browser,
    pytest.mark.stack,
    # Who answers is no matter of width, and each test sets its own.
    pytest.mark.parametrize("installation", ["built-in responder"], indirect=True),
    pytest.mark.parametrize("context", ["phone"], indirect=True),
]
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def program(context: BrowserContext, installation: Installation) -> Program:
    return Program.in_session_of(context, installation.url)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_switch_of_a_temporary_chat_stays_under_the_pointer(page: Page, width: int):
    page.set_viewport_size({"width": width, "height": 844})
    page.goto("/")
    switch = page.get_by_role("switch", name="Temporary chat")
    before = switch.bounding_box()

    switch.click()
    page.wait_for_url("**/?temporary=yes")

    assert switch.bounding_box() == before
    assert page.get_by_text("Nothing from this chat is saved to memory").is_visible()


def test_tables_of_people_and_of_calls_fit_on_a_phone(page: Page, program: Program):
    program.chat("Fruit", "What is 17 * 23?")
    page.set_viewport_size(PHONE)
    addresses = ["/policies/people/"]
    page.goto("/memory/runs/")
    addresses.append(page.locator(".run-row__link").first.get_attribute("href"))

    for address in addresses:
        page.goto(address)
        table = page.locator(".table-scroll").first

        assert table.evaluate("box => box.scrollWidth <= box.clientWidth"), address


def test_a_finger_meets_the_small_buttons_of_the_lists_and_of_a_reply(page: Page, program: Program):
    id_ = program.chat("Fruit", "I only drink plum tea, never coffee.")
    page.set_viewport_size(PHONE)
    heights = {}

    for address, targets in (
        ("/memory/", "main .button--small"),
        ("/memory/conversations/", "main .button--small"),
        (f"/c/{id_}/", ".remembered__links :is(a, button)"),
    ):
        page.goto(address)
        page.locator(targets).first.wait_for()
        shown = page.locator(targets).filter(visible=True).all()
        heights[address] = min(target.bounding_box()["height"] for target in shown)

    assert all(height >= 32 for height in heights.values()), heights
