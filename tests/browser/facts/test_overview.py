"""The first page: what is new with its way back, what waits and ends, and what memory may do."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.facts.reading import notice, open_fact, row, undo
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack]

OVERVIEW = "/memory/"


@pytest.fixture
def saving(page: Page) -> Iterator[None]:
    """Saving is on again afterwards, for the other tests."""
    yield
    page.goto(OVERVIEW)
    again = page.get_by_role("button", name="Save again")
    if again.count():
        again.click()
        expect(page.get_by_role("button", name="Pause saving")).to_be_visible()


def test_what_was_learned_is_forgotten_with_one_click_and_undone(page: Page, program: Program, mark: str):
    program.remember(f"I fish at lake {mark}")
    page.goto(OVERVIEW)
    news = page.locator("#news")
    learned = news.locator("li", has_text=mark)

    learned.get_by_role("button", name="Forget").click()

    expect(notice(page)).to_contain_text("Forgotten.")
    expect(learned).to_have_count(0)
    undo(page)
    expect(learned).to_have_count(1)


def test_what_was_changed_goes_back_to_before_and_forward_again(page: Page, program: Program, mark: str):
    program.remember("My tent is red", key=f"tent.{mark}")
    changed_id = program.remember(f"My tent {mark} is blue", key=f"tent.{mark}")
    page.goto(OVERVIEW)
    changed = page.locator("#news li", has=page.locator("del", has_text="My tent is red")).filter(
        has_text=mark
    )
    expect(changed).to_contain_text(f"My tent {mark} is blue")

    changed.get_by_role("button", name="Back to before").click()

    expect(notice(page)).to_contain_text("What it said before is in use again.")
    open_fact(page, changed_id)
    expect(page.get_by_text("It was replaced", exact=True)).to_be_visible()
    page.get_by_role("button", name="Use it again").click()
    expect(page.get_by_text("It was replaced", exact=True)).to_have_count(0)


def test_what_waits_and_what_ends_is_shown_with_its_next_step(page: Page, program: Program, mark: str):
    program.remember(f"The code word is {mark}", kind="asked")
    program.remember(f"The bin is emptied by {mark}", kind="session")
    page.goto(OVERVIEW)
    expect(page.locator(".waiting-notice")).to_contain_text(mark)
    soon = page.locator("main section", has=page.get_by_role("heading", name="Expiring in 7 days"))
    ending = soon.last.locator("li", has_text=mark)
    expect(ending).to_be_visible()
    expect(ending.get_by_role("button", name="Extend")).to_have_count(0)  # it has its full lifetime

    page.locator(".waiting-notice").get_by_role("link", name="Decide").click()

    expect(page.locator("h1")).to_have_text("Waiting for your word")
    expect(page.locator("[data-waiting]", has_text=mark)).to_be_visible()


def test_the_figures_are_drawn_and_a_bar_leads_to_its_facts(page: Page, program: Program, mark: str):
    program.remember(f"I like figure {mark}", kind="preference")
    page.goto(OVERVIEW)

    figures = page.get_by_role("region", name="Figures")

    for title in ("Facts of each kind", "Growth, 12 weeks", "Used in replies, each week", "Storage"):
        expect(figures.get_by_role("heading", name=title)).to_be_visible()
    assert figures.get_by_role("img").count() >= 3  # uses are drawn once there are some
    figures.get_by_role("link", name="Likes and dislikes").first.click()
    expect(row(page, f"I like figure {mark}")).to_be_visible()


@pytest.mark.usefixtures("saving")
def test_what_is_said_while_saving_is_paused_is_not_learned(page: Page, mark: str):
    page.goto(OVERVIEW)

    page.get_by_role("button", name="Pause saving").click()

    expect(page.get_by_text("what you say now is not learned later either")).to_be_visible()
    turn = new_chat(page, f"My hamster is called Bo{mark}.")
    wait_for_reply(page, turn)
    expect(turn.locator(".remembered > li", has_text="Remembered:")).to_have_count(0)
    page.goto(f"/memory/facts/?q=Bo{mark}&status=all")
    expect(row(page, mark)).to_have_count(0)
    page.goto(OVERVIEW)
    page.get_by_role("button", name="Save again").click()
    turn = new_chat(page, f"My rabbit is called Mo{mark}.")
    wait_for_reply(page, turn)
    expect(turn.locator(".remembered > li", has_text=f"Mo{mark}")).to_contain_text("Remembered:")
