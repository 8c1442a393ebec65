"""One fact: corrected where it stands, kept and let go, with where it comes from and who used it."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.facts.reading import notice, open_fact, reload_until, row, undo
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def test_enter_saves_a_correction_and_escape_leaves_it(page: Page, program: Program, mark: str):
    open_fact(page, program.remember(f"I park my red bike at {mark}"))
    words = page.get_by_label("Statement")
    edit = page.get_by_role("link", name="Edit", exact=True)

    edit.click()
    expect(words).to_be_focused()
    words.fill("Something else")
    page.keyboard.press("Escape")
    expect(edit).to_be_focused()
    expect(page.locator("h1")).to_have_text(f"I park my red bike at {mark}")
    edit.click()
    words.fill(f"I park my blue bike at {mark}")
    page.keyboard.press("Enter")

    expect(notice(page)).to_contain_text("Saved.")
    expect(page.locator("h1")).to_have_text(f"I park my blue bike at {mark}")
    history = page.locator("#history")
    expect(history.locator("del")).to_contain_text("red")
    expect(history.locator("ins")).to_contain_text("blue")
    notice(page).get_by_role("button", name="Back to version 1").click()
    expect(page.locator("h1")).to_have_text(f"I park my red bike at {mark}")


def test_a_correction_of_what_another_tab_changed_shows_both(
    page: Page, context: BrowserContext, program: Program, mark: str
):
    fact_id = program.remember(f"The spare key of {mark} hangs in the hall")
    open_fact(page, fact_id)
    page.get_by_role("link", name="Edit", exact=True).click()
    other = context.new_page()
    open_fact(other, fact_id)
    other.get_by_role("link", name="Edit", exact=True).click()
    other.get_by_label("Statement").fill(f"The spare key of {mark} hangs in the shed")
    other.keyboard.press("Enter")
    expect(notice(other)).to_contain_text("Saved.")

    page.get_by_label("Statement").fill(f"The spare key of {mark} hangs in the barn")
    page.keyboard.press("Enter")

    both = page.locator(".two-texts")
    expect(both).to_contain_text("hangs in the shed")
    expect(both).to_contain_text("hangs in the barn")
    expect(page.get_by_text("Nothing of yours is saved yet")).to_be_visible()
    page.get_by_role("button", name="Keep mine").click()
    expect(page.locator("h1")).to_have_text(f"The spare key of {mark} hangs in the barn")


def test_how_long_it_lives_is_said_changed_and_taken_back(page: Page, program: Program, mark: str):
    open_fact(page, program.remember(f"My parcel waits at {mark}", kind="ticket"))
    lifetime = page.locator("#lifetime")
    expect(lifetime).to_contain_text("30 days from when it was last said")
    expect(lifetime).to_contain_text("an old number does more harm than good")

    page.get_by_role("button", name="Keep for ever").click()

    expect(notice(page)).to_contain_text("Kept for ever")
    expect(lifetime).to_contain_text("You keep it for ever")
    undo(page)
    expect(lifetime).not_to_contain_text("You keep it for ever")
    page.get_by_text("Until a date", exact=True).click()
    page.get_by_label("Until the end of").fill("2090-05-01")
    page.get_by_role("button", name="Set the date").click()
    expect(notice(page)).to_contain_text("It expires at the end of 1 May 2090.")
    expect(lifetime).to_contain_text("You gave it a date of its own.")
    expect(lifetime).to_contain_text("2090")
    lifetime.get_by_role("button", name="its kind").click()
    expect(page.get_by_role("button", name="Keep for ever")).to_be_visible()
    expect(page.get_by_role("button", name="Extend")).to_have_count(0)


def test_on_a_phone_the_main_verbs_are_on_the_first_screen_and_what_is_wrong_is_corrected(
    page: Page, program: Program, mark: str
):
    page.set_viewport_size({"width": 390, "height": 844})
    open_fact(page, program.remember(f"My tent is at {mark}", kind="ticket"))
    for verb in ("Keep for ever", "Forget"):
        expect(page.get_by_role("button", name=verb, exact=True)).to_be_in_viewport()
    expect(page.get_by_role("link", name="Edit", exact=True)).to_be_in_viewport()
    expect(page.get_by_text("Already has its full 30 days. For longer, set a date.")).to_be_in_viewport()
    until = page.locator(".fact-until")
    until.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Set the date")).to_be_in_viewport(ratio=1)
    panel = until.locator(".menu__panel").bounding_box()
    assert panel
    assert panel["x"] >= 0
    assert panel["x"] + panel["width"] <= 390
    button, below = (
        place.bounding_box() for place in (until.locator("summary"), page.get_by_text("Already has its full"))
    )
    assert button
    assert below
    assert 0 <= panel["y"] - (button["y"] + button["height"]) <= 16
    assert panel["y"] + panel["height"] <= below["y"]
    page.keyboard.press("Enter")
    expect(until.locator(".menu__panel")).to_be_hidden()

    wrong = page.locator(".fact-wrong")
    wrong.locator("summary").click()
    box = wrong.locator(".menu__panel").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    wrong.get_by_role("link", name="Correct it").click()

    expect(page.get_by_label("Statement")).to_have_value(f"My tent is at {mark}")
    expect(page.get_by_label("Key", exact=True)).to_be_hidden()


def test_its_quote_leads_to_the_message_and_its_uses_to_the_replies(page: Page, mark: str):
    turn = new_chat(page, f"My dog is called Rex{mark}.")
    wait_for_reply(page, turn)
    told_at = page.url.partition("#")[0]
    wait_for_reply(page, new_chat(page, "What is my dog called?"))
    asked_at = page.url.partition("#")[0]
    page.goto(f"/memory/facts/?q=Rex{mark}")

    row(page, f"Rex{mark}").get_by_role("link").click()

    expect(page.locator(".quote")).to_contain_text(f"My dog is called Rex{mark}")
    uses = page.locator("#uses")
    reload_until(page, uses.get_by_role("link").first)
    uses.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(re.escape(asked_at)))
    page.go_back()
    page.get_by_role("link", name="Open the conversation").click()
    expect(page).to_have_url(re.compile(re.escape(told_at)))
    expect(page.locator("article.turn", has_text=f"My dog is called Rex{mark}.")).to_be_in_viewport()


def test_a_program_that_read_it_is_named(page: Page, program: Program, mark: str):
    fact_id = program.remember(f"My desk has the number {mark}")
    open_fact(page, fact_id)
    expect(page.locator("#readers")).to_contain_text("No program has read it.")

    program.read(fact_id)

    page.reload()
    reader = page.locator("#readers tbody tr")
    expect(reader).to_have_count(1)
    expect(reader).to_contain_text("Calendar sync")


def test_a_fact_is_forgotten_at_once_and_undo_brings_it_back(page: Page, program: Program, mark: str):
    fact_id = program.remember(f"My umbrella is at {mark}")
    open_fact(page, fact_id)

    page.get_by_role("button", name="Forget", exact=True).click()

    expect(notice(page)).to_contain_text("Forgotten.")
    page.goto(f"/memory/facts/?q={mark}&status=all")
    expect(row(page, mark)).to_have_count(0)
    page.goto("/memory/activity/")
    page.get_by_role("region", name="You can still undo").get_by_role("button", name="Undo").first.click()
    open_fact(page, fact_id)
    expect(page.locator("h1")).to_have_text(f"My umbrella is at {mark}")
