"""Facts in a list: found by words, by meaning and by filters, added by hand, and changed many at a time."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.facts.reading import notice, reload_until, row, undo
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack]

FACTS = "/memory/facts/"
MANY = 21  # more than can go without a typed word


def test_a_fact_is_found_by_its_words_and_by_what_it_means(page: Page, program: Program, mark: str):
    program.remember(f"My dog is a whippet called {mark}")
    page.goto(FACTS)

    page.get_by_label("Search", exact=True).fill(mark)
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(rf"\?q={mark}"))
    expect(row(page, mark)).to_be_visible()
    page.goto(f"{FACTS}?q=what+breed+of+pet+do+I+have")
    reload_until(page, row(page, f"a whippet called {mark}"))


def test_filters_are_in_the_address_and_back_brings_the_box_and_the_list_back(
    page: Page, program: Program, mark: str
):
    program.remember(f"I gave up sugar, says {mark}", kind="decision")
    program.remember(f"I like figs, says {mark}", kind="preference")
    page.goto(f"{FACTS}?q={mark}")
    expect(row(page, mark)).to_have_count(2)

    page.get_by_label("Kind", exact=True).first.select_option("decision")
    page.get_by_role("button", name="Show", exact=True).click()

    expect(page).to_have_url(re.compile(rf"\?q={mark}&kind=decision$"))
    expect(row(page, mark)).to_have_count(1)
    expect(row(page, "I gave up sugar")).to_be_visible()
    row(page, "I gave up sugar").get_by_role("link").click()
    expect(page.locator("h1")).to_contain_text("I gave up sugar")
    page.go_back()
    expect(page.get_by_label("Search", exact=True)).to_have_value(mark)
    expect(page.get_by_label("Kind", exact=True).first).to_have_value("decision")
    expect(row(page, mark)).to_have_count(1)
    page.get_by_role("list", name="Filters").get_by_role("link", name="Decisions").click()
    expect(row(page, mark)).to_have_count(2)
    page.get_by_role("link", name="Clear filters").click()
    expect(page.get_by_label("Search", exact=True)).to_have_value("")


def test_facts_are_grouped_by_their_kind(page: Page, program: Program, mark: str):
    program.remember(f"I gave up salt, says {mark}", kind="decision")
    program.remember(f"I like dates, says {mark}", kind="preference")
    page.goto(f"{FACTS}?q={mark}")

    page.get_by_role("link", name="By kind").click()

    decisions = page.get_by_role("region", name="Decisions")
    expect(decisions).to_contain_text("I gave up salt")
    expect(decisions).not_to_contain_text("I like dates")
    expect(decisions).to_contain_text("A decision guides work for a season")
    decisions.get_by_role("link", name="Show").click()
    expect(page).to_have_url(re.compile(rf"q={mark}.*kind=decision|kind=decision.*q={mark}"))


def test_picked_facts_are_forgotten_together_and_undo_brings_them_back(
    page: Page, program: Program, mark: str
):
    for fruit in ("plums", "pears", "limes"):
        program.remember(f"I like {fruit}, says {mark}")
    page.goto(f"{FACTS}?q={mark}")
    expect(page.locator("#bulk button:enabled:visible")).to_have_count(0)

    row(page, f"plums, says {mark}").get_by_role("checkbox").check()
    row(page, f"pears, says {mark}").get_by_role("checkbox").check()
    expect(page.locator("#bulk-count")).to_have_text("2 picked")
    page.get_by_role("button", name="Forget 2", exact=True).click()

    expect(notice(page)).to_contain_text("Forgotten: 2 facts.")
    expect(notice(page)).to_contain_text("You can undo this until")
    expect(row(page, mark)).to_have_count(1)
    expect(page.get_by_label("Search", exact=True)).to_have_value(mark)
    undo(page)
    expect(row(page, mark)).to_have_count(3)
    expect(page).to_have_url(re.compile(mark))


def test_on_a_phone_the_rarer_actions_are_behind_more_and_the_bar_is_at_the_edge(
    page: Page, program: Program, mark: str
):
    page.set_viewport_size({"width": 390, "height": 844})
    for number in range(9):
        program.remember(f"Tent {number} of {mark} is dry")
    page.goto(f"{FACTS}?q={mark}")
    keep = page.get_by_role("button", name="Keep 1 for ever")
    page.locator("[data-fact] [name=fact]").first.check()

    expect(keep).to_be_hidden()
    bar = page.locator("#bulk").bounding_box()
    page.get_by_role("button", name="More", exact=True).click()
    keep.click()

    assert bar
    assert (bar["y"] + bar["height"], bar["height"] < 110) == (844, True)
    expect(notice(page)).to_contain_text("Kept for ever: 1 fact.")


def test_what_is_picked_is_not_left_under_the_bar(page: Page, program: Program, mark: str):
    for number in range(12):
        program.remember(f"Crate {number} of {mark} is full")
    page.goto(f"/memory/facts/?q={mark}")
    last_in_sight = page.locator("[data-fact]").evaluate_all(
        "rows => rows.findLastIndex(row => row.getBoundingClientRect().bottom <= innerHeight)"
    )
    picked = page.locator("[data-fact]").nth(last_in_sight)

    picked.get_by_role("checkbox").check()

    bar, chosen = page.locator("#bulk").bounding_box(), picked.bounding_box()
    assert bar
    assert chosen
    assert chosen["y"] + chosen["height"] <= bar["y"]


def test_more_than_a_page_of_facts_go_only_after_a_typed_word(page: Page, program: Program, mark: str):
    program.add_kind(slug=mark, label="Boxes")
    for number in range(MANY):
        program.remember(f"Box {number} is in cellar {mark}", kind=mark)
    page.goto(f"{FACTS}?kind={mark}")
    page.get_by_label("All on this page").check()
    page.get_by_label(f"all {MANY} that match").check()

    page.get_by_role("button", name=f"Forget {MANY}", exact=True).click()

    expect(page.locator("h1")).to_have_text(f"Forget {MANY} facts?")
    typed = page.get_by_label("Type forget to go on")
    typed.fill("yes")
    page.get_by_role("button", name=f"Forget {MANY} facts").click()
    expect(page.locator("#typed-problem")).to_be_visible()
    typed.fill("forget")
    page.get_by_role("button", name=f"Forget {MANY} facts").click()
    expect(notice(page)).to_contain_text(f"Forgotten: {MANY} facts.")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    undo(page)
    expect(page.get_by_text(f"{MANY} facts", exact=True)).to_be_visible()


def test_a_fact_is_added_by_hand(page: Page, mark: str):
    page.goto(FACTS)
    page.get_by_role("link", name="Add a fact").click()

    page.get_by_label("Statement").fill(f"I store my skis in {mark}")
    page.get_by_label("Kind").select_option("decision")
    page.get_by_role("button", name="Remember it").click()

    expect(page.locator("h1")).to_contain_text(f"I store my skis in {mark}")
    page.goto(f"{FACTS}?q={mark}&kind=decision")
    expect(row(page, mark)).to_have_count(1)


def test_what_would_be_remembered_is_shown_and_not_stored(page: Page, mark: str):
    page.goto("/memory/try/")

    page.get_by_label("Text").fill(f"My cat is called Zelda{mark}.")
    page.get_by_role("button", name="Try it").click()

    tried = page.get_by_role("region", name=re.compile("1 statement"))
    expect(tried).to_contain_text(f"Zelda{mark}")
    expect(tried).to_contain_text("nothing is stored")
    page.goto(f"{FACTS}?q=Zelda{mark}&status=all")
    expect(row(page, f"Zelda{mark}")).to_have_count(0)
