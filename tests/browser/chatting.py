"""How a person uses the chat page."""

import re

from playwright.sync_api import Locator, Page, expect


def new_chat(page: Page, text: str) -> Locator:
    page.goto("/")
    return say(page, text)


def say(page: Page, text: str) -> Locator:
    """Type and press Enter; returns the newest turn."""
    before = page.locator("article.turn").count()
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")
    turn = page.locator("article.turn").nth(before)
    expect(turn).to_be_visible()
    return page.locator("article.turn").last


def wait_for_reply(page: Page, turn: Locator) -> str:
    """The finished reply's text."""
    expect(turn).not_to_have_attribute("data-live", re.compile(".*"))
    return reply_of(turn).inner_text()


def reply_of(turn: Locator) -> Locator:
    return turn.locator(".reply").first
