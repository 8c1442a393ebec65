"""The way from a fact to its correction, a longer life and its end: without scripts, and without a mouse."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.facts.reading import notice, row, tab_to, undo
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack]

FACTS = "/memory/facts/"


def test_without_scripts_a_fact_is_found_corrected_kept_forgotten_and_back(
    plain: Page, program: Program, mark: str
):
    program.remember(f"My boat {mark} has one sail", kind="decision")
    plain.goto(FACTS)
    plain.get_by_label("Search", exact=True).fill(mark)
    plain.get_by_role("button", name="Show", exact=True).click()

    row(plain, mark).get_by_role("link").click()
    plain.get_by_role("link", name="Edit", exact=True).click()
    plain.get_by_label("Statement").fill(f"My boat {mark} has two sails")
    plain.get_by_role("button", name="Save the correction").click()
    expect(notice(plain)).to_contain_text("Saved.")
    expect(plain.locator("h1")).to_have_text(f"My boat {mark} has two sails")
    expect(plain.get_by_role("button", name="Extend")).to_have_count(0)
    plain.get_by_role("button", name="Keep for ever").click()
    expect(notice(plain)).to_contain_text("Kept for ever")
    plain.get_by_role("button", name="Forget", exact=True).click()
    expect(notice(plain)).to_contain_text("Forgotten.")
    undo(plain)

    plain.goto(f"{FACTS}?q={mark}")
    expect(row(plain, mark)).to_contain_text("two sails")


def test_without_scripts_picked_facts_are_forgotten_and_back(plain: Page, program: Program, mark: str):
    for fruit in ("figs", "nuts"):
        program.remember(f"I like {fruit}, says {mark}")
    plain.goto(f"{FACTS}?q={mark}")

    row(plain, f"figs, says {mark}").get_by_role("checkbox").check()
    plain.get_by_role("button", name="Forget", exact=True).click()

    expect(notice(plain)).to_contain_text("Forgotten: 1 fact.")
    expect(row(plain, mark)).to_have_count(1)
    undo(plain)
    expect(row(plain, mark)).to_have_count(2)


def test_the_first_tab_of_a_page_with_tabs_is_the_skip_link(page: Page):
    page.goto(FACTS)

    page.keyboard.press("Tab")

    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_by_keyboard_alone_a_fact_is_found_corrected_forgotten_and_back(
    page: Page, program: Program, mark: str
):
    program.remember(f"My kayak {mark} is green")
    page.goto(FACTS)

    tab_to(page, page.get_by_label("Search", exact=True))
    page.keyboard.type(mark)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(mark))
    tab_to(page, row(page, mark).get_by_role("link"))
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(f"My kayak {mark} is green")
    tab_to(page, page.get_by_role("link", name="Edit", exact=True))
    page.keyboard.press("Enter")
    words = page.get_by_label("Statement")
    expect(words).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(f"My kayak {mark} is yellow")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(f"My kayak {mark} is yellow")
    tab_to(page, page.get_by_role("button", name="Forget", exact=True))
    page.keyboard.press("Space")
    expect(notice(page)).to_contain_text("Forgotten.")
    tab_to(page, notice(page).get_by_role("button", name="Undo"))
    page.keyboard.press("Space")

    expect(page.locator("h1")).to_have_text("Facts")
    page.goto(f"{FACTS}?q={mark}")
    expect(row(page, mark)).to_contain_text("is yellow")


@pytest.mark.parametrize(("path", "gutter"), [(FACTS, "stable"), ("/", "auto")])
def test_room_is_kept_for_the_scroll_bar_of_a_page_and_a_chat_has_its_own(page: Page, path: str, gutter: str):
    page.goto(path)

    assert page.evaluate("getComputedStyle(document.documentElement).scrollbarGutter") == gutter


def test_keys_pick_and_forget_in_a_list(page: Page, program: Program, mark: str):
    for fruit in ("peas", "beans"):
        program.remember(f"I like {fruit}, says {mark}")
    page.goto(f"{FACTS}?q={mark}")
    expect(row(page, mark)).to_have_count(2)

    for key in ("j", "x", "#"):
        page.keyboard.press(key)

    expect(notice(page)).to_contain_text("Forgotten: 1 fact.")
    expect(row(page, mark)).to_have_count(1)
    page.keyboard.press("z")
    expect(row(page, mark)).to_have_count(2)


def test_a_key_forgets_the_fact_that_was_gone_to_without_picking_it(page: Page, program: Program, mark: str):
    for fruit in ("peas", "beans"):
        program.remember(f"I like {fruit}, says {mark}")
    page.goto(f"{FACTS}?q={mark}")
    expect(row(page, mark)).to_have_count(2)

    for key in ("j", "j", "#"):
        page.keyboard.press(key)

    expect(notice(page)).to_contain_text("Forgotten: 1 fact.")
    expect(row(page, f"beans, says {mark}")).to_have_count(1)


def test_after_forgetting_and_its_undo_the_focus_is_on_what_was_done(page: Page, program: Program, mark: str):
    program.remember(f"My canoe {mark} is red")
    page.goto(f"{FACTS}?q={mark}")
    told = page.locator(".undo")

    for key in ("j", "#"):
        page.keyboard.press(key)
    expect(told).to_contain_text("Forgotten: 1 fact.")
    expect(told).to_be_focused()
    page.keyboard.press("Tab")
    expect(told.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")

    expect(told).to_contain_text("It is back.")
    expect(told).to_be_focused()
