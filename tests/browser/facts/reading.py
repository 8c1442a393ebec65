"""How a person finds their way on the pages of facts."""

import time

from playwright.sync_api import Locator, Page, expect

ARRIVES_WITHIN_S = 30


def row(page: Page, text: str) -> Locator:
    """A fact of a list, with its buttons."""
    return page.locator("main .rows > li", has_text=text)


def notice(page: Page) -> Locator:
    """What was just done."""
    return page.locator(".undo__notice").first


def undo(page: Page) -> None:
    notice(page).get_by_role("button", name="Undo").click()


def open_fact(page: Page, memory_id: str) -> None:
    page.goto(f"/memory/facts/{memory_id}/")


def reload_until(page: Page, wanted: Locator) -> None:
    """What is made in the background, such as vectors, is there soon."""
    deadline = time.monotonic() + ARRIVES_WITHIN_S
    while not wanted.count():
        assert time.monotonic() < deadline, f"never came: {wanted}"
        page.reload()
    expect(wanted).to_be_visible()


def tab_to(page: Page, wanted: Locator, *, at_most: int = 80) -> None:
    """As somebody without a mouse goes there."""
    for _ in range(at_most):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"cannot be reached by Tab: {wanted}")
